package sstable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// maxSnappyRatio bounds how much longer than its encoding a Snappy block can
// be: the densest element is three bytes that stand for 64.
const maxSnappyRatio = 22

// A source fetches blocks from a table's file and verifies them. It is
// immutable and safe for use by several goroutines.
type source struct {
	f     vfs.File
	name  string // for errors
	id    uint64
	stats *Stats
}

// readAt fills buf from offset off. Every byte that comes from a table's file
// comes through here, so here they are counted.
func (s *source) readAt(buf []byte, off uint64) error {
	n, err := s.f.ReadAt(buf, int64(off))
	s.stats.Reads.Add(1)
	s.stats.Bytes.Add(uint64(n))
	switch {
	case n == len(buf):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return key.Corruptf(s.name, int64(off)+int64(n), "file ends inside a read of %d bytes at %d", len(buf), off)
	}
	return fmt.Errorf("sstable: read %s at offset %d: %w", s.name, off, err)
}

// verify checks a block as it lies in the file, at off, and splits it.
func (s *source) verify(raw []byte, off uint64, want role) (body []byte, c Compression, err error) {
	n := len(raw) - blockTrailerLen
	got, recorded := blockCheck(raw[:n+1], s.id, off), binary.LittleEndian.Uint32(raw[n+1:])
	if got != recorded {
		return nil, 0, key.Corruptf(s.name, int64(off), "check of the %s block of %d bytes is %08x, recorded %08x", want, len(raw), got, recorded)
	}
	if got := raw[n] >> 4; got != byte(want) {
		return nil, 0, key.Corruptf(s.name, int64(off), "block is of role %d, not a %s block", got, want)
	}
	return raw[:n:n], Compression(raw[n] & 0x0f), nil
}

// decodedLen returns the length of a body once it is decompressed. What a
// compressed body claims is believed only as far as its own length makes it
// possible.
func (s *source) decodedLen(body []byte, c Compression, off uint64) (int, error) {
	switch c {
	case NoCompression:
		return len(body), nil
	case Snappy:
		n, err := snappy.DecodedLen(body)
		if err != nil || n > maxBlockLen || n/maxSnappyRatio > len(body) {
			return 0, s.badSnappy(off)
		}
		return n, nil
	}
	return 0, fmt.Errorf("%w: %s has a block of compression %d at offset %d", key.ErrVersion, s.name, c, off)
}

func (s *source) badSnappy(off uint64) error {
	return key.Corruptf(s.name, int64(off), "block is not valid Snappy")
}

// decompress decodes body into dst, whose length is what decodedLen said.
func (s *source) decompress(dst, body []byte, c Compression, off uint64) error {
	if c == NoCompression {
		copy(dst, body)
		return nil
	}
	if out, err := snappy.Decode(dst, body); err != nil || len(out) != len(dst) {
		return s.badSnappy(off)
	}
	return nil
}

// readBlock reads, verifies and decodes a data block into a new cache block.
func (s *source) readBlock(c *cache.Cache, h Handle) (*cache.Block, error) {
	raw := c.Alloc(int(h.Len))
	if err := s.readAt(raw.Data(), h.Off); err != nil {
		raw.Release()
		return nil, err
	}
	if n := len(raw.Data()) - blockTrailerLen; Compression(raw.Data()[n]&0x0f) == NoCompression {
		if _, _, err := s.verify(raw.Data(), h.Off, roleData); err != nil {
			raw.Release()
			return nil, err
		}
		raw.Shrink(n) // decoded where it was read
		return raw, nil
	}
	b, err := s.decodeBlock(c, raw.Data(), h.Off)
	raw.Release()
	return b, err
}

// decodeBlock verifies and decodes a data block into a new cache block.
func (s *source) decodeBlock(c *cache.Cache, raw []byte, off uint64) (*cache.Block, error) {
	body, codec, err := s.verify(raw, off, roleData)
	if err != nil {
		return nil, err
	}
	n, err := s.decodedLen(body, codec, off)
	if err != nil {
		return nil, err
	}
	b := c.Alloc(n)
	if err := s.decompress(b.Data(), body, codec, off); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// decodeTail verifies and decodes a block of the tail. The result may alias
// raw.
func (s *source) decodeTail(raw []byte, off uint64, want role) ([]byte, error) {
	body, codec, err := s.verify(raw, off, want)
	if err != nil || codec == NoCompression {
		return body, err
	}
	n, err := s.decodedLen(body, codec, off)
	if err != nil {
		return nil, err
	}
	decoded := make([]byte, n)
	return decoded, s.decompress(decoded, body, codec, off)
}
