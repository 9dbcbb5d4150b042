package sstable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
)

// randomOptions draws writer options, the smallest legal ones among them.
func randomOptions(r *rand.Rand) WriterOptions {
	return WriterOptions{
		ID:              r.Uint64() | 1,
		BlockSize:       []int{0, 1, 64, 200, 4096, MaxBlockSize}[r.IntN(6)],
		RestartInterval: []int{0, 1, 2, 3, 16, MaxRestartInterval}[r.IntN(6)],
		Compression:     Compression(r.IntN(2)),
		BitsPerKey:      []float64{0, 1, 10}[r.IntN(3)],
		FilterKind:      bloom.Kind(r.IntN(2)),
	}
}

// randomEntries draws sorted entries: few or many user keys, long shared
// prefixes, zero and 0xff bytes, many versions, tombstones, empty and long
// values.
func randomEntries(r *rand.Rand, n int) []entry {
	prefix := strings.Repeat("p", []int{0, 1, 7, 8, 9, 40, 300}[r.IntN(7)])
	alphabet := []byte{0, 1, 'a', 'b', 0xfe, 0xff}
	maxLen := 1 + r.IntN(12)
	versions := 1 + r.IntN(5)*r.IntN(10)
	var es []entry
	for len(es) < n {
		user := []byte(prefix)
		if r.IntN(20) == 0 {
			user = user[:r.IntN(len(user)+1)]
		}
		for range r.IntN(maxLen) {
			user = append(user, alphabet[r.IntN(len(alphabet))])
		}
		for range 1 + r.IntN(versions) {
			e := entry{key.Make(user, r.Uint64N(100), key.Kind(r.IntN(2))), nil}
			if e.k.Trailer.Kind() == key.Set {
				e.v = []byte(strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(1+r.IntN(300))))
			}
			es = append(es, e)
		}
	}
	return sorted(es)
}

// The model test: whatever the entries and options, a table holds exactly what
// was added, in both directions, at every seek target and for every lookup.
func TestTableEqualsModel(t *testing.T) {
	r := newRand(t)
	for i := range 60 {
		o := randomOptions(r)
		es := randomEntries(r, r.IntN(120))
		data, info := tableFile(t, o, es)
		if info.Entries != uint64(len(es)) {
			t.Fatalf("round %d: info says %d entries, added %d", i, info.Entries, len(es))
		}
		capacity := []int64{0, 1, 8 << 10, 8 << 20}[r.IntN(4)]
		c := cache.New(capacity)
		rd := openBytes(t, data, ReaderOptions{Cache: c})
		checkTable(t, rd, es)
		if m := c.Metrics(); m.Used != m.Blocks {
			t.Fatalf("round %d (%+v): %d blocks in use, the cache holds %d", i, o, m.Used, m.Blocks)
		}
	}
}

