package memtable

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// history writes version i of a memtable, for i = 1, 2, 3, ...: its key is i
// modulo keys, its value says i. What a reader at any sequence number must see
// follows from that.
type history struct {
	*MemTable
	hash      func([]byte) uint64
	keys      uint64
	published atomic.Uint64 // the last version that readers may count on
}

func (h *history) user(i uint64) []byte {
	return fmt.Appendf(nil, "a/common/prefix/%d/%05d", i%7, i%h.keys)
}

func (h *history) write(n uint64) {
	for i := uint64(1); i <= n; i++ {
		user := h.user(i)
		h.Add(key.Make(user, i, key.Set), fmt.Append(nil, i), h.hash(user))
		h.published.Store(i)
	}
}

// checkGet looks up one key at one sequence number that is published.
func (h *history) checkGet(rng *rand.Rand) error {
	seq := rng.Uint64N(h.published.Load() + 1)
	target := rng.Uint64N(h.keys)
	user := fmt.Appendf(nil, "a/common/prefix/%d/%05d", rng.Uint64N(7), target)
	var want uint64 // the newest version at seq of that key
	for i := seq; i > 0 && i+7*h.keys > seq; i-- {
		if string(h.user(i)) == string(user) {
			want = i
			break
		}
	}
	value, trailer, ok := h.Get(user, h.hash(user), seq)
	if ok != (want > 0) || ok && (trailer.Seq() != want || string(value) != fmt.Sprint(want)) {
		return fmt.Errorf("Get(%q, %d) = %q %v %v, want version %d", user, seq, value, trailer, ok, want)
	}
	return nil
}

// checkScan walks everything in one direction: the entries must be in order, and
// those published at the start all there.
func (h *history) checkScan(back bool) error {
	seq := h.published.Load()
	it := h.NewIter()
	start, step := it.First, it.Next
	if back {
		start, step = it.Last, it.Prev
	}
	var seen uint64
	var prev key.Internal
	for ok := start(); ok; ok = step() {
		k := it.Key()
		if prev.User != nil && (key.Compare(prev, k) < 0) == back {
			return fmt.Errorf("%v after %v, backward %v", k, prev, back)
		}
		prev = k
		if k.Trailer.Seq() <= seq {
			seen++
		}
		if string(it.Value()) != fmt.Sprint(k.Trailer.Seq()) {
			return fmt.Errorf("%v has value %q", k, it.Value())
		}
	}
	if seen != seq {
		return fmt.Errorf("saw %d of %d entries, backward %v", seen, seq, back)
	}
	return it.Close()
}

// checkTurns moves back and forth on a merge of the live memtable and a fixed
// source, as reads during writes do.
func (h *history) checkTurns(rng *rand.Rand) error {
	fixed := []iterator.Entry{{Key: key.Make([]byte("a/common/prefix/3/0"), 1, key.Set)}, {Key: key.Make([]byte("z"), 1, key.Set)}}
	it := iterator.Merge(h.NewIter(), iterator.Slice(fixed))
	if !it.SeekGE(key.Seek(h.user(rng.Uint64()), key.MaxSeq)) {
		return fmt.Errorf("z is lost: %v", it.Error())
	}
	for range 200 {
		at, back := it.Key().Clone(), rng.IntN(2) == 0
		var ok bool
		if back {
			ok = it.Prev()
		} else {
			ok = it.Next()
		}
		if !ok {
			return it.Close()
		}
		if (key.Compare(it.Key(), at) < 0) != back {
			return fmt.Errorf("from %v to %v, backward %v", at, it.Key(), back)
		}
	}
	return it.Close()
}

// TestReadersBesideWriter: readers see all that was published before they began,
// in order, while the index grows, the prefix changes and keys collide. Run with
// -race it proves that publication is by atomic stores.
func TestReadersBesideWriter(t *testing.T) {
	for _, c := range []struct {
		h    hasher
		n    uint64
		keys uint64
	}{{hashers[0], 20_000, 3000}, {hashers[0], 5000, 20}, {hashers[1], 4000, 600}, {hashers[3], 4000, 600}} {
		t.Run(fmt.Sprint(c.h.name, c.keys), func(t *testing.T) {
			eachSeed(t, 1, func(t *testing.T, rng *rand.Rand) {
				h := &history{MemTable: New(2048), hash: c.h.hash, keys: c.keys}
				readBeside(t, rng, h, func() { h.write(few(c.n)) })
				for _, back := range []bool{false, true} {
					if err := h.checkScan(back); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// readBeside runs all the checks over and over in several goroutines until write
// has returned.
func readBeside(t *testing.T, rng *rand.Rand, h *history, write func()) {
	t.Helper()
	var done atomic.Bool
	var wg sync.WaitGroup
	reader := func(check func(rng *rand.Rand) error) {
		rng := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		wg.Go(func() {
			for !done.Load() {
				if err := check(rng); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	reader(h.checkGet)
	reader(h.checkGet)
	reader(h.checkTurns)
	reader(func(rng *rand.Rand) error { return h.checkScan(rng.IntN(2) == 0) })
	reader(func(*rand.Rand) error {
		if h.Len() < 0 || h.Size() <= 0 {
			return fmt.Errorf("Len %d, Size %d", h.Len(), h.Size())
		}
		return nil
	})
	write()
	done.Store(true)
	wg.Wait()
}
