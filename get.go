package sift

import (
	"fmt"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// Get returns a copy of the value of key, which the caller owns and which is
// never nil. An absent key is ErrNotFound.
func (db *DB) Get(key []byte) ([]byte, error) {
	return db.AppendGet(nil, key)
}

// AppendGet appends the value of key to dst and returns the result. It does not
// allocate if dst has room. An absent key is ErrNotFound, with dst unchanged.
func (db *DB) AppendGet(dst, key []byte) ([]byte, error) {
	v, ok, err := db.lookup(dst, key, latest)
	return getResult(dst, v, ok, err)
}

// Has reports whether key has a value.
func (db *DB) Has(key []byte) (bool, error) {
	_, ok, err := db.lookup(nil, key, latest)
	return ok, err
}

// getResult turns a lookup's answer into that of Get.
func getResult(dst, v []byte, ok bool, err error) ([]byte, error) {
	switch {
	case err != nil:
		return dst, err
	case !ok:
		return dst, ErrNotFound
	case v == nil:
		return []byte{}, nil
	}
	return v, nil
}

// latest as a sequence number means "whatever is visible now".
const latest = key.MaxSeq

// candidateRoom is how many candidate tables a lookup holds on its stack: every
// level's one and as many of level 0 as there may be before writers wait. More
// are allocated.
const candidateRoom = manifest.NumLevels + 25

// lookup is the walk. It appends the value of user, as of sequence number seq,
// to dst. Every step that finds a version, a tombstone too, ends it, since each
// place holds nothing newer than the places before it:
//
//	memtables, newest first    by hash index, no disk
//	tables whose range holds   level 0 newest first, then one of each level;
//	the key                      found in arrays beside the version, no disk
//	  its filter               "definitely not": next table, no disk
//	  its index, one block     the one disk read
func (db *DB) lookup(dst, user []byte, seq uint64) (value []byte, ok bool, err error) {
	p, open := db.pin()
	if !open {
		return dst, false, ErrClosed
	}
	defer db.unpin(p)
	if seq == latest {
		seq = db.visible.Load() // after the pin: see readState
	}
	hash := bloom.Hash(user)
	n := &db.reads[p.stripe]
	n.lookups.Add(1)

	for _, m := range p.mem {
		if v, t, found := m.Get(user, hash, seq); found {
			n.memHits.Add(1)
			return resolve(append(dst, v...), dst, t, user)
		}
	}

	var room [candidateRoom]manifest.Candidate
	candidates := p.version.Candidates(user, room[:0])
	var checks, negatives uint64
	for i := range candidates {
		c := &candidates[i]
		if c.Filter != nil {
			checks++
			if !c.Filter.MayContain(hash) {
				negatives++
				continue
			}
		}
		v, t, found, err := db.readTable(dst, user, seq, c)
		if err != nil {
			n.count(i+1, checks, negatives)
			return dst, false, err
		}
		if found {
			n.count(i+1, checks, negatives)
			return resolve(v, dst, t, user)
		}
		if c.Filter != nil {
			n.falsePositives.Add(1)
		}
	}
	n.count(len(candidates), checks, negatives)
	return dst, false, nil
}

// readTable looks for user in one table. It costs one block.
func (db *DB) readTable(dst, user []byte, seq uint64, c *manifest.Candidate) ([]byte, key.Trailer, bool, error) {
	r, err := db.tables.Acquire(c.Table)
	if err != nil {
		return dst, 0, false, err
	}
	v, t, found, err := r.Get(dst, user, seq)
	r.Release()
	return v, t, found, err
}

// resolve says what the version that a lookup found means. grown is dst with the
// version's value appended.
func resolve(grown, dst []byte, t key.Trailer, user []byte) (value []byte, ok bool, err error) {
	switch t.Kind() {
	case key.Set:
		return grown, true, nil
	case key.Delete:
		return dst, false, nil
	default:
		return dst, false, unknownKind(key.Internal{User: user, Trailer: t})
	}
}

func unknownKind(k key.Internal) error {
	return fmt.Errorf("%w: the entry %v is of a kind that this release cannot read; open it with the release that wrote it", ErrVersion, k)
}
