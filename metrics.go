package sift

import (
	"fmt"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/manifest"
)

// Metrics is what a database has done since Open and what it holds now. Sizes
// are in bytes.
type Metrics struct {
	Levels [manifest.NumLevels]LevelMetrics

	// Memory.
	MemTables      int   // the one that is written to included
	MemTableMemory int64 // entries, indexes and order
	Cache          CacheMetrics
	Filters        FilterMetrics

	Reads  ReadMetrics
	Writes WriteMetrics

	Snapshots      int    // open
	OldestSnapshot uint64 // how many writes ago it was taken; 0 without one
	Iterators      int    // open
	// ObsoleteTables are on disk though no version holds them: an iterator may
	// need them, or the manifest may, after a write to it that failed.
	ObsoleteTables int
	// BackgroundError is why the last flush or compaction failed, or why nothing
	// is written any more; nil while all is well.
	BackgroundError error
}

// LevelMetrics describes one level.
type LevelMetrics struct {
	Tables  int
	Size    int64
	Entries uint64 // tombstones and old versions included
	Deletes uint64 // tombstones
}

// CacheMetrics describes the block cache.
type CacheMetrics struct {
	Size, Capacity int64
	Hits, Misses   uint64
}

// FilterMetrics describes the resident filters.
type FilterMetrics struct {
	Tables     int    // that have one
	Memory     int64  // of their words
	Keys       uint64 // that they hold, counted once a table
	BitsPerKey float64
	// DesignedRate is the mean false-positive rate that the filters were built
	// for, weighted by their keys.
	DesignedRate float64
	// Damaged filters were found by Open; their tables are read without one.
	Damaged uint64
}

// ReadMetrics counts what lookups (Get, Has) cost. Disk reads are those of
// iterators, compactions and Open too.
type ReadMetrics struct {
	Lookups              uint64
	MemTableHits         uint64 // answered by a memtable, with a value or a tombstone
	Tables               uint64 // candidates: tables whose range held the key
	FilterChecks         uint64
	FilterNegatives      uint64 // "definitely not": a disk read saved
	FilterFalsePositives uint64 // "maybe", but the key was not there
	// DiskReads are fetches of bytes from a table file that no cache of ours
	// held, and DiskBytes what they fetched.
	DiskReads, DiskBytes uint64
}

// WriteMetrics counts what writes cost.
type WriteMetrics struct {
	Logged                    uint64 // bytes of batches appended to the log
	Flushes                   uint64
	FlushedBytes              uint64 // of tables
	Compactions, TrivialMoves uint64
	CompactedIn, CompactedOut uint64 // bytes of tables
	// Stalls are waits of writers for background work.
	Stalls    uint64
	StallTime time.Duration
}

// Amplification returns how many bytes went to disk for each byte that was
// written to the database, the log counted.
func (w *WriteMetrics) Amplification() float64 {
	if w.Logged == 0 {
		return 0
	}
	return float64(w.Logged+w.FlushedBytes+w.CompactedOut) / float64(w.Logged)
}

// readCounters counts lookups. Each stripe of readers has its own, so that
// counting writes no cache line that other readers write.
type readCounters struct {
	lookups, memHits, tables, checks, negatives, falsePositives atomic.Uint64
	_                                                           [80]byte
}

// count adds what a lookup that reached the tables did.
func (n *readCounters) count(tables int, checks, negatives uint64) {
	n.tables.Add(uint64(tables))
	n.checks.Add(checks)
	n.negatives.Add(negatives)
}

type writeCounters struct {
	flushes, flushed, compactions, moves, in, out atomic.Uint64
}

func (c *writeCounters) flush(s compaction.Stats) {
	c.flushes.Add(1)
	c.flushed.Add(uint64(s.BytesWritten))
}

func (c *writeCounters) compaction(s compaction.Stats) {
	c.compactions.Add(1)
	c.in.Add(uint64(s.BytesRead))
	c.out.Add(uint64(s.BytesWritten))
}

type stallCounters struct {
	n  atomic.Uint64
	ns atomic.Int64
}

func (c *stallCounters) add(d time.Duration) {
	c.n.Add(1)
	c.ns.Add(int64(d))
}

// Metrics returns the figures of this moment. On a closed database the counters
// are those at its end, and levels, memtables and filters are zero.
func (db *DB) Metrics() Metrics {
	var m Metrics
	if p, ok := db.pin(); ok {
		m.MemTables = len(p.mem)
		for _, mem := range p.mem {
			m.MemTableMemory += mem.Size()
		}
		m.addTables(p.version)
		db.unpin(p)
	}
	db.addReads(&m.Reads)
	db.addWrites(&m.Writes)
	c := db.blocks.Metrics()
	m.Cache = CacheMetrics{Size: c.Bytes, Capacity: db.opts.CacheSize, Hits: c.Hits, Misses: c.Misses}
	m.Filters.Damaged = db.damagedFilters.Load()
	m.Iterators = int(db.iters.Load())
	db.addState(&m)
	return m
}

