package main

import (
	"math"
	"slices"
	"strings"

	"github.com/FastFilter/xorfilter"
	bab "github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	pebblebloom "github.com/cockroachdb/pebble/v2/bloom"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/greatroar/blobloom"
	cuckoo "github.com/seiflotfy/cuckoofilter"
	"github.com/siftkv/sift/bloom"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/util"
	boom "github.com/tylertreat/BoomFilters"
)

// A subject is a library's way to make a filter of keys, at about ten bits each
// where it lets one choose.
type subject struct {
	name  string
	build func(k keys) built
}

// A built filter. Loops over keys are the subject's own, so that no call through
// a function value is timed.
type built struct {
	count   func(k keys) (maybe int) // hashing included
	bytes   int
	formula float64 // false-positive rate that theory expects, 0 if it has none
}

var subjects = []subject{
	{"sift blocked", siftKind(bloom.Blocked).build},
	{"sift fuse", siftKind(bloom.Fuse).build},
	{"sift ribbon", siftKind(bloom.Ribbon).build},
	{"sift classic", siftKind(bloom.Classic).build},
	{"bits-and-blooms", buildBitsAndBlooms},
	{"blobloom", buildBlobloom},
	{"xorfilter BinaryFuse8", buildXorfilter},
	{"pebble", buildPebble},
	{"goleveldb", buildGoleveldb},
	{"ristretto z.Bloom, 1 %", buildRistretto},
	{"seiflotfy cuckoo", buildCuckoo},
	{"BoomFilters, 1 %", buildBoom},
}

const bitsPerKey = 10

// keepSubjects leaves those whose names begin in one of the given ways.
func keepSubjects(names []string) {
	subjects = slices.DeleteFunc(subjects, func(s subject) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(s.name, name) })
	})
}

type siftKind bloom.Kind

func (kind siftKind) build(k keys) built {
	f := buildSift(bloom.Kind(kind), k)
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.MayContainKey(k.at(i)) {
				maybe++
			}
		}
		return maybe
	}, f.Size(), f.Rate()}
}

func buildSift(kind bloom.Kind, k keys) *bloom.Filter {
	b, err := bloom.NewBuilder(kind, bitsPerKey)
	must(err)
	for i := range k.len() {
		b.Add(bloom.Hash(k.at(i)))
	}
	data, err := b.Finish()
	must(err)
	f, err := bloom.Open(data)
	must(err)
	return f
}

func buildBitsAndBlooms(k keys) built {
	f := bab.New(uint(k.len()*bitsPerKey), 7)
	for i := range k.len() {
		f.Add(k.at(i))
	}
	rate, err := bloom.ClassicRate(uint64(k.len()), uint64(f.Cap()), 7)
	must(err)
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.Test(k.at(i)) {
				maybe++
			}
		}
		return maybe
	}, int(f.Cap() / 8), rate}
}

func buildBlobloom(k keys) built {
	f := blobloom.New(uint64(k.len()*bitsPerKey), 7)
	for i := range k.len() {
		f.Add(xxhash.Sum64(k.at(i)))
	}
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.Has(xxhash.Sum64(k.at(i))) {
				maybe++
			}
		}
		return maybe
	}, int(f.NumBits() / 8), f.FPRate(uint64(k.len()))}
}

func buildXorfilter(k keys) built {
	hs := make([]uint64, k.len())
	for i := range hs {
		hs[i] = xxhash.Sum64(k.at(i))
	}
	f, err := xorfilter.NewBinaryFuse[uint8](hs)
	must(err)
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.Contains(xxhash.Sum64(k.at(i))) {
				maybe++
			}
		}
		return maybe
	}, len(f.Fingerprints), 1. / 256}
}

func buildPebble(k keys) built {
	policy := pebblebloom.FilterPolicy(bitsPerKey)
	w := policy.NewWriter(pebble.TableFilter)
	for i := range k.len() {
		w.AddKey(k.at(i))
	}
	f := w.Finish(nil)
	rate, err := bloom.BlockedRate(uint64(k.len()), uint64(len(f)/64), 6)
	must(err)
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if policy.MayContain(pebble.TableFilter, f, k.at(i)) {
				maybe++
			}
		}
		return maybe
	}, len(f), rate}
}

func buildGoleveldb(k keys) built {
	policy := filter.NewBloomFilter(bitsPerKey)
	g := policy.NewGenerator()
	for i := range k.len() {
		g.Add(k.at(i))
	}
	var buf util.Buffer
	g.Generate(&buf)
	f := buf.Bytes()
	rate, err := bloom.ClassicRate(uint64(k.len()), uint64(8*len(f)), 6)
	must(err)
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if policy.Contains(f, k.at(i)) {
				maybe++
			}
		}
		return maybe
	}, len(f), rate}
}

func buildRistretto(k keys) built {
	f := z.NewBloomFilter(float64(k.len()), 0.01)
	for i := range k.len() {
		f.Add(xxhash.Sum64(k.at(i)))
	}
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.Has(xxhash.Sum64(k.at(i))) {
				maybe++
			}
		}
		return maybe
	}, f.TotalSize(), 0}
}

func buildCuckoo(k keys) built {
	f := cuckoo.NewFilter(uint(k.len()))
	for i := range k.len() {
		f.Insert(k.at(i))
	}
	load := float64(f.Count()) / float64(len(f.Encode()))
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.Lookup(k.at(i)) {
				maybe++
			}
		}
		return maybe
	}, len(f.Encode()), 1 - math.Pow(1-1./255, 8*load)}
}

func buildBoom(k keys) built {
	f := boom.NewBloomFilter(uint(k.len()), 0.01)
	for i := range k.len() {
		f.Add(k.at(i))
	}
	rate, err := bloom.ClassicRate(uint64(k.len()), uint64(f.Capacity()), int(f.K()))
	must(err)
	return built{func(k keys) (maybe int) {
		for i := range k.len() {
			if f.Test(k.at(i)) {
				maybe++
			}
		}
		return maybe
	}, int(f.Capacity() / 8), rate}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
