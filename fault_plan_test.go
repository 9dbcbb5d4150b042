package sift_test

import (
	"fmt"
	"sync/atomic"

	"github.com/siftkv/sift/internal/vfs"
)

// A faultMode says which calls count and what happens from the N-th on.
type faultMode struct {
	name   string
	counts func(op vfs.Op) bool // the calls that are numbered
	answer func(op vfs.Op, err error) error
	always bool // all later ones fail too
	lost   bool // later ones of the same file do nothing and report success
}

func everyCall(vfs.Op) bool { return true }

func fails(_ vfs.Op, err error) error { return err }

// doneOrShort fails a call that has taken effect, in part if it moves bytes.
func doneOrShort(op vfs.Op, err error) error {
	if op.Kind == vfs.OpAppend || op.Kind == vfs.OpRead {
		return vfs.Short(int(op.Len/2), err)
	}
	return vfs.Done(err)
}

// reading are the calls that change nothing.
func reading(op vfs.Op) bool {
	return !changing(op) && op.Kind != vfs.OpClose && op.Kind != vfs.OpUnlock
}

var faultModes = []faultMode{
	{name: "once", counts: everyCall, answer: fails},
	{name: "once-done-or-short", counts: changing, answer: doneOrShort},
	{name: "sync-lost", counts: func(op vfs.Op) bool { return op.Kind == vfs.OpSync }, answer: fails, lost: true},
	{name: "forever-writes", counts: changing, answer: fails, always: true},
	{name: "forever-reads", counts: reading, answer: fails, always: true},
	{name: "forever", counts: everyCall, answer: doneOrShort, always: true},
}

// A faultPlan fails the calls of one case.
type faultPlan struct {
	mode faultMode
	at   int64
	err  error

	calls atomic.Int64
	op    atomic.Pointer[vfs.Op] // the first call that failed
	lost  atomic.Value           // the name of its file, until that is made anew
}

func (p *faultPlan) struck() bool { return p.op.Load() != nil }

func (p *faultPlan) String() string {
	s := fmt.Sprintf("case %s/%d (%v)", p.mode.name, p.at, p.err)
	if op := p.op.Load(); op != nil {
		s += fmt.Sprintf(", at %v %s %s", op.Kind, op.Name, op.Site)
	}
	return s
}

func (p *faultPlan) hook(op vfs.Op) error {
	if op.Kind == vfs.OpCreate {
		p.lost.CompareAndSwap(op.Name, "") // its pages are new ones
	}
	if !p.mode.counts(op) {
		return nil
	}
	if p.mode.lost && p.lost.Load() == op.Name {
		return vfs.Skip
	}
	n := p.calls.Add(1)
	if n != p.at && (n < p.at || !p.mode.always) {
		return nil
	}
	if p.op.CompareAndSwap(nil, &op) {
		p.lost.Store(op.Name)
	}
	return p.mode.answer(op, p.err)
}
