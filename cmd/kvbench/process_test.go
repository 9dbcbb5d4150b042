//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A process is kvbench as the system runs it.
type process struct {
	*exec.Cmd
	stdout *os.File // what it prints
	stderr bytes.Buffer
	temp   string
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := &process{temp: t.TempDir(), stdout: r}
	p.start(t, w, args...)
	return p
}

// start starts kvbench with w as its output.
func (p *process) start(t *testing.T, w *os.File, args ...string) {
	t.Helper()
	p.Cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	p.Env = append(os.Environ(), asKvbench+"=1", "TMPDIR="+p.temp)
	p.Stdout, p.Stderr = w, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

// signal sends a signal, if the process has not ended.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("no %s after a minute", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ended waits for the end, and checks that it was quiet and left nothing.
func (p *process) ended(t *testing.T, want int) {
	t.Helper()
	_ = p.Wait() // the exit code says it
	if got := p.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code %d; want %d", got, want)
	}
	if p.stderr.Len() > 0 {
		t.Errorf("it should end quietly, not with %q", p.stderr.String())
	}
	isEmpty(t, p.temp)
}

// A signal ends a run of any length quietly, with the exit code that a shell
// expects, and with the databases closed and removed.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			p := start(t, "-n", "100_000_000")
			defer p.stdout.Close()
			if _, err := bufio.NewReader(p.stdout).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			p.signal(t, c.signal)
			p.ended(t, c.code)
		})
	}
}

// A second signal close behind the first changes nothing: people press twice.
func TestInterruptedTwice(t *testing.T) {
	for range 5 {
		p := start(t, "-n", "100_000_000")
		defer p.stdout.Close()
		if _, err := bufio.NewReader(p.stdout).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		p.signal(t, syscall.SIGINT)
		p.signal(t, syscall.SIGTERM) // two of one kind could become one on their way
		_ = p.Wait()                 // the exit code says it
		if got := p.ProcessState.ExitCode(); got != 130 && got != 143 {
			t.Errorf("exit code %d; want 130 or 143", got)
		}
		isEmpty(t, p.temp)
	}
}

// A second signal ends a run that hangs, here on a pipe that nobody reads, and the
// databases are removed all the same.
func TestInterruptedWhileItHangs(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Skipf("pipes cannot be filled here: %v", err)
	}
	if _, err := w.Write(make([]byte, 16<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("filling the pipe: %v", err)
	}
	p := &process{temp: t.TempDir(), stdout: r}
	p.start(t, w, "-n", "100_000_000")
	waitFor(t, "a directory", func() bool {
		entries, err := os.ReadDir(p.temp)
		return err == nil && len(entries) > 0
	})
	p.signal(t, syscall.SIGINT)
	ended := make(chan struct{})
	go func() {
		p.ended(t, 143)
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		case <-time.After(50 * time.Millisecond): // one at least is not taken together with the first
			p.signal(t, syscall.SIGTERM)
		}
	}
}

// A key file that is a pipe into which nobody writes can be given up.
func TestInterruptedBeforeKeys(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "keys")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("no pipes with names here: %v", err)
	}
	p := start(t, "-keys", fifo)
	defer p.stdout.Close()
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns when kvbench has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p.signal(t, syscall.SIGINT)
	p.ended(t, 130)
}

// The table of rates can be interrupted, and the ledger holds what was done.
func TestFPRInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	p := start(t, "fpr", "-ledger", path)
	defer p.stdout.Close()
	waitFor(t, "a row in the ledger", func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	})
	p.signal(t, syscall.SIGINT)
	p.ended(t, 130)
	l, err := openLedger(path, 1, false)
	if err != nil || len(l.rows) == 0 {
		t.Fatalf("%d rows in the ledger, %v", len(l.rows), err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
}

// When whoever read the output is gone, so is kvbench: quietly, and with the
// databases removed.
func TestClosedPipe(t *testing.T) {
	for _, args := range [][]string{{"-n", "100_000_000"}, {"-n", "1000", "-lookups", "10", "-json"}, {"-help"}} {
		t.Run(args[len(args)-1], func(t *testing.T) {
			p := start(t, args...)
			if err := p.stdout.Close(); err != nil {
				t.Fatal(err)
			}
			p.ended(t, 141)
		})
	}
}