// Random walks: every mix of calls, each checked against the model.
func TestRandomWalkEqualsModel(t *testing.T) {
	r := newRand(t)
	for range 60 {
		es := randomEntries(r, 1+r.IntN(150))
		rd := buildTable(t, randomOptions(r), es)
		it := rd.NewIter()
		at := -1
		for step := range 300 {
			var ok bool
			call := r.IntN(12)
			target := es[r.IntN(len(es))].k
			switch {
			case call == 0:
				ok, at = it.First(), 0
			case call == 1:
				ok, at = it.Last(), len(es)-1
			case call == 2:
				ok, at = it.SeekGE(target), lowerBound(es, target)
			case call == 3:
				ok, at = it.SeekLT(target), lowerBound(es, target)-1
			case !it.Valid():
				continue
			case call < 8:
				ok, at = it.Next(), at+1
			default:
				ok, at = it.Prev(), at-1
			}
			checkAt(t, it, ok, es, at, fmt.Sprintf("step %d, call %d", step, call))
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Separators are shortened, and a key equal to one, which is stored nowhere,
// must neither be found nor mislead a seek.
func TestShortenedSeparators(t *testing.T) {
	es := []entry{set("abcde1", 5, strings.Repeat("x", 60)), set("abcdz", 4, strings.Repeat("y", 60))}
	rd := buildTable(t, WriterOptions{BlockSize: 64}, es)
	if n := rd.Properties().DataBlocks; n != 2 {
		t.Fatalf("%d blocks, the test needs 2", n)
	}
	if sep := string(rd.index.separator(nil, 0)); sep != "abcdf" {
		t.Errorf("separator is %q", sep)
	}
	for _, user := range []string{"abcdf", "abcde", "abcd", "abcde1", "abcde2", "abcdy", "abcdz", ""} {
		checkGet(t, rd, es, []byte(user), key.MaxSeq)
		it := rd.NewIter()
		k := key.Seek([]byte(user), key.MaxSeq)
		checkAt(t, it, it.SeekGE(k), es, lowerBound(es, k), "SeekGE "+user)
		checkAt(t, it, it.SeekLT(k), es, lowerBound(es, k)-1, "SeekLT "+user)
		it.Close()
	}
}

func TestAppendSeparator(t *testing.T) {
	for _, c := range []struct{ last, next, want string }{
		{"a", "c", "b"},
		{"a", "b", "a"},
		{"abc", "abd", "abc"},
		{"abcde1", "abcdz", "abcdf"},
		{"a", "ab", "a"},
		{"", "a", ""},
		{"ab", "bc", "b"},
		{"a1", "b", "a2"},
		{"a\xff1", "b", "a\xff2"},
		{"a\xff\xff", "b", "a\xff\xff"},
		{"\xfe", "\xff", "\xfe"},
		{"\xff", "\xff\x00", "\xff"},
		{"prefix-aaa", "prefix-bbb", "prefix-b"},
	} {
		if got := string(appendSeparator(nil, []byte(c.last), []byte(c.next))); got != c.want {
			t.Errorf("between %q and %q: %q, want %q", c.last, c.next, got, c.want)
		}
	}
	r := newRand(t)
	for range 100_000 {
		a, b := randomKey(r), randomKey(r)
		if string(a) >= string(b) {
			continue
		}
		s := appendSeparator(nil, a, b)
		if string(s) < string(a) || string(s) >= string(b) || len(s) > len(a) {
			t.Fatalf("between %q and %q: %q", a, b, s)
		}
	}
}

func randomKey(r *rand.Rand) []byte {
	k := make([]byte, r.IntN(5))
	for i := range k {
		k[i] = []byte{0, 1, 'a', 'b', 0xfe, 0xff}[r.IntN(6)]
	}
	return k
}

// One key with 10,000 versions in hundreds of blocks, between two other keys:
// every snapshot finds its version with one read.
func TestVersionsOfOneKeySpanBlocks(t *testing.T) {
	const versions = 10_000
	es := []entry{set("a", 1, "first"), set("z", 1, "last")}
	for seq := range uint64(versions) {
		es = append(es, set("many", 2*seq+10, fmt.Sprintf("version %d of this key", seq)))
	}
	es = sorted(es)
	data, _ := tableFile(t, WriterOptions{}, es)
	stats := new(Stats)
	rd := openBytes(t, data, ReaderOptions{Stats: stats})
	if n := rd.Properties().DataBlocks; n < 50 {
		t.Fatalf("only %d blocks", n)
	}
	for seq := uint64(0); seq < 2*versions+20; seq += 7 {
		before := stats.Reads.Load()
		checkGet(t, rd, es, []byte("many"), seq)
		if n := stats.Reads.Load() - before; n > 1 {
			t.Fatalf("get at %d took %d reads", seq, n)
		}
	}
	checkGet(t, rd, es, []byte("manx"), key.MaxSeq)
	checkGet(t, rd, es, []byte("many\x00"), key.MaxSeq)
	if err := rd.Verify(); err != nil {
		t.Error(err)
	}
}

// Versions of one key, one in each block, read at each snapshot.
func TestOneVersionPerBlock(t *testing.T) {
	big := strings.Repeat("v", 500)
	es := sorted([]entry{set("k", 30, big+"3"), set("k", 20, big+"2"), set("k", 10, big+"1"), del("l", 5)})
	rd := buildTable(t, WriterOptions{BlockSize: 100}, es)
	for seq := range uint64(40) {
		checkGet(t, rd, es, []byte("k"), seq)
		checkGet(t, rd, es, []byte("l"), seq)
	}
}

// A user key of 64 KiB in many versions is in the index once, not once a block.
func TestIndexKeepsOneCopyOfAKeyThatSpansBlocks(t *testing.T) {
	user := strings.Repeat("k", key.MaxKeyLen)
	var es []entry
	for seq := uint64(60); seq > 0; seq-- {
		es = append(es, set(user, seq, "v"))
	}
	rd := buildTable(t, WriterOptions{BlockSize: 1, Compression: Snappy}, es)
	if n := rd.index.numBlocks(); n != 60 {
		t.Fatalf("%d blocks, the test needs 60", n)
	}
	if m := rd.MemorySize(); m > 2*key.MaxKeyLen {
		t.Errorf("the index occupies %d bytes", m)
	}
	for seq := range uint64(62) {
		checkGet(t, rd, es, []byte(user), seq)
	}
}

func TestLargestKeyAndLargeValue(t *testing.T) {
	user := strings.Repeat("k", key.MaxKeyLen)
	value := strings.Repeat("large value ", 30_000)
	for _, c := range []Compression{NoCompression, Snappy} {
		es := sorted([]entry{set("", 1, ""), set("a", 9, value), set(user, 7, value), set(user[1:], 3, "s"), del(user, 5)})
		rd := buildTable(t, WriterOptions{Compression: c}, es)
		checkTable(t, rd, es)
	}
}

// Empty values, a block of one empty key and value, and blocks of very
// different lengths that pass through the same buffers.
func TestCompressionOfEmptyAndUnequalBlocks(t *testing.T) {
	var es []entry
	for i := range 1000 {
		es = append(es, set(fmt.Sprintf("empty%04d", i), 1, ""))
	}
	for i := range 50 {
		es = append(es, set(fmt.Sprintf("unequal%03d", i), 1, strings.Repeat("z", i%2*4000)))
	}
	es = sorted(append(es, set("", 1, "")))
	for _, size := range []int{1, 16, 0} {
		rd := buildTable(t, WriterOptions{Compression: Snappy, BlockSize: size}, es)
		checkTable(t, rd, es)
	}
}

// What an iterator returned cannot be appended to, so a caller that does so
// gets a copy and does no harm.
func TestCallersAppendDoesNotReachTheTable(t *testing.T) {
	var es []entry
	for i := range byte(5) {
		es = append(es, set(string([]byte{i, i}), 1, string([]byte{i})))
	}
	rd := buildTable(t, WriterOptions{}, es)
	for range 2 {
		it := rd.NewIter()
		i := len(es) - 1
		for ok := it.Last(); ok; ok = it.Prev() {
			checkAt(t, it, ok, es, i, "Prev")
			_ = append(it.Key().User, 0xff)
			_ = append(it.Value(), 0xff)
			i--
		}
		it.Close()
	}
}

func TestEmptyTable(t *testing.T) {
	rd := buildTable(t, WriterOptions{BitsPerKey: 10}, nil)
	checkTable(t, rd, nil)
	checkGet(t, rd, nil, []byte("a"), 1)
	if rd.Filter().Len != 0 {
		t.Error("a table without entries has a filter")
	}
}

func TestRangeDeletions(t *testing.T) {
	rangeDel := func(start, end string, seq uint64) entry {
		return entry{key.Make([]byte(start), seq, key.RangeDelete), []byte(end)}
	}
	ranges := []entry{rangeDel("b", "d", 9), rangeDel("b", "c", 4), rangeDel("c", "x", 7)}
	points := []entry{set("c", 8, "1"), set("d", 2, "2")}
	for _, withPoints := range []bool{false, true} {
		var es []entry
		if withPoints {
			es = points
		}
		// Points and ranges are ordered each for themselves only.
		data, info := tableFile(t, WriterOptions{BitsPerKey: 10}, slices.Concat(ranges, es))
		rd := openBytes(t, data, ReaderOptions{})
		checkTable(t, rd, es)
		it := rd.NewRangeDelIter()
		checkWalks(t, it, ranges, "ranges")
		if info.RangeDeletes != 3 || info.Smallest.String() != `"b"#9,range-delete` || string(info.Largest.User) != "x" {
			t.Errorf("info is %+v", info.Properties)
		}
		if info.Largest.Trailer.Seq() != key.MaxSeq {
			t.Error("the largest bound covers versions of the end, which is not deleted")
		}
	}
}
