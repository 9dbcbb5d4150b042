package wal

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/vfs"
)

var crashRounds = flag.Int("crash-rounds", 10, "how many histories TestCrash tries")

// sim is a database that is nothing but logs. Its records are numbered in
// commit order, and it keeps the number of those that a recovery must find and
// of those that it may find. It is what package sift does with logs, in small:
//
//   - it starts a log by replaying the older ones and writing what they held
//     anew, synced, before it forgets them;
//   - oldest is what its manifest says, which is taken to be atomic;
//   - records below base are in tables.
type sim struct {
	t      *testing.T
	rng    *rand.Rand
	fs     *vfs.Mem
	oldest uint64 // the first log that is needed
	base   int    // records that need no log
	spare  []uint64
	depth  int // how many crashes there were before

	w     *Writer
	next  uint64 // log number
	first int    // the first record of w is the one after this

	begun, durable int // a recovery finds no more, and no less

	records *[][]byte // all records so far, shared by clones
}

func simPath(num uint64) string { return fmt.Sprintf("%06d.log", num) }

// record returns the contents of record i, from 1.
func (s *sim) record(i int) []byte {
	for n := len(*s.records); n <= i; n++ {
		p := payload(n, 4+n*37%1500)
		binary.LittleEndian.PutUint32(p, uint32(n))
		*s.records = append(*s.records, p)
	}
	return (*s.records)[i]
}

// logs lists the logs on fs that are needed, the oldest one even if it is lost.
func (s *sim) logs(fs *vfs.Mem) []LogFile {
	names, err := fs.List(".")
	if err != nil {
		s.t.Fatal(err)
	}
	logs := []LogFile{{Num: s.oldest, Path: simPath(s.oldest)}}
	for _, name := range names {
		var num uint64
		if _, err := fmt.Sscanf(name, "%d.log", &num); err != nil {
			continue
		}
		s.next = max(s.next, num+1)
		if num > s.oldest {
			logs = append(logs, LogFile{Num: num, Path: name})
		}
	}
	return logs
}

// replay returns how many records fs holds, and fails if that breaks the
// contract.
func (s *sim) replay(fs *vfs.Mem, what string) int {
	s.t.Helper()
	n := s.base
	_, err := Replay(fs, s.logs(fs), func(_ uint64, p []byte) error {
		i := int(binary.LittleEndian.Uint32(p))
		switch {
		case i > s.begun || string(p) != string(s.record(i)):
			return fmt.Errorf("record %d is not what was written", i)
		case i > n+1:
			return fmt.Errorf("record %d after record %d", i, n)
		}
		n = max(n, i)
		return nil
	})
	if err != nil {
		s.t.Fatalf("depth %d, %s: %v", s.depth, what, err)
	}
	if n < s.durable || n > s.begun {
		s.t.Fatalf("depth %d, %s: found %d records, want %d to %d", s.depth, what, n, s.durable, s.begun)
	}
	return n
}

// op is called before each call on the file system. Now and then it looks at
// what a crash would leave.
func (s *sim) op(op vfs.Op) time.Duration {
	if op.Kind == vfs.OpRead || op.Kind == vfs.OpSize || op.Kind == vfs.OpList || s.rng.IntN(4) > 0 {
		return 0
	}
	s.crash(fmt.Sprintf("before %v %s", op.Kind, op.Name))
	return 0
}

func (s *sim) crash(what string) {
	clone := *s
	p := []int{0, 10, 50, 90, 100}[s.rng.IntN(5)]
	if s.rng.IntN(3) == 0 {
		clone.fs = s.fs.Kill()
		what += ", killed"
	} else {
		clone.fs = s.fs.Crash(p, s.rng.Uint64())
		what += fmt.Sprintf(", power cut at %d %%", p)
	}
	clone.fs.SetLatency(nil)
	clone.replay(clone.fs, what)
	if s.depth < 3 && s.rng.IntN(8) == 0 {
		clone.depth++
		clone.open(what)
		clone.run(10)
	}
}

// must fails the test.
func (s *sim) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("depth %d: %v", s.depth, err)
	}
}

// open recovers what is on fs and starts a new log.
func (s *sim) open(what string) {
	s.fs.SetLatency(s.op)
	n := s.replay(s.fs, what)
	s.spare, s.w = nil, nil
	old := s.logs(s.fs)
	s.create(nil)
	for i := s.base + 1; i <= n; i++ {
		_, err := s.w.Append(s.record(i))
		s.must(err)
	}
	s.must(s.w.SyncAll())
	s.begun, s.durable, s.oldest = n, n, s.w.Num()
	for _, l := range old {
		_ = s.fs.Remove(l.Path) // the oldest may be missing
	}
	s.first = n
}

