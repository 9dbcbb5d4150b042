package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// history makes edits at random and knows what each of them must lead to.
type history struct {
	t     *testing.T
	rng   *rand.Rand
	nums  uint64 // the last file number given out
	v     *Version
	log   uint64
	seq   uint64
	state []string // after each edit, the empty database first
}

func newHistory(t *testing.T, rng *rand.Rand) *history {
	h := &history{t: t, rng: rng, v: new(Version)}
	h.state = []string{h.describe()}
	return h
}

func (h *history) newFileNum() uint64 {
	h.nums++
	return h.nums
}

func (h *history) options(maxSize int64) StoreOptions {
	return StoreOptions{NewFileNum: h.newFileNum, MaxSize: maxSize}
}

// describe is what a State is compared by.
func (h *history) describe() string { return describe(h.v, h.log, h.seq) }

func describe(v *Version, log, seq uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log %d, seq %d:", log, seq)
	for level, t := range v.All() {
		fmt.Fprintf(&b, " %d@%d", t.Num, level)
	}
	return b.String()
}

// numbers returns the edit to start a manifest with.
func (h *history) numbers() *Edit {
	return &Edit{LogNum: h.log, LastSeq: h.seq, NextFileNum: h.nums + 1}
}

// next returns an edit and the version it leads to, which accept takes over.
func (h *history) next() (*Edit, *Version) {
	e := h.numbers()
	e.LogNum++
	var live []NewTable
	for level, t := range h.v.All() {
		live = append(live, NewTable{level, t})
	}
	if n := len(live); n > 0 && h.rng.IntN(3) == 0 {
		t := live[h.rng.IntN(n)]
		e.Deleted = append(e.Deleted, DeletedTable{t.Level, t.Meta.Num})
		if h.rng.IntN(2) == 0 {
			e.Added = append(e.Added, NewTable{(t.Level + 1) % NumLevels, t.Meta})
		}
	}
	for range h.rng.IntN(3) {
		num := h.newFileNum()
		e.LastSeq++
		bound := fmt.Sprintf("%06d", num)
		e.Added = append(e.Added, NewTable{h.rng.IntN(NumLevels), table(num, bound, bound, e.LastSeq, e.LastSeq)})
	}
	e.NextFileNum = h.nums + 1
	return e, mustApply(h.t, h.v, e)
}

func (h *history) accept(e *Edit, v *Version) {
	h.v, h.log, h.seq = v, e.LogNum, e.LastSeq
	h.state = append(h.state, h.describe())
}

// load returns the number of edits in the manifest on fsys.
func (h *history) load(fsys vfs.FS) (int, error) {
	s, err := Load(fsys, "db")
	if err != nil {
		return 0, err
	}
	if s.NextFileNum <= s.Num {
		return 0, fmt.Errorf("manifest %d says that the next file is %d", s.Num, s.NextFileNum)
	}
	got := describe(s.Version, s.LogNum, s.LastSeq)
	n := slices.Index(h.state, got)
	if n < 0 {
		return 0, fmt.Errorf("no such state: %s", got)
	}
	return n, nil
}

func newDir(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	if err := errors.Join(m.MkdirAll("db"), m.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	return m
}

func manifests(t testing.TB, fsys vfs.FS) []string {
	t.Helper()
	names, err := fsys.List("db")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(s string) bool { return !strings.HasPrefix(s, manifestPrefix) })
}

// What was logged is loaded, at any size of the manifest, and each manifest is
// removed once the next one is current, also where an open file cannot be
// removed.
func TestStoreRoundTrip(t *testing.T) {
	for _, maxSize := range []int64{1, 4096, 0} {
		m := newDir(t)
		m.SetWindowsRules(true)
		h := newHistory(t, newRand(t))
		for range 3 {
			s, err := Start(m, "db", h.numbers(), h.v, h.options(maxSize))
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				e, v := h.next()
				if err := s.Log(e, v); err != nil {
					t.Fatal(err)
				}
				h.accept(e, v)
				if n, err := h.load(m); n != len(h.state)-1 || err != nil {
					t.Fatalf("found state %d, want %d, %v", n, len(h.state)-1, err)
				}
			}
			want := name(Manifest, s.Num())
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := manifests(t, m); got[len(got)-1] != want {
				t.Errorf("manifests %v, want %s last", got, want)
			}
			for _, old := range manifests(t, m) {
				if old != want {
					if err := m.Remove("db/" + old); err != nil { // as Open does
						t.Fatal(err)
					}
				}
			}
			if maxSize == 1 && len(manifests(t, m)) != 1 {
				t.Errorf("manifests %v", manifests(t, m))
			}
		}
		if m.OpenFiles() != 0 {
			t.Errorf("%d files open", m.OpenFiles())
		}
	}
}

// crasher looks before each call at what crashes would leave.
type crasher struct {
	*history
	fs       *vfs.Mem
	from, to int  // the states that a Load may find
	mayMiss  bool // no manifest was ever current
}

func (c *crasher) hook(op vfs.Op) error {
	if op.Kind == vfs.OpRead || op.Kind == vfs.OpSize || op.Kind == vfs.OpStat {
		return nil
	}
	what := fmt.Sprintf("%v %s", op.Kind, op.Name)
	c.look("kill before "+what, c.fs.Kill())
	for _, p := range []int{0, 100} {
		c.look(fmt.Sprintf("crash(%d) before %s", p, what), c.fs.Crash(p, 0))
	}
	for range 24 { // few names are pending at once: this meets all their subsets
		seed := c.rng.Uint64()
		c.look(fmt.Sprintf("crash(50, %d) before %s", seed, what), c.fs.Crash(50, seed))
	}
	return nil
}

