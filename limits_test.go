package sift_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

// through checks a database against its model in each layer, after a reopening,
// and in a snapshot that was taken first.
func through(t *testing.T, m *model, db *sift.DB, o *sift.Options) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(13, 0))
	db = reopen(t, db, "db", o)
	s := db.NewSnapshot()
	for _, layer := range layers(db) {
		must(t, layer(), m.head().check(db, rnd), m.head().check(s, rnd))
	}
	must(t, s.Close())
	db = reopen(t, db, "db", o)
	must(t, m.head().check(db, rnd), db.Close())
}

func limitsDB(t *testing.T, o sift.Options) (*model, *sift.DB, *sift.Options) {
	t.Helper()
	o.FS = sift.NewMemFS()
	return newModel(), open(t, "db", &o), &o
}

// Keys at and over the limit; what is refused changes nothing.
func TestLimitsOfKeys(t *testing.T) {
	m, db, o := limitsDB(t, small())
	longest := strings.Repeat("k", sift.MaxKeyLen)
	write(t, db, m, put(longest, "1"), put(longest[:sift.MaxKeyLen-1], "2"))
	tooLong := []byte(longest + "k")
	wantError(t, "Put", db.Put(tooLong, nil, nil), sift.ErrTooLarge)
	wantError(t, "Delete", db.Delete(tooLong, nil), sift.ErrTooLarge)
	b := db.NewBatch()
	must(t, b.Put([]byte("good"), []byte("1")))
	err := b.Put(tooLong, nil)
	wantError(t, "Batch.Put", err, sift.ErrTooLarge)
	if err != nil && !strings.Contains(err.Error(), strconv.Itoa(sift.MaxKeyLen)) && !strings.Contains(err.Error(), "65,535") {
		t.Errorf("the error does not name the limit: %v", err)
	}
	wantError(t, "Batch.Delete", b.Delete(tooLong), sift.ErrTooLarge)
	must(t, b.Put([]byte("good2"), []byte("2")), db.Apply(b, nil))
	m.apply(put("good", "1"), put("good2", "2"))
	must(t, m.head().checkGet(db, string(tooLong)))
	if c := newCursor(m.head(), iterOver(t, db, nil, nil)); true {
		c.seekGE(string(tooLong))
		c.seekLT(string(tooLong))
		must(t, c.err, c.it.Close())
	}
	through(t, m, db, o)
}

// A value over the limit is refused by every entry point, before any change.
func TestP149_ValueTooLarge(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("such a value does not fit a 32-bit address space beside anything else")
	}
	m, db, o := limitsDB(t, small())
	write(t, db, m, put("k", "v"))
	value := make([]byte, sift.MaxValueLen+1) // its pages are never touched
	wantError(t, "Put", db.Put([]byte("k"), value, nil), sift.ErrTooLarge)
	b := db.NewBatch()
	err := b.Put([]byte("k"), value)
	wantError(t, "Batch.Put", err, sift.ErrTooLarge)
	if err != nil && !strings.Contains(err.Error(), "512 MiB") && !strings.Contains(err.Error(), strconv.Itoa(sift.MaxValueLen)) {
		t.Errorf("the error does not name the limit: %v", err)
	}
	must(t, b.Put([]byte("l"), nil), db.Apply(b, nil))
	m.apply(put("l", ""))
	through(t, m, db, o)
}

// A batch that is too large is refused, nothing of it is applied, and it can be
// reset. Needs two gigabytes.
func TestP148_BatchTooLarge(t *testing.T) {
	if !*longForm {
		t.Skip("needs gigabytes of memory: run it with -long")
	}
	m, db, o := limitsDB(t, small())
	b := db.NewBatch()
	value := make([]byte, 64<<20)
	var err error
	for i := 0; err == nil && i < 80; i++ {
		err = b.Put(fmt.Append(nil, i), value)
	}
	wantError(t, "the batch", err, sift.ErrTooLarge)
	b.Reset()
	must(t, b.Put([]byte("k"), []byte("v")), db.Apply(b, nil))
	m.apply(put("k", "v"))
	through(t, m, db, o)
}

