// Tests of what a process may not do: open more than a few files, or touch the
// files of somebody else. Each runs a child process under such rules.
package sift_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

func init() {
	childRoles["fewfiles"] = func(args []string) { say("done %v", fewFiles(args[0])) }
	childRoles["nobody"] = func(args []string) { say("%s", asNobody(args[0], args[1])) }
}

const (
	fewLimit  = 24 // descriptors, those of the Go runtime included
	fewKeys   = 2000
	fewRounds = 3
)

// fewOptions make many more tables than fewLimit. A compaction needs all of level
// 0 open at once, and a reader too, so level 0 is kept small.
func fewOptions() *sift.Options {
	o := small()
	o.Compaction.L0Slow, o.Compaction.L0Stop = 3, 4
	o.MemTableSize, o.TableSize = 16<<10, 2<<10
	return &o
}

// fewView is what the child has written after a round: in each it writes every
// key but a third.
func fewView(m *model, round int) (ops []op) {
	for i := range fewKeys {
		if i%3 != round {
			ops = append(ops, put(fmt.Sprintf("%04d", i), strings.Repeat(fmt.Sprint(i, round, " "), 12)))
			m.apply(ops[len(ops)-1])
		}
	}
	return ops
}

// A process that may open no more than 24 files uses a database of some hundred
// tables. Tables are closed to open others, or a call says EMFILE; nothing is
// lost by flushes and compactions, neither in that process nor in the next.
func TestRealFewFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	c := startChild(t, "fewfiles", dir)
	if line, _ := c.line(); line != "done <nil>" {
		t.Fatalf("the child says %q", line)
	}
	m := newModel()
	for round := range fewRounds {
		fewView(m, round)
	}
	m.apply(put("again", ""))
	db := open(t, dir, fewOptions())
	got, err := scan(db, nil, nil)
	must(t, err, m.head().diff(got), db.Compact(nil, nil))
	got, err = scan(db, nil, nil)
	must(t, err, m.head().diff(got), db.Close())
}

// fewFiles is the child's part.
func fewFiles(dir string) error {
	// The hard limit: the Go runtime raises the soft one by itself.
	limit := syscall.Rlimit{Cur: fewLimit, Max: fewLimit}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	db, err := sift.Open(dir, fewOptions())
	if err != nil {
		return err
	}
	m := newModel()
	for round := range fewRounds {
		for _, o := range fewView(m, round) {
			if err := fewTries(db, func() error { return applyOps(db, sift.NoSync, []op{o}) }); err != nil {
				return err
			}
		}
		if err := errors.Join(fewTries(db, db.Flush), fewTries(db, func() error { return fewRead(db, m) })); err != nil {
			return err
		}
	}
	if n := tableCount(db); n < 2*fewLimit {
		return fmt.Errorf("only %d tables", n)
	}
	err = fewTries(db, func() error { return db.Compact(nil, nil) })
	return errors.Join(err, fewRead(db, m), noneLeft(db, m), db.Close())
}

// fewTries makes a call until it succeeds. Tables that are being read cannot be
// closed, so that it may say EMFILE; a flush, which is not put off while Flush
// waits, gives the others time.
func fewTries(db *sift.DB, call func() error) (err error) {
	for range 50 {
		if err = call(); !errors.Is(err, syscall.EMFILE) {
			return err
		}
		_ = db.Flush() // it may meet the limit as well
	}
	return err
}

func fewRead(db *sift.DB, m *model) error {
	got, err := scan(db, nil, nil)
	if err != nil {
		return err
	}
	return m.head().diff(got)
}

func tableCount(db *sift.DB) (n int) {
	for _, l := range db.Metrics().Levels {
		n += l.Tables
	}
	return n
}

// noneLeft goes on when the process has no descriptor left at all: the log takes
// writes, what needs a file works or says EMFILE, and once there are some all is
// well.
func noneLeft(db *sift.DB, m *model) error {
	var hogs []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			return err
		}
		hogs = append(hogs, f)
	}
	if len(hogs) > fewLimit {
		return fmt.Errorf("%d files more could be opened: there is no limit", len(hogs))
	}
	// Reading a table may have to close another; then it takes what that leaves.
	if err := fewRead(db, m); err != nil && !errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("read without a descriptor: %w", err)
	}
	if err := db.Put([]byte("again"), nil, nil); err != nil { // the log is open
		return fmt.Errorf("put: %w", err)
	}
	m.apply(put("again", ""))
	if err := db.Flush(); err != nil && !errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("flush without a descriptor: %w", err)
	}
	for _, f := range hogs {
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := fewTries(db, db.Flush); err != nil {
		return fmt.Errorf("flush once there are descriptors: %w", err)
	}
	return fewRead(db, m)
}

const nobody = 65534

