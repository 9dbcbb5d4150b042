package iterator

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests, 0 for the fixed ones")

// eachSeed runs f as a subtest for several seeds, or for the one of the flag. The
// subtest's name has the seed: -seed with that number replays it.
func eachSeed(t *testing.T, n uint64, f func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	first, last := uint64(1), n
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			f(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// randomEntries returns up to n distinct entries in order. Keys are short, or
// share a prefix of more than 8 bytes, so that prefixes tie.
func randomEntries(rng *rand.Rand, n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{randomKey(rng), fmt.Appendf(nil, "v%d", i)}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return key.Compare(a.Key, b.Key) })
	return slices.CompactFunc(entries, func(a, b Entry) bool { return key.Compare(a.Key, b.Key) == 0 })
}

func randomKey(rng *rand.Rand) key.Internal {
	var user []byte
	if rng.IntN(2) == 0 {
		user = []byte("/a/long/prefix/")
	}
	for range rng.IntN(4) {
		user = append(user, "\x00ab\xff"[rng.IntN(4)])
	}
	return key.Make(user, rng.Uint64N(20), key.Kind(rng.IntN(6)))
}

// deal splits entries over n sources, most of them to one.
func deal(rng *rand.Rand, entries []Entry, n int) [][]Entry {
	parts := make([][]Entry, n)
	for _, e := range entries {
		i := 0
		if rng.IntN(3) == 0 {
			i = rng.IntN(n)
		}
		parts[i] = append(parts[i], e)
	}
	return parts
}

// step is one positioning call.
type step struct {
	op string
	k  key.Internal
}

var ops = []string{"First", "Last", "SeekGE", "SeekLT", "Next", "Next", "Next", "Next", "Prev", "Prev", "Prev", "Prev"}

// randomSteps returns a walk that a model over entries allows: Next and Prev only
// on an entry.
func randomSteps(rng *rand.Rand, entries []Entry, n int) []step {
	model, steps := Slice(entries), make([]step, 0, n)
	for len(steps) < n {
		s := step{ops[rng.IntN(len(ops))], randomKey(rng)}
		if !model.Valid() && (s.op == "Next" || s.op == "Prev") {
			continue
		}
		s.do(model)
		steps = append(steps, s)
	}
	return steps
}

func (s step) do(it Iterator) bool {
	switch s.op {
	case "First":
		return it.First()
	case "Last":
		return it.Last()
	case "SeekGE":
		return it.SeekGE(s.k)
	case "SeekLT":
		return it.SeekLT(s.k)
	case "Next":
		return it.Next()
	}
	return it.Prev()
}

func (s step) String() string { return fmt.Sprintf("%s(%v)", s.op, s.k) }

// absolute reports whether the step positions an iterator from anywhere.
func (s step) absolute() bool { return s.op != "Next" && s.op != "Prev" }

// same says how got, after returning ok, differs from the model, or "".
func same(ok bool, got, model Iterator) string {
	switch {
	case ok != got.Valid():
		return fmt.Sprintf("returned %v, Valid is %v", ok, got.Valid())
	case got.Error() != nil:
		return fmt.Sprintf("error %v", got.Error())
	case ok != model.Valid():
		return fmt.Sprintf("valid %v, want %v", ok, model.Valid())
	case !ok:
		return ""
	case key.Compare(got.Key(), model.Key()) != 0:
		return fmt.Sprintf("at %v, want %v", got.Key(), model.Key())
	case !bytes.Equal(got.Value(), model.Value()):
		return fmt.Sprintf("value %q, want %q", got.Value(), model.Value())
	}
	return ""
}

// checkWalk walks got and a model over entries side by side.
func checkWalk(t *testing.T, got Iterator, entries []Entry, steps []step) {
	t.Helper()
	model := Slice(entries)
	for i, s := range steps {
		s.do(model)
		if diff := same(s.do(got), got, model); diff != "" {
			t.Fatalf("step %d, %v: %s", i, s, diff)
		}
	}
}

var errInjected = errors.New("injected")

// fault fails one call of many: the one that takes left to zero.
type fault struct {
	left int
	hit  bool
}

func (f *fault) strikes() bool {
	f.left--
	f.hit = f.hit || f.left == 0
	return f.left == 0
}

// faulty is an iterator whose positioning calls a fault can fail.
type faulty struct {
	Iterator
	fault *fault
	err   error
	first error
}

func (f *faulty) try(ok func() bool) bool {
	f.err = nil
	if f.fault.strikes() {
		f.err, f.first = errInjected, errInjected
		return false
	}
	return ok()
}

func (f *faulty) First() bool { return f.try(f.Iterator.First) }
func (f *faulty) Last() bool  { return f.try(f.Iterator.Last) }
func (f *faulty) Next() bool  { return f.err == nil && f.try(f.Iterator.Next) }
func (f *faulty) Prev() bool  { return f.err == nil && f.try(f.Iterator.Prev) }
func (f *faulty) SeekGE(k key.Internal) bool {
	return f.try(func() bool { return f.Iterator.SeekGE(k) })
}

func (f *faulty) SeekLT(k key.Internal) bool {
	return f.try(func() bool { return f.Iterator.SeekLT(k) })
}
func (f *faulty) Valid() bool  { return f.err == nil && f.Iterator.Valid() }
func (f *faulty) Error() error { return f.err }
func (f *faulty) Close() error { return errors.Join(f.first, f.Iterator.Close()) }

// checkFaults runs the walk once for every call that can fail. Until the fault
// every step equals the model's; the step it hits, and every Next and Prev after
// it, says false with the error and no entry; the next absolute step recovers;
// Close reports the error.
func checkFaults(t *testing.T, open func(*fault) Iterator, entries []Entry, steps []step) {
	t.Helper()
	for n := 1; ; n++ {
		f := &fault{left: n}
		got, model := open(f), Slice(entries)
		failed := false
		for i, s := range steps {
			wasHit := f.hit
			s.do(model)
			ok := s.do(got)
			if f.hit != wasHit {
				failed = true
			} else if s.absolute() {
				failed = false
			}
			if !failed {
				if diff := same(ok, got, model); diff != "" {
					t.Fatalf("fault %d, step %d, %v: %s", n, i, s, diff)
				}
			} else if ok || got.Valid() || !errors.Is(got.Error(), errInjected) {
				t.Fatalf("fault %d, step %d, %v: returned %v, Valid %v, Error %v", n, i, s, ok, got.Valid(), got.Error())
			}
		}
		if err := got.Close(); (err != nil) != f.hit {
			t.Fatalf("fault %d: Close returned %v", n, err)
		}
		if !f.hit {
			return
		}
	}
}
