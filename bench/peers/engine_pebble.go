package main

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/siftkv/sift/bench/workload"
)

type pebbleEngine struct {
	*pebble.DB
	cache *pebble.Cache
}

func openPebble(dir string, s workload.Settings) (workload.Store, error) { return newPebble(dir, s) }

func newPebble(dir string, s workload.Settings) (*pebbleEngine, error) {
	cache := pebble.NewCache(s.CacheSize)
	o := &pebble.Options{
		Cache:                       cache,
		MemTableSize:                uint64(s.MemTableSize),
		LBaseMaxBytes:               s.BaseLevelSize,
		FormatMajorVersion:          pebble.FormatNewest,
		CompactionConcurrencyRange:  func() (lower, upper int) { return s.Compactions, s.Compactions },
		DisableAutomaticCompactions: s.NoCompaction,
		Logger:                      quiet{},
	}
	if s.NoCompaction {
		o.L0StopWritesThreshold = never
	}
	for i := range o.Levels {
		o.TargetFileSizes[i] = s.TableSize
		o.Levels[i].BlockSize = s.BlockSize
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(s.BitsPerKey)
		o.Levels[i].FilterType = pebble.TableFilter
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.UniformDBCompressionSettings(block.SnappyCompression)
	})
	db, err := pebble.Open(dir, o)
	if err != nil {
		cache.Unref()
		return nil, err
	}
	return &pebbleEngine{db, cache}, nil
}

func (e *pebbleEngine) Put(key, value []byte, sync bool) error {
	if sync {
		return e.Set(key, value, pebble.Sync)
	}
	return e.Set(key, value, pebble.NoSync)
}

func (e *pebbleEngine) Delete(key []byte) error { return e.DB.Delete(key, pebble.NoSync) }

func (e *pebbleEngine) Apply(pairs []workload.Pair) error {
	b := e.NewBatch()
	for _, p := range pairs {
		if err := b.Set(p.Key, p.Value, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return errors.Join(b.Commit(pebble.NoSync), b.Close())
}

func (e *pebbleEngine) Get(dst, key []byte) ([]byte, bool, error) {
	v, closer, err := e.DB.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

func (e *pebbleEngine) NewIter() (workload.Iter, error) {
	it, err := e.DB.NewIter(nil)
	if err != nil {
		return nil, err
	}
	return pebbleIter{it}, nil
}

type pebbleIter struct{ *pebble.Iterator }

func (it pebbleIter) Err() error { return it.Error() }

func (e *pebbleEngine) Compact() error {
	return e.DB.Compact(context.Background(), nil, []byte("\xff"), false)
}

func (e *pebbleEngine) Close() error {
	defer e.cache.Unref()
	return e.DB.Close()
}

// Counters implements workload.Counter, for what is written.
func (e *pebbleEngine) Counters() workload.Counters {
	m := e.Metrics()
	written := m.WAL.BytesWritten
	for _, l := range m.Levels {
		written += l.TableBytesFlushed + l.TableBytesCompacted
	}
	return workload.Counters{Written: written}
}

// quiet keeps the engines' own reports out of the measurements.
type quiet struct{}

func (quiet) Infof(string, ...any)    {}
func (quiet) Errorf(string, ...any)   {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Fatalf(string, ...any)   {}
