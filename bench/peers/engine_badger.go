package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

type badgerEngine struct{ db *badger.DB }

func openBadger(dir string) (engine, error) {
	const onePercent = 0.01
	o := badger.DefaultOptions(dir).
		WithLogger(quiet{}).
		WithSyncWrites(false).
		WithDetectConflicts(false).
		WithCompression(options.Snappy).
		WithBlockSize(blockSize).
		WithMemTableSize(memTableSize).
		WithBlockCacheSize(cacheSize).
		WithBaseTableSize(tableSize).
		WithBaseLevelSize(baseLevelSize).
		WithBloomFalsePositive(onePercent).
		WithNumCompactors(2) // it takes no fewer
	db, err := badger.Open(o)
	return badgerEngine{db}, err
}

func (e badgerEngine) Put(key, value []byte) error {
	return e.db.Update(func(txn *badger.Txn) error { return txn.Set(key, value) })
}

func (e badgerEngine) Get(dst, key []byte) (v []byte, ok bool, err error) {
	err = e.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if err != nil {
			return err
		}
		return item.Value(func(value []byte) error {
			v = append(dst, value...)
			return nil
		})
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return dst, false, nil
	}
	return v, err == nil, err
}

// Flush does nothing: badger flushes when it is closed.
func (e badgerEngine) Flush() error { return nil }

func (e badgerEngine) Compact() error { return e.db.Flatten(1) }

func (e badgerEngine) Close() error { return e.db.Close() }