func (s *sim) create(after *Writer) {
	o := Options{After: after, Preallocate: s.rng.Int64N(3) * 4096}
	if len(s.spare) > 0 && s.rng.IntN(2) == 0 {
		o.Reuse = simPath(s.spare[0])
		s.spare = s.spare[1:]
	}
	num := s.next
	s.next++
	w, err := Create(s.fs, simPath(num), num, o)
	s.must(err)
	s.w, s.first = w, s.begun
}

func (s *sim) append() {
	s.begun++
	_, err := s.w.Append(s.record(s.begun))
	s.must(err)
}

func (s *sim) sync() {
	upTo := s.begun
	s.must(s.w.SyncAll())
	s.durable = upTo
}

// rotate starts the next log. The old one is closed, now or never.
func (s *sim) rotate() {
	old := s.w
	s.create(old)
	if s.rng.IntN(2) == 0 {
		s.must(old.Close())
	}
}

// flush puts all records before the current log into tables.
func (s *sim) flush() {
	for num := s.oldest; num < s.w.Num(); num++ {
		if _, err := s.fs.Stat(simPath(num)); err == nil {
			s.spare = append(s.spare, num)
		}
	}
	s.base, s.durable, s.oldest = s.first, max(s.durable, s.first), s.w.Num()
}

func (s *sim) run(steps int) {
	for range steps {
		switch n := s.rng.IntN(20); {
		case n < 12:
			s.append()
		case n < 16:
			s.sync()
		case n < 19:
			s.rotate()
		default:
			s.flush()
		}
	}
	s.crash("at the end")
}

// After any crash, and crashes in the recovery from it, what is found is a
// prefix of what was written that holds everything acknowledged as durable, and
// no torn tail is taken for damage.
func TestCrash(t *testing.T) {
	rounds := *crashRounds
	if invariants.Enabled {
		rounds = min(rounds, 4)
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			s := &sim{t: t, rng: newRand(t, uint64(round+1)), fs: vfs.NewMem(), next: 2, oldest: 1, records: new([][]byte)}
			s.open("new")
			s.run(150)
		})
	}
}

// Power cuts at random moments while many goroutines commit, and logs are
// changed under them: what was acknowledged is found, and no torn tail is taken
// for damage because of what a log knows of another one.
func TestCrashUnderLoad(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crashUnderLoad(t, newRand(t, seed+1)) })
		})
	}
}

func crashUnderLoad(t *testing.T, rng *rand.Rand) {
	s := &sim{t: t, rng: rng, fs: vfs.NewMem(), next: 2, oldest: 1, records: new([][]byte)}
	s.record(10_000) // so that goroutines only read them
	s.open("new")
	var syncs atomic.Int64
	s.fs.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir {
			return time.Duration(1+syncs.Add(1)%3) * syncTime
		}
		return 0
	})
	moments := rand.New(rand.NewPCG(rng.Uint64(), 2))
	var commit sync.Mutex // guards s
	var wg sync.WaitGroup
	stop := make(chan struct{})
	write := func(rotate bool) (n int, w *Writer, end int64) {
		commit.Lock()
		defer commit.Unlock()
		s.append()
		n, w, end = s.begun, s.w, s.w.Size()
		if rotate {
			s.create(w)
		}
		return n, w, end
	}
	acknowledge := func(n int) {
		commit.Lock()
		defer commit.Unlock()
		s.durable = max(s.durable, n)
	}
	for c := range 8 {
		wg.Go(func() {
			for i := c; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(i%5) * syncTime / 2):
				}
				rotate := i%17 == 0
				n, w, end := write(rotate)
				if rotate && i%2 == 0 {
					wg.Go(func() { s.must(w.Close()) })
				}
				if i%3 > 0 {
					s.must(w.Sync(end))
					acknowledge(n)
				}
			}
		})
	}
	look := func() {
		commit.Lock()
		defer commit.Unlock()
		clone := *s
		clone.fs = s.fs.Crash([]int{0, 0, 50, 90}[moments.IntN(4)], moments.Uint64())
		clone.fs.SetLatency(nil)
		clone.replay(clone.fs, "under load")
	}
	for range 100 {
		pass(time.Duration(moments.IntN(1000)) * syncTime / 200)
		look()
	}
	close(stop)
	wg.Wait()
}
