package vfs

import (
	"errors"
	"io"
	"sync/atomic"
)

// Fault passes calls to another file system, after asking a hook what shall
// happen. It is the wind tunnel of the engine: each call can fail before or
// after it took effect, be cut short, be left out or be delayed.
//
// The hook's answer decides:
//
//	nil            the call is made
//	Skip           it is not made, and reported as done
//	Done(err)      it is made, and reported as failed
//	Short(n, err)  the first n bytes are read or written, and then it fails
//	another error  it is not made, and fails with that
//
// A hook may block, which delays the call, and may clone the file system below
// to see what a power cut before the call leaves. It is called by many
// goroutines at once. Closing a file or a lock always gives it up, as close(2)
// does, whatever error is reported.
type Fault struct {
	inner FS
	hook  func(Op) error
	calls atomic.Uint64
}

// NewFault wraps a file system. A nil hook lets everything pass.
func NewFault(inner FS, hook func(Op) error) *Fault {
	return &Fault{inner: inner, hook: hook}
}

// Calls returns how many calls there were: the Seq of the newest one.
func (f *Fault) Calls() uint64 { return f.calls.Load() }

// Skip is a hook's answer: the call is not made and reported as done. A call
// with a result (Create, Open, Stat and the like) cannot be skipped and fails.
// Skipping the syncs of a file that follow a failed one is what some systems do.
var Skip = errors.New("vfs: skip this call") //nolint:revive,staticcheck // an answer of a hook, as fs.SkipDir is

type done struct{ err error }

func (d done) Error() string { return "done, then " + d.err.Error() }

// Done is a hook's answer: the call is made and then reported as failed with err.
func Done(err error) error { return done{err} }

type short struct {
	n   int
	err error
}

func (s short) Error() string { return "cut short: " + s.err.Error() }

// Short is a hook's answer to OpRead and OpAppend: the first n bytes are read or
// written, then the call fails with err. For other kinds it is err itself.
func Short(n int, err error) error { return short{n, err} }

// run asks the hook about op and acts on its answer. call makes the call for the
// first n bytes of its buffer, if it has one.
func (f *Fault) run(op Op, call func(n int) error) error {
	op.Seq = f.calls.Add(1)
	if op.Kind == OpSync || op.Kind == OpSyncDir {
		op.Site = syncSite(op)
	}
	n := int(op.Len)
	var answer error
	if f.hook != nil {
		answer = f.hook(op)
	}
	if answer == nil {
		return call(n)
	}
	if errors.Is(answer, Skip) && op.Kind.skippable() {
		return nil
	}
	made := op.Kind == OpClose || op.Kind == OpUnlock
	var d done
	var s short
	switch {
	case errors.As(answer, &d):
		made, answer = true, d.err
	case errors.As(answer, &s):
		if op.Kind == OpRead || op.Kind == OpAppend {
			made, n = true, min(n, max(s.n, 0))
		}
		answer = s.err
	}
	if made {
		if err := call(n); err != nil {
			return err
		}
	}
	return opError(op, answer)
}

// skippable says whether a call can be left out: it has no result, and keeps
// nothing open.
func (k OpKind) skippable() bool {
	switch k {
	case OpRename, OpRemove, OpLink, OpMkdirAll, OpSyncDir, OpAppend, OpSkip, OpSync, OpAllocate, OpTruncate:
		return true
	default:
		return false
	}
}

// opError wraps an injected error as the real one would be. io.EOF stays bare,
// which is how ReadAt reports it.
func opError(op Op, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return err
	case op.Old != "":
		return linkError(op.Kind, op.Old, op.Name, err)
	}
	return pathError(op.Kind, op.Name, err)
}

// file runs a call that opens a file.
func (f *Fault) file(op Op, open func() (File, error)) (File, error) {
	var inner File
	err := f.run(op, func(int) (err error) {
		inner, err = open()
		return err
	})
	if err != nil {
		return nil, giveUp(inner, err)
	}
	return &faultFile{fault: f, inner: inner, name: op.Name}, nil
}

// giveUp closes what a call made before it was reported as failed.
func giveUp(c io.Closer, err error) error {
	if c != nil {
		return errors.Join(err, c.Close())
	}
	return err
}

// Create implements FS.
func (f *Fault) Create(name string) (File, error) {
	return f.file(Op{Kind: OpCreate, Name: name}, func() (File, error) { return f.inner.Create(name) })
}

// Reuse implements FS.
func (f *Fault) Reuse(old, name string) (File, error) {
	return f.file(Op{Kind: OpReuse, Name: name, Old: old}, func() (File, error) { return f.inner.Reuse(old, name) })
}

// Open implements FS.
func (f *Fault) Open(name string) (File, error) {
	return f.file(Op{Kind: OpOpen, Name: name}, func() (File, error) { return f.inner.Open(name) })
}

// Rename implements FS.
func (f *Fault) Rename(old, name string) error {
	return f.run(Op{Kind: OpRename, Name: name, Old: old}, func(int) error { return f.inner.Rename(old, name) })
}

// Remove implements FS.
func (f *Fault) Remove(name string) error {
	return f.run(Op{Kind: OpRemove, Name: name}, func(int) error { return f.inner.Remove(name) })
}

// Link implements FS.
func (f *Fault) Link(old, name string) error {
	return f.run(Op{Kind: OpLink, Name: name, Old: old}, func(int) error { return f.inner.Link(old, name) })
}

// MkdirAll implements FS.
func (f *Fault) MkdirAll(dir string) error {
	return f.run(Op{Kind: OpMkdirAll, Name: dir}, func(int) error { return f.inner.MkdirAll(dir) })
}

// SyncDir implements FS.
func (f *Fault) SyncDir(dir string) error {
	return f.run(Op{Kind: OpSyncDir, Name: dir}, func(int) error { return f.inner.SyncDir(dir) })
}

// List implements FS.
func (f *Fault) List(dir string) (names []string, err error) {
	err = f.run(Op{Kind: OpList, Name: dir}, func(int) (err error) {
		names, err = f.inner.List(dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

// Stat implements FS.
func (f *Fault) Stat(name string) (info Info, err error) {
	err = f.run(Op{Kind: OpStat, Name: name}, func(int) (err error) {
		info, err = f.inner.Stat(name)
		return err
	})
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

// Lock implements FS.
func (f *Fault) Lock(name string, readOnly bool) (io.Closer, error) {
	var inner io.Closer
	err := f.run(Op{Kind: OpLock, Name: name}, func(int) (err error) {
		inner, err = f.inner.Lock(name, readOnly)
		return err
	})
	if err != nil {
		return nil, giveUp(inner, err)
	}
	return &faultLock{fault: f, inner: inner, name: name}, nil
}