// asNobody opens a database as a user without rights and says how that went, in
// one word and the error. "use" does more, see useAsNobody.
func asNobody(dir, how string) string {
	if os.Geteuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err.Error()
		}
	}
	if how == "use" {
		return fmt.Sprint("used ", useAsNobody(dir))
	}
	db, err := sift.Open(dir, &sift.Options{ReadOnly: how == "ro"})
	if err == nil {
		got, err := scan(db, nil, nil)
		return fmt.Sprintf("open %d %v", len(got), errors.Join(err, db.Close()))
	}
	kinds := map[string]error{
		"corrupt": sift.ErrCorrupt, "version": sift.ErrVersion, "missing": sift.ErrNotExist, "locked": sift.ErrLocked, "denied": fs.ErrPermission,
	}
	var is []string
	for word, kind := range kinds {
		if errors.Is(err, kind) {
			is = append(is, word)
		}
	}
	slices.Sort(is)
	return fmt.Sprintf("%s: %v", strings.Join(is, "+"), err)
}

// Permissions of a database for another user: what may be read opens read-only,
// without a write; all else is a permission error that names the file, and none
// is taken for damage or for a missing database. Nothing changes. Root is above
// permissions: the child becomes somebody else.
func TestRealPermissions(t *testing.T) {
	for _, c := range []struct {
		what      string
		names     string // which files, as in filepath.Glob; "" is the directory
		mode      fs.FileMode
		ro, write string // the beginnings of the answers
	}{
		{"read-only directory", "", 0o555, "open 300 <nil>", "denied: "},
		{"read-only directory, LOCK gone", "LOCK", 0, "denied: ", "denied: "},
		{"closed directory", "", 0, "denied: ", "denied: "},
		{"directory that shows names only", "", 0o444, "denied: ", "denied: "},
		{"directory that shows no names", "", 0o111, "denied: ", "denied: "},
		{"closed CURRENT", "CURRENT", 0, "denied: ", "denied: "},
		{"closed manifest", "MANIFEST-*", 0, "denied: ", "denied: "},
		{"closed tables", "*.sst", 0, "denied: ", "denied: "},
		{"closed logs", "*.log", 0, "denied: ", "denied: "},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := publicDir(t)
			realImage(t, dir, newModel())
			files, err := filepath.Glob(filepath.Join(dir, c.names))
			must(t, err)
			if len(files) == 0 {
				t.Fatalf("no file %s", c.names)
			}
			before := mustFiles(t, vfs.OS(), dir)
			must(t, os.Chmod(dir, 0o555))
			for _, file := range files {
				must(t, os.Chmod(file, c.mode))
			}
			for how, want := range map[string]string{"ro": c.ro, "rw": c.write} {
				got, _ := startChild(t, "nobody", dir, how).line()
				if !strings.HasPrefix(got, want) || strings.HasPrefix(want, "denied") && !slices.ContainsFunc(files, names(got)) {
					t.Errorf("%s: %q, want %q and the name of the file", how, got, want)
				}
			}
			for _, file := range files {
				must(t, os.Chmod(file, 0o755))
			}
			must(t, os.Chmod(dir, 0o755))
			unchanged(t, before, mustFiles(t, vfs.OS(), dir))
		})
	}
}

// names reports whether a message names a file.
func names(message string) func(file string) bool {
	return func(file string) bool { return strings.Contains(message, filepath.Base(file)) }
}

// publicDir is the path of a database that others can reach.
func publicDir(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	must(t, os.Chmod(filepath.Dir(parent), 0o755), os.Chmod(parent, 0o755))
	return filepath.Join(parent, "db")
}

// Where a directory may not be made nothing is, and the error says so.
func TestRealPermissionToCreate(t *testing.T) {
	dir := publicDir(t)
	must(t, os.Chmod(filepath.Dir(dir), 0o555))
	for how, want := range map[string]string{"rw": "denied: ", "ro": "missing: "} {
		if got, _ := startChild(t, "nobody", filepath.Join(dir, "deeper"), how).line(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", how, got, want)
		}
	}
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// A directory loses its permissions under an open database, and gets them back.
func TestRealPermissionLost(t *testing.T) {
	dir := publicDir(t)
	must(t, os.Mkdir(dir, 0o755))
	if os.Geteuid() == 0 {
		must(t, os.Chown(dir, nobody, nobody))
	}
	if got, _ := startChild(t, "nobody", dir, "use").line(); got != "used <nil>" {
		t.Errorf("the child says %q", got)
	}
}

// useAsNobody owns the directory and takes its own permissions away for a time.
func useAsNobody(dir string) error {
	db, err := sift.Open(dir, fewOptions())
	if err != nil {
		return err
	}
	m := newModel()
	write := func(ops []op) (err error) {
		for _, o := range ops {
			err = errors.Join(err, applyOps(db, sift.NoSync, []op{o}))
		}
		return err
	}
	if err := errors.Join(write(fewView(m, 0)), db.Flush(), db.Put([]byte("again"), nil, nil), os.Chmod(dir, 0o555)); err != nil {
		return err
	}
	m.apply(put("again", ""))
	if err := db.Flush(); !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("flush without permission: %w", err)
	}
	if err := fewRead(db, m); err != nil {
		return fmt.Errorf("reading without permission to write: %w", err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), db.Flush(), write(fewView(m, 1)), db.Compact(nil, nil), fewRead(db, m), db.Close()); err != nil {
		return err
	}
	if db, err = sift.Open(dir, fewOptions()); err != nil {
		return err
	}
	return errors.Join(fewRead(db, m), db.Close())
}
