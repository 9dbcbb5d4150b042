package compaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// kept is a sink that remembers.
type kept struct{ entries []iterator.Entry }

func (s *kept) add(k key.Internal, value []byte, newUser bool) error {
	n := len(s.entries)
	if first := n == 0 || !bytes.Equal(s.entries[n-1].Key.User, k.User); first != newUser {
		return fmt.Errorf("%v: newUser is %v", k, newUser)
	}
	s.entries = append(s.entries, iterator.Entry{Key: k.Clone(), Value: bytes.Clone(value)})
	return nil
}

// belowAll is a below that may hold every key.
func belowAll() below {
	all := &manifest.TableMeta{Largest: key.Make(bytes.Repeat([]byte{0xff}, 20), 0, key.Set)}
	return below{runs: [][]*manifest.TableMeta{{all}}}
}

// survive returns what of entries is passed on, and checks the bookkeeping.
func survive(t testing.TB, entries []iterator.Entry, snapshots []uint64, b below) ([]iterator.Entry, *survivors) {
	t.Helper()
	s := &survivors{snapshots: snapshots, below: b, sumInput: true}
	var out kept
	in := iterator.Slice(entries)
	if err := s.run(context.Background(), in, in.First(), &out); err != nil {
		t.Fatal(err)
	}
	var got Tally
	for _, e := range out.entries {
		got.add(e.Key, e.Value)
	}
	got.plus(s.drops.Total())
	var want Tally
	for _, e := range entries {
		want.add(e.Key, e.Value)
	}
	if got != want || s.read != want {
		t.Fatalf("%v of %v: kept and dropped %v, read %v, want %v", out.entries, entries, got, s.read, want)
	}
	return out.entries, s
}

// history returns the versions of one key, newest first. Version i has sequence
// number i+1 and the kind kinds[i].
func history(user string, kinds []key.Kind) []iterator.Entry {
	var out []iterator.Entry
	for i, kind := range slices.Backward(kinds) {
		var value []byte
		if kind != key.Delete {
			value = fmt.Appendf(nil, "%s%d", user, i+1)
		}
		out = append(out, iterator.Entry{Key: key.Make([]byte(user), uint64(i+1), kind), Value: value})
	}
	return out
}

// sees is what a reader at seq gets for a key of which these are the versions:
// the merge operands on top, then the value under them, if any. older is the
// value that an older table holds, or "".
func sees(versions []iterator.Entry, seq uint64, older string) string {
	var b strings.Builder
	for _, e := range versions {
		if e.Key.Trailer.Seq() > seq {
			continue
		}
		switch e.Key.Trailer.Kind() {
		case key.Merge:
			fmt.Fprintf(&b, "+%s", e.Value)
			continue
		case key.Set:
			b.Write(e.Value)
		}
		return b.String() // a value, a tombstone, or a range deletion
	}
	b.WriteString(older)
	return b.String()
}

// sameForAll reports whether the head and every snapshot see the same in both.
func sameForAll(a, b []iterator.Entry, snapshots []uint64, older string) bool {
	for _, seq := range append(slices.Clone(snapshots), key.MaxSeq) {
		if sees(a, seq, older) != sees(b, seq, older) {
			return false
		}
	}
	return true
}

const maxVersions = 5

// allHistories calls fn for each sequence of at most five kinds.
func allHistories(kinds []key.Kind, fn func([]key.Kind)) {
	var grow func(h []key.Kind)
	grow = func(h []key.Kind) {
		fn(h)
		if len(h) < maxVersions {
			for _, k := range kinds {
				grow(append(slices.Clip(h), k))
			}
		}
	}
	grow(nil)
}

// allSnapshots calls fn for each set of snapshots between the versions of a
// history, before the first (sequence number 0, the empty store) and after the
// last.
func allSnapshots(fn func([]uint64)) {
	for set := range uint(1) << (maxVersions + 1) {
		var snapshots []uint64
		for seq := range uint64(maxVersions + 1) {
			if set>>seq&1 != 0 {
				snapshots = append(snapshots, seq)
			}
		}
		fn(snapshots)
	}
}

