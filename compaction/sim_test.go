package compaction

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// entrySize is what an entry weighs in the simulator, in bytes.
const entrySize = 1 << 10

// simEntry is the newest version of a key in a simulated table.
type simEntry struct {
	key  uint64
	seq  uint64
	dead bool
}

// sim is a database whose tables are lists in memory and whose clock is the
// number of bytes written: at each tick a memtable fills by a little, and each
// job comes nearer to its end. It checks every job against what runs, every
// version against its invariants (Apply does), and lookups against a model.
type sim struct {
	t       *testing.T
	o       Options
	workers int
	speed   int64 // bytes that a worker rewrites while one entry is put

	v       *manifest.Version
	content map[uint64][]simEntry // by file number
	running []*Job
	left    map[*Job]int64
	model   map[uint64]simEntry
	mem     []simEntry
	seq     uint64
	nextNum uint64
	settled bool // Pick had nothing to offer, and nothing has changed since

	flushed, written int64 // bytes by flushes, and by jobs
	moves            int
	maxL0            int
	stalled          int // entries that had to wait
}

func newSim(t *testing.T, o Options, workers int, speed int64) *sim {
	return &sim{
		t: t, o: o, workers: workers, speed: speed, v: new(manifest.Version),
		content: map[uint64][]simEntry{}, left: map[*Job]int64{}, model: map[uint64]simEntry{},
	}
}

func simKey(k uint64) []byte { return binary.BigEndian.AppendUint64(nil, k) }

// table makes a table of entries, which are sorted.
func (s *sim) table(entries []simEntry) *manifest.TableMeta {
	s.nextNum++
	m := &manifest.TableMeta{
		Num: s.nextNum, ID: s.nextNum, Size: int64(len(entries)) * entrySize,
		Entries: uint64(len(entries)), MinSeq: key.MaxSeq,
	}
	for _, e := range entries {
		m.MinSeq, m.MaxSeq = min(m.MinSeq, e.seq), max(m.MaxSeq, e.seq)
		if e.dead {
			m.Deletes++
		}
	}
	m.Smallest = key.Make(simKey(entries[0].key), entries[0].seq, key.Set)
	m.Largest = key.Make(simKey(entries[len(entries)-1].key), entries[len(entries)-1].seq, key.Set)
	s.content[m.Num] = entries
	return m
}

// write puts or deletes a key and lets the jobs go on meanwhile. It waits, as a
// writer would, while the pressure is 1.
func (s *sim) write(k uint64, dead bool) {
	s.seq++
	e := simEntry{k, s.seq, dead}
	s.model[k] = e
	s.mem = append(s.mem, e)
	if int64(len(s.mem))*entrySize >= s.o.TableSize {
		s.flush()
	}
	s.tick()
	for waited := 0; Pressure(s.v, s.o) == 1; waited++ {
		if s.stalled++; waited > 1_000_000 {
			s.t.Fatalf("writers wait for ever; running %v", s.running)
		}
		s.tick()
	}
}

func (s *sim) flush() {
	newest := map[uint64]simEntry{}
	for _, e := range s.mem {
		newest[e.key] = e
	}
	s.mem = s.mem[:0]
	if len(newest) == 0 {
		return
	}
	m := s.table(sorted(newest))
	s.flushed += m.Size
	s.apply(&manifest.Edit{Added: []manifest.NewTable{{Level: 0, Meta: m}}})
	s.maxL0 = max(s.maxL0, len(s.v.Levels[0].Tables))
}

func sorted(m map[uint64]simEntry) []simEntry {
	out := make([]simEntry, 0, len(m))
	for _, e := range m {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b simEntry) int { return bytes.Compare(simKey(a.key), simKey(b.key)) })
	return out
}

func (s *sim) apply(e *manifest.Edit) {
	s.t.Helper()
	next, err := s.v.Apply(e)
	if err != nil {
		s.t.Fatal(err)
	}
	s.v, s.settled = next, false
}

// tick starts what can be started and lets every job go on a bit.
func (s *sim) tick() {
	s.schedule()
	for _, j := range slices.Clone(s.running) {
		if s.left[j] -= s.speed; s.left[j] <= 0 {
			s.end(j)
		}
	}
}

func (s *sim) schedule() {
	for len(s.running) < s.workers && !s.settled {
		j := Pick(s.v, s.o, s.state())
		if j == nil {
			s.settled = true
			return
		}
		s.start(j)
	}
}

func (s *sim) state() State { return State{Running: s.running, OldestSnapshot: NoSnapshot} }

func (s *sim) start(j *Job) {
	s.t.Helper()
	checkJob(s.t, s.v, j, s.running)
	if j.Trivial {
		s.moves++
		s.apply(j.Edit(nil))
		return
	}
	s.running, s.settled = append(s.running, j), false
	s.left[j] = j.Size()
}

