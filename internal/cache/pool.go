package cache

import (
	"math/bits"
	"sync"

	"github.com/siftkv/sift/internal/invariants"
)

// Size classes: multiples of a quarter of a power of two, from 256 B to 256
// KiB. A buffer wastes a fifth of its bytes at worst and nothing at the usual
// block sizes, which are powers of two. Larger buffers are made to measure and
// left to the garbage collector.
const (
	minClassBits = 8
	maxClassBits = 18
	stepBits     = 2
	numClasses   = (maxClassBits-minClassBits)<<stepBits + 1
	largeClass   = numClasses
)

// Idle buffers kept per class: enough for the blocks that a few readers have in
// flight, so that what is idle stays small beside what is cached.
const (
	maxIdleBytes  = 256 << 10
	minIdleBlocks = 4
)

// classOf returns the smallest class whose buffers hold n bytes.
func classOf(n int) uint8 {
	if n <= 1<<minClassBits {
		return 0
	}
	if n > 1<<maxClassBits {
		return largeClass
	}
	exp := bits.Len(uint(n-1)) - 1 // 2^exp <= n-1 < 2^(exp+1)
	step := (n-1)>>(exp-stepBits) - 1<<stepBits
	return uint8((exp-minClassBits)<<stepBits + step + 1)
}

// classSize returns the bytes of a buffer of class c.
func classSize(c uint8) int {
	exp := int(c)>>stepBits + minClassBits
	return 1<<exp + int(c)&(1<<stepBits-1)<<(exp-stepBits)
}

// pool holds the idle buffers, one list per size class, and counts those in
// use. It is safe for use by several goroutines.
type pool struct {
	lists [numClasses + 1]freeList // the last one only counts
}

type freeList struct {
	mu   sync.Mutex
	head *Block
	idle int      // blocks on the list
	used int      // blocks handed out or retained
	_    [32]byte // keeps the locks on cache lines of their own
}

// get returns a block of n bytes with one reference. Its bytes are arbitrary.
func (p *pool) get(n int) *Block {
	c := classOf(n)
	l := &p.lists[c]
	l.mu.Lock()
	l.used++
	b := l.head
	if b != nil {
		l.head, b.chain = b.chain, nil
		l.idle--
	}
	l.mu.Unlock()

	if b == nil {
		b = p.newBlock(c, n)
	}
	b.data = b.buf[:n:n]
	b.refs.Store(1)
	return b
}

func (p *pool) newBlock(c uint8, n int) *Block {
	if c != largeClass {
		n = classSize(c)
	}
	return &Block{buf: make([]byte, n), class: c, pool: p}
}

// put takes back a block whose last reference is gone.
func (p *pool) put(b *Block) {
	if invariants.Enabled {
		poison(b.buf)
	}
	b.data, b.freq = nil, 0
	l := &p.lists[b.class]
	l.mu.Lock()
	l.used--
	if b.class != largeClass && l.idle < max(minIdleBlocks, maxIdleBytes/len(b.buf)) {
		b.chain, l.head = l.head, b
		l.idle++
	}
	l.mu.Unlock()
}

// poison makes a read after release show itself. Doubling what is filled is
// quick under the race detector too, which checks each single store.
func poison(b []byte) {
	if len(b) == 0 {
		return
	}
	b[0] = 0xdb
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// count returns the blocks in use and the bytes that lie idle.
func (p *pool) count() (used int, idle int64) {
	for c := range p.lists {
		l := &p.lists[c]
		l.mu.Lock()
		used += l.used
		if l.idle > 0 {
			idle += int64(l.idle) * int64(classSize(uint8(c)))
		}
		l.mu.Unlock()
	}
	return used, idle
}
