package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/siftkv/sift/bench/workload"
)

type badgerEngine struct{ db *badger.DB }

func openBadger(dir string, s workload.Settings) (workload.Store, error) {
	const (
		onePercent  = 0.01
		leastMemory = 1 << 20
		inTables    = 100 << 10 // bytes of a value that stays in the tables
	)
	o := badger.DefaultOptions(dir).
		WithLogger(quiet{}).
		WithSyncWrites(s.Sync).
		WithDetectConflicts(false).
		WithCompression(options.Snappy).
		WithBlockSize(s.BlockSize).
		WithMemTableSize(max(s.MemTableSize, leastMemory)).
		WithValueThreshold(inTables).
		WithBlockCacheSize(s.CacheSize).
		WithBaseTableSize(s.TableSize).
		WithBaseLevelSize(s.BaseLevelSize).
		WithBloomFalsePositive(onePercent).
		WithNumCompactors(max(s.Compactions, 2)) // it takes no fewer
	if s.NoCompaction {
		o = o.WithNumCompactors(0).WithNumLevelZeroTables(never).WithNumLevelZeroTablesStall(never + 1)
	}
	db, err := badger.Open(o)
	return badgerEngine{db}, err
}

// Put waits for the device if the engine was opened so.
func (e badgerEngine) Put(key, value []byte, _ bool) error {
	return e.db.Update(func(txn *badger.Txn) error { return txn.Set(key, value) })
}

func (e badgerEngine) Delete(key []byte) error {
	return e.db.Update(func(txn *badger.Txn) error { return txn.Delete(key) })
}

// Apply writes one transaction, or several if the pairs are too many for one.
func (e badgerEngine) Apply(pairs []workload.Pair) error {
	b := e.db.NewWriteBatch()
	defer b.Cancel()
	for _, p := range pairs {
		if err := b.Set(p.Key, p.Value); err != nil {
			return err
		}
	}
	return b.Flush()
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

func (e badgerEngine) NewIter() (workload.Iter, error) {
	return &badgerIter{txn: e.db.NewTransaction(false)}, nil
}

// A badgerIter makes badger's own iterator when it learns the direction, which
// an iterator of badger cannot change.
type badgerIter struct {
	txn     *badger.Txn
	it      *badger.Iterator
	forward bool
	value   []byte
	err     error
}

// facing makes the iterator face this way.
func (b *badgerIter) facing(forward bool) {
	if b.it != nil && b.forward == forward {
		return
	}
	if b.it != nil {
		b.it.Close()
	}
	o := badger.DefaultIteratorOptions
	o.Reverse = !forward
	o.PrefetchValues = false // they are in the tables, and a short scan would pay for a hundred
	b.it, b.forward = b.txn.NewIterator(o), forward
}

func (b *badgerIter) First() bool {
	b.facing(true)
	b.it.Rewind()
	return b.it.Valid()
}

func (b *badgerIter) Last() bool {
	b.facing(false)
	b.it.Rewind()
	return b.it.Valid()
}

func (b *badgerIter) SeekGE(key []byte) bool {
	b.facing(true)
	b.it.Seek(key)
	return b.it.Valid()
}

func (b *badgerIter) Next() bool { return b.move(true) }
func (b *badgerIter) Prev() bool { return b.move(false) }

// move goes on the way that the iterator faces: no workload turns round.
func (b *badgerIter) move(forward bool) bool {
	if forward != b.forward {
		b.err = errors.New("badger: an iterator cannot turn round")
		return false
	}
	b.it.Next()
	return b.it.Valid()
}

func (b *badgerIter) Key() []byte { return b.it.Item().Key() }

func (b *badgerIter) Value() []byte {
	err := b.it.Item().Value(func(v []byte) error {
		b.value = v
		return nil
	})
	b.err = errors.Join(b.err, err)
	return b.value
}

func (b *badgerIter) Err() error { return b.err }

func (b *badgerIter) Close() error {
	if b.it != nil {
		b.it.Close()
	}
	b.txn.Discard()
	return b.err
}

// Flush is not there: badger flushes when it is closed.
func (e badgerEngine) Flush() error { return errors.ErrUnsupported }

func (e badgerEngine) Compact() error { return e.db.Flatten(1) }

func (e badgerEngine) Close() error { return e.db.Close() }
