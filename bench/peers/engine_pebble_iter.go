package main

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/siftkv/sift/bench/workload"
)

// pebbleByIter is pebble with lookups through iterators that ask the last
// level's filters too, which its Get never does. An iterator is used again until
// something is written: it would not see that.
type pebbleByIter struct {
	*pebbleEngine
	writes atomic.Uint64
	mu     sync.Mutex
	free   []madeIter
}

// A madeIter sees so many writes.
type madeIter struct {
	*pebble.Iterator
	writes uint64
}

func openPebbleIter(dir string, s workload.Settings) (workload.Store, error) {
	e, err := newPebble(dir, s)
	if err != nil {
		return nil, err
	}
	return &pebbleByIter{pebbleEngine: e}, nil
}

// Put counts the write once it is done: an iterator that is made before sees too
// little, and is not used after.
func (e *pebbleByIter) Put(key, value []byte, sync bool) error {
	defer e.writes.Add(1)
	return e.pebbleEngine.Put(key, value, sync)
}

func (e *pebbleByIter) Delete(key []byte) error {
	defer e.writes.Add(1)
	return e.pebbleEngine.Delete(key)
}

func (e *pebbleByIter) Apply(pairs []workload.Pair) error {
	defer e.writes.Add(1)
	return e.pebbleEngine.Apply(pairs)
}

func (e *pebbleByIter) Get(dst, key []byte) ([]byte, bool, error) {
	it, err := e.iterator()
	if err != nil {
		return dst, false, err
	}
	found := it.SeekPrefixGE(key) && bytes.Equal(it.Key(), key)
	if found {
		dst = append(dst, it.Value()...)
	}
	err = it.Error()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = append(e.free, it)
	return dst, found, err
}

// iterator returns one that sees all that was written.
func (e *pebbleByIter) iterator() (madeIter, error) {
	writes := e.writes.Load()
	for {
		it, ok := e.pop()
		if !ok {
			break
		}
		if it.writes == writes {
			return it, nil
		}
		if err := it.Close(); err != nil {
			return madeIter{}, err
		}
	}
	it, err := e.DB.NewIter(&pebble.IterOptions{UseL6Filters: true})
	return madeIter{it, writes}, err
}

func (e *pebbleByIter) pop() (madeIter, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := len(e.free) - 1
	if last < 0 {
		return madeIter{}, false
	}
	it := e.free[last]
	e.free = e.free[:last]
	return it, true
}

func (e *pebbleByIter) Close() error {
	var errs []error
	for it, ok := e.pop(); ok; it, ok = e.pop() {
		errs = append(errs, it.Close())
	}
	return errors.Join(append(errs, e.pebbleEngine.Close())...)
}
