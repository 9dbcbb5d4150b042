package main

import (
	"fmt"
	"runtime"

	"github.com/FastFilter/xorfilter"
	"github.com/greatroar/blobloom"
	"github.com/siftkv/sift/bloom"
)

// comparePeers prints a row for every subject with a set of n keys: ns to build,
// to find and to miss a key, size, and the measured false-positive rate.
func comparePeers(n, rounds int) {
	fmt.Printf("\n### %d keys of 16 bytes, with the hash\n\n", n)
	fmt.Println("| filter | build | positive | negative | bits a key | measured rate | formula | ratio | allocations |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	w := newWorkload(n)
	var (
		filters          []built
		builds           []*task
		positive, absent []*task
	)
	for _, s := range subjects {
		var f built
		build := &task{name: s.name, ops: n, run: func() { f = s.build(w.present) }}
		takeTurns(max(1, min(rounds, 10_000_000/n)), build)
		filters, builds = append(filters, f), append(builds, build)
		positive = append(positive, &task{ops: w.positives().len(), warm: !w.cold, run: func() { sink += f.count(w.positives()) }})
		absent = append(absent, &task{ops: asked, warm: !w.cold, run: func() { sink += f.count(w.negatives()) }})
	}
	takeTurns(rounds, append(positive, absent...)...)
	for i, s := range subjects {
		f := filters[i]
		rate := float64(f.count(w.absent)) / float64(w.absent.len())
		ratio := "–"
		if f.formula > 0 {
			ratio = fmt.Sprintf("%.3f", rate/f.formula)
		}
		fmt.Printf("| %s | %v | %v | %v | %.2f | %.4f %% | %.4f %% | %s | %d |\n", s.name, builds[i], positive[i], absent[i],
			8*float64(f.bytes)/float64(n), 100*rate, 100*f.formula, ratio, allocations(func() { sink += f.count(w.negatives()) }))
	}
	runtime.KeepAlive(filters)
}

// comparePaths prints the ways to ask a filter of n keys when the hash is known.
func comparePaths(n, rounds int) {
	fmt.Printf("\n### %d keys, hash known, absent keys\n\n| path | ns a key |\n|---|---|\n", n)
	w := newWorkload(n)
	hs := w.present.hashes()
	absent := w.absent.hashes()
	next := func() []uint64 {
		if w.cold {
			w.turn++
		}
		return absent[w.turn%pools*asked:][:asked]
	}
	out := make([]bool, asked)
	var tasks []*task
	add := func(name string, run func()) {
		tasks = append(tasks, &task{name: name, ops: asked, warm: !w.cold, run: run})
	}
	for _, kind := range []bloom.Kind{bloom.Blocked, bloom.Fuse, bloom.Ribbon, bloom.Classic} {
		f := buildSift(kind, w.present)
		add(fmt.Sprintf("sift %v", kind), func() {
			for _, h := range next() {
				if f.MayContain(h) {
					sink++
				}
			}
		})
		if kind == bloom.Blocked {
			add("sift blocked, batch", func() { f.MayContainBatch(next(), out) })
		}
	}
	x, err := xorfilter.NewBinaryFuse[uint8](hs)
	must(err)
	add("xorfilter BinaryFuse8", func() {
		for _, h := range next() {
			if x.Contains(h) {
				sink++
			}
		}
	})
	b := blobloom.New(uint64(n*bitsPerKey), 7)
	for _, h := range hs {
		b.Add(h)
	}
	add("blobloom", func() {
		for _, h := range next() {
			if b.Has(h) {
				sink++
			}
		}
	})
	takeTurns(rounds, tasks...)
	for _, t := range tasks {
		fmt.Printf("| %s | %v |\n", t.name, t)
	}
}

// compareBuilds prints what it costs to build a filter of n keys whose hashes
// are known.
func compareBuilds(n, rounds int) {
	fmt.Printf("\n### %d keys, hash known, building\n\n| builder | ns a key |\n|---|---|\n", n)
	hs := makeKeys(0, n).hashes()
	var tasks []*task
	for _, kind := range []bloom.Kind{bloom.Blocked, bloom.Fuse, bloom.Ribbon, bloom.Classic} {
		tasks = append(tasks, &task{name: fmt.Sprintf("sift %v", kind), ops: n, run: func() {
			b, err := bloom.NewBuilder(kind, bitsPerKey)
			must(err)
			for _, h := range hs {
				b.Add(h)
			}
			data, err := b.Finish()
			must(err)
			sink += len(data)
		}})
	}
	tasks = append(tasks, &task{name: "xorfilter BinaryFuse8", ops: n, run: func() {
		f, err := xorfilter.NewBinaryFuse[uint8](hs)
		must(err)
		sink += len(f.Fingerprints)
	}}, &task{name: "blobloom", ops: n, run: func() {
		f := blobloom.New(uint64(n*bitsPerKey), 7)
		for _, h := range hs {
			f.Add(h)
		}
		sink += int(f.NumBits())
	}})
	takeTurns(max(2, min(rounds, 5_000_000/n)), tasks...)
	for _, t := range tasks {
		fmt.Printf("| %s | %v |\n", t.name, t)
	}
}

// compareMany prints what it costs to ask eight filters of n keys each for one
// hash: a lookup in a database of eight tables or levels.
func compareMany(n, rounds int) {
	const tables = 8
	fmt.Printf("\n### One hash, %d filters of %d keys each\n\n| path | ns for all |\n|---|---|\n", tables, n)
	var (
		ours  []*bloom.Filter
		blobs []*blobloom.Filter
		fuses []*xorfilter.BinaryFuse[uint8]
	)
	for i := range tables {
		k := makeKeys(i<<32, n)
		ours = append(ours, buildSift(bloom.Blocked, k))
		b := blobloom.New(uint64(n*bitsPerKey), 7)
		hs := k.hashes()
		for _, h := range hs {
			b.Add(h)
		}
		x, err := xorfilter.NewBinaryFuse[uint8](hs)
		must(err)
		blobs, fuses = append(blobs, b), append(fuses, x)
		runtime.GC()
	}
	absent := makeKeys(1<<40, pools*asked/8).hashes()
	turn := 0
	next := func() []uint64 {
		if n > 1_000_000 {
			turn++
		}
		return absent[turn%pools*asked/8:][:asked/8]
	}
	out := make([]bool, tables)
	tasks := []*task{
		{name: "sift MayContainMany", run: func() {
			for _, h := range next() {
				bloom.MayContainMany(ours, h, out)
			}
		}},
		{name: "sift, one after the other", run: func() {
			for _, h := range next() {
				for i, f := range ours {
					out[i] = f.MayContain(h)
				}
			}
		}},
		{name: "blobloom, one after the other", run: func() {
			for _, h := range next() {
				for i, f := range blobs {
					out[i] = f.Has(h)
				}
			}
		}},
		{name: "xorfilter BinaryFuse8, one after the other", run: func() {
			for _, h := range next() {
				for i, f := range fuses {
					out[i] = f.Contains(h)
				}
			}
		}},
	}
	for _, t := range tasks {
		t.ops, t.warm = asked/8, n <= 1_000_000
	}
	takeTurns(rounds, tasks...)
	for _, t := range tasks {
		fmt.Printf("| %s | %v |\n", t.name, t)
	}
}
