package cache

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/siftkv/sift/internal/invariants"
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

// fill inserts a block whose bytes say which one it is, and returns it pinned.
func fill(c *Cache, table, off uint64, n int) *Block {
	b := c.Alloc(n)
	copy(b.Data(), bytes.Repeat([]byte{byte(table ^ off)}, n))
	return c.Insert(table, off, b)
}

// lookup says whether the block is there, having checked its bytes.
func lookup(t *testing.T, c *Cache, table, off uint64, n int) bool {
	t.Helper()
	b := c.Get(table, off)
	if b == nil {
		return false
	}
	defer b.Release()
	if want := bytes.Repeat([]byte{byte(table ^ off)}, n); !bytes.Equal(b.Data(), want) {
		t.Fatalf("block %d/%d holds another block's bytes", table, off)
	}
	return true
}

func TestInsertedBlockIsFoundUnderItsIDOnly(t *testing.T) {
	c := New(1 << 20)
	fill(c, 7, 4096, 100).Release()
	if !lookup(t, c, 7, 4096, 100) {
		t.Error("inserted block is missing")
	}
	for _, id := range []blockID{{7, 0}, {4096, 7}, {8, 4096}, {0, 0}} {
		if lookup(t, c, id.table, id.off, 100) {
			t.Errorf("found %v, which was never inserted", id)
		}
	}
}

// Two readers that miss together must end up with one block, and neither may
// lose or leak a reference.
func TestSecondInsertYieldsTheFirstBlock(t *testing.T) {
	c := New(1 << 20)
	first := fill(c, 1, 0, 64)
	second := fill(c, 1, 0, 64)
	if first != second {
		t.Error("the second insert of an id did not return the first block")
	}
	first.Release()
	second.Release()
	if m := c.Metrics(); m.Blocks != 1 || m.Used != 1 {
		t.Errorf("metrics %+v: want one block, used by the cache alone", m)
	}
}

func TestBlockOverAShardsShareIsReturnedButNotRetained(t *testing.T) {
	for _, capacity := range []int64{-1, 0, 1, 4096} {
		c := New(capacity)
		b := fill(c, 1, 0, 4096)
		if b.Data()[0] != 1 {
			t.Error("the block handed back is not the one inserted")
		}
		b.Release()
		if lookup(t, c, 1, 0, 4096) {
			t.Errorf("capacity %d: a block of 4096 bytes and a header was retained", capacity)
		}
		if m := c.Metrics(); m.Bytes != 0 || m.Used != 0 || m.Rejected != 1 {
			t.Errorf("capacity %d: metrics %+v", capacity, m)
		}
	}
}

// An evicted block stays whole for whoever has it pinned.
func TestEvictionLeavesPinnedBlocksAlone(t *testing.T) {
	c := New(64 << 10)
	pinned := fill(c, 1, 0, 4096)
	for off := uint64(1); off < 100; off++ {
		fill(c, 2, off, 4096).Release()
	}
	if lookup(t, c, 1, 0, 4096) {
		t.Fatal("the test needs the pinned block to be evicted")
	}
	if !bytes.Equal(pinned.Data(), bytes.Repeat([]byte{1}, 4096)) {
		t.Error("an evicted block changed under its reader")
	}
	used := c.Metrics().Used
	pinned.Release()
	if got := c.Metrics().Used; got != used-1 {
		t.Errorf("blocks in use went from %d to %d at the last release", used, got)
	}
}

func TestEvictTableDropsThatTableOnly(t *testing.T) {
	c := New(8 << 20)
	for off := range uint64(200) {
		fill(c, 1, off, 1000).Release()
		fill(c, 2, off, 1000).Release()
	}
	c.EvictTable(1)
	for off := range uint64(200) {
		if lookup(t, c, 1, off, 1000) {
			t.Fatalf("block %d of the evicted table is still there", off)
		}
		if !lookup(t, c, 2, off, 1000) {
			t.Fatalf("block %d of the other table is gone", off)
		}
	}
}

// One pass over many times the capacity must leave most of what is in use.
func TestScanDoesNotFlushWhatIsInUse(t *testing.T) {
	c := New(4 << 20)
	const hot = 400 // of about 990 blocks that fit
	for range 3 {
		for off := range uint64(hot) {
			if !lookup(t, c, 1, off, 4096) {
				fill(c, 1, off, 4096).Release()
			}
		}
	}
	for off := range uint64(20_000) {
		fill(c, 2, off, 4096).Release()
	}
	kept := 0
	for off := range uint64(hot) {
		if lookup(t, c, 1, off, 4096) {
			kept++
		}
	}
	if kept < hot*9/10 {
		t.Errorf("%d of %d hot blocks survived the scan", kept, hot)
	}
}