// Values and batches much larger than a memtable, between small ones.
func TestP041_LargerThanAMemtable(t *testing.T) {
	o := small()
	o.MemTableSize = 64 << 10
	m, db, opts := limitsDB(t, o)
	large := func(n int, mark string) string { return strings.Repeat(mark, n/len(mark)) }
	write(t, db, m, put("small0", "0"))
	for _, size := range []int{30 << 10, 33 << 10, 64 << 10, 65 << 10, 1 << 20, 3 << 20} {
		write(t, db, m, put(fmt.Sprintf("large%d", size), large(size, fmt.Sprintf("%d,", size))))
		write(t, db, m, put(fmt.Sprintf("small%d", size), "s"))
	}
	var ops []op
	for i := range 30 {
		ops = append(ops, put(fmt.Sprintf("batch%02d", i), large(10<<10, fmt.Sprintf("%d;", i))))
	}
	write(t, db, m, ops...)
	write(t, db, m, put("large65536", "replaced"), del("large1048576"))
	through(t, m, db, opts)
}

// A large batch and later small ones on the same key are replayed in order, also
// read-only.
func TestP035_ReplayOrderBesideLargeBatch(t *testing.T) {
	o := small()
	m, db, opts := limitsDB(t, o)
	write(t, db, m, put("1", "a"), put("2", "b"))
	write(t, db, m, put("1", strings.Repeat("L", int(o.MemTableSize)*3/4)))
	write(t, db, m, put("1", ""))
	must(t, db.Close())
	ro := *opts
	ro.ReadOnly = true
	rnd := rand.New(rand.NewPCG(35, 0))
	for _, o := range []*sift.Options{&ro, opts, &ro} {
		db = open(t, "db", o)
		must(t, m.head().check(db, rnd), db.Close())
	}
}

// Keys that share 300 bytes, so that no fixed prefix tells them apart.
func TestLimitsSharedPrefix(t *testing.T) {
	m, db, o := limitsDB(t, small())
	prefix := strings.Repeat("p", 300)
	for i := range 300 {
		write(t, db, m, put(prefix+fmt.Sprintf("%03d", i), fmt.Sprint(i)), put(prefix[:i]+"\x00", fmt.Sprint(-i)))
	}
	through(t, m, db, o)
}

// Values of a mebibyte and more come back byte for byte.
func TestP151_LargeValues(t *testing.T) {
	sizes := []int{1 << 20, 1<<20 + 1, 5 << 20}
	if *longForm {
		sizes = []int{1 << 20, 255 << 20, 256 << 20, 257 << 20, sift.MaxValueLen}
	}
	o := sift.Options{FS: sift.NewMemFS()}
	db := open(t, "db", &o)
	for _, n := range sizes {
		value := bytes.Repeat([]byte{byte(n), 0x5a, 3, 1, 4, 1, 5}, n/7+1)[:n]
		must(t, db.Put([]byte("k"), value, sift.NoSync))
		for _, layer := range layers(db) {
			must(t, layer())
			got, err := db.Get([]byte("k"))
			if must(t, err); !bytes.Equal(got, value) {
				t.Fatalf("a value of %d bytes comes back as %d other bytes", n, len(got))
			}
		}
	}
}

// Block and table sizes beyond what offsets hold are refused.
func TestP152_HugeBlockSize(t *testing.T) {
	for _, o := range []sift.Options{{BlockSize: math.MaxInt32}, {BlockSize: 1 << 30}, {TableSize: 1 << 60}, {MemTableSize: math.MaxInt64}} {
		o.FS = sift.NewMemFS()
		_, err := sift.Open("db", &o)
		wantError(t, fmt.Sprintf("block %d, table %d, memtable %d", o.BlockSize, o.TableSize, o.MemTableSize), err, sift.ErrInvalidOption)
	}
}

