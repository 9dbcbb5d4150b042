package sstable

import (
	"encoding/binary"
	"fmt"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
)

// The footer is the end of the file:
//
//	 0 ┌──────────────────────────────┐
//	   │ filter block    off, len u64 │  len 0: there is none
//	16 │ index block     off, len u64 │
//	32 │ range deletions off, len u64 │  len 0: there is none
//	48 │ properties      off, len u64 │
//	64 │ table id        u64          │
//	72 │ tail offset     u64          │  end of the data blocks
//	80 ├──────────────────────────────┤
//	   │ version u16 │ footer len u16 │
//	84 │ check u32                    │  CRC32C of the footer before it
//	88 │ magic u64                    │
//	96 └──────────────────────────────┘
//
// The last 16 bytes keep their place in every version, so that an older reader
// can tell a newer file from a damaged one.
const (
	footerLen     = 96
	footerEndLen  = 16
	formatVersion = 1
	footerMagic   = "siftsst\x01"
)

// footer says where the blocks of the tail are.
type footer struct {
	filter, index, rangeDel, properties Handle
	id                                  uint64
	tailOff                             uint64
}

// appendTo appends the encoded footer to dst.
func (f *footer) appendTo(dst []byte) []byte {
	start := len(dst)
	for _, h := range []Handle{f.filter, f.index, f.rangeDel, f.properties} {
		dst = binary.LittleEndian.AppendUint64(dst, h.Off)
		dst = binary.LittleEndian.AppendUint64(dst, h.Len)
	}
	dst = binary.LittleEndian.AppendUint64(dst, f.id)
	dst = binary.LittleEndian.AppendUint64(dst, f.tailOff)
	dst = binary.LittleEndian.AppendUint16(dst, formatVersion)
	dst = binary.LittleEndian.AppendUint16(dst, footerLen)
	dst = binary.LittleEndian.AppendUint32(dst, coding.CRC(dst[start:]))
	return append(dst, footerMagic...)
}

// decodeFooter decodes the footer at the end of b, which are the last bytes of
// a file of size bytes. Its errors name the file.
func decodeFooter(b []byte, name string, size uint64) (f footer, err error) {
	if size < footerLen || len(b) < footerLen {
		return f, key.Corruptf(name, -1, "%d bytes are too few for a table", size)
	}
	end := b[len(b)-footerEndLen:]
	at := int64(size) - footerEndLen
	if string(end[8:]) != footerMagic {
		return f, key.Corruptf(name, at+8, "magic is %x, not a table's", end[8:])
	}
	version, n := binary.LittleEndian.Uint16(end), int(binary.LittleEndian.Uint16(end[2:]))
	if n < footerEndLen || n > len(b) {
		return f, key.Corruptf(name, at+2, "footer length is %d", n)
	}
	checked := b[len(b)-n : len(b)-footerEndLen+4]
	if got, want := coding.CRC(checked), binary.LittleEndian.Uint32(end[4:]); got != want {
		return f, key.Corruptf(name, int64(size)-int64(n), "footer's check is %08x, recorded %08x", got, want)
	}
	if version != formatVersion {
		return f, fmt.Errorf("%w: table %s has version %d, this release reads %d", key.ErrVersion, name, version, formatVersion)
	}
	if n != footerLen {
		return f, key.Corruptf(name, at+2, "footer length is %d, not %d", n, footerLen)
	}
	f.decodeFields(checked)
	return f, f.checkPlaces(name, size)
}

func (f *footer) decodeFields(b []byte) {
	d := coding.NewDecoder(b)
	for _, h := range []*Handle{&f.filter, &f.index, &f.rangeDel, &f.properties} {
		h.Off, h.Len = d.Uint64(), d.Uint64()
	}
	f.id, f.tailOff = d.Uint64(), d.Uint64()
}

// checkPlaces checks that the blocks fill the space from the tail offset to the
// footer, in order and without a gap.
func (f *footer) checkPlaces(name string, size uint64) error {
	at, end := f.tailOff, size-footerLen
	for _, p := range []struct {
		role     role
		h        Handle
		optional bool
	}{
		{roleFilter, f.filter, true},
		{roleIndex, f.index, false},
		{roleRangeDel, f.rangeDel, true},
		{roleProperties, f.properties, false},
	} {
		empty := p.optional && p.h.Len == 0
		if p.h.Off != at || at > end || p.h.Len > end-at || !empty && p.h.Len <= blockTrailerLen {
			return key.Corruptf(name, int64(end), "%s block of %d bytes at %d does not fit behind %d", p.role, p.h.Len, p.h.Off, at)
		}
		at = p.h.end()
	}
	if at != end {
		return key.Corruptf(name, int64(end), "tail ends at %d, footer begins at %d", at, end)
	}
	return nil
}
