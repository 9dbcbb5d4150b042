package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/siftkv/sift"
)

// An op is one put or delete of the model.
type op struct {
	key    string
	value  string
	delete bool
}

func put(key, value string) op { return op{key: key, value: value} }
func del(key string) op        { return op{key: key, delete: true} }

// A version is what one commit did to one key.
type version struct {
	commit  int
	value   string
	deleted bool
}

// A model is the oracle of every test here: a sorted map that keeps all
// versions. Commits are numbered from 1 in the order in which they were made;
// at(n) is the content after commit n, at(0) the empty database.
//
// Within a commit the last op on a key wins, as in a batch.
type model struct {
	last     int // number of the last commit
	versions map[string][]version
}

func newModel() *model { return &model{versions: map[string][]version{}} }

// apply makes one commit and returns its number.
func (m *model) apply(ops ...op) int {
	m.last++
	for _, o := range ops {
		m.versions[o.key] = append(m.versions[o.key], version{m.last, o.value, o.delete})
	}
	return m.last
}

// truncate forgets every commit after n.
func (m *model) truncate(n int) {
	for key, vs := range m.versions {
		for len(vs) > 0 && vs[len(vs)-1].commit > n {
			vs = vs[:len(vs)-1]
		}
		m.versions[key] = vs
	}
	m.last = n
}

// forget takes the given commits out of history, as if they had never been
// made; their numbers stay used.
func (m *model) forget(commits []int) {
	for key, vs := range m.versions {
		m.versions[key] = slices.DeleteFunc(vs, func(v version) bool { return slices.Contains(commits, v.commit) })
	}
}

// get is the value of a key after commit n.
func (m *model) get(key string, n int) (string, bool) {
	for _, v := range slices.Backward(m.versions[key]) {
		if v.commit <= n {
			return v.value, !v.deleted
		}
	}
	return "", false
}

