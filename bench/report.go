package bench

// Report is a run's outcome, in the shape that kvbench prints with -json.
type Report struct {
	Settings map[string]any `json:"settings"`
	Results  []Result       `json:"results"`
	Filters  FilterReport   `json:"filters"`
}

// Result is one Cell. Counts are totals over the lookups.
type Result struct {
	Shape           Shape   `json:"shape"`
	Filter          string  `json:"filter"` // "off" or "on"
	Lookup          Lookup  `json:"lookup"`
	Lookups         uint64  `json:"lookups"`
	DiskReads       uint64  `json:"disk_reads"`
	BytesRead       uint64  `json:"bytes_read"`
	Candidates      uint64  `json:"candidates"`
	FilterChecks    uint64  `json:"filter_checks"`
	FilterNegatives uint64  `json:"filter_negatives"`
	FalsePositives  uint64  `json:"false_positives"`
	P50             int64   `json:"p50_ns"`
	P99             int64   `json:"p99_ns"`
	OpsPerSec       float64 `json:"ops_per_sec"`
}

// FilterReport says what the filters are and how they did.
type FilterReport struct {
	BitsPerKey  float64 `json:"bits_per_key"`
	MemoryBytes int64   `json:"memory_bytes"`
	FPRMeasured float64 `json:"fpr_measured"` // over the absent keys of both shapes
	FPRDesigned float64 `json:"fpr_designed"`

	absent Counters // what FPRMeasured is made from
}

// Add appends a shape's cells.
func (r *Report) Add(cells []Cell) {
	for i := range cells {
		r.Results = append(r.Results, cells[i].result())
		r.Filters.add(&cells[i])
	}
}

func (c *Cell) result() Result {
	filter := "off"
	if c.Filters {
		filter = "on"
	}
	return Result{
		Shape:           c.Shape,
		Filter:          filter,
		Lookup:          c.Lookup,
		Lookups:         c.Latency.Count(),
		DiskReads:       c.DiskReads,
		BytesRead:       c.BytesRead,
		Candidates:      c.Candidates,
		FilterChecks:    c.FilterChecks,
		FilterNegatives: c.FilterNegatives,
		FalsePositives:  c.FalsePositives,
		P50:             c.Latency.Quantile(0.50).Nanoseconds(),
		P99:             c.Latency.Quantile(0.99).Nanoseconds(),
		OpsPerSec:       c.OpsPerSec(),
	}
}

// add notes what one cell says of the filters; the last cell's filters stand.
func (f *FilterReport) add(c *Cell) {
	if !c.Filters {
		return
	}
	f.BitsPerKey, f.MemoryBytes, f.FPRDesigned = c.BitsPerKey, c.FilterMemory, c.DesignedRate
	if c.Lookup == Absent {
		f.absent.FilterNegatives += c.FilterNegatives
		f.absent.FalsePositives += c.FalsePositives
		f.FPRMeasured = f.absent.FalsePositiveRate()
	}
}

// OpsPerSec returns how many such lookups one goroutine does in a second.
func (m *Measured) OpsPerSec() float64 {
	return float64(m.Latency.Count()) / max(m.Latency.Sum(), 1).Seconds()
}

// PerLookup returns a total divided by the number of lookups.
func (m *Measured) PerLookup(total uint64) float64 { return ratio(total, m.Latency.Count()) }

func ratio(a, b uint64) float64 { return float64(a) / float64(max(b, 1)) }
