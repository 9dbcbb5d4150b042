//go:build !purego

package bloom

// mayContain is mayContainGo for a filter that is not nil, in assembly where
// the filter is blocked and the processor has AVX2, or a fuse filter of 8 bits.
//
//go:noescape
func mayContain(f *Filter, h uint64) bool

// mayContainKey is mayContainKeyGo, in assembly where mayContain is and the key is
// short.
//
//go:noescape
func mayContainKey(f *Filter, key []byte) bool

// batch sets out[i] for all of hs, of which there is one at least, of a filter
// that has lines.
func batch(f *Filter, hs []uint64, out []bool) {
	if f.mask != 0 {
		batch512(f, hs, &out[0])
	} else {
		batch256(f, hs, &out[0])
	}
}

// many sets out[i] for every filter that has lines and to true for the others,
// whose number it returns. There is one filter at least.
func many(filters []*Filter, h uint64, out []bool) (others int) {
	switch {
	case hasAVX512:
		return many512(filters, h, &out[0])
	case hasAVX2:
		return many256(filters, h, &out[0])
	default:
		manyGo(filters, h, out)
		return 0
	}
}

// addBlocked is addBlockedGo, in assembly where the processor has AVX-512.
func addBlocked(body []byte, probes uint8, hashes []uint64) {
	if hasAVX512 && len(hashes) > 0 {
		add512(body, uint64(probes), hashes)
	} else {
		addBlockedGo(body, probes, hashes)
	}
}

// The numbers are the width of the registers in bits.

//go:noescape
func batch512(f *Filter, hs []uint64, out *bool)

//go:noescape
func batch256(f *Filter, hs []uint64, out *bool)

//go:noescape
func many512(filters []*Filter, h uint64, out *bool) (others int)

//go:noescape
func many256(filters []*Filter, h uint64, out *bool) (others int)

//go:noescape
func add512(body []byte, probes uint64, hashes []uint64)

// touchLines starts to load the lines of hashes into the cache.
//
//go:noescape
func touchLines(body *byte, lines uint64, hashes []uint64)
