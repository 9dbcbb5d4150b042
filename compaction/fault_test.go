package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
)

// twoLevels is a database of 300 keys on level 6, in several tables, of which
// half are overwritten or deleted by two tables on level 0.
func twoLevels(t testing.TB, fs vfs.FS) *testDB {
	t.Helper()
	d := newTestDB(t, fs, Options{TableSize: 4 << 10})
	var old, newer, newest []iterator.Entry
	for i := range 300 {
		user := fmt.Sprintf("k%03d", i)
		old = append(old, entry(user, uint64(i+1), key.Set, fmt.Sprintf("old value of %s", user)))
		switch i % 4 {
		case 0:
			newer = append(newer, entry(user, uint64(1000+i), key.Set, "newer"))
		case 2:
			newest = append(newest, entry(user, uint64(2000+i), key.Delete, ""))
		}
	}
	for chunk := range slices.Chunk(old, 100) {
		d.load(6, chunk)
	}
	d.load(0, newer)
	d.load(0, newest)
	return d
}

// jobOf returns the job that brings all of level 0 down.
func jobOf(d *testDB) *Job {
	d.t.Helper()
	j, _ := PickRange(d.v, d.o, State{OldestSnapshot: NoSnapshot}, Range{MaxSeq: key.MaxSeq})
	return j
}

var errDone = vfs.Done(syscall.ENOSPC)

// attempts are the two things that write tables.
var attempts = map[string]func(d *testDB, workers int) (Result, error){
	"run": func(d *testDB, workers int) (Result, error) {
		return Run(context.Background(), d.env(workers), jobOf(d))
	},
	"flush": func(d *testDB, workers int) (Result, error) {
		return Flush(context.Background(), d.env(workers), d.v, iterator.Slice(history("k150", []key.Kind{key.Set, key.Delete, key.Set})))
	},
}

// Whichever file-system call fails, and however, the error comes back, no file
// of the attempt is left, the inputs hold what they held, every file is closed,
// and the next attempt succeeds. A failing open or read of an input, the first
// one too, is never taken for its end.
func TestEveryCallFails(t *testing.T) {
	for name, attempt := range attempts {
		for what, answer := range map[string]error{
			"not done": syscall.EIO, "done, but reported failed": errDone, "cut short": vfs.Short(3, syscall.EMFILE),
		} {
			for _, workers := range []int{1, 3} {
				testEveryCallFails(t, fmt.Sprintf("%s, %s, %d workers", name, what, workers), answer, func(d *testDB) (Result, error) {
					return attempt(d, workers)
				})
			}
		}
	}
}

func testEveryCallFails(t *testing.T, what string, answer error, attempt func(*testDB) (Result, error)) {
	t.Helper()
	mem := vfs.NewMem()
	mem.SetWindowsRules(true) // an open file cannot be removed
	d := twoLevels(t, mem)
	before, want := files(t, mem), draw(d.entries())
	for n := uint64(1); ; n++ {
		failed := ""
		fault := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Seq != n || op.Kind == vfs.OpRead && errors.Is(answer, errDone) {
				return nil // a read that brought all its bytes is a good one
			}
			failed = fmt.Sprint(op.Kind, " ", op.Name)
			return answer
		})
		d.fs = fault
		r, err := attempt(d)
		d.fs = mem
		if failed == "" {
			for _, m := range r.Outputs {
				if err := mem.Remove(manifest.Path("db", manifest.Table, m.Num)); err != nil {
					t.Fatal(err)
				}
			}
			if err == nil && n < fault.Calls() {
				continue
			}
			if err != nil || n < 5 {
				t.Fatalf("%s: without a fault, after %d calls: %v", what, n-1, err)
			}
			return
		}
		if err == nil {
			t.Fatalf("%s: call %d (%s) failed, but the attempt did not", what, n, failed)
		}
		if got := files(t, mem); !slices.Equal(got, before) {
			t.Fatalf("%s: after call %d (%s) failed: %v; files %v, were %v", what, n, failed, err, got, before)
		}
		if open := mem.OpenFiles(); open != 0 {
			t.Fatalf("%s: after call %d (%s) failed: %d files are open", what, n, failed, open)
		}
		if got := draw(d.entries()); got != want {
			t.Fatalf("%s: after call %d (%s) failed: holds %s, want %s", what, n, failed, got, want)
		}
	}
}

// Where even removing fails, the error says what was left.
func TestLeftoversAreNamed(t *testing.T) {
	mem := vfs.NewMem()
	d := twoLevels(t, mem)
	d.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncDir || op.Kind == vfs.OpRemove {
			return syscall.EROFS
		}
		return nil
	})
	before := files(t, mem)
	_, err := Run(context.Background(), d.env(1), jobOf(d))
	for _, name := range files(t, mem) {
		if !slices.Contains(before, name) && (err == nil || !errors.Is(err, syscall.EROFS) || !containsName(err, name)) {
			t.Errorf("%s was left: %v", name, err)
		}
	}
	if len(files(t, mem)) == len(before) {
		t.Error("nothing was left: the test tests nothing")
	}
}

func containsName(err error, name string) bool {
	return slices.Contains(splitNames(err.Error()), name)
}

func splitNames(s string) []string {
	var names []string
	for i := range len(s) - 9 {
		if s[i+6:i+10] == ".sst" {
			names = append(names, s[i:i+10])
		}
	}
	return names
}

// A full disk, time after time, leaves nothing behind, and when there is room
// again the job succeeds.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewMem()
	d := twoLevels(t, mem)
	before, used := files(t, mem), mem.Used()
	for extra := range int64(100) {
		mem.SetSpace(used + 50*extra)
		if _, err := Run(context.Background(), d.env(1), jobOf(d)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with %d bytes: %v", 50*extra, err)
		}
		if got := files(t, mem); !slices.Equal(got, before) || mem.Used() != used {
			t.Fatalf("with %d bytes: files %v, were %v; %d bytes, were %d", 50*extra, got, before, mem.Used(), used)
		}
	}
	mem.SetSpace(1 << 30)
	d.compactAll(1)
}

