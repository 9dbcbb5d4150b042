package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
)

const (
	// MinKeys is the least number of keys that a run makes sense with.
	MinKeys = 100

	// MaxKeySize is the longest key that a database takes, in bytes.
	MaxKeySize = 65_535

	// MaxValueSize is the longest value that a run loads, in bytes. A database
	// takes longer ones, which say nothing about filters.
	MaxValueSize = 1 << 20

	maxFileBytes = 1 << 30 // of keys and values from a file, held in memory
	maxFileKeys  = 1 << 26

	heldOutOneIn = 5 // this share of a file's keys is held out
)

// FileKeys is a key set read from a file, of which a fifth is held out: those
// keys are never loaded, and are the absent ones.
type FileKeys struct {
	data      []byte   // keys and values of all records, one after the other
	present   []record // in the order of the load
	absent    []record
	bytes     int64
	valueSize int
	seed      uint64
	dropped   int
}

// A record is one line of the file.
type record struct {
	off      int64
	keyLen   uint32
	valueLen uint32
	hasValue bool
}

// ReadKeyFile reads a key set from a text file that has a key on each line, or a
// key, a TAB and a value; the file may be compressed with gzip. Empty lines are
// left out, and so is every line whose key came before. A key without a value
// gets a made one of valueSize bytes. If limit is above zero, only the first so
// many distinct keys are used. The seed says which keys are held out, and the
// order of the load.
func ReadKeyFile(path string, limit, valueSize int, seed uint64) (*FileKeys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", path)
	}
	k, err := parseKeys(f, limit, valueSize, seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

func parseKeys(r io.Reader, limit, valueSize int, seed uint64) (*FileKeys, error) {
	k := &FileKeys{valueSize: valueSize, seed: mix(seed)}
	plain, err := gunzipped(r)
	if err != nil {
		return nil, err
	}
	records, err := k.readRecords(plain)
	if err != nil {
		return nil, err
	}
	found := len(records)
	if records, err = k.distinct(records, limit); err != nil {
		return nil, err
	}
	if len(records) < MinKeys {
		return nil, fmt.Errorf("%d distinct keys; want at least %d", len(records), MinKeys)
	}
	if limit == 0 {
		k.dropped = found - len(records)
	}
	k.holdOut(records)
	return k, nil
}

// gunzipped returns the plain text of r, which it knows to be compressed by its
// first two bytes.
func gunzipped(r io.Reader) (*bufio.Reader, error) {
	const bufSize = 64 << 10
	b := bufio.NewReaderSize(r, bufSize)
	if magic, err := b.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil //nolint:nilerr // a file of one byte is plain text; a failing read fails again
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(z, bufSize), nil
}

// readRecords reads every line into k.data.
func (k *FileKeys) readRecords(r *bufio.Reader) ([]record, error) {
	lines := bufio.NewScanner(r)
	const lineEnds = 4 // TAB, CR, LF, and one that a full buffer has over
	lines.Buffer(make([]byte, 0, 64<<10), MaxKeySize+MaxValueSize+lineEnds)
	var records []record
	n := 1
	for ; lines.Scan(); n++ {
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		if len(line) == 0 {
			continue
		}
		key, value, hasValue := bytes.Cut(line, []byte("\t"))
		switch {
		case len(key) > MaxKeySize:
			return nil, fmt.Errorf("line %d: a key of %d bytes; the limit is %d", n, len(key), MaxKeySize)
		case len(value) > MaxValueSize:
			return nil, fmt.Errorf("line %d: a value of %d bytes; the limit is %d", n, len(value), MaxValueSize)
		case len(k.data)+len(line) > maxFileBytes, len(records) == maxFileKeys:
			return nil, fmt.Errorf("line %d: the file is over the limit of %d MiB or %d keys: cut it", n, maxFileBytes>>20, maxFileKeys)
		}
		records = append(records, record{int64(len(k.data)), uint32(len(key)), uint32(len(value)), hasValue})
		k.data = append(append(k.data, key...), value...)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is over the limit of %d bytes", n, MaxKeySize+MaxValueSize+1)
	}
	return records, lines.Err()
}

// distinct returns the records sorted by key, the first of each key only, and of
// those the first limit in the file's order.
func (k *FileKeys) distinct(records []record, limit int) ([]record, error) {
	slices.SortStableFunc(records, func(a, b record) int { return bytes.Compare(k.key(a), k.key(b)) })
	records = slices.CompactFunc(records, func(a, b record) bool { return bytes.Equal(k.key(a), k.key(b)) })
	if limit == 0 {
		return records, nil
	}
	if limit > len(records) {
		return nil, fmt.Errorf("%d distinct keys; -n asks for %d", len(records), limit)
	}
	offsets := make([]int64, len(records))
	for i, r := range records {
		offsets[i] = r.off
	}
	slices.Sort(offsets)
	last := offsets[limit-1]
	return slices.DeleteFunc(records, func(r record) bool { return r.off > last }), nil
}

// holdOut splits sorted records into absent and present ones, and shuffles both.
func (k *FileKeys) holdOut(sorted []record) {
	rng := rand.New(rand.NewPCG(k.seed, golden))
	e := edge(len(sorted))
	inner := sorted[e : len(sorted)-e]
	shuffle := func(r []record) {
		rng.Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
	}
	shuffle(inner)
	out := len(sorted) / heldOutOneIn
	k.absent = slices.Clone(inner[:out])
	k.present = slices.Concat(sorted[:e], inner[out:], sorted[len(sorted)-e:])
	shuffle(k.present)
	for _, r := range k.present {
		k.bytes += int64(r.keyLen)
		if r.hasValue {
			k.bytes += int64(r.valueLen)
		} else {
			k.bytes += int64(k.valueSize)
		}
	}
}

func (k *FileKeys) key(r record) []byte { return k.data[r.off : r.off+int64(r.keyLen)] }

// Len implements Keys.
func (k *FileKeys) Len() int { return len(k.present) }

// Bytes implements Keys.
func (k *FileKeys) Bytes() int64 { return k.bytes }

// HeldOut returns the number of keys that are held out.
func (k *FileKeys) HeldOut() int { return len(k.absent) }

// Repeated returns how many lines were left out since their key came before.
func (k *FileKeys) Repeated() int { return k.dropped }

// Present implements Keys.
func (k *FileKeys) Present(dst []byte, i int) []byte { return append(dst, k.key(k.present[i])...) }

// Value implements Keys.
func (k *FileKeys) Value(dst []byte, i int) []byte {
	r := k.present[i]
	if !r.hasValue {
		return AppendValue(dst, k.valueSize, k.seed^uint64(i))
	}
	start := r.off + int64(r.keyLen)
	return append(dst, k.data[start:start+int64(r.valueLen)]...)
}

// Absent implements Keys. The held-out keys come again when all have been used.
func (k *FileKeys) Absent(dst []byte, i int) []byte {
	return append(dst, k.key(k.absent[i%len(k.absent)])...)
}
