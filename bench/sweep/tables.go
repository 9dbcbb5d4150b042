package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// overlappingRuns is how many tables can hold a key where they overlap. A database
// in use has as many when compaction is behind.
const overlappingRuns = 8

// tables are the pairs in one shape, with every set of filters of a grid. They
// hold no filters themselves: those are built beside them, as a table's writer
// builds them.
type tables struct {
	grid    *Grid
	keys    *bench.Generated
	fs      *vfs.Mem
	runs    []*run
	filters []*filterSet // the first is none
}

// A run is one table.
type run struct {
	name        string
	first, last []byte
	hashes      []uint64 // of its keys
}

// A filterSet is one filter for each run.
type filterSet struct {
	name  string // of the kind
	bits  float64
	byRun []*bloom.Filter // of nil without filters, which say "maybe" of every key
	bytes int64
	rate  float64 // of false positives, by the formula; on average
}

// build writes the tables of a shape and builds all filters.
func (g *Grid) build(ctx context.Context, shape Shape) (*tables, error) {
	t := &tables{grid: g, keys: bench.NewGenerated(g.Pairs, g.ValueSize, g.Seed), fs: vfs.NewMem()}
	n := 1
	if shape == Overlapping {
		n = overlappingRuns
	}
	for i := range n {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := t.write(i, i*g.Pairs/n, (i+1)*g.Pairs/n)
		if err != nil {
			return nil, err
		}
		t.runs = append(t.runs, r)
	}
	t.filters = []*filterSet{{name: NoFilter, byRun: make([]*bloom.Filter, n), rate: 1}}
	for _, kind := range g.Kinds {
		for _, bits := range g.Bits {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			f, err := t.filter(kind, bits)
			if err != nil {
				return nil, err
			}
			t.filters = append(t.filters, f)
		}
	}
	return t, nil
}

// write writes a table of the pairs from low to high in the order of the load,
// which is random.
func (t *tables) write(i, low, high int) (*run, error) {
	order := make([]int, 0, high-low)
	for k := low; k < high; k++ {
		order = append(order, k)
	}
	keys := make([][]byte, len(order))
	for k := range keys {
		keys[k] = t.keys.Present(nil, order[k])
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a-low], keys[b-low]) })

	r := &run{name: fmt.Sprintf("%06d.sst", i)}
	f, err := t.fs.Create(r.name)
	if err != nil {
		return nil, err
	}
	w := sstable.NewWriter(f, sstable.WriterOptions{ID: tableID(i), Compression: sstable.Snappy})
	var value []byte
	for _, k := range order {
		user := keys[k-low]
		value = t.keys.Value(value[:0], k)
		if err := w.Add(key.Make(user, 1, key.Set), value); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		r.hashes = append(r.hashes, bloom.Hash(user))
	}
	_, err = w.Finish()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	r.first, r.last = keys[order[0]-low], keys[order[len(order)-1]-low]
	return r, nil
}

// tableID is the same in every run, unlike in a database, so that the cache keeps
// the same blocks.
func tableID(i int) uint64 { return uint64(i) + 1 }

func (t *tables) filter(kind bloom.Kind, bits float64) (*filterSet, error) {
	set := &filterSet{name: kind.String(), bits: bits}
	for _, r := range t.runs {
		b, err := bloom.NewBuilder(kind, bits)
		if err != nil {
			return nil, err
		}
		for _, h := range r.hashes {
			b.Add(h)
		}
		data, err := b.Finish()
		if err != nil {
			return nil, err
		}
		f, err := bloom.Open(data)
		if err != nil {
			return nil, err
		}
		set.byRun = append(set.byRun, f)
		set.bytes += int64(f.Size())
		set.rate += f.Rate() / float64(len(t.runs))
	}
	return set, nil
}

// open opens every table with a cache that is empty.
func (t *tables) open(cacheBytes int64, stats *sstable.Stats) (readers []*sstable.Reader, err error) {
	blocks := cache.New(cacheBytes)
	for i, r := range t.runs {
		f, err := t.fs.Open(r.name)
		if err != nil {
			return nil, errors.Join(err, closeAll(readers))
		}
		reader, err := sstable.Open(f, sstable.ReaderOptions{Name: r.name, ID: tableID(i), Cache: blocks, Stats: stats})
		if err != nil {
			return nil, errors.Join(err, f.Close(), closeAll(readers))
		}
		readers = append(readers, reader)
	}
	return readers, nil
}

func closeAll(readers []*sstable.Reader) error {
	var errs []error
	for _, r := range readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// close frees the tables.
func (t *tables) close() error {
	var errs []error
	for _, r := range t.runs {
		errs = append(errs, t.fs.Remove(r.name))
	}
	return errors.Join(errs...)
}
