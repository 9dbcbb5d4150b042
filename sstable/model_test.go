package sstable

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

var seedFlag = flag.Int64("seed", 0, "seed of the random tests; 0 takes the time")

// newRand returns a random source whose seed is logged, to be replayed by
// go test -run <name> -seed <seed>.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("replay with -seed %d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 1))
}

const testID = 0x1122334455667788

type entry struct {
	k key.Internal
	v []byte
}

func (e entry) String() string { return fmt.Sprintf("%v=%.20q", e.k, e.v) }

func set(user string, seq uint64, value string) entry {
	return entry{key.Make([]byte(user), seq, key.Set), []byte(value)}
}

func del(user string, seq uint64) entry { return entry{key.Make([]byte(user), seq, key.Delete), nil} }

// sorted sorts entries by internal key and drops doubles.
func sorted(es []entry) []entry {
	slices.SortFunc(es, func(a, b entry) int { return key.Compare(a.k, b.k) })
	return slices.CompactFunc(es, func(a, b entry) bool { return key.Compare(a.k, b.k) == 0 })
}

// tableFile writes a table into an in-memory file system and returns its bytes.
func tableFile(t testing.TB, o WriterOptions, es []entry) ([]byte, Info) {
	t.Helper()
	if o.ID == 0 {
		o.ID = testID
	}
	fs := vfs.NewMem()
	f, err := fs.Create("t.sst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriter(f, o)
	for _, e := range es {
		if err := w.Add(e.k, e.v); err != nil {
			t.Fatalf("add %v: %v", e.k, err)
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	data := make([]byte, info.Size)
	if size, err := f.Size(); err != nil || uint64(size) != info.Size {
		t.Fatalf("file has %d bytes (%v), the writer says %d", size, err, info.Size)
	}
	if _, err := f.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data, info
}

// bytesFile is a read-only file over bytes; a failing read is a hook away.
type bytesFile struct {
	vfs.File // nil: the methods that tables do not call
	data     []byte
	onRead   func(off int64) error
	closed   bool
}

func (f *bytesFile) ReadAt(p []byte, off int64) (int, error) {
	if f.onRead != nil {
		if err := f.onRead(off); err != nil {
			return 0, err
		}
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *bytesFile) Size() (int64, error) { return int64(len(f.data)), nil }
func (f *bytesFile) Close() error         { f.closed = true; return nil }

// openBytes opens a table that must be good.
func openBytes(t testing.TB, data []byte, o ReaderOptions) *Reader {
	t.Helper()
	o.Name = "000007.sst"
	r, err := Open(&bytesFile{data: data}, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return r
}

// buildTable writes and opens a table.
func buildTable(t testing.TB, o WriterOptions, es []entry) *Reader {
	t.Helper()
	data, _ := tableFile(t, o, es)
	return openBytes(t, data, ReaderOptions{Cache: cache.New(1 << 20)})
}

// modelGet is Get over sorted entries.
func modelGet(es []entry, user []byte, seq uint64) (entry, bool) {
	i := lowerBound(es, key.Seek(user, seq))
	if i < len(es) && bytes.Equal(es[i].k.User, user) {
		return es[i], true
	}
	return entry{}, false
}

// lowerBound returns the number of entries before k.
func lowerBound(es []entry, k key.Internal) int {
	return sort.Search(len(es), func(i int) bool { return key.Compare(es[i].k, k) >= 0 })
}

// checkAt checks that the iterator stands on es[i], or nowhere if there is none.
func checkAt(t testing.TB, it iterator.Iterator, ok bool, es []entry, i int, after string) {
	t.Helper()
	if it.Error() != nil {
		t.Fatalf("after %s: %v", after, it.Error())
	}
	if want := i >= 0 && i < len(es); ok != want || it.Valid() != want {
		t.Fatalf("after %s: positioned %v, valid %v, want %v", after, ok, it.Valid(), want)
	}
	if !ok {
		return
	}
	k, v := it.Key(), it.Value()
	if key.Compare(k, es[i].k) != 0 || !bytes.Equal(v, es[i].v) {
		t.Fatalf("after %s: at %v, want %v", after, entry{k, v}, es[i])
	}
	if cap(k.User) != len(k.User) || cap(v) != len(v) {
		t.Fatalf("after %s: key or value has spare capacity", after)
	}
	if k.User == nil {
		t.Fatalf("after %s: the key on a valid iterator is nil", after)
	}
}

// checkGet checks one lookup against the model.
func checkGet(t testing.TB, r *Reader, es []entry, user []byte, seq uint64) {
	t.Helper()
	want, found := modelGet(es, user, seq)
	got, trailer, ok, err := r.Get([]byte("dst:"), user, seq)
	if err != nil {
		t.Fatalf("get %q at %d: %v", user, seq, err)
	}
	if ok != found || !bytes.HasPrefix(got, []byte("dst:")) {
		t.Fatalf("get %q at %d: found %v, want %v", user, seq, ok, found)
	}
	if got = got[4:]; !bytes.Equal(got, want.v) || found && trailer != want.k.Trailer {
		t.Fatalf("get %q at %d: %.20q %v, want %v", user, seq, got, trailer, want)
	}
}

// checkTable compares everything that a reader can say with the entries.
func checkTable(t testing.TB, r *Reader, es []entry) {
	t.Helper()
	for name, it := range map[string]iterator.Iterator{"cached": r.NewIter(), "compaction": r.NewCompactionIter()} {
		checkWalks(t, it, es, name)
		if err := it.Close(); err != nil {
			t.Fatalf("close %s iterator: %v", name, err)
		}
	}
	for _, e := range es {
		seq := e.k.Trailer.Seq()
		checkGet(t, r, es, e.k.User, seq)
		checkGet(t, r, es, e.k.User, key.MaxSeq)
		if seq > 0 {
			checkGet(t, r, es, e.k.User, seq-1)
		}
		for _, user := range neighbours(e.k.User) {
			checkGet(t, r, es, user, seq)
		}
	}
	if err := r.Verify(); err != nil {
		t.Fatalf("verify: %v", err)
	}
}

// neighbours returns user keys close to one.
func neighbours(user []byte) [][]byte {
	longer := append(slices.Clone(user), 0)
	ns := [][]byte{longer, append(slices.Clone(user), 0xff)}
	if n := len(user); n > 0 {
		up, down := slices.Clone(user), slices.Clone(user)
		up[n-1]++
		down[n-1]--
		ns = append(ns, user[:n-1], up, down)
	}
	return ns
}

func checkWalks(t testing.TB, it iterator.Iterator, es []entry, name string) {
	t.Helper()
	i := 0
	for ok := it.First(); ; ok = it.Next() {
		checkAt(t, it, ok, es, i, fmt.Sprintf("%s: step %d forward", name, i))
		if i++; !ok {
			break
		}
	}
	i = len(es) - 1
	for ok := it.Last(); ; ok = it.Prev() {
		checkAt(t, it, ok, es, i, fmt.Sprintf("%s: step %d backward", name, i))
		if i--; !ok {
			break
		}
	}
	seek := func(k key.Internal) {
		i := lowerBound(es, k)
		checkAt(t, it, it.SeekGE(k), es, i, fmt.Sprintf("%s: SeekGE %v", name, k))
		if it.Valid() {
			checkAt(t, it, it.Next(), es, i+1, fmt.Sprintf("%s: SeekGE %v, Next", name, k))
		}
		checkAt(t, it, it.SeekLT(k), es, i-1, fmt.Sprintf("%s: SeekLT %v", name, k))
		if it.Valid() {
			checkAt(t, it, it.Prev(), es, i-2, fmt.Sprintf("%s: SeekLT %v, Prev", name, k))
		}
	}
	for _, e := range es {
		seek(e.k)
		seek(key.Internal{User: e.k.User, Trailer: e.k.Trailer + 1})
		seek(key.Internal{User: e.k.User, Trailer: max(e.k.Trailer, 1) - 1})
		for _, user := range neighbours(e.k.User) {
			seek(key.Seek(user, key.MaxSeq))
		}
	}
}

// memFile is a write-only file in memory.
type memFile struct {
	vfs.File
	data  []byte
	syncs int
	err   error // what Append returns
}

func (f *memFile) Append(p []byte) error {
	if f.err == nil {
		f.data = append(f.data, p...)
	}
	return f.err
}

func (f *memFile) Sync() error { f.syncs++; return nil }
