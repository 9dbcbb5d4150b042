package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/siftkv/sift"
)

// The operations of a metamorphic sequence. slot names one of three places for
// a snapshot and three for an iterator.
type metaKind int

const (
	metaBatch metaKind = iota
	metaGet
	metaSnapshot // open or close the snapshot in the slot
	metaSnapGet
	metaIter // open or close the iterator in the slot, of head or of a snapshot
	metaMove
	metaScan
	metaBarrier // close everything
)

var metaNames = [...]string{"batch", "get", "snapshot", "snapshot get", "iterator", "move", "scan", "barrier"}

type metaStep struct {
	kind   metaKind
	slot   int
	ops    []op
	key    string
	lo, hi []byte
	move   int // First Last SeekGE SeekLT Next Prev
	ofSnap bool
}

func (s metaStep) String() string {
	return fmt.Sprintf("%s %d %q [%q,%q) %d", metaNames[s.kind], s.slot, s.key, s.lo, s.hi, s.move)
}

const metaKeys = 80

// metaKey makes keys of several lengths that are prefixes of each other.
func metaKey(i int) string {
	if i%16 == 0 {
		return fmt.Sprintf("%02d", i/16)
	}
	return fmt.Sprintf("%02d/%s%d", i/16, strings.Repeat("p", i%7), i%16)
}

func metaSteps(rnd *rand.Rand) []metaStep {
	steps := make([]metaStep, 400)
	weights := []metaKind{
		metaBatch, metaBatch, metaBatch, metaBatch, metaGet, metaGet, metaSnapshot, metaSnapGet, metaSnapGet,
		metaIter, metaMove, metaMove, metaMove, metaMove, metaMove, metaScan,
	}
	for i := range steps {
		s := metaStep{kind: weights[rnd.IntN(len(weights))], slot: rnd.IntN(3), key: metaKey(rnd.IntN(metaKeys))}
		if i%50 == 49 {
			s = metaStep{kind: metaBarrier}
		}
		switch s.kind {
		case metaBatch:
			s.ops = metaOps(rnd)
		case metaIter, metaScan:
			s.ofSnap = rnd.IntN(2) == 0
			s.lo, s.hi = metaBound(rnd), metaBound(rnd)
		case metaMove:
			s.move = rnd.IntN(10)
		}
		steps[i] = s
	}
	return steps
}

func metaBound(rnd *rand.Rand) []byte {
	switch rnd.IntN(5) {
	case 0, 1:
		return nil
	case 2:
		return []byte{}
	}
	return []byte(metaKey(rnd.IntN(metaKeys)))
}

func metaOps(rnd *rand.Rand) []op {
	ops := make([]op, 1+rnd.IntN(4))
	for i := range ops {
		key := metaKey(rnd.IntN(metaKeys))
		if rnd.IntN(3) == 0 {
			ops[i] = del(key)
		} else {
			ops[i] = put(key, strings.Repeat(fmt.Sprint(rnd.IntN(1000)), pick(rnd, 0, 1, 1, 10, 100, 1000)))
		}
	}
	return ops
}

// step runs one operation and returns its line of the log.
func (r *metaRun) step(s metaStep) string {
	switch s.kind {
	case metaBatch:
		return errText(applyOps(r.db, sift.NoSync, s.ops))
	case metaGet:
		return getText(r.db, s.key)
	case metaSnapshot:
		return r.toggleSnapshot(s.slot)
	case metaSnapGet:
		if r.snap[s.slot] == nil {
			return "none"
		}
		return getText(r.snap[s.slot], s.key)
	case metaIter:
		return r.toggleIter(s)
	case metaMove:
		return r.moveIter(s)
	default:
		v, err := scan(r.source(s), s.lo, s.hi)
		return scanText(v, err)
	}
}

func (r *metaRun) source(s metaStep) reader {
	if s.ofSnap && r.snap[s.slot] != nil {
		return r.snap[s.slot]
	}
	return r.db
}

func (r *metaRun) toggleSnapshot(slot int) string {
	if s := r.snap[slot]; s != nil {
		r.snap[slot] = nil
		return "close " + errText(s.Close())
	}
	r.snap[slot] = r.db.NewSnapshot()
	return "open"
}

func (r *metaRun) toggleIter(s metaStep) string {
	if it := r.iter[s.slot]; it != nil {
		r.iter[s.slot] = nil
		return "close " + errText(it.Close())
	}
	it, err := r.source(s).NewIter(&sift.IterOptions{LowerBound: s.lo, UpperBound: s.hi})
	r.iter[s.slot] = it
	return "open " + errText(err)
}

func (r *metaRun) moveIter(s metaStep) string {
	it := r.iter[s.slot]
	if it == nil {
		return "none"
	}
	switch s.move {
	case 0:
		it.First()
	case 1:
		it.Last()
	case 2:
		it.SeekGE([]byte(s.key))
	case 3:
		it.SeekLT([]byte(s.key))
	case 4, 5, 6:
		it.Next()
	default:
		it.Prev()
	}
	if !it.Valid() {
		return "invalid " + errText(it.Error())
	}
	return entryText(string(it.Key()), string(it.Value()))
}

func getText(r reader, key string) string {
	v, err := r.Get([]byte(key))
	if err != nil {
		return errText(err)
	}
	return entryText(key, string(v))
}

func scanText(v view, err error) string {
	lines := make([]string, len(v))
	for i, p := range v {
		lines[i] = entryText(p.key, p.value)
	}
	return strings.Join(lines, " ") + " " + errText(err)
}

func entryText(key, value string) string { return fmt.Sprintf("%q=%s", key, brief(value)) }

// errText is the part of an error that must not depend on options.
func errText(err error) string {
	if errors.Is(err, sift.ErrNotFound) {
		return "not found"
	}
	return fmt.Sprint(err)
}
