package bloom

import (
	"errors"
	"sync"
)

// MaxBitsPerKey is the largest number of bits per key that a Builder accepts.
const MaxBitsPerKey = 64

// ErrMemoryLimit says that a filter cannot be built within the limit that
// [Builder.SetMemoryLimit] set. The set is best left without a filter.
var ErrMemoryLimit = errors.New("bloom: filter exceeds the build memory limit")

// chunkLen is the number of hashes that a Builder allocates at once. Chunks are
// never copied, so that collecting a large set costs no more than 8 bytes a key.
// A set starts with a smaller one, so that small sets cost little.
const (
	chunkLen   = 8 << 10
	firstChunk = 512
)

// A Builder collects the hashes of a set's keys and encodes a filter for
// exactly that many. It is made by [NewBuilder], serves one set after the other,
// and is not safe for use by several goroutines.
//
// Until Finish a Builder holds 8 bytes a key, and [PeakMemory] at most. Builders
// hand chunks on to each other: a compaction makes a filter for one table after
// the other, and memory that is fresh from the system costs more than the filter.
type Builder struct {
	kind       Kind
	bitsPerKey float64
	limit      uint64 // of memory, in bytes; 0: none

	full [][]uint64 // chunks of chunkLen hashes
	cur  []uint64   // the chunk being filled
	last uint64     // the hash added last, if any was
	over bool       // the hashes alone exceed the limit and were dropped
}

// NewBuilder returns a Builder of filters with bitsPerKey bits for each key. It
// refuses an unknown kind and a number that is NaN, zero, negative or above
// [MaxBitsPerKey].
func NewBuilder(kind Kind, bitsPerKey float64) (*Builder, error) {
	if err := checkDesign(kind, bitsPerKey); err != nil {
		return nil, err
	}
	return &Builder{kind: kind, bitsPerKey: bitsPerKey}, nil
}

// SetMemoryLimit bounds the bytes that the Builder holds at any time, as
// [PeakMemory] counts them; 0, the default, is no limit. A Fuse or Ribbon that
// would exceed it becomes a Blocked, and a Blocked that would makes Finish fail
// with [ErrMemoryLimit]. Once the hashes alone exceed it Add stops collecting.
func (b *Builder) SetMemoryLimit(bytes uint64) { b.limit = bytes }

// Add adds a key by its hash. A hash equal to the one before it is dropped: the
// versions of one key are neighbours in a sorted table.
func (b *Builder) Add(h uint64) {
	if h == b.last && len(b.cur) > 0 {
		return
	}
	if len(b.cur) == cap(b.cur) && !b.grow() {
		return
	}
	b.cur = append(b.cur, h)
	b.last = h
}

// AddKey adds a key. It does not keep it.
func (b *Builder) AddKey(key []byte) { b.Add(Hash(key)) }

// grow makes room for more hashes. It reports false if the limit forbids that.
func (b *Builder) grow() bool {
	if b.over {
		return false
	}
	room := chunkLen
	if b.Len() == 0 {
		room = firstChunk
	}
	if b.limit > 0 && 8*uint64(b.Len()+room) > b.limit {
		b.drop()
		b.cur, b.over = nil, true
		return false
	}
	next := newChunk(room)
	if len(b.cur) == chunkLen {
		b.full = append(b.full, b.cur)
	} else {
		next = append(next, b.cur...)
	}
	b.cur = next
	return true
}

// chunks holds arrays of chunkLen hashes that no Builder uses.
var chunks = sync.Pool{New: func() any { return new([chunkLen]uint64) }}

// newChunk returns an empty slice with room for a number of hashes.
func newChunk(room int) []uint64 {
	if room < chunkLen {
		return make([]uint64, 0, room)
	}
	return chunks.Get().(*[chunkLen]uint64)[:0]
}

// drop forgets all keys. The chunk being filled stays with the Builder.
func (b *Builder) drop() {
	for _, c := range b.full {
		chunks.Put((*[chunkLen]uint64)(c))
	}
	b.full, b.cur = nil, b.cur[:0]
}

// Len returns the number of keys added since the last Finish, adjacent
// duplicates counted once.
func (b *Builder) Len() int { return len(b.full)*chunkLen + len(b.cur) }

// Finish returns the encoded filter of all keys added since the last Finish and
// makes the Builder ready for the next set. A set without keys is valid: its
// filter says "no" to everything. The caller owns the result, which begins on a
// cache line.
//
// It fails with [ErrMemoryLimit], or where a filter of so many bits is larger
// than an address can be; the keys are gone then too.
func (b *Builder) Finish() ([]byte, error) {
	data, err := b.encode()
	b.drop()
	b.over = false
	return data, err
}

func (b *Builder) encode() ([]byte, error) {
	if b.over {
		return nil, ErrMemoryLimit
	}
	data, err := b.encodeAs(b.design())
	if errors.Is(err, errUnsolvable) {
		// Someone chose keys against the seeds. They shall not stop a flush.
		data, err = b.encodeAs(design(Blocked, uint64(b.Len()), b.bitsPerKey))
	}
	return data, err
}

// encodeAs encodes the filter of all keys in the shape of h.
func (b *Builder) encodeAs(h header, size uint64) ([]byte, error) {
	if size > maxBody {
		return nil, errTooLarge
	}
	if b.limit > 0 && h.peakMemory(size) > b.limit {
		return nil, ErrMemoryLimit
	}
	data := Alloc(headerSize + int(size))
	if err := b.fill(&h, data[headerSize:]); err != nil {
		return nil, err
	}
	h.seal(data)
	return data, nil
}

// design chooses the filter for the keys that were added.
func (b *Builder) design() (header, uint64) {
	h, size := design(b.kind, uint64(b.Len()), b.bitsPerKey)
	if h.kind >= Fuse && b.limit > 0 && h.peakMemory(size) > b.limit {
		return design(Blocked, h.n, b.bitsPerKey)
	}
	return h, size
}

// fill sets the bits of all keys in body.
func (b *Builder) fill(h *header, body []byte) error {
	switch h.kind {
	case Blocked:
		b.each(func(hashes []uint64) { addBlocked(body, h.probes, hashes) })
	case Classic:
		b.each(func(hashes []uint64) { addClassic(body, h.units, h.probes, hashes) })
	case Fuse:
		return buildFuse(h, body, b.each)
	case Ribbon:
		return buildRibbon(h, body, b.each)
	}
	return nil
}

// each calls fn with every chunk of hashes.
func (b *Builder) each(fn func(hashes []uint64)) {
	for _, c := range b.full {
		fn(c)
	}
	fn(b.cur)
}