// nil, empty and absent are told apart, in every layer.
func TestP154_NilEmptyAbsent(t *testing.T) {
	m, db, o := limitsDB(t, small())
	must(t, db.Put([]byte("nil"), nil, nil), db.Put([]byte("empty"), []byte{}, nil), db.Put([]byte("one"), []byte{1}, nil))
	must(t, db.Put(nil, []byte("of the empty key"), nil))
	m.apply(put("nil", ""), put("empty", ""), put("one", "\x01"), put("", "of the empty key"))
	for _, layer := range layers(db) {
		must(t, layer())
		for _, key := range []string{"nil", "empty"} {
			v, err := db.Get([]byte(key))
			if err != nil || v == nil || len(v) != 0 {
				t.Errorf("Get(%q) = %#v, %v; want an empty slice that is not nil", key, v, err)
			}
		}
		for _, key := range [][]byte{nil, {}} {
			v, err := db.Get(key)
			if err != nil || string(v) != "of the empty key" {
				t.Errorf("Get(%#v) = %q, %v", key, v, err)
			}
		}
	}
	write(t, db, m, del(""), put("\x00", "after it"))
	through(t, m, db, o)
}

// The last write of a key in a batch wins, however many there are.
func TestP155_SameKeyInABatch(t *testing.T) {
	for name, ops := range map[string][]op{
		"put put delete put": {put("k", "1"), put("k", "2"), del("k"), put("k", "3")},
		"put delete":         {put("k", "1"), del("k")},
		"delete put":         {del("k"), put("k", "1")},
		"ten thousand":       repeated(10_000),
	} {
		t.Run(name, func(t *testing.T) {
			m, db, o := limitsDB(t, small())
			write(t, db, m, put("j", "before"), put("k", "before"), put("l", "before"))
			write(t, db, m, ops...)
			through(t, m, db, o)
		})
	}
}

func repeated(n int) []op {
	ops := make([]op, n)
	for i := range ops {
		ops[i] = put("k", fmt.Sprint(i))
	}
	return ops
}

// Deleting an absent key removes nothing.
func TestP157_DeletingAbsentKeys(t *testing.T) {
	m, db, o := limitsDB(t, small())
	for i := 0; i < 1000; i += 2 {
		write(t, db, m, put(fmt.Sprintf("%04d", i), "v"))
	}
	must(t, db.Flush())
	for i := 1; i < 1000; i += 2 {
		write(t, db, m, del(fmt.Sprintf("%04d", i)))
	}
	write(t, db, m, del(""), del("zzz"))
	through(t, m, db, o)
}

// Empty values and keys under compression, next to full blocks.
func TestP070_EmptyUnderCompression(t *testing.T) {
	for _, c := range []sift.Compression{sift.Snappy, sift.NoCompression} {
		o := small()
		o.Compression, o.BlockSize = c, 4<<10
		m, db, opts := limitsDB(t, o)
		for i := range 1000 {
			write(t, db, m, put(fmt.Sprintf("empty%04d", i), ""))
		}
		for i := range 50 {
			write(t, db, m, put(fmt.Sprintf("mixed%02da", i), strings.Repeat("x", 4<<10)), put(fmt.Sprintf("mixed%02db", i), "0123456789"))
		}
		through(t, m, db, opts)
	}
	o := small()
	m, db, opts := limitsDB(t, o)
	write(t, db, m, put("", ""))
	through(t, m, db, opts)
}

// Tables of one to many keys find every one of them, whatever the filter.
func TestP137_FiltersOfSmallTables(t *testing.T) {
	for _, bits := range []float64{1, 1.5, 2, 5, 10, 20, 64} {
		o := manual()
		o.Filter.BitsPerKey = bits
		m, db := newModel(), openMem(t, o)
		step := 13
		if *longForm {
			step = 1
		}
		for n := 1; n <= 300; n += step {
			for i := range n {
				write(t, db, m, put(fmt.Sprintf("%03d/%03d", n, i), "v"))
			}
			must(t, db.Flush())
		}
		must(t, m.head().check(db, rand.New(rand.NewPCG(137, 0))))
	}
}
