package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Stats says how a filter's state compares with its design.
type Stats struct {
	Kind       Kind
	Keys       uint64  // in the filter
	DesignKeys uint64  // it was sized for; fewer than Keys after a fold or a merge
	Bytes      int     // in memory
	BitsPerKey float64 // 0 without keys
	Probes     int     // bits a key sets; of a fingerprint for Fuse
	Fill       float64 // share of bits that are set; 0 for Fuse, where it means nothing
	DesignFill float64 // the share expected for Keys
	Rate       float64 // expected false-positive rate for Keys
	DesignRate float64 // the rate expected for DesignKeys
}

// Stats counts the filter's bits, which takes about 0.1 ms a megabyte.
func (f *Filter) Stats() Stats {
	if f == nil || f.units == 0 {
		return Stats{Rate: 1, DesignRate: 1}
	}
	s := Stats{
		Kind:       f.kind,
		Keys:       f.n,
		DesignKeys: f.designN,
		Bytes:      f.Size(),
		BitsPerKey: f.BitsPerKey(),
		Probes:     int(f.probes),
		Rate:       f.Rate(),
		DesignRate: f.designRate,
	}
	if f.kind != Fuse {
		s.Fill, s.DesignFill = f.fill(), f.expectedFill()
	}
	return s
}

// String returns a line for a report.
func (s Stats) String() string {
	return fmt.Sprintf("%v filter, %d keys of %d designed, %d bytes, %.2f bits a key, %d probes, fill %.4f of %.4f expected, rate %.3g, designed %.3g",
		s.Kind, s.Keys, s.DesignKeys, s.Bytes, s.BitsPerKey, s.Probes, s.Fill, s.DesignFill, s.Rate, s.DesignRate)
}

func (f *Filter) fill() float64 {
	var set int
	for b := f.body; len(b) >= 8; b = b[8:] {
		set += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	return float64(set) / (8 * float64(len(f.body)))
}

// expectedFill returns the probability that a bit is set: that not all keys
// miss it. A key misses a bit of a blocked filter if it is in another line or
// all its probes hit other bits.
func (f *Filter) expectedFill() float64 {
	m, share := float64(f.units), 1.0
	if f.kind == Blocked {
		m, share = lineBits, 1/float64(f.units)
	}
	hit := -math.Expm1(float64(f.probes) * math.Log1p(-1/m))
	return -math.Expm1(float64(f.n) * math.Log1p(-share*hit))
}
