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

	numKinds
)

var kindNames = [numKinds]string{"blocked", "classic"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}
