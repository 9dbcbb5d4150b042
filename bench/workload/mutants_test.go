package workload

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// A mutant is a store whose every so-manieth answer is wrong in one way.
type mutant struct {
	Store
	fault string
	n     atomic.Int64
}

const (
	forgets    = "forgets"     // does not find a key that is there
	invents    = "invents"     // finds one that is not
	muddles    = "muddles"     // gives another value
	skips      = "skips"       // leaves a pair out of a walk
	muddlesIt  = "muddles it"  // gives another value in a walk
	repeats    = "repeats"     // shows a pair of a walk twice
	endsEarly  = "ends early"  // shows no pair of a walk after some
	dropsPuts  = "drops puts"  // acknowledges a put and does nothing
	dropsDels  = "drops dels"  // the same of a delete
	dropsBatch = "drops batch" // the same of the last pair of a batch
)

// period is how many answers pass between two wrong ones. It is no divisor of
// the sizes of steps and samples.
const period = 7

func (m *mutant) now(fault string) bool {
	return m.fault == fault && m.n.Add(1)%period == 0
}

func (m *mutant) Get(dst, key []byte) ([]byte, bool, error) {
	v, ok, err := m.Store.Get(dst, key)
	switch {
	case ok && m.now(forgets):
		return dst, false, err
	case !ok && m.now(invents):
		return append(dst, "invented"...), true, err
	case ok && m.now(muddles):
		v[len(v)-1] ^= 1
	}
	return v, ok, err
}

func (m *mutant) Put(key, value []byte, sync bool) error {
	if m.now(dropsPuts) {
		return nil
	}
	return m.Store.Put(key, value, sync)
}

func (m *mutant) Delete(key []byte) error {
	if m.now(dropsDels) {
		return nil
	}
	return m.Store.Delete(key)
}

func (m *mutant) Apply(pairs []Pair) error {
	if m.fault == dropsBatch && len(pairs) > 1 {
		pairs = pairs[1:]
	}
	return m.Store.Apply(pairs)
}

func (m *mutant) NewIter() (Iter, error) {
	it, err := m.Store.NewIter()
	return &mutantIter{Iter: it, m: m}, err
}

type mutantIter struct {
	Iter
	m     *mutant
	ended bool
}

func (it *mutantIter) SeekGE(key []byte) bool {
	it.ended = false
	return it.Iter.SeekGE(key)
}

func (it *mutantIter) Next() bool { return it.move(it.Iter.Next) }
func (it *mutantIter) Prev() bool { return it.move(it.Iter.Prev) }

func (it *mutantIter) move(next func() bool) bool {
	switch {
	case it.m.now(skips):
		next()
	case it.m.now(repeats):
		return true
	case it.m.now(endsEarly):
		it.ended = true
	}
	return !it.ended && next()
}

func (it *mutantIter) Value() []byte {
	v := it.Iter.Value()
	if it.m.now(muddlesIt) {
		v = slices.Clone(v)
		v[0] ^= 1
	}
	return v
}

// A store that answers wrongly, or does not do what it says, is found out by
// every workload that could see it.
func TestMutants(t *testing.T) {
	walks := []string{skips, muddlesIt, repeats, endsEarly}
	seen := map[string][]string{
		"fillseq": {dropsPuts}, "fillrandom": {dropsPuts}, "fillrandom-4": {dropsPuts}, "fillrandom-1k": {dropsPuts},
		"fillsync": {dropsPuts}, "fillsync-16": {dropsPuts}, "fillbatch": {dropsBatch}, "deleterandom": {dropsDels},
		"overwrite":  {forgets, muddles}, // a put that is dropped leaves what could be there too
		"readrandom": {forgets, muddles}, "readrandom-4": {forgets, muddles}, "readrandom-zipf": {forgets, muddles}, "readhit-overlap": {forgets, muddles},
		"readmissing": {invents}, "readmissing-1k": {invents}, "readmissing-overlap": {invents}, "readmissing-overwritten": {invents},
		"readmissing-deleted": {invents}, "readdeleted": {invents},
		"readseq": walks, "readreverse": walks, "seekrandom50": walks,
		"ycsb-a": {forgets, muddles}, "ycsb-b": {forgets, muddles}, "ycsb-c": {forgets, muddles},
		"ycsb-d": {forgets, muddles, dropsPuts}, "ycsb-e": walks, "ycsb-f": {forgets, muddles},
		"recover": {muddles}, "opentables": {forgets, muddles},
	}
	honest := small(t, "decimal")
	for _, spec := range All() {
		if len(seen[spec.Name]) == 0 {
			t.Errorf("no mutant is tried on %s", spec.Name)
		}
		if err := honest.Build(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		for _, fault := range seen[spec.Name] {
			r := *honest
			r.Open = func(dir string, s Settings) (Store, error) {
				store, err := OpenSift(dir, s)
				return &mutant{Store: store, fault: fault}, err
			}
			if _, err := r.Run(t.Context(), spec); !errors.Is(err, ErrWrongAnswer) {
				t.Errorf("%s on a store that %s: %v; want a wrong answer", spec.Name, fault, err)
			}
		}
	}
}

// After SIGKILL a store may have lost what it had not written: that is counted,
// not refused.
func TestLost(t *testing.T) {
	r := small(t, "decimal")
	spec := find(t, "recover")
	if err := r.Build(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	r.Open = func(dir string, s Settings) (Store, error) {
		store, err := OpenSift(dir, s)
		return &mutant{Store: store, fault: forgets}, err
	}
	got, err := r.Run(t.Context(), spec)
	if want := float64(r.Pairs / period); err != nil || got.Figures[Lost] != want {
		t.Errorf("%v lost, %v; want %v", got, err, want)
	}
}

func find(t *testing.T, name string) *Spec {
	t.Helper()
	found, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}
