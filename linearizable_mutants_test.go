package sift_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/siftkv/sift"
)

// A linearMutant is a fault that the checker must see. The zero value has none.
type linearMutant struct {
	old       bool          // now and then a read finds what the same client found before
	dropped   *atomic.Int64 // now and then a write is acknowledged and not made
	halves    bool          // a batch is two commits
	loose     bool          // a snapshot shows what there is now
	forgetful bool          // a kill takes what was not synced
	hasty     bool          // a Sync write is acknowledged before it is durable
}

// apply writes ops as one commit.
func (m *linearMutant) apply(db *sift.DB, how *sift.WriteOptions, ops []op) error {
	if m.dropped != nil && m.dropped.Add(1)%40 == 0 {
		return nil
	}
	if m.hasty {
		how = sift.NoSync
	}
	if m.halves && len(ops) > 1 {
		if err := applyOps(db, how, ops[:1]); err != nil {
			return err
		}
		ops = ops[1:]
	}
	return applyOps(db, how, ops)
}

// stale is what a client is told of a key that holds n.
func (m *linearMutant) stale(c *linearClient, k, n int) int {
	if !m.old {
		return n
	}
	key := [2]int{c.group, k}
	before, ok := c.seen[key]
	c.seen[key] = n
	if c.reads++; ok && c.reads%20 == 0 {
		return before
	}
	return n
}

// The checker reports each of these faults, within a few seeds.
func TestLinearizableSeesMutants(t *testing.T) {
	for name, mutant := range map[string]func() linearMutant{
		"a stale read":             func() linearMutant { return linearMutant{old: true} },
		"a write that is dropped":  func() linearMutant { return linearMutant{dropped: new(atomic.Int64)} },
		"a batch in two halves":    func() linearMutant { return linearMutant{halves: true} },
		"a snapshot that moves":    func() linearMutant { return linearMutant{loose: true} },
		"a kill that loses writes": func() linearMutant { return linearMutant{forgetful: true} },
		"a hasty acknowledgement":  func() linearMutant { return linearMutant{hasty: true} },
	} {
		t.Run(name, func(t *testing.T) {
			const seeds = 60
			for seed := range uint64(seeds) {
				l := newLinearRun(seed+1, mutant())
				l.limit = 2 * time.Second
				switch err := l.life(); {
				case err == nil || strings.Contains(err.Error(), string(porcupine.Unknown)):
				case strings.Contains(err.Error(), string(porcupine.Illegal)):
					t.Logf("seed %d: %v", seed+1, err)
					return
				default:
					t.Fatalf("seed %d: %v; want a verdict of the checker", seed+1, err)
				}
			}
			t.Errorf("%d seeds, and nothing seen", seeds)
		})
	}
}