// A block that comes back soon after its eviction is taken for a hot one.
func TestGhostSendsAReturningBlockToTheMainQueue(t *testing.T) {
	var s shard
	s.init(100 << 10)
	var p pool
	insert := func(off uint64) *Block {
		id := blockID{1, off}
		b := p.get(4096)
		s.insert(id, id.hash(), b)
		b.Release()
		return b
	}
	insert(0)
	for off := uint64(1); s.index.find(blockID{1, 0}, blockID{1, 0}.hash()) != nil; off++ {
		insert(off)
	}
	if b := insert(0); b.queue != &s.main {
		t.Error("a returning block did not reach the main queue")
	}
}

func TestSizeClasses(t *testing.T) {
	for n := range 1<<maxClassBits + 2 {
		c := classOf(n)
		if n > 1<<maxClassBits {
			if c != largeClass {
				t.Fatalf("%d bytes are in class %d", n, c)
			}
			continue
		}
		if classSize(c) < n {
			t.Fatalf("%d bytes are in class %d of %d bytes", n, c, classSize(c))
		}
		if c > 0 && classSize(c-1) >= n {
			t.Fatalf("%d bytes are in class %d, the one below would do", n, c)
		}
	}
}

// The sum of the costs of what can be found equals Bytes, which never passes
// the capacity; and every reference comes back.
func TestAccountingIsExact(t *testing.T) {
	r := newRand(t)
	const capacity = 3 << 20
	c := New(capacity)
	sizes := map[blockID]int{}
	for i := range 20_000 {
		id := blockID{r.Uint64N(5), r.Uint64N(2000)}
		switch n, ok := sizes[id]; {
		case r.IntN(2000) == 0:
			c.EvictTable(id.table)
		case ok && lookup(t, c, id.table, id.off, n):
		default:
			n = r.IntN(12_000)
			sizes[id] = n
			fill(c, id.table, id.off, n).Release()
		}
		if i%100 == 0 {
			if m := c.Metrics(); m.Bytes > capacity {
				t.Fatalf("%d bytes are retained, over the capacity", m.Bytes)
			}
		}
	}
	var blocks, bytes int64
	for id := range sizes {
		if b := c.Get(id.table, id.off); b != nil {
			blocks++
			bytes += b.cost()
			b.Release()
		}
	}
	if m := c.Metrics(); m.Blocks != blocks || m.Bytes != bytes || m.Used != blocks {
		t.Errorf("metrics %+v; found %d blocks of %d bytes", m, blocks, bytes)
	}
	for table := range uint64(5) {
		c.EvictTable(table)
	}
	if m := c.Metrics(); m.Blocks != 0 || m.Bytes != 0 || m.Used != 0 {
		t.Errorf("metrics %+v after everything was evicted", m)
	}
}

func TestSteadyStateMakesNoGarbage(t *testing.T) {
	c := New(1 << 20)
	off := uint64(0)
	next := func() {
		off++
		b := c.Alloc(4096)
		c.Insert(1, off, b).Release()
		if b := c.Get(1, off); b != nil {
			b.Release()
		}
	}
	for range 2000 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%v allocations for each block that passes through", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := New(2 << 20)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 2))
			for range 5000 {
				table, off := r.Uint64N(3), r.Uint64N(1000)
				n := int(512 + off)
				if !lookup(t, c, table, off, n) {
					fill(c, table, off, n).Release()
				}
				if r.IntN(1000) == 0 {
					c.EvictTable(table)
				}
			}
		})
	}
	wg.Wait()
	if m := c.Metrics(); m.Used != m.Blocks {
		t.Errorf("metrics %+v: references leaked", m)
	}
}

func TestMisuseOfReferencesPanics(t *testing.T) {
	mustPanic := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		f()
	}
	b := New(0).Alloc(10)
	b.Release()
	mustPanic("second release", b.Release)
	if invariants.Enabled {
		mustPanic("use after release", func() { b.Data() })
	}
}

// Whoever reads a block after its release must see that something is wrong.
func TestReleasedBytesArePoisoned(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("needs the build tag invariants or the race detector")
	}
	b := New(0).Alloc(10)
	stale := b.Data()
	b.Release()
	if !bytes.Equal(stale, bytes.Repeat([]byte{0xdb}, 10)) {
		t.Errorf("released bytes are %x", stale)
	}
}

func BenchmarkHit(b *testing.B) {
	c := New(64 << 20)
	for off := range uint64(8000) {
		fill(c, 1, off, 4096).Release()
	}
	b.RunParallel(func(pb *testing.PB) {
		for off := uint64(0); pb.Next(); off++ {
			if blk := c.Get(1, off%8000); blk != nil {
				blk.Release()
			}
		}
	})
}

func BenchmarkInsertEvict(b *testing.B) {
	c := New(16 << 20)
	off := uint64(0)
	for b.Loop() {
		off++
		c.Insert(1, off, c.Alloc(4096)).Release()
	}
}
