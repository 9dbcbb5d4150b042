package sift_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/siftkv/sift"
)

const soakKeys = 20_000

// soakOptions are those under which some megabytes keep every level busy.
func soakOptions() *sift.Options {
	return &sift.Options{
		MemTableSize: 512 << 10, TableSize: 256 << 10, CacheSize: 1 << 20, MaxOpenFiles: 64,
		Compaction: sift.CompactionOptions{BaseLevelSize: 1 << 20, Multiplier: 4, L0Compact: 4, L0Slow: 8, L0Stop: 12},
	}
}

func soakKey(i int) string { return fmt.Sprintf("key%05d", i) }

// soakOps is what the child writes as commit n. Each value starts with its key, so
// that a reader beside the writer knows a wrong one.
func soakOps(seed uint64, round, n int) []op {
	rnd := rand.New(rand.NewPCG(seed+uint64(round), uint64(n)))
	ops := []op{put("seq", fmt.Sprintf("%d.%d", n, round))}
	for range 1 + rnd.IntN(4) {
		key := soakKey(rnd.IntN(soakKeys))
		if rnd.IntN(4) == 0 {
			ops = append(ops, del(key))
		} else {
			ops = append(ops, put(key, key+"="+crashValue(rnd, n, round)))
		}
	}
	return ops
}

// soakBeside reads, scans, flushes and compacts beside the writer, and reports
// four figures now and then. Any fault is an error line.
func soakBeside(db *sift.DB, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 10))
	next := time.Now()
	for {
		err := soakRead(db, rnd)
		switch rnd.IntN(2000) {
		case 0:
			err = db.Flush()
		case 1:
			err = db.Compact([]byte(soakKey(rnd.IntN(soakKeys/2))), []byte(soakKey(soakKeys/2+rnd.IntN(soakKeys/2))))
		case 2:
			err = db.SyncWAL()
		}
		if err != nil {
			say("error %v", err)
			return
		}
		if time.Now().After(next) {
			next = time.Now().Add(200 * time.Millisecond)
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			open, _ := os.ReadDir("/dev/fd") // none where there is no such directory
			say("stat %d %d %d %d", mem.HeapAlloc, len(open), runtime.NumGoroutine(), db.Metrics().Levels[0].Tables)
		}
	}
}

// soakRead reads a key, or a few by an iterator over a snapshot.
func soakRead(db *sift.DB, rnd *rand.Rand) error {
	key := soakKey(rnd.IntN(soakKeys))
	if rnd.IntN(20) != 0 {
		v, err := db.AppendGet(nil, []byte(key))
		if err == nil && !strings.HasPrefix(string(v), key+"=") {
			return fmt.Errorf("key %s has the value %s", key, brief(string(v)))
		}
		return notFoundIsFine(err)
	}
	snap := db.NewSnapshot()
	it, err := snap.NewIter(&sift.IterOptions{LowerBound: []byte("key"), UpperBound: []byte("kez")})
	if err != nil {
		return err
	}
	var last []byte
	it.SeekGE([]byte(key))
	for i := 0; it.Valid() && i < 50; i++ {
		if bytes.Compare(it.Key(), last) <= 0 || !bytes.HasPrefix(it.Value(), append(bytes.Clone(it.Key()), '=')) {
			return fmt.Errorf("after %s comes %s with the value %s", last, it.Key(), brief(string(it.Value())))
		}
		last = append(last[:0], it.Key()...)
		it.Next()
	}
	err = it.Error()
	for _, c := range []func() error{it.Close, snap.Close} {
		if closed := c(); err == nil {
			err = closed
		}
	}
	return err
}

func notFoundIsFine(err error) error {
	if errors.Is(err, sift.ErrNotFound) {
		return nil
	}
	return err
}
