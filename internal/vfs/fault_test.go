package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

var errFault = errors.New("injected fault")

// workload makes each kind of call once or more, goes on after errors, and
// closes everything. It returns the errors.
func workload(fsys vfs.FS) (failed []error) {
	note := func(err error) {
		if err != nil && err != io.EOF {
			failed = append(failed, err)
		}
	}
	open := func(f vfs.File, err error) vfs.File {
		note(err)
		return f
	}
	note(fsys.MkdirAll("db/dir"))
	lock, err := fsys.Lock("db/LOCK", false)
	note(err)
	f := open(fsys.Create("db/a"))
	if f != nil {
		note(f.Allocate(4096))
		note(f.Append([]byte("hello")))
		note(f.Skip(512))
		note(f.Append([]byte("world")))
		note(f.Sync())
		note(f.Truncate(517))
		_, err = f.Size()
		note(err)
		_, err = f.ReadAt(make([]byte, 5), 512)
		note(err)
		note(f.Close())
	}
	note(fsys.Rename("db/a", "db/b"))
	note(fsys.Link("db/b", "db/c"))
	if f := open(fsys.Reuse("db/b", "db/d")); f != nil {
		note(f.Close())
	}
	if f := open(fsys.Open("db/c")); f != nil {
		note(f.Close())
	}
	_, err = fsys.List("db")
	note(err)
	_, err = fsys.Stat("db/c")
	note(err)
	note(fsys.SyncDir("db"))
	note(fsys.Remove("db/c"))
	if lock != nil {
		note(lock.Close())
	}
	return failed
}

// Each call of the workload fails once, in each way: an error comes back that
// is the injected one and names call and file, nothing stays open or locked, and
// no call goes by the hook.
func TestFailEachCall(t *testing.T) {
	answers := map[string]error{
		"not made":  errFault,
		"made":      vfs.Done(errFault),
		"cut short": vfs.Short(2, errFault),
		"left out":  vfs.Skip,
	}
	kinds := map[vfs.OpKind]bool{}
	counting := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error { kinds[op.Kind] = true; return nil })
	if failed := workload(counting); failed != nil {
		t.Fatal(failed)
	}
	if len(kinds) != int(vfs.NumOps) {
		t.Fatalf("the workload has %d kinds of calls of %d", len(kinds), vfs.NumOps)
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			for n := uint64(1); n <= counting.Calls(); n++ {
				failCall(t, n, answer)
			}
		})
	}
}

func failCall(t *testing.T, n uint64, answer error) {
	m := vfs.NewMem()
	var hit vfs.Op
	f := vfs.NewFault(m, func(op vfs.Op) error {
		if op.Seq != n {
			return nil
		}
		hit = op
		return answer
	})
	failed := workload(f)
	if m.OpenFiles() != 0 {
		t.Errorf("call %d (%s): %d files or locks stay open", n, hit.Kind, m.OpenFiles())
	}
	if lock, err := m.Lock("db/LOCK", false); err == nil {
		must(t, lock.Close())
	} else if errors.Is(err, key.ErrLocked) {
		t.Errorf("call %d (%s): the lock stays", n, hit.Kind)
	}
	if answer == vfs.Skip {
		return
	}
	if len(failed) == 0 {
		t.Fatalf("call %d (%s): no error", n, hit.Kind)
	}
	err := failed[0]
	if !errors.Is(err, errFault) || !strings.Contains(err.Error(), hit.Kind.String()+" ") || !strings.Contains(err.Error(), hit.Name) {
		t.Errorf("call %d (%s %s): %v", n, hit.Kind, hit.Name, err)
	}
}

// What a failed, half made or skipped call has done.
func TestFaultAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   vfs.OpKind
		answer error
		want   string
	}{
		{"append not made", vfs.OpAppend, errFault, "a: "},
		{"append made", vfs.OpAppend, vfs.Done(errFault), "a: hello"},
		{"append cut short", vfs.OpAppend, vfs.Short(2, errFault), "a: he"},
		{"append cut to nothing", vfs.OpAppend, vfs.Short(-1, errFault), "a: "},
		{"append cut behind its end", vfs.OpAppend, vfs.Short(99, errFault), "a: hello"},
		{"append left out", vfs.OpAppend, vfs.Skip, "a: "},
		{"rename not made", vfs.OpRename, errFault, "a: hello"},
		{"rename made", vfs.OpRename, vfs.Done(errFault), "b: hello"},
		{"rename cut short", vfs.OpRename, vfs.Short(1, errFault), "a: hello"},
		{"rename left out", vfs.OpRename, vfs.Skip, "a: hello"},
		{"create not made", vfs.OpCreate, errFault, ""},
		{"create made", vfs.OpCreate, vfs.Done(errFault), "a: "},
		{"close not made", vfs.OpClose, errFault, "b: hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := vfs.NewMem()
			f := vfs.NewFault(m, func(op vfs.Op) error {
				if op.Kind == c.kind {
					return c.answer
				}
				return nil
			})
			failed := true
			if file, err := f.Create("a"); err == nil {
				failed = errors.Join(file.Append([]byte("hello")), file.Close(), f.Rename("a", "b")) != nil
				if c.kind == vfs.OpAppend {
					must(t, m.Rename("b", "a"))
				}
			}
			if failed == (c.answer == vfs.Skip) {
				t.Errorf("an error came back: %v", failed)
			}
			if got := strings.TrimSpace(textOf(t, m)); got != strings.TrimSpace(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if m.OpenFiles() != 0 {
				t.Errorf("%d files stay open", m.OpenFiles())
			}
		})
	}
}

