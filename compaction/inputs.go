package compaction

import (
	"errors"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// run is a sorted run of tables as a source for iterator.Concat.
type run struct {
	tables []*manifest.TableMeta
	opener Opener
}

func (r run) Len() int { return len(r.tables) }

func (r run) Bounds(i int) (smallest, largest key.Internal) {
	return r.tables[i].Smallest, r.tables[i].Largest
}

func (r run) Open(i int) (iterator.Iterator, error) {
	return r.opener.NewCompactionIter(r.tables[i])
}

// openInputs merges a job's inputs. Tables of level 0 that hold nothing of
// [lo, end) are left out; of a sorted run only the tables that the walk reaches
// are opened.
func openInputs(opener Opener, j *Job, lo, end []byte) (iterator.Iterator, error) {
	var iters []iterator.Iterator
	first := j.Inputs[0]
	if j.Level == 0 {
		for _, t := range first {
			if !t.Overlaps(lo, end) {
				continue
			}
			it, err := opener.NewCompactionIter(t)
			if err != nil {
				return nil, errors.Join(err, closeAll(iters))
			}
			iters = append(iters, it)
		}
		first = nil
	}
	for _, tables := range [][]*manifest.TableMeta{first, j.Inputs[1]} {
		if len(tables) > 0 {
			iters = append(iters, iterator.Concat(run{tables, opener}))
		}
	}
	return iterator.Merge(iters...), nil
}

func closeAll(iters []iterator.Iterator) error {
	var err error
	for _, it := range iters {
		err = errors.Join(err, it.Close())
	}
	return err
}
