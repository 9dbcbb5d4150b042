package vfs_test

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/siftkv/sift/internal/vfs"
)

// TestMemModel compares a Mem with the model below, over random calls, and the
// clones that it makes with what the model allows. A failure prints the calls
// and the flag that replays them.
func TestMemModel(t *testing.T) {
	for range 10 { // a short run is of 100 checks, which is too few
		t.Run("", func(t *testing.T) { rapid.Check(t, checkModel) })
	}
}

// FuzzMem is the same, with calls that the fuzzer finds.
func FuzzMem(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkModel)) }

func checkModel(t *rapid.T) {
	m := &machine{mem: vfs.NewMem(), now: names{}, durable: names{}}
	t.Repeat(map[string]func(*rapid.T){
		"create":   m.create,
		"reuse":    m.reuse,
		"rename":   m.rename,
		"link":     m.link,
		"remove":   m.remove,
		"syncdir":  m.syncDir,
		"append":   m.append,
		"truncate": m.truncate,
		"allocate": m.allocate,
		"sync":     m.sync,
		"close":    m.close,
		"crash":    m.checkCrash,
		"become":   m.become,
		"":         m.check,
	})
}

// names maps names of one directory, the root, to files.
type names map[string]*modelFile

// modelFile keeps every state that a file had since its last sync, the durable
// one first and the present one last, and which sectors were written since.
type modelFile struct {
	states  [][]byte
	touched map[int]bool
}

func newModelFile() *modelFile {
	return &modelFile{states: [][]byte{nil}, touched: map[int]bool{}}
}

func (f *modelFile) now() []byte { return f.states[len(f.states)-1] }

// change makes the next state, of which the bytes [lo, hi) are written.
func (f *modelFile) change(next []byte, lo, hi int) {
	f.states = append(f.states, next)
	for i := lo / 512; i*512 < hi; i++ {
		f.touched[i] = true
	}
}

// machine is a Mem beside its model.
type machine struct {
	mem     *vfs.Mem
	now     names
	durable names
	changes []func(names) // since the last SyncDir
	open    []*modelHandle
}

type modelHandle struct {
	vfs.File
	model *modelFile
	pos   int
}

func (m *machine) change(f func(names)) {
	f(m.now)
	m.changes = append(m.changes, f)
}

var (
	anyName = rapid.SampledFrom([]string{"a", "b", "c", "d"})
	anySize = rapid.IntRange(0, 2100)
)

// existing draws a name that there is. Where there is none it creates a file:
// no call is ever skipped, since a fuzzer's input may ask for one of them only.
func (m *machine) existing(t *rapid.T) string {
	if len(m.now) == 0 {
		m.create(t)
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.now))).Draw(t, "existing")
}

// handle draws one of the open files, and opens one where there is none.
func (m *machine) handle(t *rapid.T) *modelHandle {
	if len(m.open) == 0 {
		m.create(t)
	}
	return rapid.SampledFrom(m.open).Draw(t, "handle")
}

func (m *machine) keep(t *rapid.T, f vfs.File, err error, model *modelFile) {
	ok(t, err)
	m.open = append(m.open, &modelHandle{File: f, model: model})
}

func ok(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) create(t *rapid.T) {
	name := anyName.Draw(t, "name")
	f, err := m.mem.Create(name)
	file := m.now[name]
	if file == nil {
		file = newModelFile()
		m.change(func(n names) { n[name] = file })
	} else {
		file.change(nil, 0, len(file.now()))
	}
	m.keep(t, f, err, file)
}

func (m *machine) rename(t *rapid.T) {
	old, name := m.existing(t), anyName.Draw(t, "new")
	ok(t, m.mem.Rename(old, name))
	m.renamed(old, name)
}

func (m *machine) renamed(old, name string) {
	if file := m.now[old]; m.now[name] != file {
		m.change(func(n names) { delete(n, old); n[name] = file })
	}
}

func (m *machine) reuse(t *rapid.T) {
	old, name := m.existing(t), anyName.Draw(t, "new")
	file := m.now[old]
	f, err := m.mem.Reuse(old, name)
	m.renamed(old, name)
	m.keep(t, f, err, file)
}

