package bloom

// A Filter answers lookups over encoded bytes. It is immutable and safe for use
// by many goroutines. A nil Filter and the zero Filter answer "maybe" to
// everything, as a table without a filter must.
type Filter struct {
	body []byte // lines or words, little-endian, without the header

	// What the assembly needs, 0 for filters that it does not probe.
	short   uint64 // keys of fewer bytes are hashed and probed in one
	lines   uint64 // of a blocked filter
	lanes   uint8  // its probes
	mask    uint16 // its probes as bits, where the processor has AVX-512
	span    uint64 // of a fuse filter of 8 bits: slots but for two segments
	segment uint64 // its slots in a segment

	header
}

// shortKey is the length of a key from which xxHash64 goes another way.
const shortKey = 32

// Open returns a Filter over data, the whole of what [Builder.Finish] returned.
// The Filter aliases data, which must not change while it is in use. Lookups
// are fastest when data begins on a cache line; see [Alloc].
//
// Damaged bytes give an error that is [ErrCorrupt], bytes of a later version
// one that is [ErrUnknown]. In both cases the returned Filter is nil, which is
// safe to use and answers "maybe".
func Open(data []byte) (*Filter, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	body := data[headerSize:]
	switch h.kind {
	case Blocked:
		err = h.checkBlocked(uint64(len(body)))
	case Classic:
		err = h.checkClassic(uint64(len(body)))
	case Fuse:
		err = h.checkFuse(uint64(len(body)))
	case Ribbon:
		err = h.checkRibbon(uint64(len(body)))
	}
	if err != nil {
		return nil, err
	}
	f := &Filter{body: body, header: h}
	switch {
	case h.kind == Blocked && hasAVX2:
		f.short, f.lines, f.lanes = shortKey, h.units, h.probes
		if hasAVX512 {
			f.mask = 1<<h.probes - 1
		}
	case h.kind == Fuse && h.probes == 8 && h.n > 0:
		f.short, f.segment = shortKey, 1<<h.param
		f.span = h.units - 2*f.segment
	}
	return f, nil
}

// MayContain reports whether a key whose [Hash] is h may be in the set. False is
// certain.
func (f *Filter) MayContain(h uint64) bool { return f == nil || mayContain(f, h) }

// mayContainGo is MayContain for a filter that is not nil. It is the reference
// for the assembly.
func mayContainGo(f *Filter, h uint64) bool {
	switch {
	case f.units == 0:
		return true
	case f.kind == Blocked:
		return probeBlockedGo(f.body, f.units, f.probes, h)
	case f.kind == Classic:
		return probeClassic(f.body, f.units, f.probes, h)
	case f.kind == Fuse:
		return probeFuse(f.body, &f.header, h)
	default:
		return probeRibbon(f.body, &f.header, h)
	}
}

// MayContainKey is MayContain for the [Hash] of key, and faster than the two for
// keys of less than 32 bytes.
func (f *Filter) MayContainKey(key []byte) bool { return f == nil || mayContainKey(f, key) }

// mayContainKeyGo is MayContainKey for a filter that is not nil. It is the
// reference for the assembly.
func mayContainKeyGo(f *Filter, key []byte) bool { return mayContain(f, Hash(key)) }

// Kind returns the filter's family.
func (f *Filter) Kind() Kind {
	if f == nil {
		return Blocked
	}
	return f.kind
}

// Len returns the number of keys in the filter, adjacent duplicates counted
// once.
func (f *Filter) Len() uint64 {
	if f == nil {
		return 0
	}
	return f.n
}

// Size returns the bytes that the filter keeps in memory.
func (f *Filter) Size() int {
	if f == nil || f.units == 0 {
		return 0
	}
	return headerSize + len(f.body)
}

// BitsPerKey returns the size of the filter's body in bits for each of its
// keys; 0 for a filter without keys.
func (f *Filter) BitsPerKey() float64 {
	if f == nil || f.n == 0 {
		return 0
	}
	return 8 * float64(len(f.body)) / float64(f.n)
}

// Rate returns the expected share of absent keys that the filter does not
// recognise as absent, computed for its real number of keys and real size. It is
// 1 for a nil Filter and 0 for one without keys. It takes some microseconds.
func (f *Filter) Rate() float64 {
	if f == nil || f.units == 0 {
		return 1
	}
	return f.header.rate(f.n)
}
