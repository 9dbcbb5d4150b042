package main

import (
	"fmt"
	"strings"

	"github.com/siftkv/sift/bench/model"
)

// notes say what the columns mean.
func (f *modelFlags) notes() string {
	return fmt.Sprintf(`
Written: to the log, to flushed tables and to compacted ones, for each byte of a key or
value that is put, while compactions keep up. A writer who is too fast for them is slowed
down, and less is compacted.
Filters, even: %s bits for each key. Filters, Monkey: what it takes for as many reads
of absent keys if the bits are where they pay, which sift does not do yet.
Absent, present: disk reads that a lookup expects, with no block in a cache; Monkey: with
as much memory as even. A table that is not among the %s that stay open costs a second
read.
`, digits(f.BitsPerKey), commas(f.MaxOpenFiles))
}

// planText says in sentences where one machine ends and what to do then.
func (f *modelFlags) planText(p *model.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
WHERE ONE MACHINE ENDS
Filters may take %s (-memory), there are %s of disk (-disk), and it can keep
writing %s a second (-rate), if its processors keep up.
`, byteCount(p.Machine.Memory), byteCount(p.Machine.Disk), byteCount(p.Machine.Rate))
	if p.OneLimit == "" {
		fmt.Fprintf(&b, "One machine holds %s keys and more.\n", commas(p.OneHolds))
	} else {
		fmt.Fprintf(&b, "One machine holds %s keys; then %s.\n", roundedKeys(p.OneHolds), ends[p.OneLimit])
	}
	fmt.Fprintf(&b, `
%s %s
As one database: %s, %s of tables, %s of filters;
%s to load, and %s to write every table once more.
`, commas(p.Keys), strings.ToUpper(plural("key", int(min(p.Keys, 2)))), levelsOf(&p.Whole), byteCount(p.Whole.TableBytes), byteCount(p.Whole.FilterBytes),
		duration(p.WholeTime.Load), duration(p.WholeTime.Rewrite))
	if p.Shards == 1 {
		b.WriteString("It fits one machine. There is nothing to shard.\n")
		return b.String()
	}
	b.WriteString(f.shardText(p))
	return b.String()
}

var ends = map[model.Limit]string{
	model.MemoryLimit: "filters fill the memory",
	model.DiskLimit:   "tables, and room for the largest compaction, fill the disk",
}

func (f *modelFlags) shardText(p *model.Plan) string {
	s := &p.Shard
	var b strings.Builder
	fmt.Fprintf(&b, `Cut it into %s shards, each on a machine of its own; with one fewer, %s
of each.
Each has %s keys: %s, %s of tables, %s of filters;
%s to load, %s to write every table once more; %s disk reads
for an absent key and %s for a present one.
`, commas(p.Shards), ends[p.Limit], roundedKeys(s.Keys), levelsOf(s), byteCount(s.TableBytes), byteCount(s.FilterBytes),
		duration(p.ShardTime.Load), duration(p.ShardTime.Rewrite), digits(s.Uniform.Absent), digits(s.Uniform.Present))
	if p.MonkeyShards < p.Shards {
		fmt.Fprintf(&b, "With the bits where they pay, %s of filters would do as well, and %s shards.\n",
			byteCount(p.Whole.MonkeyBytes), commas(p.MonkeyShards))
	}
	fmt.Fprintf(&b, `
Shard by a hash of the key unless scans matter: keys and load are spread evenly whatever
the keys are, and a lookup asks one shard, with the filters of that shard only. A scan
asks all %s and merges them. Take another hash than the filters': keys that share the
highest bits of xxhash64 share the lines of a blocked filter, which then says "maybe" to
nearly all of them.
Shard by ranges of keys if scans matter: a scan asks the shards that it crosses, a shard
is split where a table ends, without merging anything, and neighbours have more in common
(%s B an entry, by hash %s B). But keys that come in order, or a range that is much
asked for, all go to one shard, and somebody must watch and split. Filters take the same
either way: they are paid for by the key.
`, commas(p.Shards), fixed(p.EntryByRange), fixed(p.EntryByHash))
	return b.String()
}

func levelsOf(e *model.Estimate) string {
	return fmt.Sprintf("%d %s", e.Levels, plural("level", e.Levels))
}

// roundedKeys writes a number of keys that is a bound and not a count.
func roundedKeys(n uint64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if x := float64(n); x >= unit.size {
			return digits(x/unit.size) + " " + unit.name
		}
	}
	return commas(n)
}

// duration writes hours in the unit that people plan in.
func duration(hours float64) string {
	switch {
	case hours >= 48:
		return digits(hours/24) + " days"
	case hours >= 1:
		return digits(hours) + " hours"
	case hours >= 1.0/60:
		return digits(hours*60) + " minutes"
	}
	return digits(hours*3600) + " seconds"
}

func fixed(x float64) string { return fmt.Sprintf("%.1f", x) }
