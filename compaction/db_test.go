package compaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// testDB is the least database that jobs can run in: tables in a file system
// and a version.
type testDB struct {
	t   testing.TB
	fs  vfs.FS
	o   Options
	v   *manifest.Version
	num atomic.Uint64
	// wrap, if set, stands between the tables and the jobs.
	wrap func(*manifest.TableMeta, iterator.Iterator) iterator.Iterator
	// verify, if set, answers for Verify.
	verify func(*manifest.TableMeta) error
}

func newTestDB(t testing.TB, fs vfs.FS, o Options) *testDB {
	t.Helper()
	if err := fs.MkdirAll("db"); err != nil {
		t.Fatal(err)
	}
	return &testDB{t: t, fs: fs, o: o.WithDefaults(), v: new(manifest.Version)}
}

func (d *testDB) env(workers int, snapshots ...uint64) *Env {
	return &Env{
		FS: d.fs, Dir: "db", Tables: d,
		NewFileNum: func() uint64 { return d.num.Add(1) },
		NewID:      func() uint64 { return d.num.Add(1) * 0x9e3779b97f4a7c15 },
		Writer: func(int) sstable.WriterOptions {
			return sstable.WriterOptions{BlockSize: 256, BitsPerKey: 10, FilterKind: bloom.Blocked}
		},
		Snapshots: snapshots, TableSize: d.o.TableSize, Workers: workers,
	}
}

// openTable closes its file with the iterator.
type openTable struct {
	iterator.Iterator
	r *sstable.Reader
}