// mutant is an iterator that misbehaves at its n-th entry.
type mutant struct {
	iterator.Iterator
	n      int
	lose   bool
	double bool
	alter  func(*key.Internal, *[]byte)

	again bool // the entry is shown a second time, as a version of its own
}

func (m *mutant) First() bool { return m.Iterator.First() && m.moved() }
func (m *mutant) Next() bool {
	if m.again {
		m.again = false
		return m.Iterator.Next()
	}
	if m.double && m.n == 0 {
		m.again, m.n = true, -1
		return true
	}
	return m.Iterator.Next() && m.moved()
}

func (m *mutant) moved() bool {
	m.n--
	if m.lose && m.n == 0 {
		return m.Iterator.Next()
	}
	return true
}

func (m *mutant) Key() key.Internal {
	k := m.Iterator.Key()
	if m.again {
		k.Trailer -= 1 << 8
	}
	if m.alter != nil && m.n == 0 {
		k = k.Clone()
		v := slices.Clone(m.Iterator.Value())
		m.alter(&k, &v)
	}
	return k
}

func (m *mutant) Value() []byte {
	v := m.Iterator.Value()
	if m.alter != nil && m.n == 0 {
		k := m.Iterator.Key().Clone()
		v = slices.Clone(v)
		m.alter(&k, &v)
	}
	return v
}

// An entry that is lost, doubled or altered on its way, in whichever table and
// place, is found before the result is returned.
func TestConservationCatchesMutants(t *testing.T) {
	for what, make := range map[string]func() *mutant{
		"lost":    func() *mutant { return &mutant{lose: true} },
		"doubled": func() *mutant { return &mutant{double: true} },
		"a bit of the value flipped": func() *mutant {
			return &mutant{alter: func(_ *key.Internal, v *[]byte) {
				if len(*v) > 0 {
					(*v)[len(*v)/2] ^= 1
				} else {
					*v = []byte{0}
				}
			}}
		},
		"the value shifted": func() *mutant {
			return &mutant{alter: func(_ *key.Internal, v *[]byte) { *v = append(*v, "xx"...)[1:] }}
		},
		"the key altered": func() *mutant {
			return &mutant{alter: func(k *key.Internal, _ *[]byte) { k.User = append(k.User, 0) }}
		},
		"the sequence number altered": func() *mutant {
			return &mutant{alter: func(k *key.Internal, _ *[]byte) { k.Trailer ^= 1 << 8 }}
		},
		"the kind altered": func() *mutant {
			return &mutant{alter: func(k *key.Internal, _ *[]byte) { k.Trailer ^= 1 }}
		},
	} {
		for _, level := range []int{0, lastLevel} {
			for _, n := range []int{1, 2, 40, 74} {
				mem := vfs.NewMem()
				d := twoLevels(t, mem)
				before := files(t, mem)
				victim := d.v.Levels[level].Tables[0]
				d.wrap = func(m *manifest.TableMeta, it iterator.Iterator) iterator.Iterator {
					if m != victim {
						return it
					}
					mut := make()
					mut.Iterator, mut.n = it, n
					return mut
				}
				_, err := Run(context.Background(), d.env(1), jobOf(d))
				var broken *ConservationError
				if !errors.As(err, &broken) {
					t.Errorf("%s, entry %d on level %d: %v", what, n, level, err)
				}
				if got := files(t, mem); !slices.Equal(got, before) {
					t.Errorf("%s, entry %d on level %d: files %v, were %v", what, n, level, got, before)
				}
			}
		}
	}
}

// The law holds for a flush too, by what was read from the memtable.
func TestConservationOfFlush(t *testing.T) {
	in := Tally{3, 100}
	for _, c := range []struct {
		out, dropped Tally
		holds        bool
	}{
		{Tally{2, 60}, Tally{1, 40}, true},
		{Tally{3, 100}, Tally{}, true},
		{Tally{1, 60}, Tally{1, 40}, false},
		{Tally{2, 60}, Tally{1, 41}, false},
		{Tally{3, 100}, Tally{1, 40}, false},
	} {
		s := Stats{In: in, Out: c.out}
		s.Drops[TombstoneBottom] = c.dropped
		if err := checkConservation(nil, &s); (err == nil) != c.holds {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// When entries contradict each other, the inputs are read again, and the one that
// is not what it should be is named.
func TestContradictionNamesTheInput(t *testing.T) {
	for what, make := range map[string]func() *mutant{
		"lost":       func() *mutant { return &mutant{lose: true} },
		"not sorted": func() *mutant { return &mutant{alter: func(k *key.Internal, _ *[]byte) { k.User = []byte("\x00") }} },
	} {
		if what == "not sorted" && invariants.Enabled {
			continue // the writer panics
		}
		d := twoLevels(t, vfs.NewMem())
		victim := d.v.Levels[manifest.NumLevels-1].Tables[0]
		d.wrap = func(m *manifest.TableMeta, it iterator.Iterator) iterator.Iterator {
			if m != victim {
				return it
			}
			mut := make()
			mut.Iterator, mut.n = it, 3
			return mut
		}
		d.verify = func(m *manifest.TableMeta) error {
			if m != victim {
				return nil
			}
			return key.Corruptf("culprit.sst", 7, "planted")
		}
		_, err := Run(context.Background(), d.env(1), jobOf(d))
		var corrupt *key.CorruptionError
		if !errors.As(err, &corrupt) || corrupt.File != "culprit.sst" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
