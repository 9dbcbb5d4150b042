package workload

import "math/bits"

// A permutation is a bijection of the numbers below n that looks random: a
// Feistel network over the next even power of two, walked on until it falls
// below n. Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
// 2002, https://doi.org/10.1007/3-540-45760-7_9
type permutation struct {
	n    uint64
	half uint // bits of either half
	seed uint64
}

func newPermutation(n int, seed uint64) permutation {
	return permutation{n: uint64(n), half: uint(bits.Len64(uint64(n-1))+1) / 2, seed: mix(seed)}
}

// at returns the image of x, which is below n.
func (p permutation) at(x uint64) uint64 {
	const rounds = 4
	mask := uint64(1)<<p.half - 1
	for {
		left, right := x>>p.half, x&mask
		for round := range uint64(rounds) {
			left, right = right, left^mix(p.seed+round<<32+right)&mask
		}
		if x = left<<p.half | right; x < p.n {
			return x
		}
	}
}

const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio, odd

// mix is the finaliser of splitmix64, a bijection of the 64-bit numbers.
// Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014, https://doi.org/10.1145/2660193.2660195
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
