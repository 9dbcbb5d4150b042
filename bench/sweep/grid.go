package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bloom"
)

// A Grid says what is combined with what.
type Grid struct {
	Pairs     int
	ValueSize int // bytes, which compress to half
	Lookups   int // in each cell, after half as many that only fill the cache
	Seed      uint64

	Kinds  []bloom.Kind
	Bits   []float64 // for each key
	Shapes []Shape
	Absent []float64 // shares of lookups, 0 to 1
	Caches []int64   // bytes

	// Progress, unless nil, is told after each cell how many are done and how many
	// lookups that took.
	Progress func(done, of, lookups int)
}

// Default returns a grid that takes some seconds. It has no caches yet: their
// sizes follow from the data.
func Default() Grid {
	return Grid{
		Pairs: 100_000, ValueSize: 100, Lookups: 20_000, Seed: 1,
		Kinds: []bloom.Kind{bloom.Blocked, bloom.Ribbon}, Bits: []float64{5, 10, 15},
		Shapes: Shapes(), Absent: []float64{0, 0.5, 1},
	}
}

// DataBytes returns the bytes of all keys and values.
func (g *Grid) DataBytes() int64 {
	return int64(g.Pairs) * int64(bench.GeneratedKeySize+g.ValueSize)
}

// Cells returns how many there are. Each combination has one without filters.
func (g *Grid) Cells() int {
	return len(g.Shapes) * len(g.Absent) * len(g.Caches) * (1 + len(g.Kinds)*len(g.Bits))
}

// Validate lists every fault.
func (g *Grid) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if g.Pairs < bench.MinKeys {
		fault("%d pairs; want at least %d", g.Pairs, bench.MinKeys)
	}
	if g.ValueSize < 0 || g.ValueSize > bench.MaxValueSize {
		fault("values of %d bytes; want 0 to %d", g.ValueSize, bench.MaxValueSize)
	}
	if g.Lookups < 1 {
		fault("%d lookups; want at least 1", g.Lookups)
	}
	if g.Cells() == 0 {
		fault("an axis has no values")
	}
	for _, s := range g.Absent {
		if !(s >= 0 && s <= 1) {
			fault("a share of %v absent keys; want 0 to 1", s)
		}
	}
	for _, c := range g.Caches {
		if c < 0 {
			fault("a cache of %d bytes", c)
		}
	}
	for _, s := range g.Shapes {
		if s != Compacted && s != Overlapping {
			fault("no shape %q", s)
		}
	}
	for _, k := range g.Kinds {
		for _, b := range g.Bits {
			if _, err := bloom.NewBuilder(k, b); err != nil {
				fault("%w", err)
			}
		}
	}
	return errors.Join(faults...)
}

// A group is the cells that differ only in their filters, which are judged by each
// other.
type group struct {
	shape  Shape
	absent float64
	cache  int64
}

// Run measures every cell and calls emit with those of a group at a time: first
// the one without filters. The same grid gives the same counts on machines with
// equally many processors, by which the cache is divided.
func (g *Grid) Run(ctx context.Context, emit func([]Cell) error) error {
	if err := g.Validate(); err != nil {
		return err
	}
	done := 0
	for _, shape := range g.Shapes {
		t, err := g.build(ctx, shape)
		if err != nil {
			return err
		}
		for _, absent := range g.Absent {
			for _, cacheBytes := range g.Caches {
				cells, err := g.group(ctx, t, group{shape, absent, cacheBytes}, &done)
				if err == nil {
					err = emit(cells)
				}
				if err != nil {
					return errors.Join(err, t.close())
				}
			}
		}
		if err := t.close(); err != nil {
			return err
		}
	}
	return nil
}

// group measures the cells of a group, and for each size of filters what the same
// memory would do as cache.
func (g *Grid) group(ctx context.Context, t *tables, at group, done *int) ([]Cell, error) {
	var cells []Cell
	instead := make(map[int64]float64) // by the filters' bytes
	for _, f := range t.filters {
		m, err := t.measure(ctx, f, at.absent, at.cache)
		if err != nil {
			return nil, err
		}
		extra, known := instead[f.bytes]
		if !known {
			other := m
			if f.bytes > 0 {
				if other, err = t.measure(ctx, t.filters[0], at.absent, at.cache+f.bytes); err != nil {
					return nil, err
				}
			}
			extra = other.perLookup(other.reads)
			instead[f.bytes] = extra
		}
		c := g.cell(f, at, m)
		c.CacheInstead, c.WithoutFilter = extra, c.ReadsPerLookup
		if len(cells) > 0 {
			c.WithoutFilter = cells[0].ReadsPerLookup
		}
		c.setDerived()
		cells = append(cells, c)
		*done++
		if g.Progress != nil {
			g.Progress(*done, g.Cells(), g.Lookups)
		}
	}
	return cells, nil
}

func (g *Grid) cell(f *filterSet, at group, m measured) Cell {
	return Cell{
		Version: Version, Shape: at.shape, Filter: f.name, BitsPerKey: f.bits, Absent: at.absent, CacheBytes: at.cache,
		Pairs: g.Pairs, ValueSize: g.ValueSize, Lookups: g.Lookups, Seed: g.Seed, DataBytes: g.DataBytes(),
		FilterBytes: f.bytes, ReadsPerLookup: m.perLookup(m.reads), LookupsPerSec: m.perSecond(),
		Candidates: m.perLookup(m.candidates), FalsePositiveRate: m.falsePositiveRate(), DesignedRate: f.rate,
	}
}