// at is the content after commit n; commits in without are left out.
func (m *model) at(n int, without ...int) view {
	var v view
	for key, vs := range m.versions {
		for _, last := range slices.Backward(vs) {
			if last.commit > n || slices.Contains(without, last.commit) {
				continue
			}
			if !last.deleted {
				v = append(v, pair{key, last.value})
			}
			break
		}
	}
	slices.SortFunc(v, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	return v
}

// head is the content after the last commit.
func (m *model) head() view { return m.at(m.last) }

type pair struct{ key, value string }

// A view is the sorted content of a database at one moment.
type view []pair

// get is the value of a key.
func (v view) get(key string) (string, bool) {
	i := v.seek(key)
	if i < len(v) && v[i].key == key {
		return v[i].value, true
	}
	return "", false
}

// seek is the index of the first key at or after key.
func (v view) seek(key string) int {
	return sort.Search(len(v), func(i int) bool { return v[i].key >= key })
}

// within is the part with lo <= key < hi. An absent bound is nil.
func (v view) within(lo, hi []byte) view {
	from, to := 0, len(v)
	if lo != nil {
		from = v.seek(string(lo))
	}
	if hi != nil {
		to = v.seek(string(hi))
	}
	if from >= to {
		return nil
	}
	return v[from:to]
}

// withPrefix is the part whose keys start with p.
func (v view) withPrefix(p string) view {
	return slices.DeleteFunc(slices.Clone(v), func(x pair) bool { return !strings.HasPrefix(x.key, p) })
}

// A reader is a DB or a Snapshot.
type reader interface {
	Get(key []byte) ([]byte, error)
	Has(key []byte) (bool, error)
	NewIter(o *sift.IterOptions) (*sift.Iterator, error)
}

// check compares a reader with the view in every way that there is to read: a
// full scan each way, Get and Has of every key and of absent neighbours, and
// seeks to random places.
func (v view) check(r reader, rnd *rand.Rand) error {
	if err := v.checkScans(r, nil, nil); err != nil {
		return err
	}
	for _, p := range v {
		if err := v.checkGet(r, p.key); err != nil {
			return err
		}
	}
	for _, key := range v.neighbours(rnd, 16) {
		if err := v.checkGet(r, key); err != nil {
			return err
		}
	}
	return v.checkSeeks(r, rnd, 16)
}

// neighbours makes up keys that are mostly absent but close to present ones.
func (v view) neighbours(rnd *rand.Rand, n int) []string {
	keys := []string{"", "\x00", "\xff\xff\xff"}
	for range n {
		if len(v) == 0 {
			break
		}
		key := v[rnd.IntN(len(v))].key
		keys = append(keys, key+"\x00")
		if key != "" {
			last := len(key) - 1
			keys = append(keys, key[:last], key[:last]+string(key[last]+1))
		}
	}
	return keys
}

// checkGet compares Get and Has of one key.
func (v view) checkGet(r reader, key string) error {
	want, there := v.get(key)
	got, err := r.Get([]byte(key))
	if there && (err != nil || string(got) != want) {
		return fmt.Errorf("Get(%q) = %s, %v; want %s", key, brief(string(got)), err, brief(want))
	}
	if !there && !errors.Is(err, sift.ErrNotFound) {
		return fmt.Errorf("Get(%q) = %s, %v; want ErrNotFound", key, brief(string(got)), err)
	}
	has, err := r.Has([]byte(key))
	if err != nil || has != there {
		return fmt.Errorf("Has(%q) = %v, %v; want %v", key, has, err, there)
	}
	return nil
}

// checkScans compares a full scan forward and one backward between bounds.
func (v view) checkScans(r reader, lo, hi []byte) error {
	want := v.within(lo, hi)
	got, err := scan(r, lo, hi)
	if err != nil {
		return fmt.Errorf("forward scan: %w", err)
	}
	if err := want.diff(got); err != nil {
		return fmt.Errorf("forward scan: %w", err)
	}
	got, err = scanBack(r, lo, hi)
	if err != nil {
		return fmt.Errorf("reverse scan: %w", err)
	}
	slices.Reverse(got)
	if err := want.diff(got); err != nil {
		return fmt.Errorf("reverse scan: %w", err)
	}
	return nil
}

// checkSeeks compares SeekGE and SeekLT, each followed by a step either way.
func (v view) checkSeeks(r reader, rnd *rand.Rand, n int) error {
	it, err := r.NewIter(nil)
	if err != nil {
		return err
	}
	c := newCursor(v, it)
	for _, key := range v.neighbours(rnd, n) {
		if rnd.IntN(2) == 0 {
			c.seekGE(key)
		} else {
			c.seekLT(key)
		}
		if c.at >= 0 && c.at < len(v) {
			c.step(rnd)
		}
	}
	return errors.Join(c.err, it.Close())
}

// diff says how got differs from v, or returns nil.
func (v view) diff(got view) error {
	for i := range max(len(v), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("entry %d of %d: got the end, want %q=%s", i, len(v), v[i].key, brief(v[i].value))
		case i >= len(v):
			return fmt.Errorf("entry %d: got %q=%s, want the end", i, got[i].key, brief(got[i].value))
		case v[i] != got[i]:
			return fmt.Errorf("entry %d of %d: got %q=%s, want %q=%s", i, len(v),
				got[i].key, brief(got[i].value), v[i].key, brief(v[i].value))
		}
	}
	return nil
}

// scan reads everything between two bounds, forward.
func scan(r reader, lo, hi []byte) (view, error) {
	it, err := r.NewIter(&sift.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, err
	}
	var v view
	for it.First(); it.Valid(); it.Next() {
		v = append(v, pair{string(it.Key()), string(it.Value())})
	}
	return v, errors.Join(it.Error(), it.Close())
}

// scanBack reads everything between two bounds, backward.
func scanBack(r reader, lo, hi []byte) (view, error) {
	it, err := r.NewIter(&sift.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, err
	}
	var v view
	for it.Last(); it.Valid(); it.Prev() {
		v = append(v, pair{string(it.Key()), string(it.Value())})
	}
	return v, errors.Join(it.Error(), it.Close())
}

// brief shows a value without filling the screen.
func brief(s string) string {
	if len(s) <= 48 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:40], len(s))
}
