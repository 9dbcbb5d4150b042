package main

import (
	"path/filepath"

	"go.etcd.io/bbolt"
)

// bboltEngine is a tree of pages in one file that is read through a memory map:
// it has none of the settings, and is here for the other end of the trade.
type bboltEngine struct{ db *bbolt.DB }

func openBbolt(dir string) (engine, error) {
	const userOnly = 0o600
	db, err := bbolt.Open(filepath.Join(dir, "bolt"), userOnly, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket())
		return err
	})
	return bboltEngine{db}, err
}

func bucket() []byte { return []byte("pairs") }

func (e bboltEngine) Put(key, value []byte) error {
	return e.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket()).Put(key, value) })
}

func (e bboltEngine) Get(dst, key []byte) (v []byte, ok bool, err error) {
	err = e.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucket()).Get(key)
		v, ok = append(dst, value...), value != nil
		return nil
	})
	return v, ok, err
}

func (e bboltEngine) Flush() error { return nil }

func (e bboltEngine) Compact() error { return nil }

func (e bboltEngine) Close() error { return e.db.Close() }
