//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
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
	p := &process{temp: t.TempDir()}
	p.Cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	p.Env = append(os.Environ(), asKvbench+"=1", "TMPDIR="+p.temp)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p.stdout, p.Stdout, p.Stderr = r, w, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
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
			if err := p.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			p.ended(t, c.code)
		})
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
