package model

import (
	"fmt"
	"math"
	"sort"
)

// A Machine is what one machine has for one database.
type Machine struct {
	Memory float64 `json:"memory"` // bytes that filters may take
	Disk   float64 `json:"disk"`   // bytes
	Rate   float64 `json:"rate"`   // bytes a second that it can keep writing
}

// Limit says what a machine has too little of.
type Limit string

// The limits.
const (
	MemoryLimit Limit = "memory"
	DiskLimit   Limit = "disk"
)

// A Plan is how many machines a database takes.
type Plan struct {
	Keys    uint64  `json:"keys"`
	Machine Machine `json:"machine"`

	OneHolds uint64 `json:"one_machine_holds"` // keys
	OneLimit Limit  `json:"one_machine_limit"` // what ends it

	Shards int      `json:"shards"`
	Limit  Limit    `json:"limit"` // what asks for so many
	Whole  Estimate `json:"whole"` // as if it were one database
	Shard  Estimate `json:"shard"` // one of the shards, by hash

	MonkeyShards int `json:"shards_monkey"` // if filters took no more than MonkeyBytes

	WholeTime Hours `json:"whole_hours"`
	ShardTime Hours `json:"shard_hours"`

	// EntryByHash and EntryByRange are the bytes of an entry in the tables of a shard.
	// Neighbours in a range have more in common.
	EntryByHash  float64 `json:"entry_bytes_by_hash"`
	EntryByRange float64 `json:"entry_bytes_by_range"`
}

// Hours is how long it takes to write.
type Hours struct {
	Load    float64 `json:"load"`    // all the load, with what compactions write
	Rewrite float64 `json:"rewrite"` // every table once, as to move or to compact all
}

// NewPlan returns how a database would be spread over machines that are alike.
func NewPlan(c Config, m Machine) (*Plan, error) {
	if !(m.Memory > 0 && m.Disk > 0 && m.Rate > 0) {
		return nil, fmt.Errorf("model: a machine of %v; want memory, disk and rate above 0", m)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := newSizer(&c)
	if err != nil {
		return nil, err
	}
	pl := planner{c, m, s}
	p := &Plan{Keys: c.Keys, Machine: m, Whole: *pl.estimate(c.Keys)}
	p.OneHolds, p.OneLimit = pl.holds()
	if p.Shards, p.Limit = pl.shards(); p.Shards > mostShards {
		return nil, fmt.Errorf("model: %d keys want more than %d machines with %.0f bytes of memory for filters and %.0f of disk",
			c.Keys, mostShards, m.Memory, m.Disk)
	}
	shard := perShard(c.Keys, p.Shards)
	p.Shard = *pl.estimate(shard)
	p.WholeTime, p.ShardTime = pl.hours(&p.Whole), pl.hours(&p.Shard)
	p.MonkeyShards = int(min(max(1, math.Ceil(p.Whole.MonkeyBytes/m.Memory), math.Ceil(p.Whole.TableBytes/m.Disk)), mostShards))
	p.EntryByHash = s.sampleOf(float64(shard)).perEntry
	p.EntryByRange = s.sampleOf(float64(c.Keys)).perEntry
	return p, nil
}

const mostShards = 1 << 20

func perShard(keys uint64, shards int) uint64 {
	return (keys + uint64(shards) - 1) / uint64(shards)
}

// A planner tries sizes of a database on a machine.
type planner struct {
	c       Config
	machine Machine
	sizer   *sizer
}

func (p *planner) estimate(keys uint64) *Estimate {
	c := p.c
	c.Keys = keys
	return newGeometry(&c, p.sizer).estimate(Levelled)
}

// holds returns how many keys a machine holds, and what ends it.
func (p *planner) holds() (keys uint64, limit Limit) {
	low, high := uint64(0), uint64(MaxKeys)
	if p.lacks(high) == "" {
		return high, ""
	}
	for high-low > max(low/1000, 1) {
		if mid := low + (high-low)/2; p.lacks(mid) == "" {
			low = mid
		} else {
			high = mid
		}
	}
	return low, p.lacks(high)
}

// shards returns into how many shards of equal size a database must be cut, and what
// one fewer would lack.
func (p *planner) shards() (n int, limit Limit) {
	n = 1 + sort.Search(mostShards, func(i int) bool { return p.lacks(perShard(p.c.Keys, i+1)) == "" })
	if n > 1 {
		limit = p.lacks(perShard(p.c.Keys, n-1))
	}
	return n, limit
}

// lacks returns what a machine has too little of for a database. The disk must hold
// the tables, two logs, and what the largest compaction writes before its inputs go.
func (p *planner) lacks(keys uint64) Limit {
	c := p.c
	c.Keys = keys
	g := newGeometry(&c, p.sizer)
	if filterMemory(float64(keys), c.BitsPerKey) > p.machine.Memory {
		return MemoryLimit
	}
	tables := float64(keys) * g.entry
	n, last := g.levels(tables)
	base := last
	if n > 1 {
		base = g.target(1, n, last)
	}
	if c.Overwrites > 0 {
		tables += g.above(n, last)
	}
	if tables+base+g.incoming+2*float64(c.MemTableSize) > p.machine.Disk {
		return DiskLimit
	}
	return ""
}

func (p *planner) hours(e *Estimate) Hours {
	const hour = 3600
	user := float64(e.Keys) * (1 + p.c.Overwrites) * p.c.pairBytes()
	return Hours{
		Load:    e.Amplification.Total() * user / p.machine.Rate / hour,
		Rewrite: e.TableBytes / p.machine.Rate / hour,
	}
}