func (m *Metrics) addTables(v *manifest.Version) {
	f := &m.Filters
	for level, t := range v.All() {
		l := &m.Levels[level]
		l.Tables++
		l.Size += t.Size
		l.Entries += t.Entries
		l.Deletes += t.Deletes
		if t.Filter != nil {
			f.Tables++
			f.Memory += int64(t.Filter.Size())
			f.Keys += t.Filter.Len()
			f.DesignedRate += t.Filter.Rate() * float64(t.Filter.Len())
		}
	}
	if f.Keys > 0 {
		f.DesignedRate /= float64(f.Keys)
		f.BitsPerKey = float64(f.Memory) * 8 / float64(f.Keys)
	}
}

func (db *DB) addReads(r *ReadMetrics) {
	for i := range db.reads {
		n := &db.reads[i]
		r.Lookups += n.lookups.Load()
		r.MemTableHits += n.memHits.Load()
		r.Tables += n.tables.Load()
		r.FilterChecks += n.checks.Load()
		r.FilterNegatives += n.negatives.Load()
		r.FilterFalsePositives += n.falsePositives.Load()
	}
	r.DiskReads, r.DiskBytes = db.diskReads.Reads.Load(), db.diskReads.Bytes.Load()
}

func (db *DB) addWrites(w *WriteMetrics) {
	c := &db.written
	*w = WriteMetrics{
		Logged:       db.logged.Load(),
		Flushes:      c.flushes.Load(),
		FlushedBytes: c.flushed.Load(),
		Compactions:  c.compactions.Load(),
		TrivialMoves: c.moves.Load(),
		CompactedIn:  c.in.Load(),
		CompactedOut: c.out.Load(),
		Stalls:       db.stalls.n.Load(),
		StallTime:    time.Duration(db.stalls.ns.Load()),
	}
}

func (db *DB) addState(m *Metrics) {
	db.mu.Lock()
	m.ObsoleteTables = len(db.obsolete) + len(db.doubtful)
	m.BackgroundError = firstError(db.fatal, db.flushes.err, db.compactions.err)
	db.mu.Unlock()
	db.snapshotMu.Lock()
	defer db.snapshotMu.Unlock()
	if m.Snapshots = db.snapshots.len(); m.Snapshots > 0 {
		m.OldestSnapshot = db.visible.Load() - db.snapshots.seqs[0]
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// String is a report for people.
func (m Metrics) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "level\ttables\tsize\tentries\ttombstones\t")
	for i, l := range m.Levels {
		if l.Tables > 0 {
			fmt.Fprintf(w, "%d\t%d\t%s\t%d\t%d\t\n", i, l.Tables, size(l.Size), l.Entries, l.Deletes)
		}
	}
	_ = w.Flush() // a strings.Builder does not fail
	r, wr := &m.Reads, &m.Writes
	fmt.Fprintf(&b, "memory: %d memtables %s, cache %s of %s, filters %s (%.1f bits a key, designed for %.3f %% false positives)\n",
		m.MemTables, size(m.MemTableMemory), size(m.Cache.Size), size(m.Cache.Capacity),
		size(m.Filters.Memory), m.Filters.BitsPerKey, 100*m.Filters.DesignedRate)
	fmt.Fprintf(&b, "lookups: %d, of which memtables answered %d; %d candidate tables, %d filter checks: %d no, %d false positives\n",
		r.Lookups, r.MemTableHits, r.Tables, r.FilterChecks, r.FilterNegatives, r.FilterFalsePositives)
	fmt.Fprintf(&b, "disk: %d reads, %s; cache: %d hits, %d misses\n", r.DiskReads, size(int64(r.DiskBytes)), m.Cache.Hits, m.Cache.Misses)
	fmt.Fprintf(&b, "writes: %s logged, %d flushes %s, %d compactions %s (and %d moves); amplification %.2f; %d stalls, %v\n",
		size(int64(wr.Logged)), wr.Flushes, size(int64(wr.FlushedBytes)), wr.Compactions, size(int64(wr.CompactedOut)), wr.TrivialMoves,
		wr.Amplification(), wr.Stalls, wr.StallTime.Round(time.Millisecond))
	if m.BackgroundError != nil {
		fmt.Fprintf(&b, "trouble: %v\n", m.BackgroundError)
	}
	return b.String()
}

// size writes a number of bytes for people.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/(1<<10), 0
	for f >= 1<<10 && i < len(units)-1 {
		f /= 1 << 10
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
