package main

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/siftkv/sift/bench/workload"
)

// bboltEngine is a tree of pages in one file that is read through a memory map:
// it has none of the settings, and is here for the other end of the trade.
type bboltEngine struct {
	db      *bbolt.DB
	writers atomic.Int32 // that want to wait for the device together
}

func openBbolt(dir string, s workload.Settings) (workload.Store, error) {
	const userOnly = 0o600
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "bolt"), userOnly, &bbolt.Options{NoSync: !s.Sync, NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	db.MaxBatchDelay = groupDelay
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket())
		return err
	})
	return &bboltEngine{db: db}, err
}

// groupDelay is how long the first writer of a group waits for the others: about
// a sync. The default of 10 ms is for writers that come by now and then.
const groupDelay = 200 * time.Microsecond

func bucket() []byte { return []byte("pairs") }

// Put shares a transaction with other writers where there are any and each waits
// for the device: that is bbolt's way to commit a group, and a lone writer would
// wait for a group to come together.
func (e *bboltEngine) Put(key, value []byte, sync bool) error {
	put := func(tx *bbolt.Tx) error { return tx.Bucket(bucket()).Put(key, value) }
	if !sync {
		return e.db.Update(put)
	}
	defer e.writers.Add(-1)
	if e.writers.Add(1) > 1 {
		return e.db.Batch(put)
	}
	return e.db.Update(put)
}

func (e *bboltEngine) Delete(key []byte) error {
	return e.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket()).Delete(key) })
}

func (e *bboltEngine) Apply(pairs []workload.Pair) error {
	return e.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket())
		for _, p := range pairs {
			if err := b.Put(p.Key, p.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *bboltEngine) Get(dst, key []byte) (v []byte, ok bool, err error) {
	err = e.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucket()).Get(key)
		v, ok = append(dst, value...), value != nil
		return nil
	})
	return v, ok, err
}

func (e *bboltEngine) NewIter() (workload.Iter, error) {
	tx, err := e.db.Begin(false)
	if err != nil {
		return nil, err
	}
	return &bboltIter{tx: tx, c: tx.Bucket(bucket()).Cursor()}, nil
}

type bboltIter struct {
	tx         *bbolt.Tx
	c          *bbolt.Cursor
	key, value []byte
}

func (it *bboltIter) on(key, value []byte) bool {
	it.key, it.value = key, value
	return key != nil
}

func (it *bboltIter) First() bool            { return it.on(it.c.First()) }
func (it *bboltIter) Last() bool             { return it.on(it.c.Last()) }
func (it *bboltIter) SeekGE(key []byte) bool { return it.on(it.c.Seek(key)) }
func (it *bboltIter) Next() bool             { return it.on(it.c.Next()) }
func (it *bboltIter) Prev() bool             { return it.on(it.c.Prev()) }
func (it *bboltIter) Key() []byte            { return it.key }
func (it *bboltIter) Value() []byte          { return it.value }
func (it *bboltIter) Err() error             { return nil }
func (it *bboltIter) Close() error           { return it.tx.Rollback() }

// Flush is not there: nothing is kept in memory.
func (e *bboltEngine) Flush() error { return errors.ErrUnsupported }

// Compact is not there: there are no tables.
func (e *bboltEngine) Compact() error { return errors.ErrUnsupported }

func (e *bboltEngine) Close() error { return e.db.Close() }
