//go:build !unix

package main

import (
	"errors"
	"io"
	"os"
)

// stopSignals end a run cleanly.
var stopSignals = []os.Signal{os.Interrupt}

// ignoreClosedPipe has nothing to do: no signal comes with a closed pipe.
func ignoreClosedPipe() {}

// isClosedPipe knows what package os says of a pipe whose reader is gone.
func isClosedPipe(err error) bool {
	var p *os.PathError
	return errors.Is(err, io.ErrClosedPipe) || errors.As(err, &p) && p.Op == "write" && p.Path == os.Stdout.Name()
}
