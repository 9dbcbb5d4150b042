package main

import (
	"errors"

	"github.com/siftkv/sift"
)

type siftEngine struct{ *sift.DB }

func openSift(dir string) (engine, error) {
	db, err := sift.Open(dir, &sift.Options{
		BlockSize:    blockSize,
		TableSize:    tableSize,
		MemTableSize: memTableSize,
		CacheSize:    cacheSize,
		Compression:  sift.Snappy,
		Filter:       sift.FilterOptions{BitsPerKey: bitsPerKey},
		Compaction:   sift.CompactionOptions{BaseLevelSize: baseLevelSize},
		Workers:      1,
	})
	return siftEngine{db}, err
}

func (e siftEngine) Put(key, value []byte) error { return e.DB.Put(key, value, sift.NoSync) }

func (e siftEngine) Get(dst, key []byte) ([]byte, bool, error) {
	v, err := e.AppendGet(dst, key)
	if errors.Is(err, sift.ErrNotFound) {
		return dst, false, nil
	}
	return v, err == nil, err
}

func (e siftEngine) Compact() error { return e.DB.Compact(nil, nil) }
