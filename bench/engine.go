package bench

import "github.com/siftkv/sift"

// Counters are what the engine counts that a run is about. All but the filters'
// are totals since the database was opened.
type Counters struct {
	DiskReads  uint64 // fetches from table files that no cache of ours held
	BytesRead  uint64 // by them
	Candidates uint64 // tables whose range held a key looked up

	FilterChecks    uint64
	FilterNegatives uint64 // "definitely not here"
	FalsePositives  uint64 // "maybe", and it was not there

	FilterMemory int64   // bytes
	FilterKeys   uint64  // in all filters
	BitsPerKey   float64 // on average
	DesignedRate float64 // false positives by the formula, 0 to 1, on average
}

// count reads a database's counters. It is the one place that knows what they
// are called.
func count(db *sift.DB) Counters {
	m := db.Metrics()
	return Counters{
		DiskReads:       m.Reads.DiskReads,
		BytesRead:       m.Reads.DiskBytes,
		Candidates:      m.Reads.Tables,
		FilterChecks:    m.Reads.FilterChecks,
		FilterNegatives: m.Reads.FilterNegatives,
		FalsePositives:  m.Reads.FilterFalsePositives,
		FilterMemory:    m.Filters.Memory,
		FilterKeys:      m.Filters.Keys,
		BitsPerKey:      m.Filters.BitsPerKey,
		DesignedRate:    m.Filters.DesignedRate,
	}
}

// since returns what was counted after an earlier reading. The filters are as
// they are now.
func (c Counters) since(earlier Counters) Counters {
	c.DiskReads -= earlier.DiskReads
	c.BytesRead -= earlier.BytesRead
	c.Candidates -= earlier.Candidates
	c.FilterChecks -= earlier.FilterChecks
	c.FilterNegatives -= earlier.FilterNegatives
	c.FalsePositives -= earlier.FalsePositives
	return c
}

// FalsePositiveRate returns how often a filter said "maybe" of those times that
// it should have said no.
func (c *Counters) FalsePositiveRate() float64 {
	return ratio(c.FalsePositives, c.FalsePositives+c.FilterNegatives)
}
