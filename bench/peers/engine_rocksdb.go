//go:build rocksdb

package main

/*
#cgo LDFLAGS: -lrocksdb
#include <stdlib.h>
#include <rocksdb/c.h>

// A view is what an iterator stands on.
typedef struct { const char *key, *value; size_t keyLen, valueLen; } view;

enum { toFirst, toLast, toNext, toPrev, toKey };

// move moves an iterator and looks at where it then stands, in one call from Go,
// since each costs as much as the move.
static int move(rocksdb_iterator_t *it, int how, const char *key, size_t n, view *v) {
	switch (how) {
	case toFirst: rocksdb_iter_seek_to_first(it); break;
	case toLast: rocksdb_iter_seek_to_last(it); break;
	case toNext: rocksdb_iter_next(it); break;
	case toPrev: rocksdb_iter_prev(it); break;
	case toKey: rocksdb_iter_seek(it, key, n); break;
	}
	if (!rocksdb_iter_valid(it)) return 0;
	v->key = rocksdb_iter_key(it, &v->keyLen);
	v->value = rocksdb_iter_value(it, &v->valueLen);
	return 1;
}
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/siftkv/sift/bench/workload"
)

func init() { openers["rocksdb"] = openRocksDB }

// rocksEngine is RocksDB by its C interface. Each call pays for the way from Go
// to C, some 50 ns.
type rocksEngine struct {
	db           *C.rocksdb_t
	options      *C.rocksdb_options_t
	read         *C.rocksdb_readoptions_t
	noSync, sync *C.rocksdb_writeoptions_t
}

func openRocksDB(dir string, s workload.Settings) (workload.Store, error) {
	table := C.rocksdb_block_based_options_create()
	C.rocksdb_block_based_options_set_block_size(table, C.size_t(s.BlockSize))
	C.rocksdb_block_based_options_set_filter_policy(table, C.rocksdb_filterpolicy_create_bloom_full(C.double(s.BitsPerKey)))
	C.rocksdb_block_based_options_set_block_cache(table, C.rocksdb_cache_create_lru(C.size_t(s.CacheSize)))

	o := C.rocksdb_options_create()
	C.rocksdb_options_set_create_if_missing(o, 1)
	C.rocksdb_options_set_block_based_table_factory(o, table)
	C.rocksdb_options_set_compression(o, C.rocksdb_snappy_compression)
	C.rocksdb_options_set_write_buffer_size(o, C.size_t(s.MemTableSize))
	C.rocksdb_options_set_target_file_size_base(o, C.uint64_t(s.TableSize))
	C.rocksdb_options_set_max_bytes_for_level_base(o, C.uint64_t(s.BaseLevelSize))
	C.rocksdb_options_set_max_background_jobs(o, C.int(s.Compactions+1)) // and one flush
	if s.NoCompaction {
		C.rocksdb_options_set_disable_auto_compactions(o, 1)
		C.rocksdb_options_set_level0_slowdown_writes_trigger(o, never)
		C.rocksdb_options_set_level0_stop_writes_trigger(o, never)
	}
	e := &rocksEngine{options: o, read: C.rocksdb_readoptions_create(), noSync: C.rocksdb_writeoptions_create(), sync: C.rocksdb_writeoptions_create()}
	C.rocksdb_writeoptions_set_sync(e.sync, 1)
	name := C.CString(dir)
	defer C.free(unsafe.Pointer(name))
	var failed *C.char
	e.db = C.rocksdb_open(o, name, &failed)
	if err := rocksError(failed); err != nil {
		e.free()
		return nil, err
	}
	return e, nil
}

// rocksError takes over a message of C.
func rocksError(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return errors.New(C.GoString(message))
}

// chars returns a slice as C takes it. The Go pointer is only for the call.
func chars(b []byte) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(b))
}

func (e *rocksEngine) Put(key, value []byte, sync bool) error {
	o := e.noSync
	if sync {
		o = e.sync
	}
	k, kn := chars(key)
	v, vn := chars(value)
	var failed *C.char
	C.rocksdb_put(e.db, o, k, kn, v, vn, &failed)
	return rocksError(failed)
}

func (e *rocksEngine) Delete(key []byte) error {
	k, kn := chars(key)
	var failed *C.char
	C.rocksdb_delete(e.db, e.noSync, k, kn, &failed)
	return rocksError(failed)
}

func (e *rocksEngine) Apply(pairs []workload.Pair) error {
	b := C.rocksdb_writebatch_create()
	defer C.rocksdb_writebatch_destroy(b)
	for _, p := range pairs {
		k, kn := chars(p.Key)
		v, vn := chars(p.Value)
		C.rocksdb_writebatch_put(b, k, kn, v, vn)
	}
	var failed *C.char
	C.rocksdb_write(e.db, e.noSync, b, &failed)
	return rocksError(failed)
}

func (e *rocksEngine) Get(dst, key []byte) ([]byte, bool, error) {
	k, kn := chars(key)
	var failed *C.char
	pinned := C.rocksdb_get_pinned(e.db, e.read, k, kn, &failed)
	if err := rocksError(failed); err != nil || pinned == nil {
		return dst, false, err
	}
	defer C.rocksdb_pinnableslice_destroy(pinned)
	var n C.size_t
	v := C.rocksdb_pinnableslice_value(pinned, &n)
	return append(dst, bytesOf(v, n)...), true, nil
}

// bytesOf returns memory of C as a slice.
func bytesOf(p *C.char, n C.size_t) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n)) }

func (e *rocksEngine) NewIter() (workload.Iter, error) {
	return &rocksIter{it: C.rocksdb_create_iterator(e.db, e.read)}, nil
}

type rocksIter struct {
	it *C.rocksdb_iterator_t
	at C.view
}

func (i *rocksIter) move(how C.int, key []byte) bool {
	k, kn := chars(key)
	return C.move(i.it, how, k, kn, &i.at) != 0
}

func (i *rocksIter) First() bool            { return i.move(C.toFirst, nil) }
func (i *rocksIter) Last() bool             { return i.move(C.toLast, nil) }
func (i *rocksIter) SeekGE(key []byte) bool { return i.move(C.toKey, key) }
func (i *rocksIter) Next() bool             { return i.move(C.toNext, nil) }
func (i *rocksIter) Prev() bool             { return i.move(C.toPrev, nil) }
func (i *rocksIter) Key() []byte            { return bytesOf(i.at.key, i.at.keyLen) }
func (i *rocksIter) Value() []byte          { return bytesOf(i.at.value, i.at.valueLen) }

func (i *rocksIter) Err() error {
	var failed *C.char
	C.rocksdb_iter_get_error(i.it, &failed)
	return rocksError(failed)
}

func (i *rocksIter) Close() error {
	C.rocksdb_iter_destroy(i.it)
	return nil
}

func (e *rocksEngine) Flush() error {
	o := C.rocksdb_flushoptions_create()
	defer C.rocksdb_flushoptions_destroy(o)
	C.rocksdb_flushoptions_set_wait(o, 1)
	var failed *C.char
	C.rocksdb_flush(e.db, o, &failed)
	return rocksError(failed)
}

func (e *rocksEngine) Compact() error {
	C.rocksdb_compact_range(e.db, nil, 0, nil, 0)
	return nil
}

func (e *rocksEngine) Close() error {
	C.rocksdb_close(e.db)
	e.free()
	return nil
}

func (e *rocksEngine) free() {
	C.rocksdb_readoptions_destroy(e.read)
	C.rocksdb_writeoptions_destroy(e.noSync)
	C.rocksdb_writeoptions_destroy(e.sync)
	C.rocksdb_options_destroy(e.options)
}
