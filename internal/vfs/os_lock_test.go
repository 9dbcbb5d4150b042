//go:build !js && !wasip1

package vfs_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// The environment variable that makes this test binary a process that locks the
// file named there, says so, and holds the lock until its input ends.
const lockerEnv = "SIFT_VFS_TEST_LOCK"

func TestMain(m *testing.M) {
	if name := os.Getenv(lockerEnv); name != "" {
		os.Exit(locker(name))
	}
	os.Exit(m.Run())
}

func locker(name string) int {
	_, err := vfs.OS().Lock(name, os.Getenv(lockerEnv+"_SHARED") != "")
	word := "held"
	switch {
	case errors.Is(err, key.ErrLocked):
		word = "locked"
	case err != nil:
		word = err.Error()
	}
	if _, err := os.Stdout.WriteString(word + "\n"); err != nil {
		return 1
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

// process starts a locker and returns what it says. It is killed at the end of
// the test or by the function returned.
func process(t *testing.T, name string, env ...string) (says string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), lockerEnv+"="+name), env...)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // says that it was killed
		_ = in.Close()
	}
	t.Cleanup(kill)
	says, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	return says[:len(says)-1], kill
}

// One process holds the lock, another is refused; a failed attempt in either
// process gives nothing up (P193); a process that was killed leaves the lock
// file but no lock (P194).
func TestLockBetweenProcesses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	locks := vfs.OS()

	says, kill := process(t, name)
	if says != "held" {
		t.Fatal(says)
	}
	for range 2 {
		if _, err := locks.Lock(name, false); !errors.Is(err, key.ErrLocked) {
			t.Fatalf("beside another process: %v", err)
		}
	}
	kill()

	mine, err := locks.Lock(name, false)
	must(t, err)
	if _, err := locks.Lock(name, false); !errors.Is(err, key.ErrLocked) {
		t.Errorf("twice in one process: %v", err)
	}
	if _, err := locks.Lock(name, true); !errors.Is(err, key.ErrLocked) {
		t.Errorf("twice in one process, for reading: %v", err)
	}
	for _, env := range []string{"NONE=1", lockerEnv + "_SHARED=1"} {
		if says, _ := process(t, name, env); says != "locked" {
			t.Errorf("after a failed second attempt another process says %q", says)
		}
	}
	must(t, mine.Close())
	if says, _ := process(t, name); says != "held" {
		t.Errorf("after Close another process says %q", says)
	}
}

// Readers of several processes share a lock and keep a writer out.
func TestSharedLockBetweenProcesses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	must(t, os.WriteFile(name, nil, 0o600))
	shared := lockerEnv + "_SHARED=1"
	says, kill := process(t, name, shared)
	if says != "held" {
		t.Fatal(says)
	}
	if says, _ := process(t, name); says != "locked" {
		t.Errorf("a writer beside a reader says %q", says)
	}
	mine, err := vfs.OS().Lock(name, true)
	must(t, err)
	kill()
	if says, _ := process(t, name); says != "locked" {
		t.Errorf("a writer beside the second reader says %q", says)
	}
	must(t, mine.Close())
}

// What a lock file contains does not matter and is not changed (P194).
func TestLockFileContents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	for _, contents := range []string{"", "garbage\x00\xff", "99999999\n", string(make([]byte, 1<<16))} {
		must(t, os.WriteFile(name, []byte(contents), 0o600))
		for _, readOnly := range []bool{false, true} {
			l, err := vfs.OS().Lock(name, readOnly)
			must(t, err)
			must(t, l.Close())
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != contents {
			t.Errorf("the lock file is now %.20q (%v)", got, err)
		}
	}
}

// A lock under another name of the file is the same lock.
func TestLockBySymlink(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	if err := os.Symlink("db", filepath.Join(dir, "alias")); err != nil {
		t.Skipf("no symbolic links here (Windows needs a privilege): %v", err)
	}
	l, err := vfs.OS().Lock(filepath.Join(dir, "db", "LOCK"), false)
	must(t, err)
	if _, err := vfs.OS().Lock(filepath.Join(dir, "alias", "LOCK"), false); !errors.Is(err, key.ErrLocked) {
		t.Errorf("by a symbolic link: %v", err)
	}
	must(t, l.Close())
}
