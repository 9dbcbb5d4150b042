package main

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

type goLevelDB struct{ db *leveldb.DB }

func openGoLevelDB(dir string) (engine, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{
		BlockSize:           blockSize,
		CompactionTableSize: tableSize,
		CompactionTotalSize: baseLevelSize,
		WriteBuffer:         memTableSize,
		BlockCacheCapacity:  cacheSize,
		Compression:         opt.SnappyCompression,
		Filter:              filter.NewBloomFilter(bitsPerKey),
	})
	return goLevelDB{db}, err
}

func (e goLevelDB) Put(key, value []byte) error { return e.db.Put(key, value, nil) }

func (e goLevelDB) Get(dst, key []byte) ([]byte, bool, error) {
	v, err := e.db.Get(key, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return dst, false, nil
	}
	return append(dst, v...), err == nil, err
}

// Flush does nothing: goleveldb has no such call, and CompactRange does it.
func (e goLevelDB) Flush() error { return nil }

func (e goLevelDB) Compact() error { return e.db.CompactRange(util.Range{}) }

func (e goLevelDB) Close() error { return e.db.Close() }
