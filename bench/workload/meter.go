package workload

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/siftkv/sift/bench"
)

// A meter counts what a run costs, from when it is made.
type meter struct {
	store   Store
	start   time.Time
	reads   bench.SystemReadsMeter
	mallocs uint64
	use     processorUse
	io      []uint64 // bytes written by calls, and by pages that were made dirty
	own     Counters
	sampler *sampler
}

// startMeter begins. The store may be nil, if opening it is what is measured.
func startMeter(store Store, done func() int64, progress func(int64)) *meter {
	debug.FreeOSMemory() // what came before is not the run's
	forgetPeak()
	m := &meter{store: store, own: countersOf(store), use: readProcessorUse()}
	m.io, _ = writtenBytes()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	m.mallocs = mem.Mallocs
	m.reads = bench.StartSystemReads()
	m.sampler = startSampler(done, progress)
	m.start = time.Now()
	return m
}

func countersOf(store Store) Counters {
	if c, ok := store.(Counter); ok {
		return c.Counters()
	}
	return Counters{}
}

func writtenBytes() ([]uint64, bool) { return fieldsOf(procIO, "wchar", "write_bytes") }

// stop ends what is counted of the clients' work, and writes it to r.
func (m *meter) stop(r *Result) {
	r.Seconds = time.Since(m.start).Seconds()
	m.sampler.end()
	reads := m.reads.Stop()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	n := float64(max(r.Operations, 1))
	r.set(AllocsPerOp, float64(mem.Mallocs-m.mallocs)/n)
	if reads.Known {
		s := m.sampler
		r.set(ReadCallsPerOp, float64(reads.Calls-min(reads.Calls, s.readCalls))/n)
		r.set(ReadBytesPerOp, float64(reads.Bytes-min(reads.Bytes, s.readBytes))/n)
	}
	if _, ok := m.store.(Counter); ok {
		r.set(DiskReadsPerOp, float64(countersOf(m.store).DiskReads-m.own.DiskReads)/n)
	}
	if share, own, ok := readProcessorUse().others(m.use); ok {
		r.set(OthersShare, share)
		r.set(ProcessorPerOp, own*1e9/n)
	}
	if m.sampler.peakAnon > 0 {
		r.set(PeakAnon, float64(m.sampler.peakAnon))
	}
	if f, ok := fieldsOf(procStatus, "VmHWM"); ok {
		r.set(PeakResident, float64(f[0]<<10))
	}
	r.Timeline = m.sampler.timeline
}

// settled says what has been written since the start, for so many bytes of keys
// and values. It is called once what was in memory is in tables.
func (m *meter) settled(r *Result, user int64) {
	if user == 0 {
		return
	}
	n := float64(max(r.Operations, 1))
	if io, ok := writtenBytes(); ok && m.io != nil {
		r.set(WrittenPerOp, float64(io[0]-m.io[0])/n)
		r.set(DirtiedAmplification, float64(io[1]-m.io[1])/float64(user))
	}
	if own := countersOf(m.store).Written; own > m.own.Written {
		r.set(OwnAmplification, float64(own-m.own.Written)/float64(user))
	}
}
