package workload

// How many operations a workload does.
func onePerPair(c *Config) int   { return c.Pairs }
func onePerLookup(c *Config) int { return c.Lookups }
func onePerScan(c *Config) int   { return max(c.Lookups/10, 1) }
func onePerSync(c *Config) int   { return c.Syncs }
func onePerOpen(c *Config) int   { return c.Opens }
func half(c *Config) int         { return c.Pairs / 2 }

const (
	batchSize = 1000
	kibibyte  = 1 << 10
)

// All returns every workload, in the order in which tables show them.
func All() []*Spec {
	return slicesOf(writing(), reading(), ycsb(), opening())
}

func slicesOf(lists ...[]Spec) []*Spec {
	var all []*Spec
	for _, list := range lists {
		for i := range list {
			s := &list[i]
			s.Clients, s.StepOps = max(s.Clients, 1), max(s.StepOps, 1)
			all = append(all, s)
		}
	}
	return all
}

func writing() []Spec {
	return []Spec{
		{Name: "fillseq", What: "puts in key order", On: Empty, Writes: true, ops: onePerPair, begin: fillInOrder, after: holdsOrdered},
		{Name: "fillrandom", What: "puts in random order", On: Empty, Writes: true, ops: onePerPair, begin: fill, after: holdsLoaded},
		{Name: "fillrandom-4", What: "puts in random order by 4 writers", On: Empty, Clients: 4, Writes: true, ops: onePerPair, begin: fill, after: holdsLoaded},
		{Name: "fillrandom-1k", What: "puts of 1 KiB values in random order", On: Empty, Writes: true, valueSize: kibibyte, ops: onePerPair, begin: fill, after: holdsLoaded},
		{Name: "fillbatch", What: "puts in random order in batches of 1000", On: Empty, Writes: true, StepOps: batchSize, ops: onePerPair, begin: fillBatches, after: holdsLoaded},
		{Name: "fillsync", What: "puts that each wait for the device", On: Empty, Sync: true, Writes: true, ops: onePerSync, begin: fill, after: holdsLoaded},
		{Name: "fillsync-16", What: "puts that wait for the device by 16 writers", On: Empty, Clients: 16, Sync: true, Writes: true, ops: onePerSync, begin: fill, after: holdsLoaded},
		{Name: "overwrite", What: "puts of keys that are there, at random", On: Compacted, Writes: true, ops: onePerPair, begin: overwrite, after: holdsAny},
		{Name: "deleterandom", What: "deletes half of the keys in random order", On: Compacted, Writes: true, ops: half, begin: deleteHalf, after: lacksDeleted},
	}
}

func reading() []Spec {
	return []Spec{
		{Name: "readrandom", What: "looks up keys that are there", On: Compacted, ops: onePerLookup, begin: readPresent(loaded)},
		{Name: "readrandom-4", What: "looks up keys that are there by 4 readers", On: Compacted, Clients: 4, ops: onePerLookup, begin: readPresent(loaded)},
		{Name: "readrandom-zipf", What: "looks up keys that are there, a few of them most of the time", On: Compacted, ops: onePerLookup, begin: readZipf},
		{Name: "readhit-overlap", What: "looks up keys that are there, in one of many overlapping tables", On: Overlapping, ops: onePerLookup, begin: readPresent(loaded)},
		{Name: "readmissing", What: "looks up keys that are not there", On: Compacted, ops: onePerLookup, begin: readAbsent},
		{Name: "readmissing-1k", What: "looks up keys that are not there, among 1 KiB values", On: Compacted, valueSize: kibibyte, ops: onePerLookup, begin: readAbsent},
		{Name: "readmissing-overlap", What: "looks up keys that are not there, in many overlapping tables", On: Overlapping, ops: onePerLookup, begin: readAbsent},
		{Name: "readmissing-overwritten", What: "looks up keys that are not there, after half were put again", On: Overwritten, ops: onePerLookup, begin: readAbsent},
		{Name: "readmissing-deleted", What: "looks up keys that were never there, after half were deleted", On: Deleted, ops: onePerLookup, begin: readAbsent},
		{Name: "readdeleted", What: "looks up keys that were deleted", On: Deleted, ops: onePerLookup, begin: readDeleted},
		{Name: "readseq", What: "walks all pairs forward", On: Compacted, StepOps: walkStep, ops: onePerPair, begin: walk(true)},
		{Name: "readreverse", What: "walks all pairs backward", On: Compacted, StepOps: walkStep, ops: onePerPair, begin: walk(false)},
		{Name: "seekrandom50", What: "seeks keys that are there and walks 50 pairs on", On: Compacted, ops: onePerScan, begin: seek},
	}
}

// opening are the workloads whose operation is to open a store.
func opening() []Spec {
	return []Spec{
		{Name: "recover", What: "opens what SIGKILL leaves of a store with nothing flushed", On: Logged, ops: onePerOpen},
		{Name: "opentables", What: "opens a store of about 1000 tables", On: ManyTables, ops: onePerOpen},
	}
}

// opens reports whether an operation is to open the store.
func (s *Spec) opens() bool { return s.begin == nil }
