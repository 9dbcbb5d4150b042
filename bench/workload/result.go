package workload

import (
	"time"

	"github.com/siftkv/sift/bench"
)

// Result is what a run of one workload on one store measured. Its JSON has the
// names that programs may rely on.
type Result struct {
	Store    string `json:"store"`
	Workload string `json:"workload"`
	Round    int    `json:"round,omitempty"` // from 1 on, where there are several

	Keys      string `json:"keys"`
	Pairs     int    `json:"pairs"`
	ValueSize int    `json:"value_size"`
	Clients   int    `json:"clients"`
	Sync      bool   `json:"sync"`
	Cold      bool   `json:"cold"` // the page cache was dropped before
	Seed      uint64 `json:"seed"`

	Operations int64   `json:"operations"`
	StepOps    int     `json:"step_operations"` // timed together
	Seconds    float64 `json:"seconds"`         // by the clock, checks included

	// Figures are by name. One that the system or the store cannot give is
	// missing.
	Figures map[string]float64 `json:"figures"`

	// Timeline are the operations of each 100 ms; the last period is shorter.
	Timeline []int64 `json:"timeline,omitempty"`
}

// The figures. Times are in nanoseconds and sizes in bytes, unless the name says
// otherwise. What is written is counted up to the flush after the workload; of a
// store that cannot flush, what is still in memory then is not in it.
const (
	OpsPerSec = "ops_per_sec" // while the clients wait for the store: checks are not in it
	P50       = "p50_ns"      // of a step
	P99       = "p99_ns"
	P999      = "p99.9_ns"
	Max       = "max_ns"

	ReadCallsPerOp = "read_calls_per_op" // as the system counts
	ReadBytesPerOp = "read_bytes_per_op"
	DiskReadsPerOp = "disk_reads_per_op" // as the store counts

	WrittenPerOp         = "written_bytes_per_op"        // by write calls; what is written through maps is not in it
	DirtiedAmplification = "write_amplification"         // pages made dirty, for each byte of keys and values
	OwnAmplification     = "write_amplification_counted" // as the store counts

	SpaceAmplification = "space_amplification" // bytes on disk, once closed, for each byte of keys and values

	PeakAnon       = "peak_anon_bytes" // memory that no file backs, looked at ten times a second
	PeakResident   = "peak_resident_bytes"
	AllocsPerOp    = "allocs_per_op" // of Go's collected heap
	ProcessorPerOp = "processor_ns_per_op"
	OthersShare    = "others_share" // of the machine's processor time, 0 to 1

	FlushTime   = "flush_s"   // after the workload
	CompactTime = "compact_s" // after that
	Lost        = "lost"      // of the acknowledged writes, after SIGKILL
)

func (r *Result) set(figure string, value float64) { r.Figures[figure] = value }

// setLatency notes what clients timed.
func (r *Result) setLatency(clients []*client) {
	var h bench.Histogram
	var busy time.Duration
	for _, c := range clients {
		h.Merge(&c.latency)
		busy += c.busy
		r.Operations += c.ops.Load()
	}
	mean := max(busy, 1).Seconds() / float64(len(clients))
	r.set(OpsPerSec, float64(r.Operations)/mean)
	r.set(P50, float64(h.Quantile(0.50)))
	r.set(P99, float64(h.Quantile(0.99)))
	r.set(P999, float64(h.Quantile(0.999)))
	r.set(Max, float64(h.Max()))
}