// end does a job, by the rules of a database without snapshots, and installs it.
func (s *sim) end(j *Job) {
	s.running = slices.DeleteFunc(s.running, func(r *Job) bool { return r == j })
	newest := map[uint64]simEntry{}
	for _, inputs := range j.Inputs {
		for _, m := range inputs {
			for _, e := range s.content[m.Num] {
				if e.seq > newest[e.key].seq {
					newest[e.key] = e
				}
			}
			delete(s.content, m.Num)
		}
	}
	for k, e := range newest {
		if e.dead && !j.Version.AnyOverlap(j.OutputLevel+1, simKey(k), simKey(k)) {
			delete(newest, k)
		}
	}
	var outputs []*manifest.TableMeta
	perTable := int(min(max(s.o.TableSize/entrySize, 1), 1<<20)) // an int may have 32 bits
	for entries := range slices.Chunk(sorted(newest), perTable) {
		m := s.table(entries)
		outputs = append(outputs, m)
		s.written += m.Size
	}
	s.apply(j.Edit(outputs))
}

// drain lets the tree come to rest.
func (s *sim) drain() {
	s.flush()
	for ticks := 0; ; ticks++ {
		s.tick()
		if len(s.running) == 0 && Pick(s.v, s.o, s.state()) == nil {
			break
		}
		if ticks > 10_000_000 {
			s.t.Fatalf("the tree never comes to rest; running %v", s.running)
		}
	}
	if n := len(s.v.Levels[0].Tables); n >= s.o.L0Compact {
		s.t.Errorf("at rest with %d tables on level 0", n)
	}
	if d := Debt(s.v, s.o); d != 0 {
		s.t.Errorf("at rest with a debt of %d bytes", d)
	}
}

// check looks every key of the model up, the first table that holds it deciding.
func (s *sim) check() {
	s.t.Helper()
	var buf []manifest.Candidate
	for k, want := range s.model {
		var got simEntry
		buf = s.v.Candidates(simKey(k), buf[:0])
		for _, c := range buf {
			entries := s.content[c.Table.Num]
			i, ok := slices.BinarySearchFunc(entries, k, func(e simEntry, k uint64) int {
				return bytes.Compare(simKey(e.key), simKey(k))
			})
			if ok {
				got = entries[i]
				break
			}
		}
		if got != want && (!want.dead || got.key != 0) {
			s.t.Fatalf("key %d: found %+v, want %+v", k, got, want)
		}
	}
}

// amplification is the bytes written for each byte put.
func (s *sim) amplification() float64 {
	return float64(s.flushed+s.written) / float64(s.seq*entrySize)
}

func (s *sim) report() string {
	sizes := ""
	for level := range s.v.Levels {
		sizes += fmt.Sprintf(" %d", s.v.Levels[level].Size()/entrySize)
	}
	return fmt.Sprintf("write amplification %.2f, %d moves, at most %d on level 0, waited %.1f ticks an entry, level sizes%s",
		s.amplification(), s.moves, s.maxL0, float64(s.stalled)/float64(s.seq), sizes)
}

// Small trees with the proportions of the defaults: a memtable and a table are
// 64 entries, the base level four of them.
var simOptions = Options{TableSize: 64 * entrySize, BaseLevelSize: 256 * entrySize}.WithDefaults()

// Whatever the load, the number of workers and their speed: no two jobs meet,
// every version is sound, level 0 stays within its bound, the newest version
// wins, the tree comes to rest without debt, and the write amplification is
// what the levels explain.
func TestSimulatedLoads(t *testing.T) {
	const n = 8_000
	for _, load := range []struct {
		name   string
		keys   func(r *rand.Rand, i uint64) (uint64, bool)
		amplAt float64 // the most write amplification
	}{
		{"random", func(r *rand.Rand, _ uint64) (uint64, bool) { return 1 + r.Uint64N(1<<40), false }, 10},
		{"sequential", func(_ *rand.Rand, i uint64) (uint64, bool) { return 1 + i, false }, 1},
		{"descending", func(_ *rand.Rand, i uint64) (uint64, bool) { return n - i, false }, 1},
		{"overwrite", func(r *rand.Rand, _ uint64) (uint64, bool) { return 1 + r.Uint64N(n/10), false }, 8},
		{"one hot key in ten", func(r *rand.Rand, i uint64) (uint64, bool) {
			return 1 + r.Uint64N(1<<(6+34*min(1, i%10))), false
		}, 10},
		{"deletes", func(r *rand.Rand, _ uint64) (uint64, bool) { return 1 + r.Uint64N(n/4), r.IntN(2) == 0 }, 8},
		{"queue", func(_ *rand.Rand, i uint64) (uint64, bool) { return 1 + i/2 - (i%2)*min(i/2, 500), i%2 == 1 }, 4},
	} {
		for workers, speed := range map[int]int64{1: 40 * entrySize, 3: 2 * entrySize} {
			t.Run(fmt.Sprintf("%s/workers=%d/speed=%d", load.name, workers, speed/entrySize), func(t *testing.T) {
				r := newRand(t)
				s := newSim(t, simOptions, workers, speed)
				for i := range uint64(n) {
					s.write(load.keys(r, i))
					if i%(n/4) == 0 {
						s.flush()
						s.check()
					}
				}
				s.drain()
				s.check()
				t.Log(s.report())
				if a := s.amplification(); a > load.amplAt {
					t.Errorf("write amplification %.2f, at most %.1f was expected", a, load.amplAt)
				}
				if s.maxL0 > s.o.L0Stop {
					t.Errorf("%d tables on level 0, the bound is %d", s.maxL0, s.o.L0Stop)
				}
			})
		}
	}
}

