package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// Run does a job that is not Trivial. It returns when the outputs are durable
// and what they hold, with what was dropped, is what the inputs held. On an
// error, the context's included, it has removed its outputs; the inputs are
// untouched in any case.
func Run(ctx context.Context, env *Env, j *Job) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	parts := newParts(env, j)
	var wg sync.WaitGroup
	for _, p := range parts[1:] {
		wg.Go(func() { p.run(ctx, cancel) })
	}
	parts[0].run(ctx, cancel)
	wg.Wait()

	inputs := slices.Concat(j.Inputs[0], j.Inputs[1])
	stats := Stats{In: tallyOf(inputs), BytesRead: sizeOf(inputs)}
	r, err := conclude(ctx, env, parts, inputs, stats)
	if err != nil {
		return Result{}, fmt.Errorf("compaction %v: %w", j, err)
	}
	return r, nil
}

// conclude joins the parts to one result, or removes what they wrote.
func conclude(ctx context.Context, env *Env, parts []*part, inputs []*manifest.TableMeta, stats Stats) (Result, error) {
	r := Result{Stats: stats}
	for _, p := range parts {
		r.Outputs = append(r.Outputs, p.out.tables...)
		r.Stats.Drops.plus(&p.entries.drops)
	}
	r.Stats.Parts = len(parts)
	r.Stats.Out = tallyOf(r.Outputs)
	r.Stats.BytesWritten = sizeOf(r.Outputs)

	err := context.Cause(ctx)
	if err == nil {
		err = checkConservation(inputs, &r.Stats)
	}
	if err == nil && len(r.Outputs) > 0 && !env.NamesLater {
		err = env.FS.SyncDir(env.Dir)
	}
	if err == nil {
		return r, nil
	}
	err = blame(env.Tables, inputs, err)
	for _, p := range parts {
		err = errors.Join(err, p.out.discard())
	}
	return Result{}, err
}

// part is the share of a job that one goroutine does: the user keys in
// [lo, entries.end).
type part struct {
	open    func() (iterator.Iterator, error)
	lo      []byte // nil: from the first key
	entries survivors
	out     output
}

// run walks the part's keys. The first part that fails stops the others, and
// its error becomes the cause that ctx gives.
func (p *part) run(ctx context.Context, cancel context.CancelCauseFunc) {
	if err := p.walk(ctx); err != nil {
		cancel(err)
	}
}

func (p *part) walk(ctx context.Context) (err error) {
	in, err := p.open()
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := in.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := p.entries.run(ctx, in, p.start(in), &p.out); err != nil {
		return err
	}
	return p.out.finish()
}

func (p *part) start(in iterator.Iterator) bool {
	if p.lo == nil {
		return in.First()
	}
	return in.SeekGE(key.Seek(p.lo, key.MaxSeq))
}

// newParts cuts a job so that each of the workers has about the same to do.
func newParts(env *Env, j *Job) []*part {
	cuts := j.cuts(env)
	parts := make([]*part, len(cuts)+1)
	for i := range parts {
		p := &part{
			entries: survivors{snapshots: env.Snapshots, below: newBelow(j.Version, j.OutputLevel+1)},
			out:     output{env: env, level: j.OutputLevel, limit: env.TableSize, grandparents: j.Grandparents},
		}
		if i > 0 {
			p.lo = cuts[i-1]
		}
		if i < len(cuts) {
			p.entries.end = cuts[i]
		}
		p.open = func() (iterator.Iterator, error) { return openInputs(env.Tables, j, p.lo, p.entries.end) }
		parts[i] = p
	}
	return parts
}

// cuts returns the user keys at which a job is cut into parts, ascending. They
// are first keys of tables on the output level, so that the parts' outputs fit
// where the inputs were.
func (j *Job) cuts(env *Env) [][]byte {
	tables := j.Inputs[1]
	n := min(max(env.Workers, 1), len(tables))
	if n < 2 || j.Size()/2 < env.TableSize {
		return nil
	}
	share := sizeOf(tables) / int64(n)
	var cuts [][]byte
	var size int64
	for _, t := range tables {
		if len(cuts) < n-1 && size >= share*int64(len(cuts)+1) {
			cuts = append(cuts, t.Smallest.User)
		}
		size += t.Size
	}
	return cuts
}
