package sstable

import (
	"bytes"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
)

// Verify reads the whole table and checks everything that the format promises:
// every block's check, the order of entries, that separators part the blocks,
// the bounds, counts and conservation sum of the properties, and that the
// filter denies no key. It returns the first fault. Blocks do not pass through
// the cache.
func (r *Reader) Verify() error {
	filter, err := r.openFilter()
	if err != nil {
		return err
	}
	v := verifier{r: r, it: r.NewCompactionIter().(*tableIter), filter: filter}
	defer v.it.Close()
	for ok := v.it.First(); ok; ok = v.it.Next() {
		if err := v.entry(v.it.Key(), v.it.Value()); err != nil {
			return err
		}
	}
	if err := v.it.Error(); err != nil {
		return err
	}
	if err := v.ranges(); err != nil {
		return err
	}
	return v.properties()
}

// openFilter reads the filter, nil if there is none.
func (r *Reader) openFilter() (*bloom.Filter, error) {
	h := r.footer.filter
	if h.Len == 0 {
		return nil, nil
	}
	data, err := ReadFilter(r.src.f, r.src.name, r.src.id, h, r.src.stats)
	if err != nil {
		return nil, err
	}
	f, err := bloom.Open(data)
	if err != nil {
		return nil, &key.CorruptionError{File: r.src.name, Offset: int64(h.Off), What: "filter", Err: err}
	}
	return f, nil
}

// verifier collects what one walk over a table finds.
type verifier struct {
	r      *Reader
	it     *tableIter
	filter *bloom.Filter
	found  Properties
	last   key.Internal // owned
	block  int          // the block of last
	sep    []byte
}

// entry checks one entry against the one before, the index and the filter.
func (v *verifier) entry(k key.Internal, value []byte) error {
	at := v.it.at
	if v.found.Entries > 0 {
		if key.Compare(v.last, k) >= 0 {
			return v.corrupt(at, "entry %v is not after %v", k, v.last)
		}
		if at != v.block {
			if sep := v.separator(v.block); key.Compare(sep, k) >= 0 {
				return v.corrupt(at, "entry %v is not after the separator %v", k, sep)
			}
		}
	}
	if sep := v.separator(at); key.Compare(k, sep) > 0 {
		return v.corrupt(at, "entry %v is after the separator %v", k, sep)
	}
	hash := bloom.Hash(k.User)
	if !v.filter.MayContain(hash) {
		return v.corrupt(at, "the filter denies %v", k)
	}
	if v.found.Entries == 0 {
		v.found.Smallest = k.Clone()
	}
	v.found.Entries++
	if k.Trailer.Kind() == key.Delete {
		v.found.Deletes++
	}
	v.found.addAny(k, value)
	v.found.Sum.addHashed(hash, k.Trailer, value)
	v.last = key.Internal{User: append(v.last.User[:0], k.User...), Trailer: k.Trailer}
	v.block = at
	return nil
}

func (v *verifier) corrupt(block int, format string, args ...any) error {
	return key.Corruptf(v.r.src.name, int64(v.r.index.handle(block).Off), format, args...)
}

// separator returns the i-th separator, valid until the next call.
func (v *verifier) separator(i int) key.Internal {
	v.sep = v.r.index.separator(v.sep[:0], i)
	return key.Internal{User: v.sep, Trailer: v.r.index.trailer(i)}
}

// ranges checks the range deletions.
func (v *verifier) ranges() error {
	it := v.r.NewRangeDelIter()
	if it == nil {
		return nil
	}
	defer it.Close()
	off := int64(v.r.footer.rangeDel.Off)
	var last key.Internal
	for ok := it.First(); ok; ok = it.Next() {
		k, end := it.Key(), it.Value()
		if v.found.RangeDeletes > 0 && key.Compare(last, k) >= 0 {
			return key.Corruptf(v.r.src.name, off, "range deletion %v is not after %v", k, last)
		}
		if bytes.Compare(k.User, end) >= 0 {
			return key.Corruptf(v.r.src.name, off, "range deletion %v has the end %q", k, end)
		}
		last = k.Clone()
		v.found.RangeDeletes++
		v.found.addAny(k, end)
		v.found.Sum.Add(k, end)
	}
	return it.Error()
}

// properties compares what was found with what is recorded.
func (v *verifier) properties() error {
	p, found := &v.r.props, &v.found
	found.DataBlocks = uint64(v.r.index.numBlocks())
	recorded := p.numbers()
	for tag, n := range found.numbers() {
		if n != nil && *n != *recorded[tag] {
			return v.wrong("field %d is %d, found %d", tag, *recorded[tag], *n)
		}
	}
	if p.Sum != found.Sum {
		return v.wrong("conservation sum is %016x, found %016x", uint64(p.Sum), uint64(found.Sum))
	}
	if found.Entries > 0 && (key.Compare(p.Smallest, found.Smallest) > 0 || key.Compare(p.Largest, v.last) < 0) {
		return v.wrong("bounds are %v to %v, found %v to %v", p.Smallest, p.Largest, found.Smallest, v.last)
	}
	return nil
}

func (v *verifier) wrong(format string, args ...any) error {
	return key.Corruptf(v.r.src.name, int64(v.r.footer.properties.Off), "properties: "+format, args...)
}