func textOf(t *testing.T, m *vfs.Mem) string {
	t.Helper()
	names, err := m.List("/")
	must(t, err)
	var all string
	for _, name := range names {
		all += fmt.Sprintf("%s: %s ", name, bytesOf(t, m, name))
	}
	return all
}

// An append that is left out leaves a gap, as a lost write does.
func TestLostWrite(t *testing.T) {
	m := vfs.NewMem()
	f, err := vfs.NewFault(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpAppend && op.Off == 3 {
			return vfs.Skip
		}
		return nil
	}).Create("a")
	must(t, err)
	for _, text := range []string{"one", "two", "three"} {
		must(t, f.Append([]byte(text)))
	}
	must(t, f.Close())
	if got := string(bytesOf(t, m, "a")); got != "one\x00\x00\x00three" {
		t.Errorf("the file has %q", got)
	}
}

// A short read delivers its bytes; io.EOF stays comparable with ==.
func TestFaultReads(t *testing.T) {
	m, dir := newMemDir(t)
	s := &system{T: t, FS: m, dir: dir}
	s.write("a", "0123456789")
	var answer error
	f, err := vfs.NewFault(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpRead {
			return answer
		}
		return nil
	}).Open(s.p("a"))
	must(t, err)
	defer func() { must(t, f.Close()) }()
	for _, c := range []struct {
		answer error
		n      int
		want   error
	}{
		{errFault, 0, errFault},
		{vfs.Done(errFault), 4, errFault},
		{vfs.Short(3, errFault), 3, errFault},
		{vfs.Short(3, io.EOF), 3, io.EOF},
		{vfs.Skip, 0, vfs.Skip},
		{nil, 4, nil},
	} {
		answer = c.answer
		n, err := f.ReadAt(make([]byte, 4), 2)
		if n != c.n || !errors.Is(err, c.want) {
			t.Errorf("%v: read %d, %v", c.answer, n, err)
		}
		if c.want == io.EOF && err != io.EOF {
			t.Errorf("io.EOF is wrapped: %v", err)
		}
	}
}

// The hook sees what is called, in order.
func TestFaultOps(t *testing.T) {
	var ops []string
	f := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		op.Name, op.Old = filepath.ToSlash(op.Name), filepath.ToSlash(op.Old)
		ops = append(ops, strings.TrimSpace(fmt.Sprintf("%d %s %s %d %d %s", op.Seq, op.Kind, op.Name, op.Off, op.Len, op.Old)))
		return nil
	})
	if failed := workload(f); failed != nil {
		t.Fatal(failed)
	}
	want := []string{
		"1 mkdirall db/dir 0 0", "2 lock db/LOCK 0 0", "3 create db/a 0 0", "4 allocate db/a 4096 0",
		"5 append db/a 0 5", "6 skip db/a 512 0", "7 append db/a 512 5", "8 sync db/a 0 0", "9 truncate db/a 517 0",
		"10 size db/a 0 0", "11 read db/a 512 5", "12 close db/a 0 0", "13 rename db/b 0 0 db/a", "14 link db/c 0 0 db/b",
		"15 reuse db/d 0 0 db/b", "16 close db/d 0 0", "17 open db/c 0 0", "18 close db/c 0 0", "19 list db 0 0",
		"20 stat db/c 0 0", "21 syncdir db 0 0", "22 remove db/c 0 0", "23 unlock db/LOCK 0 0",
	}
	if !slices.Equal(ops, want) {
		t.Errorf("the hook saw\n%s", strings.Join(ops, "\n"))
	}
}

// publish is a small engine: it makes a directory with a file in it, and
// promises that both survive a power cut.
func publish(fsys vfs.FS) error {
	if err := fsys.MkdirAll("db"); err != nil {
		return err
	}
	f, err := fsys.Create("db/CURRENT")
	if err != nil {
		return err
	}
	err = errors.Join(
		f.Append([]byte("contents")),
		f.Sync(),
		f.Close(),
	)
	if err != nil {
		return err
	}
	if err := fsys.SyncDir("db"); err != nil {
		return err
	}
	return fsys.SyncDir(".")
}

// With all its syncs the engine keeps its promise at a power cut; without any
// one of them it does not. That is how each sync of the real engine is shown to
// be needed.
func TestEverySyncIsNeeded(t *testing.T) {
	sites := new(vfs.SyncSites)
	if !survives(t, sites.Note) {
		t.Fatal("the promise is broken with all syncs made")
	}
	list := sites.List()
	if len(list) != 3 {
		t.Fatalf("%d sites, want 3: %q", len(list), list)
	}
	for i, what := range []string{"sync CURRENT", "syncdir", "syncdir"} {
		if !strings.HasPrefix(list[i], what+" at vfs_test.publish fault_test.go:") {
			t.Errorf("site %d is %q", i, list[i])
		}
	}
	for _, site := range list {
		if survives(t, vfs.LeaveOut(site)) {
			t.Errorf("nothing is lost without %s", site)
		}
	}
}

func survives(t *testing.T, hook func(vfs.Op) error) bool {
	t.Helper()
	m := vfs.NewMem()
	must(t, publish(vfs.NewFault(vfs.NewCounter(m), hook)))
	after := m.Crash(0, 1)
	if _, err := after.Stat("db/CURRENT"); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return string(bytesOf(t, after, "db/CURRENT")) == "contents"
}
