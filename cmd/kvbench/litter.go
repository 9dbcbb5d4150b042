package main

import (
	"os"
	"sync"
)

// A litter is a directory that a process must not leave behind, however it ends.
// It is safe for use by several goroutines.
type litter struct {
	mu   sync.Mutex
	dir  string // empty if there is none
	done bool   // nothing may be made any more
}

// mkdir makes a directory that remove will remove. It makes none once remove has
// been called.
func (l *litter) mkdir(mk func() (string, error)) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return "", os.ErrClosed
	}
	dir, err := mk()
	if err == nil {
		l.dir = dir
	}
	return dir, err
}

// remove removes the directory. Others may still be making files in it, which can
// make a removal fail, so it tries again.
func (l *litter) remove() (err error) {
	const tries = 100
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	for range tries {
		if l.dir == "" {
			return nil
		}
		if err = os.RemoveAll(l.dir); err == nil {
			l.dir = ""
		}
	}
	return err
}
