package compaction

import (
	"context"
	"fmt"
	"math"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/manifest"
)

// Flush writes the entries of a memtable, which in walks, as a table for level
// 0. It promises what Run does, takes over in and closes it.
//
// Everything older than the memtable must lie in the tables of v: then a
// tombstone whose key no table may hold is dropped at once. One memtable makes
// one table whatever its size, since the number of tables on level 0 stands for
// the number of times a lookup must ask there. Without entries, or if none
// survives, it makes none.
func Flush(ctx context.Context, env *Env, v *manifest.Version, in iterator.Iterator) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &part{
		open:    func() (iterator.Iterator, error) { return in, nil },
		entries: survivors{snapshots: env.Snapshots, below: newBelow(v, 0), sumInput: true},
		out:     output{env: env, level: 0, limit: math.MaxInt64},
	}
	p.run(ctx, cancel)
	r, err := conclude(ctx, env, []*part{p}, nil, Stats{In: p.entries.read})
	if err != nil {
		return Result{}, fmt.Errorf("flush: %w", err)
	}
	return r, nil
}
