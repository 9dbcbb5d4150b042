package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/siftkv/sift/bloom"
)

// FPROptions configures FPR. The zero FPROptions measures the full grid.
type FPROptions struct {
	// Short leaves out sets of 50 million keys and measures the others less
	// precisely: under 40 seconds on two cores, not 15 minutes.
	Short bool
	// Seed determines keys and probes, and so every number of the table.
	Seed uint64
	// Workers is how many rows are measured at once; 0 is one for each core.
	Workers int
	// Progress is called with each row when it is done, in any order but not at
	// once; nil is no report.
	Progress func(FPRRow)
	// Done holds rows that an interrupted run with the same Seed and Short has
	// measured; they are not measured again.
	Done []FPRRow

	hash func(key []byte) uint64 // instead of bloom.Hash, for tests
}

// Cells returns the cells of the table in their order.
func (o FPROptions) Cells() []FPRCell { return fprGrid(o.Short) }

// An FPRCell is a point of the grid.
type FPRCell struct {
	Kind bloom.Kind
	Keys uint64
	Bits float64 // for each key
	From string  // what the keys are: "random" hashes, or a shape of keys that are hashed
}

// An FPRRow compares the false-positive rate that theory expects of a cell with
// the one that absent keys met.
type FPRRow struct {
	FPRCell
	Filters int // of the cell that were measured together
	bloom.Measurement
}

// Ratio returns the measured rate over the formula's; 0 where that is 0.
func (r FPRRow) Ratio() float64 {
	if r.Theory == 0 {
		return 0
	}
	return r.Rate / r.Theory
}

// An FPRReport is the table of theory against practice.
type FPRReport struct{ Rows []FPRRow }

// OK reports whether no measured rate contradicts theory: if one does, the
// hashes are badly mixed and a process should exit with an error.
func (r FPRReport) OK() bool { return len(r.Bad()) == 0 }

// Bad returns the rows whose measured rate contradicts theory.
func (r FPRReport) Bad() []FPRRow { return r.With(bloom.Differs) }

// With returns the rows of one verdict.
func (r FPRReport) With(v bloom.Verdict) (rows []FPRRow) {
	for _, row := range r.Rows {
		if row.Verdict == v {
			rows = append(rows, row)
		}
	}
	return rows
}

// FPR measures the false-positive rate of every kind of filter on a grid of set
// sizes and bits per key, and judges it against the exact formula. Rows come in
// the order of the grid. It returns the context's error when that ends it.
func FPR(ctx context.Context, o FPROptions) (FPRReport, error) {
	done := make(map[FPRCell]FPRRow, len(o.Done))
	for _, row := range o.Done {
		done[row.FPRCell] = row
	}
	cells := fprGrid(o.Short)
	report := FPRReport{Rows: make([]FPRRow, len(cells))}
	next := make(chan int)
	var (
		workers sync.WaitGroup
		one     sync.Mutex // Progress, and err
		err     error
	)
	for range max(1, workersOf(o)) {
		workers.Go(func() {
			for i := range next {
				row, known := done[cells[i]]
				var e error
				if !known {
					row, e = measureCell(ctx, cells[i], o)
				}
				one.Lock()
				report.Rows[i] = row
				if e != nil && err == nil {
					err = e
				}
				if e == nil && o.Progress != nil {
					o.Progress(row)
				}
				one.Unlock()
			}
		})
	}
	for i := range cells {
		next <- i
	}
	close(next)
	workers.Wait()
	return report, err
}

func workersOf(o FPROptions) int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// fprGrid returns the cells of the table: every kind at every size, then what
// has broken other filters: keys of little entropy and sizes that are powers of
// two. Cells where a kind falls back to another are left out.
func fprGrid(short bool) (cells []FPRCell) {
	sizes := []uint64{10, 100, 1000, 100_000, 1_000_000}
	if !short {
		sizes = append(sizes, 50_000_000)
	}
	for _, kind := range fprKinds {
		for _, n := range sizes {
			for _, bits := range []float64{5, 10, 16, 20, 24} {
				if kind < bloom.Fuse || n >= 1000 && bits >= 10 {
					cells = append(cells, FPRCell{kind, n, bits, "random"})
				}
			}
		}
	}
	for _, kind := range fprKinds {
		// With 16 bits each, 65,532 keys have 2^14 cache lines and 2^20 bits.
		cells = append(cells, FPRCell{kind, 65_532, 16, "random"})
		for _, shape := range fprShapes {
			cells = append(cells, FPRCell{kind, 100_000, 10, shape.name})
		}
	}
	return cells
}

