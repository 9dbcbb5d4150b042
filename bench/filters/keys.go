package main

import (
	"encoding/binary"

	"github.com/siftkv/sift/bloom"
)

const (
	keyLen = 16

	// asked is how many keys a round looks up: few enough for the keys to stay
	// in the cache. Of a large filter each round asks for others, so that it
	// does not find their lines in the cache.
	asked = 1 << 16
	pools = 64
)

// keys is a sequence of keys without gaps.
type keys []byte

func (k keys) len() int            { return len(k) / keyLen }
func (k keys) at(i int) []byte     { return k[i*keyLen : (i+1)*keyLen : (i+1)*keyLen] }
func (k keys) slice(i, n int) keys { return k[i*keyLen : (i+n)*keyLen] }

// makeKeys returns n keys that depend on their number alone.
func makeKeys(first, n int) keys {
	k := make(keys, n*keyLen)
	for i := range n {
		x := uint64(first + i)
		binary.LittleEndian.PutUint64(k.at(i), mix(x))
		binary.LittleEndian.PutUint64(k.at(i)[8:], mix(^x))
	}
	return k
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashes returns the hashes of keys, as sift takes them.
func (k keys) hashes() []uint64 {
	hs := make([]uint64, k.len())
	for i := range hs {
		hs[i] = bloom.Hash(k.at(i))
	}
	return hs
}

// A workload is what a comparison adds and asks for.
type workload struct {
	present keys
	absent  keys // pools * asked
	cold    bool // a large filter
	turn    int
}

func newWorkload(n int) *workload {
	return &workload{present: makeKeys(0, n), absent: makeKeys(1<<40, pools*asked), cold: n > 2_000_000}
}

// negatives returns keys that were not added.
func (w *workload) negatives() keys {
	if w.cold {
		w.turn++
	}
	return w.absent.slice(w.turn%pools*asked, asked)
}

// positives returns keys that were added.
func (w *workload) positives() keys {
	if w.cold {
		w.turn++
	}
	n := w.present.len()
	if n <= asked {
		return w.present
	}
	return w.present.slice(w.turn%(n/asked)*asked, asked)
}
