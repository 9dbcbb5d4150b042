package workload

// A Store is what is measured. Several goroutines use it at once. It keeps none
// of the slices that it is given.
type Store interface {
	// Put stores a pair. With sync it waits until the pair survives a power cut,
	// without until the store has it in whatever way it acknowledges.
	Put(key, value []byte, sync bool) error

	// Delete makes a key absent, without sync.
	Delete(key []byte) error

	// Apply stores all pairs at once or none, without sync.
	Apply(pairs []Pair) error

	// Get appends the value of key to dst, if there is one.
	Get(dst, key []byte) (value []byte, ok bool, err error)

	NewIter() (Iter, error)

	// Flush writes what is in memory to tables. A store that has no such call
	// returns errors.ErrUnsupported.
	Flush() error

	// Compact merges everything into one run, as far as the store can, after a
	// flush. A store without runs returns errors.ErrUnsupported.
	Compact() error

	Close() error
}

// A Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// An Iter walks a store in key order. One goroutine uses it. What moves it says
// whether it stands on a key, which is valid until it moves again.
type Iter interface {
	First() bool
	Last() bool
	SeekGE(key []byte) bool
	Next() bool
	Prev() bool
	Key() []byte
	Value() []byte
	Err() error
	Close() error
}

// A Counter is a Store that counts for itself. What it does not know is zero.
type Counter interface{ Counters() Counters }

// Counters are totals since the store was opened.
type Counters struct {
	DiskReads uint64 // fetches from table files that no cache of the store held
	Written   uint64 // bytes to logs and tables
}

// An Opener opens or creates a store in a directory.
type Opener func(dir string, s Settings) (Store, error)
