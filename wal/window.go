package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/siftkv/sift/internal/vfs"
)

// windowSize is how much of a log is read at once, in bytes: few calls, and
// still at home in a processor's second-level cache.
const windowSize = 256 << 10

// window shows a file through a buffer that moves over it.
type window struct {
	f    vfs.File
	size int64 // of the file
	base int64 // offset of buf[0]
	buf  []byte

	// lastByte is the offset behind the last non-zero byte that was loaded since
	// watch was set.
	watch    bool
	lastByte int64
}

// at returns the n bytes at off, which lie within the file. They are good until
// the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	i := off - w.base
	if i < 0 || i+int64(n) > int64(len(w.buf)) {
		if err := w.load(off, n); err != nil {
			return nil, err
		}
		i = 0
	}
	return w.buf[i : i+int64(n) : i+int64(n)], nil
}

// load moves the window to off and makes it at least n bytes wide. It ends at a
// sector start where it can, so that one who goes by sectors leaves out nothing.
func (w *window) load(off int64, n int) error {
	want := int(min(max(int64(n), windowSize-off%sectorSize), w.size-off))
	if cap(w.buf) < want || cap(w.buf) > 4*windowSize && want <= windowSize {
		w.buf = make([]byte, want)
	}
	w.base, w.buf = off, w.buf[:want]
	got, err := w.f.ReadAt(w.buf, off)
	if got < want {
		w.buf = w.buf[:0]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read %d bytes at offset %d: %w", want, off, err)
	}
	if w.watch {
		if i := lastNonZero(w.buf); i >= 0 {
			w.lastByte = off + int64(i) + 1
		}
	}
	return nil
}

// startWatch begins to look for non-zero bytes from off on.
func (w *window) startWatch(off int64) {
	w.watch, w.lastByte = true, off
	w.buf = w.buf[:0]
}

// lastNonZero returns the index of the last byte of b that is not zero, or -1.
func lastNonZero(b []byte) int {
	for len(b) >= 8 && binary.LittleEndian.Uint64(b[len(b)-8:]) == 0 {
		b = b[:len(b)-8]
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return len(b) - 1
}
