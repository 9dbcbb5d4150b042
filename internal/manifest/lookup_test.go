package manifest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift/bloom"
)

// randomVersion returns a version whose bounds are made of prefix and a few of
// the letters from a on, so that keys and bounds meet in every way.
func randomVersion(t testing.TB, r *rand.Rand, prefix string, letters int) *Version {
	t.Helper()
	word := func() string {
		b := []byte(prefix)
		for range r.IntN(4) {
			b = append(b, 'a'+byte(r.IntN(letters)))
		}
		return string(b)
	}
	v := new(Version)
	num := uint64(0)
	for level := range NumLevels {
		words := make([]string, 2*r.IntN(12))
		for i := range words {
			words[i] = word()
		}
		if level > 0 {
			slices.Sort(words)
			words = slices.Compact(words)
		}
		for i := 0; i+1 < len(words); i += 2 {
			num++
			m := table(num, min(words[i], words[i+1]), max(words[i], words[i+1]), 2*num, 2*num+1)
			m.Filter = new(bloom.Filter)
			v = mustApply(t, v, add(level, m))
		}
	}
	return v
}

// candidatesModel is Candidates by looking at every table.
func candidatesModel(v *Version, user string) []Candidate {
	var out []Candidate
	for level, m := range v.All() {
		if string(m.Smallest.User) <= user && user <= string(m.Largest.User) {
			out = append(out, Candidate{level, m, m.Filter})
		}
	}
	return out
}

// Candidates finds the same tables in the same order as looking at each one:
// with bounds that tie in their 8 bytes, keys that are shorter than the common
// prefix, bytes of 0 and 255, and the empty key.
func TestCandidatesAgainstModel(t *testing.T) {
	r := newRand(t)
	for _, prefix := range []string{"", "/", "usr/share", "usr/share/doc/lib", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		for _, letters := range []int{2, 26} {
			for range 60 {
				v := randomVersion(t, r, prefix, letters)
				checkCandidates(t, v, r, prefix)
			}
		}
	}
}

func checkCandidates(t *testing.T, v *Version, r *rand.Rand, prefix string) {
	t.Helper()
	keys := []string{"", "\x00", "\xff", prefix, prefix + "\x00", prefix + "\xff", prefix[:len(prefix)/2]}
	for _, m := range v.All() {
		lo, hi := string(m.Smallest.User), string(m.Largest.User)
		keys = append(keys, lo, lo+"\x00", hi, hi+"\x00", hi+"\xff", hi[:len(hi)-min(1, len(hi))])
	}
	for range 50 {
		keys = append(keys, prefix+string([]byte{'a' + byte(r.IntN(27)), 'a' + byte(r.IntN(27))}))
	}
	for _, k := range keys {
		got, want := v.Candidates([]byte(k), nil), candidatesModel(v, k)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v in\n%s", k, got, want, v.draw())
		}
	}
}

// Many tables whose bounds all share the 8 bytes after the common prefix are
// told apart by their whole keys.
func TestCandidatesAllTied(t *testing.T) {
	v := mustApply(t, new(Version), add(6, table(1, "a", "b", 1, 2), table(999, "z", "zz", 1, 2)))
	var edit Edit
	for i := range uint64(100) {
		lo, hi := fmt.Sprintf("k-same-bytes-%03d", 2*i), fmt.Sprintf("k-same-bytes-%03d", 2*i+1)
		edit.Added = append(edit.Added, NewTable{6, table(i+2, lo, hi, 1, 2)})
	}
	v = mustApply(t, v, &edit)
	for i := range 200 {
		k := fmt.Appendf(nil, "k-same-bytes-%03d", i)
		if c := v.Candidates(k, nil); len(c) != 1 || c[0].Table.Num != uint64(i/2+2) {
			t.Fatalf("%s: %v, want table %d", k, c, i/2+2)
		}
		if c := v.Candidates(append(k, '!'), nil); len(c) != (i+1)%2 {
			t.Fatalf("%s!: %v", k, c)
		}
	}
}

// The largest 8 bytes that there are tie like any others.
func TestCandidatesTiedAtTheEnd(t *testing.T) {
	const end = "\xff\xff\xff\xff\xff\xff\xff\xff"
	v := mustApply(t, new(Version), add(6,
		table(1, "a", end+"b", 1, 2), table(2, end+"d", end+"f", 1, 2), table(3, end+"h", end+"k", 1, 2)))
	for k, want := range map[string]uint64{"a": 1, end: 1, end + "b": 1, end + "e": 2, end + "h": 3, end + "k": 3, end + "c": 0, end + "l": 0} {
		c := v.Candidates([]byte(k), nil)
		if want == 0 && len(c) != 0 || want != 0 && (len(c) != 1 || c[0].Table.Num != want) {
			t.Errorf("%q: %v, want table %d", k, c, want)
		}
	}
}

func TestLowerBound(t *testing.T) {
	for n := range 40 {
		a := make([]uint64, n)
		for i := range a {
			a[i] = uint64(i/2)*2 + 1 // pairs of odd numbers
		}
		for p := range uint64(n + 3) {
			want, _ := slices.BinarySearch(a, p)
			if got := lowerBound(a, p); got != want {
				t.Fatalf("%d in %v: %d, want %d", p, a, got, want)
			}
		}
	}
}

// A lookup allocates nothing, be the key present, absent or outside all bounds.
func TestCandidatesDoNotAllocate(t *testing.T) {
	v := randomVersion(t, newRand(t), "usr/share/", 26)
	keys := [][]byte{[]byte("usr/share/m"), []byte("usr/share/zzzz"), []byte("x"), nil}
	buf := make([]Candidate, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		for _, k := range keys {
			buf = v.Candidates(k, buf[:0])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkCandidates looks keys up in four tables of level 0 and two levels
// below, of 40 and 400 tables: about 30 GB.
func BenchmarkCandidates(b *testing.B) {
	v := mustApply(b, new(Version))
	num := uint64(0)
	for level, n := range map[int]int{0: 4, 5: 40, 6: 400} {
		var edit Edit
		for i := range n {
			num++
			m := table(num, fmt.Sprintf("user%08d", i*1000000/n), fmt.Sprintf("user%08d", (i+1)*1000000/n-1), 2*num, 2*num+1)
			if level == 0 {
				m = table(num, "user00000000", "user00999999", 2*num, 2*num+1)
			}
			edit.Added = append(edit.Added, NewTable{level, m})
		}
		v = mustApply(b, v, &edit)
	}
	r := rand.New(rand.NewPCG(1, 1))
	keys := make([][]byte, 1<<12)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "user%08d", r.IntN(1000000))
	}
	buf := make([]Candidate, 0, 16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if buf = v.Candidates(keys[i%len(keys)], buf[:0]); len(buf) != 6 {
			b.Fatal(len(buf))
		}
	}
}
