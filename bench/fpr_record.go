package bench

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/siftkv/sift/bloom"
)

// fprRecord is an FPRRow as JSON has it.
type fprRecord struct {
	Kind      string  `json:"kind"`
	Keys      uint64  `json:"keys"`
	Bits      float64 `json:"bits_per_key"`
	From      string  `json:"keys_from"`
	Filters   int     `json:"filters"`
	Probes    uint64  `json:"probes"`
	Hits      uint64  `json:"hits"`
	Rate      float64 `json:"rate"`
	Low       float64 `json:"rate_low"`
	High      float64 `json:"rate_high"`
	Theory    float64 `json:"theory"`
	Deviation float64 `json:"theory_deviation"`
	Ratio     float64 `json:"ratio"`
	Verdict   string  `json:"verdict"`
}

// MarshalJSON writes a row with its kind and verdict as words.
func (r FPRRow) MarshalJSON() ([]byte, error) {
	return json.Marshal(fprRecord{
		Kind: r.Kind.String(), Keys: r.Keys, Bits: r.Bits, From: r.From,
		Filters: r.Filters, Probes: r.Probes, Hits: r.Hits,
		Rate: r.Rate, Low: r.Low, High: r.High,
		Theory: r.Theory, Deviation: r.Deviation, Ratio: r.Ratio(),
		Verdict: r.Verdict.String(),
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *FPRRow) UnmarshalJSON(data []byte) error {
	var rec fprRecord
	if err := json.Unmarshal(data, &rec); err != nil {
		return err
	}
	kind := slices.IndexFunc(fprKinds, func(k bloom.Kind) bool { return k.String() == rec.Kind })
	verdict := slices.IndexFunc(fprVerdicts, func(v bloom.Verdict) bool { return v.String() == rec.Verdict })
	if kind < 0 || verdict < 0 {
		return fmt.Errorf("bench: no filter %q or no verdict %q", rec.Kind, rec.Verdict)
	}
	*r = FPRRow{
		FPRCell: FPRCell{Kind: fprKinds[kind], Keys: rec.Keys, Bits: rec.Bits, From: rec.From},
		Filters: rec.Filters,
		Measurement: bloom.Measurement{
			Probes: rec.Probes, Hits: rec.Hits,
			Rate: rec.Rate, Low: rec.Low, High: rec.High,
			Theory: rec.Theory, Deviation: rec.Deviation,
			Verdict: fprVerdicts[verdict],
		},
	}
	return nil
}

var fprVerdicts = []bloom.Verdict{bloom.Unjudged, bloom.Agrees, bloom.Differs}
