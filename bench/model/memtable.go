package model

import (
	"math"
	"math/bits"
	"sort"
)

// What a memtable takes, as package memtable counts it: an arena of chunks, a hash
// index of segments, and an order.
const (
	entryHeader = 14
	olderRef    = 8 // of an entry that has an older version in the memtable
	treeBytes   = 24
	runBytes    = 16 // of an entry that came in order
	maxChunk    = 1 << 20
	largeEntry  = maxChunk / 4
	minSlots    = 16
	slotBytes   = 12
	segmentSize = 72
)

// A put in the log, as packages wal and sift write it.
const (
	batchHeader  = 12
	recordHeader = 20
	memTableTax  = 64 // what is asked for an entry beyond its bytes, before it is put
)

// batchBytes is the encoded batch of one put.
func (c *Config) batchBytes() int64 {
	return int64(batchHeader + 1 + uvarintLen(c.KeySize) + c.KeySize + uvarintLen(c.ValueSize) + c.ValueSize)
}

// logBytes is what one put takes in the log.
func (c *Config) logBytes() int64 { return recordHeader + c.batchBytes() }

func uvarintLen(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

// memTablePuts returns after how many puts a memtable is full, on average, if they
// draw from so many keys; 0 keys: all differ.
//
// That is the sum, over all numbers of puts, of how likely it is not yet full. What
// is left to chance is how many segments of its index have grown.
func (c *Config) memTablePuts(keys float64, sequential bool) float64 {
	room := float64(c.MemTableSize - c.batchBytes() - memTableTax)
	if 2*(c.batchBytes()+memTableTax) > c.MemTableSize {
		return 1 // it gets a memtable to itself
	}
	fits := func(puts int) float64 {
		m := memTable{c, float64(puts), keys, sequential}
		return m.fits(room)
	}
	most := max(int(room/entryHeader), 1)
	first := sort.Search(most, func(n int) bool { return fits(n+1) < 1-1e-9 })
	last := sort.Search(most, func(n int) bool { return fits(n+1) < 1e-9 })
	sum := float64(first) + 1
	step := max((last-first)/500, 1)
	for n := first + 1; n <= last; n += step {
		sum += fits(n) * float64(min(step, last+1-n))
	}
	return sum
}

// A memTable is one after so many puts.
type memTable struct {
	c          *Config
	puts, keys float64
	sequential bool
}

// fits returns how likely the memtable takes no more than so many bytes.
func (m memTable) fits(room float64) float64 {
	distinct := m.puts
	if m.keys > 0 {
		distinct = drawn(m.puts, m.keys) * m.keys
	}
	order := float64(treeBytes)
	if m.sequential {
		order = runBytes
	}
	left := room - m.c.arenaBytes(m.puts, 1-distinct/m.puts) - order*m.puts
	return m.c.indexFits(distinct, left)
}

// arenaBytes returns the chunks that hold so many entries: each twice as large as
// the one before, up to a limit, and none of them shared by two halves of an entry.
// A share of the entries has an older version.
func (c *Config) arenaBytes(n, older float64) float64 {
	entry := float64(entryHeader + c.KeySize + c.ValueSize)
	if entry >= largeEntry {
		return n * math.Ceil(entry/8192) * 8192
	}
	chunk := math.Exp2(math.Floor(math.Log2(float64(max(256, min(c.MemTableSize/64, maxChunk))))))
	total, held := chunk, fit(chunk, entry, older)
	for held < n && chunk < maxChunk {
		chunk = min(maxChunk, max(2*chunk, math.Exp2(math.Ceil(math.Log2(entry)))))
		total += chunk
		held += fit(chunk, entry, older)
	}
	if held < n {
		total += maxChunk * math.Ceil((n-held)/fit(maxChunk, entry, older))
	}
	return total
}

// fit returns how many entries a chunk is expected to hold. Room is left at its end
// for less than one: a few references to older versions may find place there.
func fit(chunk, entry, older float64) float64 {
	mean := chunk / entry * older
	if mean > 50 {
		return math.Floor(chunk / (entry + olderRef*older))
	}
	var n float64
	chance := math.Exp(-mean) // of so many references, by Poisson
	for refs := 0.0; refs <= mean+10*math.Sqrt(mean)+10; refs++ {
		n += chance * math.Floor(max(chunk-olderRef*refs, 0)/entry)
		chance *= mean / (refs + 1)
	}
	return n
}

// indexFits returns how likely the hash index of so many keys takes no more than so
// many bytes. A segment doubles at two thirds full, and which of them got enough keys
// for that is chance.
func (c *Config) indexFits(keys, bytes float64) float64 {
	segments := math.Exp2(math.Floor(math.Log2(float64(max(1, min(c.MemTableSize>>20, 64))))))
	mean := keys / segments
	deviation := math.Sqrt(mean * (1 - 1/segments))
	slots := float64(minSlots)
	var grown float64
	for {
		grown = over(math.Floor(slots*2/3)+0.5, mean, deviation)
		if grown < 1-1e-12 {
			break
		}
		slots *= 2
	}
	spare := bytes - segments*(segmentSize+slots*slotBytes)
	return binomialUpTo(int(segments), grown, math.Floor(spare/(slots*slotBytes)))
}

// binomialUpTo returns how likely no more than most of n events happen, each with
// the same chance.
func binomialUpTo(n int, chance, most float64) float64 {
	if most >= float64(n) {
		return 1
	}
	var sum float64
	term := math.Pow(1-chance, float64(n))
	for i := 0.0; i <= most; i++ {
		sum += term
		term *= (float64(n) - i) / (i + 1) * chance / (1 - chance)
	}
	return sum
}

// over returns how likely a normal variable is larger than x.
func over(x, mean, deviation float64) float64 {
	if deviation == 0 {
		if mean > x {
			return 1
		}
		return 0
	}
	return math.Erfc((x-mean)/deviation/math.Sqrt2) / 2
}

// drawn returns the share of keys that are among so many draws.
func drawn(draws, keys float64) float64 {
	if keys <= 0 {
		return 0
	}
	if keys <= 1 {
		return min(draws, 1)
	}
	return -math.Expm1(draws * math.Log1p(-1/keys))
}