func (it *openTable) Close() error {
	err := it.Iterator.Close()
	if closeErr := it.r.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (d *testDB) Verify(t *manifest.TableMeta) error {
	if d.verify != nil {
		return d.verify(t)
	}
	r, err := d.reader(t)
	if err != nil {
		return err
	}
	return errors.Join(r.Verify(), r.Close())
}

func (d *testDB) reader(t *manifest.TableMeta) (*sstable.Reader, error) {
	f, err := d.fs.Open(manifest.Path("db", manifest.Table, t.Num))
	if err != nil {
		return nil, err
	}
	r, err := sstable.Open(f, sstable.ReaderOptions{
		Name: fmt.Sprintf("%06d.sst", t.Num), ID: t.ID, Size: t.Size, TailOff: int64(t.TailOff),
		Filter: sstable.Handle{Off: t.FilterOff, Len: t.FilterLen},
	})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (d *testDB) NewCompactionIter(t *manifest.TableMeta) (iterator.Iterator, error) {
	r, err := d.reader(t)
	if err != nil {
		return nil, err
	}
	it := r.NewCompactionIter()
	if ranges := r.NewRangeDelIter(); ranges != nil {
		it = iterator.Merge(it, ranges)
	}
	if d.wrap != nil {
		it = d.wrap(t, it)
	}
	return &openTable{it, r}, nil
}

// flush makes a table on level 0 of entries, which are sorted.
func (d *testDB) flush(entries []iterator.Entry, snapshots ...uint64) Result {
	d.t.Helper()
	r, err := Flush(context.Background(), d.env(1, snapshots...), d.v, iterator.Slice(entries))
	if err != nil {
		d.t.Fatal(err)
	}
	d.install(0, r.Outputs)
	return r
}

// load makes a table of entries on a level.
func (d *testDB) load(level int, entries []iterator.Entry) {
	d.t.Helper()
	r, err := Flush(context.Background(), d.env(1, allSeqs(entries)...), parseTree(d.t, `L6 1[-zzzzzzzz]`), iterator.Slice(entries))
	if err != nil {
		d.t.Fatal(err)
	}
	d.install(level, r.Outputs)
}

// allSeqs is a snapshot at every version, so that all are kept.
func allSeqs(entries []iterator.Entry) []uint64 {
	var seqs []uint64
	for _, e := range entries {
		seqs = append(seqs, e.Key.Trailer.Seq())
	}
	slices.Sort(seqs)
	return seqs
}

func (d *testDB) install(level int, tables []*manifest.TableMeta) {
	d.t.Helper()
	e := new(manifest.Edit)
	for _, m := range tables {
		e.Added = append(e.Added, manifest.NewTable{Level: level, Meta: m})
	}
	d.apply(e)
}

func (d *testDB) apply(e *manifest.Edit) {
	d.t.Helper()
	next, err := d.v.Apply(e)
	if err != nil {
		d.t.Fatal(err)
	}
	d.v = next
}

// run does a job, installs it and removes its inputs.
func (d *testDB) run(j *Job, workers int, snapshots ...uint64) Result {
	d.t.Helper()
	checkJob(d.t, d.v, j, nil)
	var r Result
	if !j.Trivial {
		var err error
		if r, err = Run(context.Background(), d.env(workers, snapshots...), j); err != nil {
			d.t.Fatal(err)
		}
	}
	d.apply(j.Edit(r.Outputs))
	if !j.Trivial {
		for _, m := range slices.Concat(j.Inputs[0], j.Inputs[1]) {
			if err := d.fs.Remove(manifest.Path("db", manifest.Table, m.Num)); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	return r
}

// compactAll brings everything to the last level.
func (d *testDB) compactAll(workers int, snapshots ...uint64) {
	d.t.Helper()
	oldest := uint64(NoSnapshot)
	if len(snapshots) > 0 {
		oldest = snapshots[0]
	}
	for {
		j, done := PickRange(d.v, d.o, State{OldestSnapshot: oldest}, Range{MaxSeq: key.MaxSeq})
		if done {
			return
		}
		d.run(j, workers, snapshots...)
	}
}

// entries reads all tables, in order of internal keys, and checks that what a
// lookup finds first is the newest: versions of a key come newer level first,
// newer table first.
func (d *testDB) entries() []iterator.Entry {
	d.t.Helper()
	var all []iterator.Entry
	oldest := map[string]uint64{} // by user key, in the tables so far
	for level, m := range d.v.All() {
		table := d.table(m)
		for _, e := range table {
			if seq, ok := oldest[string(e.Key.User)]; ok && e.Key.Trailer.Seq() >= seq {
				d.t.Fatalf("level %d, table %v: %v lies under version %d", level, m, e.Key, seq)
			}
		}
		for _, e := range table {
			oldest[string(e.Key.User)] = e.Key.Trailer.Seq()
		}
		all = append(all, table...)
	}
	slices.SortFunc(all, func(a, b iterator.Entry) int { return key.Compare(a.Key, b.Key) })
	return all
}

func (d *testDB) table(m *manifest.TableMeta) []iterator.Entry {
	d.t.Helper()
	it, err := d.NewCompactionIter(m)
	if err != nil {
		d.t.Fatal(err)
	}
	var out []iterator.Entry
	for ok := it.First(); ok; ok = it.Next() {
		out = append(out, iterator.Entry{Key: it.Key().Clone(), Value: bytes.Clone(it.Value())})
		if !m.Filter.MayContain(bloom.Hash(it.Key().User)) {
			d.t.Fatalf("table %v: its filter denies %v", m, it.Key())
		}
	}
	if err := it.Error(); err != nil {
		d.t.Fatal(err)
	}
	if err := it.Close(); err != nil {
		d.t.Fatal(err)
	}
	return out
}

// files lists the tables in the directory.
func files(t testing.TB, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// entry returns one version.
func entry(user string, seq uint64, kind key.Kind, value string) iterator.Entry {
	return iterator.Entry{Key: key.Make([]byte(user), seq, kind), Value: []byte(value)}
}

func draw(entries []iterator.Entry) string {
	out := ""
	for _, e := range entries {
		out += fmt.Sprintf("%s#%d", e.Key.User, e.Key.Trailer.Seq())
		if kind := e.Key.Trailer.Kind(); kind != key.Set {
			out += "," + kind.String()
		}
		out += " "
	}
	return out
}
