package compaction

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// output writes what survives into tables. A table ends at a new user key once
// it is full or overlaps too much of the grandparents, never between the
// versions of one key.
//
// Every file that may have been created is in nums until discard has removed
// it. It is for one goroutine.
type output struct {
	env          *Env
	level        int
	limit        int64
	grandparents []*manifest.TableMeta

	file   vfs.File // nil: no table is open
	writer *sstable.Writer
	passed int64 // bytes of grandparents that the open table has passed

	nums   []uint64
	tables []*manifest.TableMeta
}

func (o *output) add(k key.Internal, value []byte, newUser bool) error {
	if newUser && o.full(k.User) {
		if err := o.finish(); err != nil {
			return err
		}
	}
	if o.file == nil {
		if err := o.create(); err != nil {
			return err
		}
	}
	return o.writer.Add(k, value)
}

// full reports whether the open table must end before user.
func (o *output) full(user []byte) bool {
	for len(o.grandparents) > 0 && bytes.Compare(o.grandparents[0].Largest.User, user) < 0 {
		o.passed += o.grandparents[0].Size
		o.grandparents = o.grandparents[1:]
	}
	if o.file == nil {
		o.passed = 0
		return false
	}
	return o.passed/maxGrandparents > o.env.TableSize || o.writer.EstimatedSize() >= o.limit
}

func (o *output) create() error {
	num := o.env.NewFileNum()
	o.nums = append(o.nums, num) // a Create that fails may have made the file
	f, err := o.env.FS.Create(manifest.Path(o.env.Dir, manifest.Table, num))
	if err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	options := o.env.Writer(o.level)
	options.ID = o.env.NewID()
	o.file, o.writer = f, sstable.NewWriter(f, options)
	return nil
}

// finish completes the open table, if there is one.
func (o *output) finish() error {
	if o.file == nil {
		return nil
	}
	info, err := o.writer.Finish()
	if closeErr := o.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("finish table: %w", err)
	}
	t := manifest.NewTableMeta(o.nums[len(o.nums)-1], info)
	if len(info.FilterData) > 0 {
		if t.Filter, err = bloom.Open(info.FilterData); err != nil {
			return fmt.Errorf("open the filter just built: %w", err)
		}
	}
	o.tables = append(o.tables, t)
	return nil
}

func (o *output) close() error {
	f := o.file
	o.file, o.writer, o.passed = nil, nil, 0
	return f.Close()
}

// discard removes every file of nums. What cannot be removed is named
// in the error; it belongs to no version and is removed at the next Open.
func (o *output) discard() error {
	var errs []error
	if o.file != nil {
		errs = append(errs, o.close()) // some systems do not remove open files
	}
	for _, num := range o.nums {
		err := o.env.FS.Remove(manifest.Path(o.env.Dir, manifest.Table, num))
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	o.nums, o.tables = nil, nil
	return errors.Join(errs...)
}
