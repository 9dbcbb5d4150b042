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
	t      *testing.T
	rng    *rand.Rand
	nums   uint64 // the last file number given out
	v      *Version
	logNum uint64
	seq    uint64
	state  []string // after each edit, the empty database first
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
func (h *history) describe() string { return describe(h.v, h.logNum, h.seq) }

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
	return &Edit{LogNum: h.logNum, LastSeq: h.seq, NextFileNum: h.nums + 1}
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
	h.v, h.logNum, h.seq = v, e.LogNum, e.LastSeq
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

// What was logged is loaded, at any size of the manifest. Each manifest is removed
// once the next one is current, also where an open file cannot be removed; one
// that is short is not followed by another.
func TestStoreRoundTrip(t *testing.T) {
	const edits = 50
	for maxSize, rotations := range map[int64][2]int{1: {3, edits / 2}, 4096: {1, edits / 2}, 0: {0, 0}} {
		m := newDir(t)
		m.SetWindowsRules(true)
		removed := map[string]bool{}
		fsys := vfs.NewFault(m, func(op vfs.Op) error {
			if op.Kind == vfs.OpRemove {
				if removed[op.Name] {
					t.Errorf("%s is removed twice", op.Name)
				}
				removed[op.Name] = true
			}
			return nil
		})
		h := newHistory(t, newRand(t))
		for range 3 {
			s, err := Start(fsys, "db", h.numbers(), h.v, h.options(maxSize))
			if err != nil {
				t.Fatal(err)
			}
			before := manifests(t, m)
			seen := map[uint64]bool{}
			for range edits {
				e, v := h.next()
				if err := s.Log(e, v); err != nil {
					t.Fatal(err)
				}
				h.accept(e, v)
				if n, err := h.load(m); n != len(h.state)-1 || err != nil {
					t.Fatalf("found state %d, want %d, %v", n, len(h.state)-1, err)
				}
				if st, err := Load(m, "db"); err != nil || st.NextFileNum < e.NextFileNum {
					t.Fatalf("next file number %d, want %d: %v", st.NextFileNum, e.NextFileNum, err)
				}
				seen[s.Num()] = true
			}
			if n := len(seen) - 1; n < rotations[0] || n > rotations[1] {
				t.Errorf("size %d: %d new manifests in %d edits, want %v", maxSize, n, edits, rotations)
			}
			if got := manifests(t, m); len(got) != len(before) || got[len(got)-1] != name(Manifest, s.Num()) {
				t.Errorf("size %d: manifests %v, want %d of which the last is %06d", maxSize, got, len(before), s.Num())
			}
			if err := s.Close(nil); err != nil {
				t.Fatal(err)
			}
			removeOthers(t, m, s.Num())
		}
		if m.OpenFiles() != 0 {
			t.Errorf("%d files open", m.OpenFiles())
		}
	}
}

// removeOthers removes the manifests of former lives, as Open does.
func removeOthers(t *testing.T, m *vfs.Mem, num uint64) {
	t.Helper()
	for _, old := range manifests(t, m) {
		if old != name(Manifest, num) {
			if err := m.Remove("db/" + old); err != nil {
				t.Fatal(err)
			}
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
// there and whole at all times, and what was acknowledged is found. One failure
// keeps no edit from being logged, unless it is in the switch of CURRENT, and
// leaves nothing behind.
func TestStoreFailures(t *testing.T) {
	for _, f := range faults {
		for _, times := range []int{1, 3, 1 << 30} {
			for n := 1; ; n++ {
				r := &faultRun{history: newHistory(t, rand.New(rand.NewPCG(1, 1))), m: newDir(t), n: n, times: times, cause: f.error}
				r.what = fmt.Sprintf("calls %d to %d %s", n, n+times-1, f.name)
				r.run()
				if r.calls < n {
					break
				}
			}
		}
	}
}

// faultRun is a small load whose calls from the n-th on fail so many times.
type faultRun struct {
	*history
	m        *vfs.Mem
	what     string
	n, times int
	cause    error

	calls   int
	hit     vfs.Op // the first call that failed
	from    int    // the oldest state that may be found
	started bool
}

func (r *faultRun) hook(op vfs.Op) error {
	r.look("kill", r.m.Kill())
	r.look("crash", r.m.Crash(0, 0))
	r.calls++
	if r.calls < r.n || r.calls >= r.n+r.times {
		return nil
	}
	if r.calls == r.n {
		r.hit = op
	}
	return r.cause
}

func (r *faultRun) look(when string, fsys vfs.FS) {
	r.t.Helper()
	got, err := r.load(fsys)
	if err != nil && (r.started || !errors.Is(err, key.ErrNotExist)) || got < r.from {
		r.t.Fatalf("%s, %s: found state %d, want %d or later: %v", r.what, when, got, r.from, err)
	}
}

func (r *faultRun) run() {
	fsys := vfs.NewFault(r.m, r.hook)
	s, err := Start(fsys, "db", r.numbers(), r.v, r.options(1))
	if err != nil {
		if left := manifests(r.t, r.m); len(left) > 0 && r.times == 1 && !errors.Is(err, ErrInDoubt) {
			r.t.Fatalf("%s: Start failed with %v and left %v", r.what, err, left)
		}
		return
	}
	r.started = true
	logged := false
	for range 6 {
		logged = r.log(s)
	}
	passed := r.calls >= r.n+r.times-1
	if err := s.Close(nil); err != nil && (r.calls < r.n || passed && (logged || r.times == 1)) {
		r.t.Fatalf("%s: Close: %v", r.what, err)
	}
	if r.m.OpenFiles() != 0 {
		r.t.Fatalf("%s: %d files open", r.what, r.m.OpenFiles())
	}
	if left := manifests(r.t, r.m); len(left) != 1 && logged && r.times == 1 && r.hit.Kind != vfs.OpRemove {
		r.t.Fatalf("%s: manifests %v", r.what, left)
	}
}

// log logs an edit and reports whether that succeeded.
func (r *faultRun) log(s *Store) bool {
	e, v := r.next()
	r.state = append(r.state, describe(v, e.LogNum, e.LastSeq)) // from now on it may be found
	err := s.Log(e, v)
	if err != nil {
		if r.calls < r.n || r.times == 1 && !errors.Is(err, ErrInDoubt) {
			r.t.Fatalf("%s: %v", r.what, err)
		}
		return false
	}
	r.from = len(r.state) - 1
	r.v, r.logNum, r.seq = v, e.LogNum, e.LastSeq
	for _, fsys := range []vfs.FS{r.m, r.m.Crash(0, 0)} {
		if got, err := r.load(fsys); got != r.from || err != nil {
			r.t.Fatalf("%s: after Log found state %d, want %d: %v", r.what, got, r.from, err)
		}
	}
	return true
}

// A Store refuses work after Close.
func TestStoreClosed(t *testing.T) {
	m := newDir(t)
	h := newHistory(t, newRand(t))
	s, err := Start(m, "db", h.numbers(), h.v, h.options(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(nil); err != nil {
		t.Fatal(err)
	}
	e, v := h.next()
	if err := s.Log(e, v); !errors.Is(err, key.ErrClosed) {
		t.Errorf("Log: %v", err)
	}
	if err := s.Close(nil); !errors.Is(err, key.ErrClosed) {
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
