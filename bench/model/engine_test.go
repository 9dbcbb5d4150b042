package model

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
)

// An engine is sift itself, loaded as the model says.
type engine struct {
	t     *testing.T
	c     Config
	fs    vfs.FS
	dir   string
	db    *sift.DB
	keys  *bench.Generated
	done  chan struct{} // has something in it after a flush or a compaction
	puts  int
	key   []byte
	value []byte
	log   uint64 // that was written to when the tree was at rest
}

func openEngine(t *testing.T, c Config, fs vfs.FS, dir string) *engine {
	t.Helper()
	e := &engine{
		t: t, c: c, fs: fs, dir: dir, done: make(chan struct{}, 1),
		keys: bench.NewGenerated(int(c.Keys), c.ValueSize, 1),
	}
	note := func(sift.TableEvent) {
		select {
		case e.done <- struct{}{}:
		default:
		}
	}
	tree := c.tree()
	db, err := sift.Open(dir, &sift.Options{
		FS: fs, MemTableSize: c.MemTableSize, TableSize: c.TableSize, BlockSize: c.BlockSize,
		CacheSize: 1, ManifestSize: 32 << 10, MaxOpenFiles: c.MaxOpenFiles, Workers: c.Workers,
		Filter: sift.FilterOptions{BitsPerKey: c.BitsPerKey},
		Compaction: sift.CompactionOptions{
			L0Compact: tree.L0Compact, L0Slow: tree.L0Slow, L0Stop: tree.L0Stop,
			BaseLevelSize: tree.BaseLevelSize, Multiplier: tree.Multiplier,
		},
		Events: &sift.Events{Flushed: note, Compacted: note, Failed: func(op string, err error) {
			t.Errorf("%s: %v", op, err)
			note(sift.TableEvent{})
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e.db = db
	return e
}

// load puts everything, and waits until the tree is at rest.
func (e *engine) load() {
	e.t.Helper()
	for i := range int(e.c.Keys) {
		e.put(i)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range int(float64(e.c.Keys) * e.c.Overwrites) {
		e.put(rng.IntN(int(e.c.Keys)))
	}
	if err := e.db.Flush(); err != nil {
		e.t.Fatal(err)
	}
	e.rest()
}

// put puts a key. If that began another memtable it waits for the flush and the
// compactions, as the model's writer does.
func (e *engine) put(i int) {
	e.t.Helper()
	e.key, e.value = e.keys.Present(e.key[:0], i), e.keys.Value(e.value[:0], i)
	if err := e.db.Put(e.key, e.value, sift.NoSync); err != nil {
		e.t.Fatal(err)
	}
	const often = 32 // puts: a small part of a memtable
	if e.puts++; e.puts%often == 0 && e.newestLog() != e.log {
		e.rest()
	}
}

// newestLog returns the number of the log that is written to.
func (e *engine) newestLog() uint64 {
	e.t.Helper()
	names, err := e.fs.List(e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	newest := uint64(0)
	for _, name := range names {
		if kind, num := manifest.ParseName(name); kind == manifest.Log {
			newest = max(newest, num)
		}
	}
	return newest
}

// rest waits until no memtable waits and no compaction is due, by what the manifest
// says. Whatever ends afterwards gives done something.
func (e *engine) rest() {
	e.t.Helper()
	for {
		e.log = e.newestLog()
		s, err := manifest.Load(e.fs, e.dir)
		state := compaction.State{OldestSnapshot: compaction.NoSnapshot}
		if err == nil && s.LogNum == e.log && compaction.Pick(s.Version, e.c.tree(), state) == nil {
			return
		}
		<-e.done
		if e.t.Failed() {
			e.t.FailNow()
		}
	}
}

// openAll returns how many lookups of present keys are sure to ask every table, and
// so to open it.
func (e *engine) openAll() int {
	n := 0
	for _, l := range e.db.Metrics().Levels {
		n += l.Tables
	}
	return 100 * n
}

// lookups returns the disk reads of so many lookups, with no block cached.
func (e *engine) lookups(n int, absent bool) float64 {
	e.t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	before := e.db.Metrics().Reads.DiskReads
	for i := range n {
		if absent {
			e.key = e.keys.Absent(e.key[:0], i)
		} else {
			e.key = e.keys.Present(e.key[:0], rng.IntN(int(e.c.Keys)))
		}
		_, err := e.db.AppendGet(e.value[:0], e.key)
		if absent != errors.Is(err, sift.ErrNotFound) || !absent && err != nil {
			e.t.Fatalf("%q: %v", e.key, err)
		}
	}
	return float64(e.db.Metrics().Reads.DiskReads - before)
}
