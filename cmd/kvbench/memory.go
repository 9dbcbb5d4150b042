package main

import (
	"sync"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/bench/report"
	"github.com/siftkv/sift/bench/workload"
)

// A memoryNote is what the memory of a store was for: of the times that its
// counters were read, which are the beginning and the end of a workload and the
// end of the flush after it, the one with the most. It is safe for use by several
// goroutines.
type memoryNote struct {
	mu                           sync.Mutex
	known                        bool
	memTables, blocks, filterSum int64 // bytes
}

func (n *memoryNote) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known, n.memTables, n.blocks, n.filterSum = false, 0, 0, 0
}

func (n *memoryNote) look(m sift.Metrics) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if sum := m.MemTableMemory + m.Cache.Size + m.Filters.Memory; !n.known || sum > n.memTables+n.blocks+n.filterSum {
		n.known, n.memTables, n.blocks, n.filterSum = true, m.MemTableMemory, m.Cache.Size, m.Filters.Memory
	}
}

// addTo adds the figures to a result, if the store was looked at.
func (n *memoryNote) addTo(r *workload.Result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.known {
		return
	}
	r.Figures[report.MemTableBytes] = float64(n.memTables)
	r.Figures[report.CacheBytes] = float64(n.blocks)
	r.Figures[report.FilterBytes] = float64(n.filterSum)
}
