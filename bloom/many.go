package bloom

// MayContainBatch sets out[i] to MayContain(hs[i]) for every i: many keys against
// one table. The cache misses of a batch overlap, so that one of a hundred keys is
// two to three times as fast as single calls. It panics if out is shorter than hs.
func (f *Filter) MayContainBatch(hs []uint64, out []bool) {
	out = out[:len(hs)]
	switch {
	case len(hs) == 0:
	case f != nil && f.lines > 0:
		batch(f, hs, out)
	default:
		batchGo(f, hs, out)
	}
}

// MayContainMany sets out[i] to filters[i].MayContain(h) for every i, which is
// true for a nil filter: one key against many tables. The cache misses overlap. It
// panics if out is shorter than filters.
func MayContainMany(filters []*Filter, h uint64, out []bool) {
	out = out[:len(filters)]
	if len(filters) == 0 || many(filters, h, out) == 0 {
		return
	}
	for i, f := range filters {
		if f != nil && f.lines == 0 {
			out[i] = mayContain(f, h)
		}
	}
}

// touchBatch is the number of keys whose lines batchGo loads before it tests the
// first of them.
const touchBatch = 16

// batchGo is the reference for MayContainBatch.
func batchGo(f *Filter, hs []uint64, out []bool) {
	if f == nil || f.kind != Blocked || f.units == 0 {
		for i, h := range hs {
			out[i] = f.MayContain(h)
		}
		return
	}
	for len(hs) > 0 {
		n := min(touchBatch, len(hs))
		var touched byte
		for _, h := range hs[:n] {
			touched |= f.body[lineOf(h, f.units)*lineBytes]
		}
		for i, h := range hs[:n] {
			out[i] = mayContainGo(f, h)
		}
		keep(touched)
		hs, out = hs[n:], out[n:]
	}
}

// keep uses a value that was loaded for the sake of loading it.
//
//go:noinline
func keep(byte) {}

// manyGo is the reference for MayContainMany.
func manyGo(filters []*Filter, h uint64, out []bool) {
	for i, f := range filters {
		out[i] = f == nil || mayContainGo(f, h)
	}
}
