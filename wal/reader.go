package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// Tail says how a log ends. It is complete once Next has returned io.EOF.
type Tail struct {
	End     int64   // where the last sound record ends, in bytes
	Sealed  bool    // the log was closed
	Dropped int64   // bytes of torn tail behind End, as far as they can be told from zeros and an older log's leftovers
	Mark    int64   // the highest mark met
	Prev    PrevLog // the log that this one follows
}

// Reader reads the records of a log in order and only once. It reads a file
// that nobody writes to, treats it as hostile, and changes nothing.
//
// A Reader is not safe for concurrent use.
type Reader struct {
	win    window
	name   string
	codec  codec
	crc    uint32 // of the last sound record
	reused bool   // zeros do not tell where this log's bytes end
	tail   Tail
	err    error // what Next returns from now on
}

// NewReader starts to read the log num from f, whose name is for errors. It
// reads the first record, so that Tail().Prev is known at once. A damaged or
// missing first record is reported by Next; an error here is key.ErrVersion or
// the file system's. The caller closes f.
func NewReader(f vfs.File, name string, num uint64) (*Reader, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("sift: log %s: %w", filepath.Base(name), err)
	}
	r := &Reader{win: window{f: f, size: size}, name: filepath.Base(name), codec: newCodec(num), reused: true}
	if err := r.first(); err != nil && !isVerdict(err) {
		return nil, err
	}
	return r, nil
}

// isVerdict reports whether err speaks of the log's contents, and not of a
// failure to read them.
func isVerdict(err error) bool {
	corruptionError := &key.CorruptionError{}
	corrupt := errors.As(err, &corruptionError)
	return corrupt || errors.Is(err, io.EOF)
}

// first reads the log header.
func (r *Reader) first() error {
	h, payload, err := r.record()
	if err != nil {
		return r.stop(err)
	}
	lh, err := decodeLogHeader(payload)
	switch {
	case h.typ != typeLogHeader:
		return r.stop(key.Corruptf(r.name, 0, "the first record has type %d, not %d", h.typ, typeLogHeader))
	case err != nil:
		return r.stop(key.Corruptf(r.name, headerLen, "log header: %v", err))
	case lh.version > formatVersion:
		return r.stop(fmt.Errorf("sift: log %s has format version %d, this release reads %d: %w", r.name, lh.version, formatVersion, key.ErrVersion))
	case lh.version != formatVersion:
		return r.stop(key.Corruptf(r.name, headerLen, "log header: format version %d", lh.version))
	}
	r.reused = lh.flags&flagReused != 0
	r.tail.Prev = lh.prev
	return nil
}

// Next returns the next payload, which is good until the next call. At the end
// of the log, sealed, clean or torn, it returns io.EOF. It returns a
// CorruptionError when a record that was once durable is lost, key.ErrVersion
// for a newer format, or what the file system said. Every error stays.
func (r *Reader) Next() ([]byte, error) {
	for r.err == nil {
		pos := r.tail.End
		h, payload, err := r.record()
		if err != nil {
			return nil, r.stop(err)
		}
		switch h.typ {
		case typeData:
			return payload, nil
		case typeMark:
		case typeSeal:
			r.tail.Sealed = true
			return nil, r.stop(io.EOF)
		default:
			return nil, r.stop(key.Corruptf(r.name, pos, "a record has type %d, which no log has there", h.typ))
		}
	}
	return nil, r.err
}

// Tail says how the log ends, as far as that is known by now.
func (r *Reader) Tail() Tail { return r.tail }

func (r *Reader) stop(err error) error {
	r.err = err
	return err
}

// record reads the record after the last sound one. If there is none, the error
// is the verdict on the log's end.
func (r *Reader) record() (header, []byte, error) {
	pos, h, err := r.locate()
	if err != nil {
		return header{}, nil, err
	}
	end := pos + headerLen + int64(h.length)
	if h.length > MaxPayload || end > r.win.size {
		return header{}, nil, r.verdict(pos)
	}
	b, err := r.win.at(pos, int(end-pos))
	if err != nil {
		return header{}, nil, r.ioError(err)
	}
	crc := coding.ExtendCRC(r.crc, b[4:])
	if crc != binary.LittleEndian.Uint32(b) {
		return header{}, nil, r.verdict(pos)
	}
	if h.mark > r.tail.End {
		return header{}, nil, key.Corruptf(r.name, pos, "mark %d lies beyond the records before it, which end at %d", h.mark, r.tail.End)
	}
	r.crc = crc
	r.tail.End = end
	r.tail.Mark = max(r.tail.Mark, h.mark)
	return h, b[headerLen:], nil
}

// locate finds the header of the next record: it stands right behind the last
// record, or at the next sector start.
func (r *Reader) locate() (pos int64, h header, err error) {
	for _, pos = range [2]int64{r.tail.End, nextSector(r.tail.End)} {
		if r.win.size-pos < headerLen {
			break
		}
		b, err := r.win.at(pos, headerLen)
		if err != nil {
			return 0, header{}, r.ioError(err)
		}
		if h, ok := r.codec.parse(b, pos); ok {
			return pos, h, nil
		}
	}
	return 0, header{}, r.verdict(r.tail.End)
}

// verdict decides what it means that no sound record follows the last one: the
// record that should stand at pos was torn off, or it was damaged.
func (r *Reader) verdict(pos int64) error {
	end, err := r.scan(r.tail.End)
	if err != nil {
		return r.ioError(err)
	}
	if r.tail.Mark > r.tail.End {
		return key.Corruptf(r.name, pos, "no sound record here, though the log was once durable up to offset %d; "+
			"restore the file, or repair the database and lose what follows", r.tail.Mark)
	}
	// In a reused file what follows may be an older log's, unless the file was
	// trimmed and ends where a seal would.
	if trimmed := r.win.size == nextSector(r.tail.End)+headerLen; !r.reused || trimmed {
		end = max(end, r.win.lastByte)
	}
	r.tail.Dropped = end - r.tail.End
	return io.EOF
}

// scan looks for headers behind a place where reading failed. It notes the
// highest mark and returns where the last of their records ends. Headers are
// trusted by their own check: what one says was true when it was written,
// whatever became of its payload. Each byte is looked at once, so that no
// content makes the scan slow.
func (r *Reader) scan(pos int64) (end int64, err error) {
	end = pos
	r.win.startWatch(pos)
	for pos < r.win.size {
		b, err := r.win.at(pos, int(min(headerLen, r.win.size-pos)))
		if err != nil {
			return end, err
		}
		h, ok := r.codec.parse(b, pos)
		if !ok {
			pos = nextSector(pos + 1)
			continue
		}
		r.tail.Mark = max(r.tail.Mark, h.mark)
		pos += headerLen + int64(h.length)
		end = min(pos, r.win.size)
	}
	return end, nil
}

func (r *Reader) ioError(err error) error {
	return fmt.Errorf("sift: log %s: %w", r.name, err)
}
