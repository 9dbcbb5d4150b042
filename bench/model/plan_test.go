package model

import (
	"math"
	"testing"

	"github.com/siftkv/sift/bloom"
)

// One machine holds as many keys as its memory or its disk allows, and a database is
// cut into as few shards as fit: checked against division.
func TestPlanLimits(t *testing.T) {
	c := Default()
	c.Keys = 1_000_000_000_000
	for _, tc := range []struct {
		m      Machine
		limit  Limit
		shards float64 // to 1 %
	}{
		{Machine{Memory: 10e9, Disk: 1e18, Rate: 1e9}, MemoryLimit, 1.25e12 / 10e9},
		{Machine{Memory: 1e15, Disk: 10e12, Rate: 1e9}, DiskLimit, 7.55e13 / 10e12},
		{Machine{Memory: 1e15, Disk: 1e18, Rate: 1e9}, "", 1},
	} {
		p, err := NewPlan(c, tc.m)
		if err != nil {
			t.Fatal(err)
		}
		if p.Limit != tc.limit || math.Abs(float64(p.Shards)-tc.shards) > max(1, 0.01*tc.shards) {
			t.Errorf("%+v: %d shards for %q; want about %.0f for %q", tc.m, p.Shards, p.Limit, tc.shards, tc.limit)
		}
		if tc.limit == "" {
			continue
		}
		one, n, all := float64(p.OneHolds), float64(p.Shards), float64(c.Keys)
		if p.OneLimit != tc.limit || one*n < 0.99*all || one*(n-1) > 1.01*all {
			t.Errorf("%+v: one holds %d keys, ended by %q, and there are %d", tc.m, p.OneHolds, p.OneLimit, p.Shards)
		}
		if p.Shard.FilterBytes > tc.m.Memory || p.Shard.TableBytes > tc.m.Disk {
			t.Errorf("%+v: a shard has %.3g bytes of filters and %.3g of tables", tc.m, p.Shard.FilterBytes, p.Shard.TableBytes)
		}
		if p.EntryByHash <= p.EntryByRange {
			t.Errorf("%+v: an entry takes %.2f bytes by hash and %.2f by range; neighbours in a range have more in common", tc.m, p.EntryByHash, p.EntryByRange)
		}
	}
}

// Hours are bytes over the rate.
func TestPlanHours(t *testing.T) {
	c := Default()
	c.Keys = 3_600_000_000
	p, err := NewPlan(c, Machine{Memory: 1e12, Disk: 1e15, Rate: 116e6})
	if err != nil {
		t.Fatal(err)
	}
	if want := p.Whole.Amplification.Total() * 3.6e9 * 116 / 116e6 / 3600; math.Abs(p.WholeTime.Load-want) > 1e-9*want {
		t.Errorf("%v hours to load, want %v", p.WholeTime.Load, want)
	}
	if want := p.Whole.TableBytes / 116e6 / 3600; math.Abs(p.WholeTime.Rewrite-want) > 1e-9*want {
		t.Errorf("%v hours to rewrite, want %v", p.WholeTime.Rewrite, want)
	}
}

// A machine that is too small for anything, or nothing at all, is an error.
func TestPlanRefuses(t *testing.T) {
	c := Default()
	c.Keys = 1_000_000_000_000
	for _, m := range []Machine{{}, {1e9, 1e12, 0}, {math.NaN(), 1e12, 1e9}, {1000, 1e12, 1e9}, {1e9, 1000, 1e9}} {
		if p, err := NewPlan(c, m); err == nil {
			t.Errorf("%+v: %d shards", m, p.Shards)
		}
	}
}

// Shards must not be chosen by the hash that filters use, as the plan says: keys that
// share its highest bits lie in the same few lines of a blocked filter, which then
// says "maybe" to nearly all of them.
func TestShardingByTheFiltersHash(t *testing.T) {
	const shards, keys = 16, 20_000
	rates := map[bool]float64{}
	for _, same := range []bool{false, true} {
		b, err := bloom.NewBuilder(bloom.Blocked, 10)
		if err != nil {
			t.Fatal(err)
		}
		mine := func(i uint64) (hash uint64, ok bool) {
			hash = bloom.Hash(keyAt(i))
			return hash, !same || hash>>60 == shards-1
		}
		i := uint64(0)
		for n := 0; n < keys; i++ {
			if h, ok := mine(i); ok {
				b.Add(h)
				n++
			}
		}
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		f, err := bloom.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		hits, asked := 0, 0
		for ; asked < keys; i++ {
			if h, ok := mine(i); ok {
				asked++
				if f.MayContain(h) {
					hits++
				}
			}
		}
		rates[same] = float64(hits) / float64(asked)
	}
	t.Logf("false positives: %.4f, and %.4f of keys with the same four bits", rates[false], rates[true])
	if rates[false] > 0.012 || rates[true] < 0.9 {
		t.Errorf("false positives: %v, and %v of keys with the same four bits", rates[false], rates[true])
	}
}