var fprKinds = []bloom.Kind{bloom.Blocked, bloom.Classic, bloom.Fuse, bloom.Ribbon}

// fprShapes are keys as people have them. Absent keys continue the sequence.
var fprShapes = []struct {
	name string
	key  func(dst []byte, i uint64) []byte
}{
	{"sequential", binary.BigEndian.AppendUint64},
	{"decimal", func(dst []byte, i uint64) []byte { return fmt.Appendf(dst, "user%012d", i) }},
	{"low entropy", func(dst []byte, i uint64) []byte {
		return binary.LittleEndian.AppendUint64(append(dst, make([]byte, 56)...), i)
	}},
}

// A precision bounds the work for a cell.
type precision struct {
	hits    float64 // to wait for
	probes  float64 // at most
	filters uint64  // at most
}

func (o FPROptions) precision() precision {
	if o.Short {
		return precision{hits: 4000, probes: 1 << 23, filters: 4000}
	}
	return precision{hits: 20_000, probes: 1 << 27, filters: 40_000}
}

// measureCell builds filters of the cell's design, several where one is small
// and its luck would show, and probes them for absent keys.
func measureCell(ctx context.Context, c FPRCell, o FPROptions) (FPRRow, error) {
	builder, err := bloom.NewBuilder(c.Kind, c.Bits)
	if err != nil {
		return FPRRow{}, err
	}
	p := o.precision()
	row := FPRRow{FPRCell: c, Filters: int(max(1, min(200_000/c.Keys, p.filters)))}
	probes := p.probes
	// The sizes of small filters are rounded up, by much.
	if rate, err := bloom.RateForBits(c.Kind, c.Bits); err == nil && c.Keys >= 1000 {
		probes = min(max(p.hits/rate, 1<<18), p.probes)
	}
	each := max(1, int(probes)/row.Filters)
	var tally bloom.Tally
	for i := range row.Filters {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		hits, f, err := c.probe(builder, o, uint64(i), each)
		if err != nil {
			return row, fmt.Errorf("%v filter of %d keys: %w", c.Kind, c.Keys, err)
		}
		tally.Add(f, uint64(each), hits)
	}
	row.Measurement = tally.Measurement()
	return row, nil
}

// probe builds the i-th filter of a cell and returns how many of a number of
// absent keys it does not recognise as absent.
func (c FPRCell) probe(b *bloom.Builder, o FPROptions, i uint64, probes int) (hits uint64, f *bloom.Filter, err error) {
	var hash func(i uint64) uint64
	first := i * (c.Keys + uint64(probes)) // no two filters have a key in common
	if c.From == "random" {
		rng := rand.New(rand.NewPCG(o.Seed, i))
		for range c.Keys {
			b.Add(rng.Uint64())
		}
	} else {
		hash = c.shapeHash(o.hash)
		for i := range c.Keys {
			b.Add(hash(first + i))
		}
	}
	data, err := b.Finish()
	if err != nil {
		return 0, nil, err
	}
	if f, err = bloom.Open(data); err != nil {
		return 0, nil, err
	}
	if c.From == "random" {
		return bloom.Measure(f, probes, o.Seed^i<<32).Hits, f, nil
	}
	for i := range uint64(probes) {
		if f.MayContain(hash(first + c.Keys + i)) {
			hits++
		}
	}
	return hits, f, nil
}

// shapeHash returns the function from a number to the hash of its key.
func (c FPRCell) shapeHash(hash func(key []byte) uint64) func(i uint64) uint64 {
	if hash == nil {
		hash = bloom.Hash
	}
	var buf []byte
	for _, s := range fprShapes {
		if s.name == c.From {
			return func(i uint64) uint64 {
				buf = s.key(buf[:0], i)
				return hash(buf)
			}
		}
	}
	panic("BUG: no key shape " + c.From)
}
