package vfs

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// SyncSites collects the places from which the engine syncs, so that a test can
// leave out each of them in turn and must then see data lost. Use Note as a
// Fault's hook, or call it in one.
type SyncSites struct {
	mu   sync.Mutex
	seen map[string]int
}

// Note is a hook that lets everything pass.
func (s *SyncSites) Note(op Op) error {
	if op.Site == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[op.Site]++
	return nil
}

// List returns the sites, sorted.
func (s *SyncSites) List() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.seen))
}

// LeaveOut returns a hook that skips the syncs of one site.
func LeaveOut(site string) func(Op) error {
	return func(op Op) error {
		if op.Site == site {
			return Skip
		}
		return nil
	}
}

// syncSite names a sync by what is synced and the nearest caller outside this
// package: "sync log at wal.(*Writer).sync writer.go:97". One line of code that
// syncs two types of file is two sites. A caller that is a Sync or SyncDir itself
// is a file system around this one, and passed over.
func syncSite(op Op) string {
	what := op.Kind.String()
	if op.Kind == OpSync {
		what += " " + FileType(op.Name)
	}
	here := reflect.TypeFor[Fault]().PkgPath() + "."
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		wraps := strings.HasSuffix(frame.Function, ".Sync") || strings.HasSuffix(frame.Function, ".SyncDir")
		if !wraps && !strings.HasPrefix(frame.Function, here) {
			return fmt.Sprintf("%s at %s %s:%d", what, path.Base(frame.Function), filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return what
		}
	}
}
