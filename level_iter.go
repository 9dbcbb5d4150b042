package sift

import (
	"errors"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// mergedIter returns a walk over every version in a state whose key may lie in
// [lower, upper): one source for each memtable, each table of level 0, and each
// level below.
func (db *DB) mergedIter(s *readState, lower, upper []byte) (iterator.Iterator, error) {
	var sources []iterator.Iterator
	for _, m := range s.mem {
		sources = append(sources, m.NewIter())
	}
	for _, t := range s.version.Overlaps(0, lower, upper) {
		it, err := db.tables.NewIter(t)
		if err != nil {
			errs := []error{err}
			for _, s := range sources {
				errs = append(errs, s.Close())
			}
			return nil, errors.Join(errs...)
		}
		sources = append(sources, it)
	}
	for level := 1; level < manifest.NumLevels; level++ {
		if tables := s.version.Overlaps(level, lower, upper); len(tables) > 0 {
			sources = append(sources, iterator.Concat(run{db, tables}))
		}
	}
	return iterator.Merge(sources...), nil
}

// A run is a sorted, disjoint sequence of tables, of which an iterator opens one
// at a time.
type run struct {
	db     *DB
	tables []*manifest.TableMeta
}

func (r run) Len() int { return len(r.tables) }

func (r run) Bounds(i int) (smallest, largest key.Internal) {
	return r.tables[i].Smallest, r.tables[i].Largest
}

func (r run) Open(i int) (iterator.Iterator, error) { return r.db.tables.NewIter(r.tables[i]) }
