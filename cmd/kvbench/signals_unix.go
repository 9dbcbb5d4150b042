//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals end a run cleanly.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// ignoreClosedPipe makes a write to a pipe whose reader is gone an error instead
// of the end of the process, so that the databases are closed and removed.
func ignoreClosedPipe() { signal.Ignore(syscall.SIGPIPE) }

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
