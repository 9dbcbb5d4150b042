// Metamorphic tests: one sequence of operations gives the same results under
// every set of options, with flushes, compactions and reopenings put in at
// random. The model writes the log that each database must write, byte for byte.
//
//	go test -run 'TestMetamorphic$' -crash.seed=17 .
//	go test -run 'TestMetamorphic$' -crash.count=2000 -long.ledger=ledger/long.jsonl .
package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

func TestMetamorphic(t *testing.T) {
	runCounted(t, "metamorphic", 1, metamorphic)
}

// windowsRules is the set whose file system refuses to rename or remove what is
// open (P197).
const windowsRules = "the rules of Windows"

// optionSets are the sets under which a sequence is run. Every option that can
// change how data is laid out takes its smallest, an ordinary and a large value.
func optionSets() map[string]*sift.Options {
	with := func(change func(o *sift.Options)) *sift.Options {
		o := tiny()
		change(&o)
		return &o
	}
	return map[string]*sift.Options{
		"defaults":         {},
		"tiny":             with(func(*sift.Options) {}),
		"block of a byte":  with(func(o *sift.Options) { o.BlockSize = 1 }),
		"block of 64":      with(func(o *sift.Options) { o.BlockSize = 64 }),
		"block of 1 MiB":   with(func(o *sift.Options) { o.BlockSize, o.TableSize = 1<<20, 4<<20 }),
		"memtable 64 MiB":  {MemTableSize: 64 << 20},
		"memtable 1 KiB":   with(func(o *sift.Options) { o.MemTableSize = 1 << 10 }),
		"memtable 16 KiB":  with(func(o *sift.Options) { o.MemTableSize = 16 << 10 }),
		"cache of a byte":  with(func(o *sift.Options) { o.CacheSize = 1 }),
		"cache 64 KiB":     with(func(o *sift.Options) { o.CacheSize = 64 << 10 }),
		"no filter":        with(func(o *sift.Options) { o.Filter.Off = true }),
		"filter 1 bit":     with(func(o *sift.Options) { o.Filter.BitsPerKey = 1 }),
		"filter 20 bits":   with(func(o *sift.Options) { o.Filter.BitsPerKey = 20 }),
		"filter 64 bits":   with(func(o *sift.Options) { o.Filter.BitsPerKey = 64 }),
		"uncompressed":     with(func(o *sift.Options) { o.Compression = sift.NoCompression }),
		"snappy":           with(func(o *sift.Options) { o.Compression, o.BlockSize = sift.Snappy, 512 }),
		"1 worker":         with(func(o *sift.Options) { o.Workers = 1 }),
		"8 workers":        with(func(o *sift.Options) { o.Workers = 8 }),
		"no auto compact":  with(func(o *sift.Options) { o.Compaction = sift.CompactionOptions{Disable: true} }),
		"late compactions": with(func(o *sift.Options) { o.Compaction.L0Compact, o.Compaction.L0Slow, o.Compaction.L0Stop = 8, 16, 32 }),
		"multiplier 20":    with(func(o *sift.Options) { o.Compaction.Multiplier = 20 }),
		"base level 1 KiB": with(func(o *sift.Options) { o.Compaction.BaseLevelSize = 1 << 10 }),
		"tables 1 MiB":     with(func(o *sift.Options) { o.TableSize = 1 << 20 }),
		"manifest 1 MiB":   with(func(o *sift.Options) { o.ManifestSize = 1 << 20 }),
		"1 open file":      with(func(o *sift.Options) { o.MaxOpenFiles = 1 }),
		"1 memtable waits": with(func(o *sift.Options) { o.MaxMemTables = 1 }),
		windowsRules:       with(func(*sift.Options) {}),
		"8 memtables wait": with(func(o *sift.Options) { o.MaxMemTables = 8 }),
	}
}

// tiny are the options under which a short sequence meets every mechanism.
func tiny() sift.Options {
	return sift.Options{
		MemTableSize: 2 << 10, TableSize: 1 << 10, ManifestSize: 1 << 10,
		Compaction: sift.CompactionOptions{BaseLevelSize: 2 << 10, Multiplier: 2, L0Compact: 1, L0Slow: 2, L0Stop: 4},
	}
}

func metamorphic(seed uint64, done *tally) error {
	steps := metaSteps(rand.New(rand.NewPCG(seed, 1)))
	want := newMetaModel().run(steps)
	for name, o := range optionSets() {
		mem := sift.NewMemFS()
		mem.SetWindowsRules(name == windowsRules)
		o.FS = mem
		run := &metaRun{o: o, done: done, extra: rand.New(rand.NewPCG(seed, 2))}
		got, err := run.run(steps)
		if err != nil {
			return fmt.Errorf("options %q: %w", name, err)
		}
		if err := sameLog(want, got); err != nil {
			return fmt.Errorf("options %q: %w", name, err)
		}
	}
	return nil
}

// sameLog names the first line in which two logs differ.
func sameLog(want, got string) error {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) {
			return fmt.Errorf("log has %d lines, want %d", len(g), len(w))
		}
		if w[i] != g[i] {
			return fmt.Errorf("line %d:\n\tgot  %s\n\twant %s", i, g[i], w[i])
		}
	}
	return nil
}

// A metaRun runs a sequence on a database. At a barrier no iterator or snapshot
// is open, so that it may be reopened there.
type metaRun struct {
	o     *sift.Options
	done  *tally
	extra *rand.Rand // flushes, compactions and reopenings, which are not in the log
	db    *sift.DB
	snap  [3]*sift.Snapshot
	iter  [3]*sift.Iterator
	log   strings.Builder
}

func (r *metaRun) run(steps []metaStep) (log string, err error) {
	if r.db, err = sift.Open("db", r.o); err != nil {
		return "", err
	}
	r.done.add("sequences under a set of options", 1)
	r.done.add("operations", int64(len(steps)))
	for i, s := range steps {
		if err := r.disturb(s.kind == metaBarrier); err != nil {
			return "", fmt.Errorf("before step %d: %w", i, err)
		}
		if s.kind != metaBarrier {
			fmt.Fprintf(&r.log, "%d %s: %s\n", i, s, r.step(s))
		}
	}
	return r.log.String(), r.db.Close()
}

// disturb does what must not change any result.
func (r *metaRun) disturb(barrier bool) error {
	if barrier {
		if err := r.closeAll(); err != nil {
			return err
		}
	}
	switch n := r.extra.IntN(60); {
	case n == 0:
		r.done.add("flushes put in", 1)
		return r.db.Flush()
	case n == 1:
		r.done.add("compactions put in", 1)
		return r.db.Compact(nil, nil)
	case n == 2:
		r.done.add("compactions put in", 1)
		lo := r.extra.IntN(metaKeys)
		return r.db.Compact([]byte(metaKey(lo)), []byte(metaKey(lo+r.extra.IntN(20))))
	case barrier && n < 30:
		r.done.add("reopenings put in", 1)
		err := r.db.Close()
		if err != nil {
			return err
		}
		r.db, err = sift.Open("db", r.o)
		return err
	}
	return nil
}

func (r *metaRun) closeAll() error {
	var err error
	for i := range r.snap {
		if r.snap[i] != nil {
			err = errors.Join(err, r.snap[i].Close())
		}
		if r.iter[i] != nil {
			err = errors.Join(err, r.iter[i].Close())
		}
		r.snap[i], r.iter[i] = nil, nil
	}
	return err
}
