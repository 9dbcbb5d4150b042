package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// A directory goes away although somebody still makes files in it, and none is
// made afterwards.
func TestLitter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	mkdir := func() (string, error) { return dir, os.Mkdir(dir, 0o700) }
	var l litter
	if _, err := l.mkdir(mkdir); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		writers.Go(func() {
			var err error
			for i := 0; err == nil; i++ {
				err = os.WriteFile(filepath.Join(dir, name+strconv.Itoa(i)), nil, 0o600)
			}
		})
	}
	if err := l.remove(); err != nil {
		t.Error(err)
	}
	writers.Wait()
	if _, err := l.mkdir(mkdir); !errors.Is(err, os.ErrClosed) {
		t.Errorf("made another directory: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
	if err := l.remove(); err != nil {
		t.Errorf("removed again: %v", err)
	}
}
