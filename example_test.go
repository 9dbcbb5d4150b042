package sift_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/siftkv/sift"
)

// The first twelve lines: open, write, read, walk.
func Example() {
	db, err := sift.Open("pets", &sift.Options{FS: sift.NewMemFS()}) // leave FS out for a real directory
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_ = db.Put([]byte("cat"), []byte("meow"), nil)         // nil: survives a power cut
	_ = db.Put([]byte("dog"), []byte("woof"), sift.NoSync) // survives kill -9
	v, _ := db.Get([]byte("cat"))
	_, err = db.Get([]byte("cow"))
	fmt.Printf("%s, %v\n", v, errors.Is(err, sift.ErrNotFound))

	it, _ := db.NewIter(nil)
	defer it.Close()
	for k, v := range it.All() {
		fmt.Printf("%s says %s\n", k, v)
	}
	// Output:
	// meow, true
	// cat says meow
	// dog says woof
}

// A batch is applied whole or not at all.
func ExampleDB_Apply() {
	db, err := sift.Open("bank", &sift.Options{FS: sift.NewMemFS()})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	b := db.NewBatch()
	_ = b.Put([]byte("alice"), []byte("70"))
	_ = b.Put([]byte("bob"), []byte("130"))
	_ = b.Delete([]byte("pending"))
	if err := db.Apply(b, sift.Sync); err != nil {
		log.Fatal(err)
	}
	v, _ := db.Get([]byte("bob"))
	fmt.Printf("bob has %s\n", v)
	// Output: bob has 130
}

// A snapshot keeps showing what was there when it was taken.
func ExampleDB_NewSnapshot() {
	db, err := sift.Open("notes", &sift.Options{FS: sift.NewMemFS()})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	_ = db.Put([]byte("k"), []byte("before"), nil)
	s := db.NewSnapshot()
	defer s.Close()
	_ = db.Put([]byte("k"), []byte("after"), nil)

	old, _ := s.Get([]byte("k"))
	now, _ := db.Get([]byte("k"))
	fmt.Printf("%s, %s\n", old, now)
	// Output: before, after
}

// Bounds and direction.
func ExampleDB_NewIter() {
	db, err := sift.Open("letters", &sift.Options{FS: sift.NewMemFS()})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, k := range []string{"a", "b", "c", "d"} {
		_ = db.Put([]byte(k), nil, sift.NoSync)
	}

	it, err := db.NewIter(&sift.IterOptions{LowerBound: []byte("b"), UpperBound: []byte("d")})
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	for ok := it.Last(); ok; ok = it.Prev() {
		fmt.Printf("%s ", it.Key())
	}
	fmt.Println(it.Error())
	// Output: c b <nil>
}