func (m *machine) link(t *rapid.T) {
	old, name := m.existing(t), anyName.Draw(t, "new")
	err := m.mem.Link(old, name)
	if m.now[name] != nil {
		if err == nil {
			t.Fatal("a link replaced a file")
		}
		return
	}
	ok(t, err)
	file := m.now[old]
	m.change(func(n names) { n[name] = file })
}

func (m *machine) remove(t *rapid.T) {
	name := m.existing(t)
	ok(t, m.mem.Remove(name))
	m.change(func(n names) { delete(n, name) })
}

func (m *machine) syncDir(t *rapid.T) {
	ok(t, m.mem.SyncDir("/"))
	m.durable, m.changes = maps.Clone(m.now), nil
}

func (m *machine) append(t *rapid.T) {
	h := m.handle(t)
	if rapid.Bool().Draw(t, "skip") {
		h.pos += rapid.IntRange(0, 700).Draw(t, "gap")
		ok(t, h.Skip(int64(h.pos)))
	}
	p := bytes.Repeat([]byte{rapid.ByteRange('a', 'z').Draw(t, "byte")}, anySize.Draw(t, "len"))
	ok(t, h.Append(p))
	if len(p) == 0 {
		return
	}
	next := padded(h.model.now(), h.pos+len(p))
	copy(next[h.pos:], p)
	h.model.change(next, h.pos, h.pos+len(p))
	h.pos += len(p)
}

// padded copies b and makes it at least n bytes long.
func padded(b []byte, n int) []byte {
	return append(slices.Clone(b), make([]byte, max(0, n-len(b)))...)
}

func (m *machine) truncate(t *rapid.T) {
	h, n := m.handle(t), anySize.Draw(t, "size")
	ok(t, h.Truncate(int64(n)))
	now := h.model.now()
	h.model.change(padded(now, n)[:n], n, len(now))
}

func (m *machine) allocate(t *rapid.T) {
	h, n := m.handle(t), anySize.Draw(t, "size")
	ok(t, h.Allocate(int64(n)))
	h.model.change(padded(h.model.now(), n), 0, 0)
}

func (m *machine) sync(t *rapid.T) {
	h := m.handle(t)
	ok(t, h.Sync())
	h.model.states = [][]byte{h.model.now()}
	clear(h.model.touched)
}

func (m *machine) close(t *rapid.T) {
	h := m.handle(t)
	ok(t, h.Close())
	m.open = slices.DeleteFunc(m.open, func(o *modelHandle) bool { return o == h })
}

// check compares all that can be seen, and the two power cuts without chance.
func (m *machine) check(t *rapid.T) {
	same(t, "now", m.mem, m.now, (*modelFile).now)
	same(t, "after Crash(100)", m.mem.Crash(100, 1), m.now, (*modelFile).now)
	same(t, "after Crash(0)", m.mem.Crash(0, 1), m.durable, func(f *modelFile) []byte { return f.states[0] })
	if n := m.mem.OpenFiles(); n > len(m.open) {
		t.Fatalf("%d files are open, want at most %d", n, len(m.open))
	}
}

func same(t *rapid.T, when string, mem *vfs.Mem, want names, bytesOf func(*modelFile) []byte) {
	list, err := mem.List("/")
	ok(t, err)
	if all := slices.Sorted(maps.Keys(want)); !slices.Equal(list, all) {
		t.Fatalf("%s: names %q, want %q", when, list, all)
	}
	for _, name := range list {
		if got, want := read(t, mem, name), bytesOf(want[name]); !bytes.Equal(got, want) {
			t.Fatalf("%s: %s is %s, want %s", when, name, runs(got), runs(want))
		}
	}
}

func read(t *rapid.T, mem *vfs.Mem, name string) []byte {
	f, err := mem.Open(name)
	ok(t, err)
	size, err := f.Size()
	ok(t, err)
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	ok(t, f.Close())
	return b
}

