package sift_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

// childEnv, if set, makes the test binary a child process: its value is a role
// and the role's arguments, separated by spaces.
const childEnv = "SIFT_TEST_CHILD"

// Lines that a child writes for its parent start with this, so that they are
// apart from what the test framework prints.
const childMark = "@"

// TestChild is the other end of startChild. Without the variable it does
// nothing.
func TestChild(t *testing.T) {
	role := strings.Fields(os.Getenv(childEnv))
	if len(role) == 0 {
		return
	}
	play := childRoles[role[0]]
	if play == nil {
		t.Fatalf("unknown role %q", role[0])
	}
	play(role[1:])
}

// childRoles are what a child can be. What only some systems have is added
// there.
var childRoles = map[string]func(args []string){
	"open":  func(args []string) { childOpen(args[0], args[1] == "ro") },
	"hold":  func(args []string) { childHold(args[0]) },
	"write": childWrite,
}

// say writes one line for the parent.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stdout, childMark+format+"\n", args...)
}

// A child is a running child process.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// startChild runs the test binary in a role. The test waits for its end.
func startChild(t testing.TB, role ...string) *child {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^TestChild$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(role, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return &child{cmd, bufio.NewScanner(out)}
}

// line returns the child's next line, false at its end.
func (c *child) line() (string, bool) {
	for c.lines.Scan() {
		if text, ok := strings.CutPrefix(c.lines.Text(), childMark); ok {
			return text, true
		}
	}
	return "", false
}

// childOpen reports what Open says.
func childOpen(dir string, readOnly bool) {
	db, err := sift.Open(dir, &sift.Options{ReadOnly: readOnly, MustExist: true})
	switch {
	case err == nil:
		say("open %v", db.Close())
	case errors.Is(err, sift.ErrLocked):
		say("locked")
	default:
		say("error %v", err)
	}
}

// childHold keeps a database open until it is killed.
func childHold(dir string) {
	db, err := sift.Open(dir, nil)
	if err == nil {
		err = db.Put([]byte("held"), []byte("yes"), nil)
	}
	say("holding %v", err)
	select {}
}
