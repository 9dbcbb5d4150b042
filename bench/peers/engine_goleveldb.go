package main

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/siftkv/sift/bench/workload"
)

type goLevelDB struct{ db *leveldb.DB }

func openGoLevelDB(dir string, s workload.Settings) (workload.Store, error) {
	o := &opt.Options{
		BlockSize:           s.BlockSize,
		CompactionTableSize: int(s.TableSize),
		CompactionTotalSize: int(s.BaseLevelSize),
		WriteBuffer:         int(s.MemTableSize),
		BlockCacheCapacity:  int(s.CacheSize),
		Compression:         opt.SnappyCompression,
		Filter:              filter.NewBloomFilter(int(s.BitsPerKey)),
	}
	if s.NoCompaction {
		o.CompactionL0Trigger, o.WriteL0SlowdownTrigger, o.WriteL0PauseTrigger = never, never, never
	}
	db, err := leveldb.OpenFile(dir, o)
	return goLevelDB{db}, err
}

func (e goLevelDB) Put(key, value []byte, sync bool) error {
	return e.db.Put(key, value, &opt.WriteOptions{Sync: sync})
}

func (e goLevelDB) Delete(key []byte) error { return e.db.Delete(key, nil) }

func (e goLevelDB) Apply(pairs []workload.Pair) error {
	var b leveldb.Batch
	for _, p := range pairs {
		b.Put(p.Key, p.Value)
	}
	return e.db.Write(&b, nil)
}

func (e goLevelDB) Get(dst, key []byte) ([]byte, bool, error) {
	v, err := e.db.Get(key, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return dst, false, nil
	}
	return append(dst, v...), err == nil, err
}

func (e goLevelDB) NewIter() (workload.Iter, error) {
	return goLevelDBIter{e.db.NewIterator(nil, nil)}, nil
}

type goLevelDBIter struct{ iterator.Iterator }

func (it goLevelDBIter) SeekGE(key []byte) bool { return it.Seek(key) }
func (it goLevelDBIter) Err() error             { return it.Error() }
func (it goLevelDBIter) Close() error {
	it.Release()
	return it.Error()
}

// Flush is not there: CompactRange does it.
func (e goLevelDB) Flush() error { return errors.ErrUnsupported }

func (e goLevelDB) Compact() error { return e.db.CompactRange(util.Range{}) }

func (e goLevelDB) Close() error { return e.db.Close() }
