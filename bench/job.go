package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/siftkv/sift"
)

// Cell is one series of lookups: what a run measured in one shape, with filters
// or without, for one kind of key.
type Cell struct {
	Shape   Shape
	Filters bool
	Lookup  Lookup
	Measured
}

// Main runs the main job: it loads the keys into a database without filters and
// one with, and measures absent and present keys in the shape that the load
// left; then it compacts both and measures again. It calls done after each
// shape, with that shape's four cells: absent without and with filters, present
// without and with filters. It closes the databases and leaves their files.
//
// When the context ends, Main closes the databases and returns its cause.
func (c *Config) Main(ctx context.Context, done func([]Cell) error) (err error) {
	if err := c.Validate(); err != nil {
		return err
	}
	var dbs pair
	defer func() {
		closeErr := dbs.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if err == nil {
			err = closeErr
		}
	}()
	if dbs.off, err = c.load(ctx, false); err != nil {
		return err
	}
	if dbs.on, err = c.load(ctx, true); err != nil {
		return err
	}
	for _, shape := range []Shape{Fresh, Compacted} {
		if shape == Compacted {
			if err := c.compact(ctx, dbs); err != nil {
				return err
			}
		}
		cells, err := c.measureShape(ctx, dbs, shape)
		if err != nil {
			return err
		}
		if err := done(cells); err != nil {
			return err
		}
	}
	return nil
}

// A pair is the two databases of a run.
type pair struct{ off, on *sift.DB }

func (p pair) close() error {
	var errs []error
	for _, db := range []*sift.DB{p.off, p.on} {
		if db == nil {
			continue
		}
		if err := db.Close(); !errors.Is(err, sift.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Config) compact(ctx context.Context, dbs pair) error {
	for i, db := range []*sift.DB{dbs.off, dbs.on} {
		c.progress("compacting", i, 2)
		err := interruptible(ctx, db, func() error { return db.Compact(nil, nil) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) measureShape(ctx context.Context, dbs pair, shape Shape) ([]Cell, error) {
	var cells []Cell
	for _, kind := range []Lookup{Absent, Present} {
		for _, filters := range []bool{false, true} {
			db, with := dbs.off, "without"
			if filters {
				db, with = dbs.on, "with"
			}
			what := fmt.Sprintf("looking up %s keys %s filters (%s)", kind, with, shape)
			m, err := c.measure(ctx, db, kind, what)
			if err != nil {
				return nil, err
			}
			cells = append(cells, Cell{shape, filters, kind, *m})
		}
	}
	return cells, nil
}
