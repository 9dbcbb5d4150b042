package sstable

import (
	"fmt"
	"math"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// tailGuess is how much of an unknown table's end Open reads first.
const tailGuess = 16 << 10

// A Reader reads one table. It is immutable and safe for use by several
// goroutines; each iterator is for one.
type Reader struct {
	src      source
	cache    *cache.Cache
	size     uint64
	footer   footer
	index    *index
	rangeDel []byte // body of the range deletion block; nil if there is none
	props    Properties
}

// Open returns a Reader of the table in f. It reads the tail, without the
// filter if o says where that is, in one read if o says where the tail is. On
// success the Reader owns f; on an error the caller still does.
func Open(f vfs.File, o ReaderOptions) (*Reader, error) {
	r := &Reader{src: source{f, o.Name, o.ID, o.Stats}, cache: o.Cache}
	if r.src.stats == nil {
		r.src.stats = new(Stats)
	}
	if r.cache == nil {
		r.cache = cache.New(0)
	}
	if err := r.open(o); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Reader) open(o ReaderOptions) error {
	size, err := r.src.f.Size()
	if err != nil {
		return fmt.Errorf("sstable: size of %s: %w", o.Name, err)
	}
	if o.Size != 0 && size != o.Size {
		return key.Corruptf(o.Name, -1, "file has %d bytes, recorded %d", size, o.Size)
	}
	r.size = uint64(size)
	tail, off, err := r.readTail(o)
	if err != nil {
		return err
	}
	if err := r.checkIdentity(o); err != nil {
		return err
	}
	return r.decodeTail(tail, off)
}

// readTail reads and decodes the footer and returns what follows the filter,
// and its offset.
func (r *Reader) readTail(o ReaderOptions) (tail []byte, off uint64, err error) {
	off = r.size - min(r.size, tailGuess)
	if hint := max(uint64(o.TailOff), o.Filter.end()); hint > 0 && hint < r.size {
		off = min(hint, r.size-min(r.size, footerLen))
	}
	if tail, err = r.readFrom(off); err != nil {
		return nil, 0, err
	}
	if r.footer, err = decodeFooter(tail, r.src.name, r.size); err != nil {
		return nil, 0, err
	}
	start := r.footer.index.Off
	if start >= off {
		return tail[start-off:], start, nil
	}
	tail, err = r.readFrom(start)
	return tail, start, err
}

// readFrom reads the file from off to its end.
func (r *Reader) readFrom(off uint64) ([]byte, error) {
	n := r.size - off
	if n > math.MaxInt {
		return nil, fmt.Errorf("sstable: the tail of %s, %d bytes, does not fit into this system's memory", r.src.name, n)
	}
	b := make([]byte, n)
	return b, r.src.readAt(b, off)
}

// checkIdentity checks that this is the table that the manifest recorded.
func (r *Reader) checkIdentity(o ReaderOptions) error {
	at := int64(r.size) - footerLen
	if o.ID != 0 && r.footer.id != o.ID {
		return key.Corruptf(o.Name, at, "table id is %016x, recorded %016x: another table's file", r.footer.id, o.ID)
	}
	if o.TailOff != 0 && r.footer.tailOff != uint64(o.TailOff) {
		return key.Corruptf(o.Name, at, "tail is at %d, recorded %d", r.footer.tailOff, o.TailOff)
	}
	if o.Filter.Len != 0 && r.footer.filter != o.Filter {
		return key.Corruptf(o.Name, at, "filter is %d bytes at %d, recorded %d at %d",
			r.footer.filter.Len, r.footer.filter.Off, o.Filter.Len, o.Filter.Off)
	}
	r.src.id = r.footer.id
	return nil
}

// decodeTail decodes the blocks of the tail but the filter. tail begins at off.
func (r *Reader) decodeTail(tail []byte, off uint64) error {
	block := func(h Handle, want role) ([]byte, error) {
		return r.src.decodeTail(tail[h.Off-off:h.end()-off], h.Off, want)
	}
	malformed := func(h Handle, what role, err error) error {
		return &key.CorruptionError{File: r.src.name, Offset: int64(h.Off), What: what.String() + " block", Err: err}
	}
	ft := &r.footer
	body, err := block(ft.properties, roleProperties)
	if err != nil {
		return err
	}
	if r.props, err = decodeProperties(body); err != nil {
		return malformed(ft.properties, roleProperties, err)
	}
	if unknown := r.props.Kinds &^ knownKinds; unknown != 0 {
		return fmt.Errorf("%w: table %s has entries of kinds %#x", key.ErrVersion, r.src.name, unknown)
	}
	if body, err = block(ft.index, roleIndex); err != nil {
		return err
	}
	if r.index, err = decodeIndex(body, ft.tailOff); err != nil {
		return malformed(ft.index, roleIndex, err)
	}
	if ft.rangeDel.Len == 0 {
		return nil
	}
	if body, err = block(ft.rangeDel, roleRangeDel); err != nil {
		return err
	}
	r.rangeDel = append([]byte(nil), body...) // let go of the rest of the tail
	return nil
}

// knownKinds has a bit for each kind of this format version.
var knownKinds = func() (bits uint64) {
	for k := range key.Kind(64) {
		if k.Known() {
			bits |= 1 << k
		}
	}
	return bits
}()

// Get looks up the newest version of user with a sequence number of at most
// seq. If there is one, ok is true, its value is appended to dst and t says
// what it is, which may be a deletion. Otherwise value is dst.
//
// Get fetches at most one block, and does not allocate if dst has room. It does
// not ask the filter and does not know of range deletions.
func (r *Reader) Get(dst, user []byte, seq uint64) (value []byte, t key.Trailer, ok bool, err error) {
	seek := key.SeekTrailer(seq)
	i := r.index.find(user, seek)
	if i == r.index.numBlocks() {
		return dst, 0, false, nil
	}
	b, err := r.block(i)
	if err != nil {
		return dst, 0, false, err
	}
	defer b.Release()
	parsed, good := parseBlock(b.Data())
	if !good {
		return dst, 0, false, r.malformed(i)
	}
	f, good := parsed.get(user, seek)
	if !good {
		return dst, 0, false, r.malformed(i)
	}
	return append(dst, f.value...), f.trailer, f.ok, nil
}

// block returns the i-th data block, pinned, from the cache or the file.
func (r *Reader) block(i int) (*cache.Block, error) {
	h := r.index.handle(i)
	if b := r.cache.Get(r.src.id, h.Off); b != nil {
		return b, nil
	}
	b, err := r.src.readBlock(r.cache, h)
	if err != nil {
		return nil, err
	}
	return r.cache.Insert(r.src.id, h.Off, b), nil
}

// malformed is the error for a data block that passed its check and yet cannot
// be decoded.
func (r *Reader) malformed(i int) error {
	return key.Corruptf(r.src.name, int64(r.index.handle(i).Off), "malformed entries in data block %d", i)
}

// ID returns the table's id.
func (r *Reader) ID() uint64 { return r.src.id }

// Properties describe the table. The keys in them belong to the Reader.
func (r *Reader) Properties() Properties { return r.props }

// Filter returns the place of the filter block; its length is 0 if there is no
// filter.
func (r *Reader) Filter() Handle { return r.footer.filter }

// MemorySize returns the bytes that the Reader keeps in memory, cached blocks
// not counted.
func (r *Reader) MemorySize() int64 { return r.index.memory() + int64(len(r.rangeDel)) }

// Close closes the file. No call may be running and every iterator must be
// closed. Cached blocks stay; see cache.Cache.EvictTable.
func (r *Reader) Close() error { return r.src.f.Close() }

// ReadFilter reads and verifies the filter block at h of the table with this
// id. The result is the filter as package bloom encoded it, begins on a cache
// line and belongs to the caller. A nil stats counts nothing.
func ReadFilter(f vfs.File, name string, id uint64, h Handle, stats *Stats) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("sstable: size of %s: %w", name, err)
	}
	if h.Len <= blockTrailerLen || h.Len > math.MaxInt || h.Off > uint64(size) || h.Len > uint64(size)-h.Off {
		return nil, key.Corruptf(name, -1, "filter of %d bytes at %d is not within the %d bytes of the file", h.Len, h.Off, size)
	}
	if stats == nil {
		stats = new(Stats)
	}
	src := source{f, name, id, stats}
	raw := bloom.Alloc(int(h.Len))
	if err := src.readAt(raw, h.Off); err != nil {
		return nil, err
	}
	body, codec, err := src.verify(raw, h.Off, roleFilter)
	if err == nil && codec != NoCompression {
		err = fmt.Errorf("%w: %s has a filter of compression %d", key.ErrVersion, name, codec)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}
