package model

import (
	"encoding/binary"
	"math"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// All keys lie in [0, space), evenly.
const space = 1 << 62

// A density says how likely a key is in a table, or in a part of one. First puts
// are all different, so that what two tables hold of them has nothing in common;
// keys that are put again are drawn at random, so that what one table holds of them
// says nothing of another.
type density struct {
	first float64 // the share of keys whose first put was while the table was filled
	again float64 // the share of keys that were put again while it was
}

// present returns the share of keys that are in the table. It may be a little over
// 1 where a merge has averaged over neighbours that are not alike: the sum is right.
func (d density) present() float64 { return 1 - (1-d.first)*(1-d.again) }

// plus merges two tables of the same keys.
func (d density) plus(e density) density {
	return density{d.first + e.first, 1 - (1-d.again)*(1-e.again)}
}

// A span is a table without content.
type span struct {
	start, end uint64 // of its keys: [start, end)
	density
}

func (s span) width() float64 { return float64(s.end-s.start) / space }

// entries returns how many there are, of so many keys in all the range.
func (s span) entries(keys float64) float64 { return s.width() * keys * s.present() }

func keyAt(x uint64) []byte { return binary.BigEndian.AppendUint64(nil, x) }

func boundsOf(t *manifest.TableMeta) (start, end uint64) {
	return binary.BigEndian.Uint64(t.Smallest.User), binary.BigEndian.Uint64(t.Largest.User) + 1
}

// table makes a table of a span, of writes from minSeq to maxSeq.
func (s *simulation) table(sp span, minSeq, maxSeq uint64) *manifest.TableMeta {
	entries := sp.entries(s.keys)
	s.lastNum++
	t := &manifest.TableMeta{
		Num: s.lastNum, ID: s.lastNum,
		Size:     max(s.sizer.bytes(entries, s.keys*sp.present()), 1),
		Entries:  uint64(math.Round(max(entries, 1))),
		Smallest: key.Make(keyAt(sp.start), maxSeq, key.Set),
		Largest:  key.Make(keyAt(sp.end-1), minSeq, key.Set),
		MinSeq:   minSeq, MaxSeq: maxSeq,
	}
	s.content[t.Num] = sp.density
	return t
}

func (s *simulation) spanOf(t *manifest.TableMeta) span {
	start, end := boundsOf(t)
	return span{start, end, s.content[t.Num]}
}