// Every reader sees the same before and after: of every history of at most
// five versions of all kinds that a reader tells apart, with every set of
// snapshots, with and without older versions in the tables below.
func TestDropsAreInvisible(t *testing.T) {
	kinds := []key.Kind{key.Set, key.Delete, key.Merge, key.RangeDelete}
	allHistories(kinds, func(h []key.Kind) {
		versions := history("k", h)
		allSnapshots(func(snapshots []uint64) {
			bottom, _ := survive(t, versions, snapshots, below{})
			if !sameForAll(versions, bottom, snapshots, "") {
				t.Fatalf("%v with snapshots %v at the bottom: kept %v", versions, snapshots, bottom)
			}
			above, _ := survive(t, versions, snapshots, belowAll())
			for _, older := range []string{"", "older"} {
				if !sameForAll(versions, above, snapshots, older) {
					t.Fatalf("%v with snapshots %v over %q: kept %v", versions, snapshots, older, above)
				}
			}
		})
	})
}

// Nothing that could be dropped is kept: no smaller part of the versions looks
// the same to every reader.
func TestDropsAreComplete(t *testing.T) {
	allHistories([]key.Kind{key.Set, key.Delete, key.Merge}, func(h []key.Kind) {
		versions := history("k", h)
		allSnapshots(func(snapshots []uint64) {
			got, _ := survive(t, versions, snapshots, below{})
			if want := fewest(versions, snapshots, ""); len(got) != want {
				t.Fatalf("%v with snapshots %v at the bottom: kept %v, %d would do", versions, snapshots, got, want)
			}
			got, _ = survive(t, versions, snapshots, belowAll())
			if want := fewest(versions, snapshots, "older"); len(got) != want {
				t.Fatalf("%v with snapshots %v over more: kept %v, %d would do", versions, snapshots, got, want)
			}
		})
	})
}

// fewest returns the size of the smallest part of versions that every reader
// sees as the whole.
func fewest(versions []iterator.Entry, snapshots []uint64, older string) int {
	best := len(versions)
	var part []iterator.Entry
	for set := range uint(1) << len(versions) {
		if bits.OnesCount(set) >= best {
			continue
		}
		part = part[:0]
		for i, e := range versions {
			if set>>i&1 != 0 {
				part = append(part, e)
			}
		}
		if sameForAll(versions, part, snapshots, older) {
			best = len(part)
		}
	}
	return best
}

// Range deletions and kinds of a later release are all kept, in their place,
// and so is the value that lies directly under an operand.
func TestOpaqueKindsAreKept(t *testing.T) {
	const unknown = key.Kind(99)
	allHistories([]key.Kind{key.Set, key.Delete, key.RangeDelete, unknown}, func(h []key.Kind) {
		versions := history("k", h)
		for _, snapshots := range [][]uint64{nil, {2}, {0, 1, 2, 3, 4, 5}} {
			got, _ := survive(t, versions, snapshots, below{})
			for _, e := range versions {
				kind := e.Key.Trailer.Kind()
				opaque := kind == key.RangeDelete || kind == unknown
				if opaque && !slices.ContainsFunc(got, func(g iterator.Entry) bool { return key.Compare(g.Key, e.Key) == 0 }) {
					t.Fatalf("%v with snapshots %v: kept %v", versions, snapshots, got)
				}
			}
		}
	})
}

// The keys of one walk do not influence each other: each is kept as if it were
// alone, between neighbours of every history.
func TestKeysAreIndependent(t *testing.T) {
	var all [][]key.Kind
	allHistories([]key.Kind{key.Set, key.Delete, key.Merge}, func(h []key.Kind) {
		if len(h) > 0 && len(h) <= 3 {
			all = append(all, h)
		}
	})
	users := []string{"", "a", "a\x00", "b"}
	r := newRand(t)
	for range 3000 {
		var snapshots []uint64
		for seq := range uint64(4) {
			if r.IntN(3) == 0 {
				snapshots = append(snapshots, seq)
			}
		}
		b := below{}
		if r.IntN(2) == 0 {
			b = belowAll()
		}
		var entries, want []iterator.Entry
		for _, user := range users {
			versions := history(user, all[r.IntN(len(all))])
			entries = append(entries, versions...)
			alone, _ := survive(t, versions, snapshots, b)
			want = append(want, alone...)
		}
		got, _ := survive(t, entries, snapshots, b)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v with snapshots %v: kept\n%v, want\n%v", entries, snapshots, got, want)
		}
	}
}

