//go:build !amd64 || purego

package bloom

// The assembly's places, taken by its references in Go.

const hasAVX2, hasAVX512 = false, false

func mayContain(f *Filter, h uint64) bool { return mayContainGo(f, h) }

func mayContainKey(f *Filter, key []byte) bool { return mayContainKeyGo(f, key) }

func batch(f *Filter, hs []uint64, out []bool) { batchGo(f, hs, out) }

func many(filters []*Filter, h uint64, out []bool) (others int) {
	manyGo(filters, h, out)
	return 0
}

func addBlocked(body []byte, probes uint8, hashes []uint64) { addBlockedGo(body, probes, hashes) }

func touchLines(*byte, uint64, []uint64) {}
