package bloom

import (
	"errors"
	"slices"
)

// errUnsolvable says that no seed led to a filter, which for keys that were not
// chosen to that end has a probability far below that of a hardware fault.
var errUnsolvable = errors.New("bloom: no seed solves the filter")

// seedAttempts is the number of seeds to try. One in twenty fails.
const seedAttempts = 16

// seed returns the seed of an attempt.
func seed(attempt int) uint64 { return uint64(attempt+1) * golden64 }

// A peeler builds a fuse filter by peeling: a slot that a single key uses can be
// set to whatever that key needs, so that key may be decided last and taken out;
// that leaves other slots with a single key. With 1.125 slots a key all keys are
// taken out with high probability. Then values are given in reverse order.
//
// Its memory is fusePeak.
type peeler struct {
	h     *header
	keys  []uint64 // hashes by first slot, for locality; then in order of peeling
	which []uint8  // which of its three slots the key was peeled for
	slots []fuseSlot
	alone []uint64 // a stack of slots that may have become single
}

// fuseSlot holds the keys that use a slot and were not yet peeled. Of a single
// one the sum is its hash.
type fuseSlot struct {
	sum    uint64 // exclusive or of their hashes
	degree uint64 // number of them
}

// fusePeak returns the bytes that a peeler holds.
func fusePeak(n, slots uint64) uint64 { return n*(8+1) + slots*(16+8) }

// buildFuse fills body with the keys of each, and sets h.seed to the seed that
// led to a solution.
func buildFuse(h *header, body []byte, each func(func([]uint64))) error {
	p := peeler{
		h:     h,
		keys:  make([]uint64, h.n),
		which: make([]uint8, h.n),
		slots: make([]fuseSlot, h.units),
		alone: make([]uint64, h.units+3),
	}
	for attempt := range seedAttempts {
		h.seed = seed(attempt)
		p.sort(each)
		if attempt > 0 {
			p.dropDuplicates()
		}
		p.enter()
		if p.peel() {
			p.assign(body)
			return nil
		}
		clear(p.slots)
	}
	return errUnsolvable
}

// sort fills keys in the order of the segments of their first slots.
func (p *peeler) sort(each func(func([]uint64))) {
	p.keys = p.keys[:cap(p.keys)]
	bucketSort(p.keys, p.h.units>>p.h.param, each, func(hash uint64) uint64 {
		return p.h.fuseKey(hash).a >> p.h.param
	})
}

// dropDuplicates leaves one of each hash in keys. Two keys with the same hash
// can never be peeled; the builder drops adjacent ones only.
func (p *peeler) dropDuplicates() {
	slices.Sort(p.keys)
	p.keys = slices.Compact(p.keys)
}

// enter adds every key to its three slots.
func (p *peeler) enter() {
	for _, hash := range p.keys {
		k := p.h.fuseKey(hash)
		p.slots[k.a].add(hash, 1)
		p.slots[k.b].add(hash, 1)
		p.slots[k.c].add(hash, 1)
	}
}

func (s *fuseSlot) add(hash, keys uint64) uint64 {
	s.sum ^= hash
	s.degree += keys
	return s.degree
}

// peel puts keys in the order in which they were taken out, and reports whether
// that are all.
func (p *peeler) peel() bool {
	peeled := 0
	for s := range p.slots {
		p.alone[0] = uint64(s)
		for waiting := 1; waiting > 0; {
			waiting--
			own := p.alone[waiting]
			if p.slots[own].degree != 1 {
				continue
			}
			hash := p.slots[own].sum
			p.keys[peeled] = hash
			p.which[peeled], waiting = p.takeOut(hash, own, waiting)
			peeled++
		}
	}
	return peeled == len(p.keys)
}

// takeOut removes a key from its slots, of which it returns the one that is
// own, and puts those that became single on the stack. It branches on neither,
// since a processor could only guess.
func (p *peeler) takeOut(hash, own uint64, waiting int) (which uint8, stack int) {
	k := p.h.fuseKey(hash)
	for i, s := range [...]uint64{k.a, k.b, k.c} {
		p.alone[waiting] = s
		waiting += oneIf(p.slots[s].add(hash, ^uint64(0)) == 1)
		which |= uint8(i * oneIf(s == own))
	}
	return which, waiting
}

// oneIf returns 1 for true and 0 for false.
func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// assign gives every key's own slot the value that makes its three slots its
// fingerprint. The slot is still zero, since keys peeled before do not use it.
func (p *peeler) assign(body []byte) {
	r := uint64(p.h.probes)
	for i, v := range slices.Backward(p.keys) {
		k := p.h.fuseKey(v)
		x := loadSlot(body, k.a*r) ^ loadSlot(body, k.b*r) ^ loadSlot(body, k.c*r) ^ k.print
		own := [...]uint64{k.a, k.b, k.c}[p.which[i]]
		orSlot(body, own*r, x&(1<<r-1))
	}
}
