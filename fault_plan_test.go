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
	kind   bool // all later ones of the same kind fail too
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
	{name: "forever-kind", counts: everyCall, answer: fails, kind: true},
	{name: "forever-kind-done-or-short", counts: changing, answer: doneOrShort, kind: true},
}

// A faultPlan fails the calls of one case.
type faultPlan struct {
	mode faultMode
	at   int64
	err  error

	calls atomic.Int64 // that count
	fails atomic.Int64
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
	if n := p.calls.Add(1); n != p.at && !p.later(n, op) {
		return nil
	}
	if p.op.CompareAndSwap(nil, &op) {
		p.lost.Store(op.Name)
	}
	p.fails.Add(1)
	return p.mode.answer(op, p.err)
}

// later says whether a call fails because an earlier one did.
func (p *faultPlan) later(n int64, op vfs.Op) bool {
	if p.at < 0 || n < p.at {
		return false
	}
	first := p.op.Load()
	return p.mode.always || p.mode.kind && first != nil && first.Kind == op.Kind
}

// count adds what the case did.
func (p *faultPlan) count(done *tally) {
	done.add("runs", 1)
	done.add("calls", p.calls.Load())
	done.add("faults injected", p.fails.Load())
	if op := p.op.Load(); op != nil {
		done.add("first at "+op.Kind.String(), 1)
	} else {
		done.add("runs that ended before the call", 1)
	}
}
