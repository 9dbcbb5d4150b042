package bloom

import (
	"bytes"
	"testing"
)

// Touching lines ahead changes nothing but time, at every length of the last
// piece.
func TestAddBlockedTouches(t *testing.T) {
	want, got := make([]byte, touchFrom), Alloc(touchFrom)
	lines := uint64(touchFrom / lineBytes)
	for n := range 3*touchAhead + 2 {
		hs := randomHashes(uint64(n), n)
		addLines(want, lines, 6, hs)
		addBlocked(got, 6, hs)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d keys: bits differ", n)
		}
	}
}
