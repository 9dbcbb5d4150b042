// Command kvbench shows in numbers what filters save: it loads the same keys
// into a database without filters and one with, looks up keys that are not there
// and keys that are, and prints the disk reads of each side by side.
//
//	kvbench [flags]
//
// kvbench -help lists the flags. It exits with 0 when it has measured, 1 when it
// could not, 2 when it was asked wrongly, and as a shell would say it, 128 plus
// the signal's number, when it was interrupted or its output was closed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long a second signal waits for what the first is doing.
const patience = time.Second

func main() {
	os.Exit(mainCode())
}

func mainCode() int {
	ignoreClosedPipe()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	env := environment{
		args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr,
		tty: isTerminal(os.Stderr), litter: &litter{},
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals...)
	go func() {
		cancel(interrupted{<-signals})
		// A second one ends the process even if it hangs, on a pipe that nobody
		// reads or on a disk.
		second := interrupted{<-signals}
		<-time.After(patience)
		_ = env.litter.remove()
		os.Exit(second.code())
	}()
	return env.run(ctx)
}

// isTerminal reports whether somebody may be looking at f as it is written.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return i.signal.String() }

// code is what a shell reports for a process that the signal ended.
func (i interrupted) code() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return exitSignal + int(s)
	}
	return exitSignal + int(syscall.SIGINT)
}