func (c *crasher) look(what string, fsys *vfs.Mem) {
	c.t.Helper()
	n, err := c.load(fsys)
	if c.mayMiss && errors.Is(err, key.ErrNotExist) {
		return
	}
	if err != nil || n < c.from || n > c.to {
		c.t.Fatalf("%s: found state %d, want %d to %d: %v", what, n, c.from, c.to, err)
	}
}

// Whatever part of the names and bytes survives a crash at any call, in the
// creation, between edits and in rotations, over several lives: CURRENT names a
// whole manifest that holds all that was acknowledged.
func TestStoreCrash(t *testing.T) {
	edits := 15
	if invariants.Enabled {
		edits = 5
	}
	for _, maxSize := range []int64{1, 6 << 10} {
		m := newDir(t)
		c := &crasher{history: newHistory(t, newRand(t)), fs: m, mayMiss: true}
		fsys := vfs.NewFault(m, c.hook)
		for range 3 {
			s, err := Start(fsys, "db", c.numbers(), c.v, c.options(maxSize))
			if err != nil {
				t.Fatal(err)
			}
			c.mayMiss = false
			for range edits {
				e, v := c.next()
				c.state = append(c.state, describe(v, e.LogNum, e.LastSeq))
				c.to++
				if err := s.Log(e, v); err != nil {
					t.Fatal(err)
				}
				c.from = c.to
				c.state = c.state[:c.to]
				c.accept(e, v)
			}
			if err := s.w.Abandon(); err != nil { // the process dies here
				t.Fatal(err)
			}
			m = m.Crash(50, c.rng.Uint64())
			c.fs, fsys = m, vfs.NewFault(m, c.hook)
		}
	}
}

// faults are ways for a call to fail.
var faults = []struct {
	name  string
	error error
}{
	{"not done", syscall.EIO},
	{"disk full", syscall.ENOSPC},
	{"done all the same", vfs.Done(syscall.EIO)},
	{"half done", vfs.Short(9, syscall.EIO)},
}

// Whichever call fails, once or from then on: the manifest that CURRENT names is
// there and whole at all times, what was acknowledged is found, and once the
// fault has passed the Store goes on.
func TestStoreFailures(t *testing.T) {
	for _, f := range faults {
		for _, times := range []int{1, 3, 1 << 30} {
			for n := 1; storeWithFault(t, f.name, f.error, n, times); n++ {
			}
		}
	}
}

// storeWithFault lets the calls from the n-th on fail so many times. It reports
// whether there was an n-th call.
func storeWithFault(t *testing.T, fault string, cause error, n, times int) bool {
	t.Helper()
	h := newHistory(t, rand.New(rand.NewPCG(1, 1)))
	m := newDir(t)
	what := fmt.Sprintf("calls %d to %d %s", n, n+times-1, fault)
	calls, from, started := 0, 0, false
	check := func(when string, fsys vfs.FS) {
		t.Helper()
		got, err := h.load(fsys)
		if err != nil && (started || !errors.Is(err, key.ErrNotExist)) || got < from {
			t.Fatalf("%s, %s: found state %d, want %d or later: %v", what, when, got, from, err)
		}
	}
	fsys := vfs.NewFault(m, func(op vfs.Op) error {
		check("kill", m.Kill())
		check("crash", m.Crash(0, 0))
		if calls++; calls >= n && calls < n+times {
			return cause
		}
		return nil
	})
	s, err := Start(fsys, "db", h.numbers(), h.v, h.options(1))
	if err != nil {
		if left := manifests(t, m); len(left) > 0 && times == 1 && !errors.Is(err, ErrInDoubt) {
			t.Fatalf("%s: Start failed with %v and left %v", what, err, left)
		}
		return calls >= n
	}
	started = true
	lastOK := true
	for range 6 {
		e, v := h.next()
		// A failed edit may be found until a later one succeeds.
		h.state = append(h.state, describe(v, e.LogNum, e.LastSeq))
		err := s.Log(e, v)
		if lastOK = err == nil; lastOK {
			from = len(h.state) - 1
			h.v, h.log, h.seq = v, e.LogNum, e.LastSeq
		} else if calls < n {
			t.Fatalf("%s: %v", what, err)
		}
		if lastOK {
			check("after Log", m.Crash(0, 0))
			if got, _ := h.load(m); got != from {
				t.Fatalf("%s: after a Log that succeeded found state %d, want %d", what, got, from)
			}
		}
	}
	if times == 1 && !lastOK {
		e, v := h.next()
		h.state = append(h.state, describe(v, e.LogNum, e.LastSeq))
		if err := s.Log(e, v); err != nil && calls > n {
			t.Fatalf("%s: the Store does not go on: %v", what, err)
		}
	}
	_ = s.Close() // may be the call that fails
	if m.OpenFiles() != 0 {
		t.Fatalf("%s: %d files open", what, m.OpenFiles())
	}
	return calls >= n
}

// A Store refuses work after Close.
func TestStoreClosed(t *testing.T) {
	m := newDir(t)
	h := newHistory(t, newRand(t))
	s, err := Start(m, "db", h.numbers(), h.v, h.options(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	e, v := h.next()
	if err := s.Log(e, v); !errors.Is(err, key.ErrClosed) {
		t.Errorf("Log: %v", err)
	}
	if err := s.Close(); !errors.Is(err, key.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
}

// Start does not touch a manifest that is there under the same number.
func TestStartOverExisting(t *testing.T) {
	m := newDir(t)
	put(t, m, "MANIFEST-000001", "precious")
	h := newHistory(t, newRand(t))
	if _, err := Start(m, "db", h.numbers(), h.v, h.options(0)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if got := get(t, m, "MANIFEST-000001"); got != "precious" {
		t.Errorf("file holds %q", got)
	}
}