// More data than all levels together ought to hold neither panics nor hangs the
// picker, nor do the smallest options there are.
func TestExtremeOptions(t *testing.T) {
	for i, o := range []Options{
		{BaseLevelSize: 1 << 10, Multiplier: 2, TableSize: 1 << 10},
		{BaseLevelSize: 1, Multiplier: 1, TableSize: 1, L0Compact: 1, L0Slow: 1, L0Stop: 1},
		{BaseLevelSize: 1, Multiplier: 2, TableSize: 1 << 20},
		{BaseLevelSize: 1 << 62, Multiplier: 1 << 30, TableSize: 1 << 62, L0Compact: 2},
		{BaseLevelSize: 1 << 14, Multiplier: 2, TableSize: 1 << 14, L0Compact: 20, L0Slow: 2, L0Stop: 1},
	} {
		o = o.WithDefaults()
		r := newRand(t)
		s := newSim(t, o, 2, 100*entrySize)
		for n := range 4096 >> min(2*i, 2) {
			s.write(1+r.Uint64N(1<<40), false)
			if n%8 == 7 {
				s.flush()
			}
		}
		s.drain()
		s.check()
		t.Logf("%+v: %s", o, s.report())
	}
}

// Options that change between two runs leave a tree of another shape, which
// comes to rest in the new one.
func TestChangedOptions(t *testing.T) {
	r := newRand(t)
	s := newSim(t, Options{BaseLevelSize: 2 * entrySize, Multiplier: 2, TableSize: 2 * entrySize}.WithDefaults(), 2, 100*entrySize)
	for _, o := range []Options{s.o, simOptions, s.o} {
		s.o = o
		for range 2000 {
			s.write(1+r.Uint64N(1<<40), false)
		}
		s.drain()
		s.check()
		t.Log(s.report())
	}
}

// A request for a range ends, beside writers and other jobs, and then holds
// what it promises: in the range, everything that is not newer than the request
// lies on the last level, without tombstones.
func TestSimulatedRanges(t *testing.T) {
	r := newRand(t)
	s := newSim(t, simOptions, 3, 4*entrySize)
	for range 15 {
		for range 300 {
			s.write(1+r.Uint64N(1<<20), r.IntN(3) == 0)
		}
		s.flush()
		rng := Range{Lo: simKey(r.Uint64N(1 << 20)), MaxSeq: s.seq}
		if r.IntN(4) > 0 {
			rng.Hi = simKey(binary.BigEndian.Uint64(rng.Lo) + r.Uint64N(1<<19))
		} else {
			rng.Lo = nil
		}
		s.compactRange(rng, func() { s.write(1+r.Uint64N(1<<20), r.IntN(3) == 0) })
		s.checkRange(rng)
	}
	s.drain()
	s.check()
	t.Log(s.report())
}

// compactRange does a request. Another write is made at each step.
func (s *sim) compactRange(rng Range, write func()) {
	for steps := 0; ; steps++ {
		if steps > 50_000 {
			s.t.Fatalf("the request never ends; running %v", s.running)
		}
		j, done := PickRange(s.v, s.o, s.state(), rng)
		if done {
			return
		}
		if j != nil {
			s.start(j)
		}
		write()
	}
}

func (s *sim) checkRange(rng Range) {
	s.t.Helper()
	for level := range s.v.Levels {
		for _, m := range s.v.Overlaps(level, rng.Lo, rng.Hi) {
			if level < lastLevel && m.MinSeq <= rng.MaxSeq || level == lastLevel && m.Deletes > 0 {
				s.t.Fatalf("after the request level %d holds %v, sequence numbers %d to %d, %d tombstones",
					level, m, m.MinSeq, m.MaxSeq, m.Deletes)
			}
		}
	}
}
