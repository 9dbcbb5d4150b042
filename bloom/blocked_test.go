package bloom

import (
	"bytes"
	"testing"
)

// However bits are set, by assembly or with lines touched ahead, they are those
// that key by key sets, for every number of probes and of keys, and in a line
// that many keys share.
func TestAddBlockedAgrees(t *testing.T) {
	for probes := uint8(1); probes <= maxBlockedProbes; probes++ {
		for _, size := range []int{lineBytes, 3 * lineBytes, 100 * lineBytes} {
			for n := range 3*touchAhead + 2 {
				assertAddAgrees(t, size, probes, n)
			}
		}
	}
	for n := range 3*touchAhead + 2 {
		assertAddAgrees(t, touchFrom, 6, n)
	}
}

func assertAddAgrees(t *testing.T, size int, probes uint8, n int) {
	t.Helper()
	hs := randomHashes(uint64(n), n)
	want := make([]byte, size)
	addLines(want, uint64(size/lineBytes), probes, hs)
	for name, add := range map[string]func([]byte, uint8, []uint64){"this processor": addBlocked, "Go": addBlockedGo} {
		got := Alloc(size + lineBytes) // a line that nothing may be written to
		add(got[:size:size], probes, hs)
		if !bytes.Equal(got[:size], want) {
			t.Fatalf("%s: %d keys, %d probes, %d bytes: bits differ", name, n, probes, size)
		}
		if !bytes.Equal(got[size:], make([]byte, lineBytes)) {
			t.Fatalf("%s: %d keys, %d probes: wrote past the end", name, n, probes)
		}
	}
}
