package bloom

import "fmt"

// Kind is a family of filters. The zero Kind is the default.
type Kind uint8

const (
	// Blocked puts all bits of a key into one 512-bit cache line, so that a
	// lookup costs at most one cache miss.
	Blocked Kind = iota
	// Classic spreads the bits of a key over the whole filter, as Bloom did
	// in 1970. It needs a little less memory than Blocked and a cache miss for
	// each probe; it is here to study and to compare.
	Classic
	// Fuse is the binary fuse filter, for tables that are never rewritten in
	// place and hold most keys: at 9 bits a key it has less than a third of the
	// false positives of Blocked. It costs up to three cache misses a lookup,
	// and three times the time and memory to build. Where Blocked has the lower
	// rate, as it has below some hundred keys, a Builder of Fuse builds that.
	Fuse
	// Ribbon takes even less memory than Fuse, 1.04 times the least there can
	// be, and uses a number of bits per key that is not whole. It costs more
	// computing. Where Blocked has the lower rate, a Builder builds that.
	Ribbon

	numKinds
)

var kindNames = [numKinds]string{"blocked", "classic", "fuse", "ribbon"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}
