package sweep

// Version is what a Cell's JSON says of itself. A change to the meaning of a field
// is another version.
const Version = 1

// Shape is how the tables lie.
type Shape string

// The shapes.
const (
	// Compacted is one sorted run: a key can be in one table at most.
	Compacted Shape = "compacted"
	// Overlapping is eight runs, each of which spans nearly the whole range, as
	// in a database whose compaction is behind.
	Overlapping Shape = "overlapping"
)

// Shapes returns all shapes.
func Shapes() []Shape { return []Shape{Compacted, Overlapping} }

// NoFilter is what a Cell without filters has in place of a kind.
const NoFilter = "none"

// A Verdict says whether a filter is worth its memory.
type Verdict string

// The verdicts; Judge has the rule.
const (
	Pays   Verdict = "pays"
	Even   Verdict = "even"
	Wasted Verdict = "wasted"
)

// A Cell is one combination and what lookups cost in it. Its JSON has the names
// that programs may rely on.
type Cell struct {
	Version    int     `json:"sweep"`
	Shape      Shape   `json:"shape"`
	Filter     string  `json:"filter"` // its kind, or NoFilter
	BitsPerKey float64 `json:"bits_per_key"`
	Absent     float64 `json:"absent"` // the share of absent keys, 0 to 1
	CacheBytes int64   `json:"cache_bytes"`

	Pairs     int    `json:"pairs"`
	ValueSize int    `json:"value_size"`
	Lookups   int    `json:"lookups"`
	Seed      uint64 `json:"seed"`
	DataBytes int64  `json:"data_bytes"` // keys and values

	FilterBytes    int64   `json:"filter_bytes"`
	ReadsPerLookup float64 `json:"disk_reads_per_lookup"`
	LookupsPerSec  float64 `json:"lookups_per_sec"` // of this machine at that moment
	// Candidates are the tables, per lookup, whose range held the key.
	Candidates float64 `json:"candidates_per_lookup"`
	// FalsePositiveRate is of the filters asked for a key that they lack, and
	// DesignedRate what the formula expects; 1 without a filter.
	FalsePositiveRate float64 `json:"false_positive_rate"`
	DesignedRate      float64 `json:"designed_rate"`

	// What the same lookups read without any filter, with the same cache and with
	// one that has the filters' memory in addition.
	WithoutFilter float64 `json:"reads_without_filter"`
	CacheInstead  float64 `json:"reads_with_cache_instead"`
	SavedPerMB    float64 `json:"reads_saved_per_mb"` // a lookup, for each 10^6 bytes of filters
	Verdict       Verdict `json:"verdict,omitempty"`
}

// Notable is how many disk reads a lookup are worth mentioning.
const Notable = 0.01

// Judge returns what the filters are worth beside the other use of their memory.
// They pay if they save at least twice the disk reads that the same bytes would
// have saved as cache. They are wasted if they save less than Notable, or no more
// than half of what cache would have saved. Between the two it makes little
// difference.
func (c *Cell) Judge() Verdict {
	if c.Filter == NoFilter {
		return ""
	}
	saved, cache := c.Saved(), max(c.WithoutFilter-c.CacheInstead, 0)
	switch {
	case saved < Notable || 2*saved <= cache:
		return Wasted
	case saved >= 2*cache:
		return Pays
	}
	return Even
}

// Saved returns the disk reads that the filters saved in each lookup, which is
// negative where chance let the cache do worse.
func (c *Cell) Saved() float64 { return c.WithoutFilter - c.ReadsPerLookup }

// setDerived fills in what follows from the counts.
func (c *Cell) setDerived() {
	if c.FilterBytes > 0 {
		c.SavedPerMB = c.Saved() / (float64(c.FilterBytes) / 1e6)
	}
	c.Verdict = c.Judge()
}
