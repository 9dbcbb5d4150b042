package main

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

type pebbleEngine struct {
	*pebble.DB
	cache *pebble.Cache
}

func openPebble(dir string) (engine, error) {
	cache := pebble.NewCache(cacheSize)
	o := &pebble.Options{
		Cache:                      cache,
		MemTableSize:               memTableSize,
		LBaseMaxBytes:              baseLevelSize,
		FormatMajorVersion:         pebble.FormatNewest,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, 1 },
		Logger:                     quiet{},
	}
	for i := range o.Levels {
		o.TargetFileSizes[i] = tableSize
		o.Levels[i].BlockSize = blockSize
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bitsPerKey)
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

func (e *pebbleEngine) Put(key, value []byte) error { return e.Set(key, value, pebble.NoSync) }

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

func (e *pebbleEngine) Compact() error {
	return e.DB.Compact(context.Background(), nil, []byte("\xff"), false)
}

func (e *pebbleEngine) Close() error {
	defer e.cache.Unref()
	return e.DB.Close()
}

// quiet keeps the engines' own reports out of the measurements.
type quiet struct{}

func (quiet) Infof(string, ...any)    {}
func (quiet) Errorf(string, ...any)   {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Fatalf(string, ...any)   {}