// The reasons are those of the drawing in drop.go.
func TestDropReasons(t *testing.T) {
	const put, del = key.Set, key.Delete
	for _, c := range []struct {
		kinds     []key.Kind // oldest first
		snapshots []uint64
		below     bool
		want      string // the sequence numbers kept, then the reasons' counts
	}{
		{[]key.Kind{put, put}, nil, false, "[2] 1 shadowed"},
		{[]key.Kind{put, put}, []uint64{0}, false, "[2] 1 shadowed"},
		{[]key.Kind{put, put}, []uint64{1}, false, "[2 1]"},
		{[]key.Kind{put, put}, []uint64{2}, false, "[2] 1 shadowed"},
		{[]key.Kind{put, del}, nil, false, "[] 1 shadowed 1 tombstone at the bottom"},
		{[]key.Kind{put, del}, nil, true, "[2] 1 shadowed"},
		{[]key.Kind{put, del}, []uint64{1}, false, "[2 1]"},
		{[]key.Kind{del, del}, []uint64{1}, true, "[1] 1 tombstone repeated"},
		{[]key.Kind{del, del}, []uint64{1}, false, "[] 1 tombstone repeated 1 tombstone at the bottom"},
		{[]key.Kind{put, put, put, put, del}, []uint64{2, 4}, false, "[5 4 2] 2 shadowed"},
	} {
		b := below{}
		if c.below {
			b = belowAll()
		}
		entries, s := survive(t, history("k", c.kinds), c.snapshots, b)
		seqs := make([]uint64, len(entries))
		for i, e := range entries {
			seqs[i] = e.Key.Trailer.Seq()
		}
		got := fmt.Sprint(seqs)
		for reason, tally := range s.drops {
			if tally.Entries > 0 {
				got += fmt.Sprintf(" %d %v", tally.Entries, DropReason(reason))
			}
		}
		if got != c.want {
			t.Errorf("%v with snapshots %v: %s, want %s", c.kinds, c.snapshots, got, c.want)
		}
	}
}

// Keys from end on are not read.
func TestSurvivorsStopAtEnd(t *testing.T) {
	entries := slices.Concat(history("a", []key.Kind{key.Delete}), history("b", []key.Kind{key.Set}), history("c", []key.Kind{key.Set}))
	s := survivors{end: []byte("c"), below: belowAll()}
	var out kept
	in := iterator.Slice(entries)
	if err := s.run(context.Background(), in, in.First(), &out); err != nil || len(out.entries) != 2 || s.read.Entries != 2 {
		t.Errorf("%v, %v, read %d", out.entries, err, s.read.Entries)
	}
}

// failing is an iterator that fails where it would step to entry n.
type failing struct {
	iterator.Iterator
	n   int
	err error
}

func (f *failing) step(ok bool) bool {
	if f.n--; f.n < 0 {
		f.err = errors.New("read failed")
		return false
	}
	return ok
}
func (f *failing) First() bool  { return f.step(f.Iterator.First()) }
func (f *failing) Next() bool   { return f.step(f.Iterator.Next()) }
func (f *failing) Error() error { return f.err }

// A read that fails, from the first on, is an error and never an end.
func TestReadErrorIsNoEnd(t *testing.T) {
	entries := history("k", []key.Kind{key.Set, key.Set, key.Set})
	for n := range len(entries) + 1 {
		in := &failing{Iterator: iterator.Slice(entries), n: n}
		err := new(survivors).run(context.Background(), in, in.First(), new(kept))
		if err == nil {
			t.Errorf("failing at entry %d: no error", n)
		}
	}
}

// below agrees with looking at every table, for keys in ascending order.
func TestBelow(t *testing.T) {
	v := parseTree(t, `L0 5[c-d] 4[m-p]
	                   L5 6[a-a] 7[e-g] 8[x-z]
	                   L6 1[b-b] 2[f-h] 3[k-k]`)
	for from := range manifest.NumLevels {
		b := newBelow(v, from)
		for c := byte('a' - 1); c <= 'z'+1; c++ {
			for _, user := range [][]byte{{c}, {c, 0}} {
				if got, want := b.mayHold(user), v.AnyOverlap(from, user, user); got != want {
					t.Errorf("from level %d, %q: %v, want %v", from, user, got, want)
				}
			}
		}
	}
}
