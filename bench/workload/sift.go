package workload

import (
	"errors"

	"github.com/siftkv/sift"
)

// OpenSift opens sift as a Store.
func OpenSift(dir string, s Settings) (Store, error) {
	o := &sift.Options{
		BlockSize:    s.BlockSize,
		TableSize:    s.TableSize,
		MemTableSize: s.MemTableSize,
		CacheSize:    s.CacheSize,
		Compression:  sift.Snappy,
		Filter:       sift.FilterOptions{BitsPerKey: s.BitsPerKey},
		Compaction:   sift.CompactionOptions{BaseLevelSize: s.BaseLevelSize},
		Workers:      s.Compactions,
	}
	if s.NoCompaction {
		const never = 1 << 20 // tables in level 0
		o.Compaction.Disable, o.Compaction.L0Slow, o.Compaction.L0Stop = true, never, never
	}
	db, err := sift.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &siftStore{db}, nil
}

type siftStore struct{ *sift.DB }

func (s *siftStore) Put(key, value []byte, sync bool) error {
	if sync {
		return s.DB.Put(key, value, sift.Sync)
	}
	return s.DB.Put(key, value, sift.NoSync)
}

func (s *siftStore) Delete(key []byte) error { return s.DB.Delete(key, sift.NoSync) }

func (s *siftStore) Apply(pairs []Pair) error {
	b := s.NewBatch()
	for _, p := range pairs {
		if err := b.Put(p.Key, p.Value); err != nil {
			return err
		}
	}
	return s.DB.Apply(b, sift.NoSync)
}

func (s *siftStore) Get(dst, key []byte) ([]byte, bool, error) {
	v, err := s.AppendGet(dst, key)
	if errors.Is(err, sift.ErrNotFound) {
		return dst, false, nil
	}
	return v, err == nil, err
}

func (s *siftStore) NewIter() (Iter, error) {
	it, err := s.DB.NewIter(nil)
	if err != nil {
		return nil, err
	}
	return siftIter{it}, nil
}

func (s *siftStore) Compact() error { return s.DB.Compact(nil, nil) }

// Counters implements Counter.
func (s *siftStore) Counters() Counters {
	m := s.Metrics()
	return Counters{
		DiskReads: m.Reads.DiskReads,
		Written:   m.Writes.Logged + m.Writes.FlushedBytes + m.Writes.CompactedOut,
	}
}

type siftIter struct{ *sift.Iterator }

func (it siftIter) Err() error { return it.Error() }