// checkCrash compares a power cut by chance with what may come of it.
func (m *machine) checkCrash(t *rapid.T) {
	p, seed := rapid.IntRange(1, 99).Draw(t, "p"), rapid.Uint64().Draw(t, "seed")
	after := m.mem.Crash(p, seed)
	list, err := after.List("/")
	ok(t, err)
	for _, name := range []string{"a", "b", "c", "d"} {
		m.checkName(t, after, name, slices.Contains(list, name))
	}
}

// checkName: a name refers to its durable file or to one that it got since; it
// can be absent if it was so at any time since.
func (m *machine) checkName(t *rapid.T, after *vfs.Mem, name string, there bool) {
	var absent bool
	var candidates []*modelFile
	note := func(n names) {
		if f := n[name]; f != nil {
			candidates = append(candidates, f)
		} else {
			absent = true
		}
	}
	at := maps.Clone(m.durable)
	note(at)
	for _, f := range m.changes {
		f(at)
		note(at)
	}
	if !there {
		if !absent {
			t.Fatalf("%s is gone after a power cut", name)
		}
		return
	}
	got := read(t, after, name)
	if !slices.ContainsFunc(candidates, func(f *modelFile) bool { return f.allows(got) }) {
		t.Fatalf("%s is %s after a power cut, which it can never have been", name, runs(got))
	}
}

// allows says whether a power cut may leave these bytes.
func (f *modelFile) allows(got []byte) bool {
	lo, hi := len(f.now()), 0
	for _, s := range f.states {
		lo, hi = min(lo, len(s)), max(hi, len(s))
	}
	if len(got) < lo || len(got) > hi {
		return false
	}
	for i := 0; i*512 < len(got); i++ {
		if !f.allowsSector(i, got[i*512:min(len(got), (i+1)*512)]) {
			return false
		}
	}
	return true
}

func (f *modelFile) allowsSector(i int, got []byte) bool {
	part := func(state []byte) []byte { return padded(state, (i+1)*512)[i*512:][:len(got)] }
	now := part(f.now())
	if !f.touched[i] {
		return bytes.Equal(got, now)
	}
	half := min(256, len(got))
	return bytes.Equal(got, make([]byte, len(got))) ||
		bytes.Equal(got[:half], now[:half]) || bytes.Equal(got[half:], now[half:]) ||
		slices.ContainsFunc(f.states, func(s []byte) bool { return bytes.Equal(got, part(s)) })
}

// become goes on in a clone: after a kill with the same pending state, after a
// power cut with none.
func (m *machine) become(t *rapid.T) {
	m.open = nil
	switch rapid.SampledFrom([]string{"kill", "lost", "all", "chance"}).Draw(t, "how") {
	case "kill":
		m.mem = m.mem.Kill()
		return
	case "lost":
		m.mem = m.mem.Crash(0, 1)
	case "all":
		m.mem = m.mem.Crash(100, 1)
	case "chance":
		m.mem = m.mem.Crash(50, rapid.Uint64().Draw(t, "seed"))
	}
	m.reload(t)
}

// reload makes the model from the files, all of them durable. Files that share
// their bytes are told apart by writing to one name, in a clone.
func (m *machine) reload(t *rapid.T) {
	m.now, m.changes = names{}, nil
	list, err := m.mem.List("/")
	ok(t, err)
	for _, name := range list {
		if m.now[name] != nil {
			continue
		}
		file := newModelFile()
		file.states[0] = read(t, m.mem, name)
		for _, other := range m.linked(t, list, name) {
			m.now[other] = file
		}
	}
	m.durable = maps.Clone(m.now)
}

// linked returns the names of the file that has a given name.
func (m *machine) linked(t *rapid.T, list []string, name string) []string {
	probe := m.mem.Kill()
	mark := []byte("a mark that nothing else leaves")
	f, err := probe.Create(name)
	ok(t, err)
	ok(t, f.Append(mark))
	var all []string
	for _, other := range list {
		if bytes.Equal(read(t, probe, other), mark) {
			all = append(all, other)
		}
	}
	return all
}
