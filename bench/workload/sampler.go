package workload

import (
	"os"
	"time"
)

// samplePeriod is how often a run is looked at while it goes on.
const samplePeriod = 100 * time.Millisecond

// A sampler looks at a run ten times a second: how far it is, and how much
// memory it holds that no file backs.
type sampler struct {
	done     func() int64 // operations so far
	progress func(done int64)
	status   *os.File // of this process; nil where there is none
	buf      [8 << 10]byte

	timeline  []int64 // operations in each period
	peakAnon  uint64  // bytes; 0 if unknown
	readCalls uint64  // its own
	readBytes uint64

	stop, stopped chan struct{}
}

func startSampler(done func() int64, progress func(done int64)) *sampler {
	s := &sampler{done: done, progress: progress, stop: make(chan struct{}), stopped: make(chan struct{})}
	if f, err := os.Open(procStatus); err == nil {
		s.status = f
	}
	s.look()
	go s.run()
	return s
}

func (s *sampler) run() {
	defer close(s.stopped)
	ticker := time.NewTicker(samplePeriod)
	defer ticker.Stop()
	last := int64(0)
	for {
		select {
		case <-s.stop:
			s.timeline = append(s.timeline, s.done()-last) // of a shorter period
			s.look()
			return
		case <-ticker.C:
		}
		now := s.done()
		s.timeline = append(s.timeline, now-last)
		last = now
		s.progress(now)
		s.look()
	}
}

func (s *sampler) look() {
	if s.status == nil {
		return
	}
	n, err := s.status.ReadAt(s.buf[:], 0)
	s.readCalls++
	if n < 0 || n == 0 && err != nil {
		return
	}
	if n < len(s.buf) {
		s.readCalls++ // ReadAt asks once more, for the end
	}
	s.readBytes += uint64(n)
	if f, ok := parseFields(s.buf[:n], "RssAnon"); ok {
		s.peakAnon = max(s.peakAnon, f[0]<<10)
	}
}

// end stops the sampler and waits for it.
func (s *sampler) end() {
	close(s.stop)
	<-s.stopped
	if s.status != nil {
		_ = s.status.Close() // nothing was written
	}
}
