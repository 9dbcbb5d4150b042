package bloom_test

import (
	"fmt"

	"github.com/siftkv/sift/bloom"
)

func Example() {
	b, err := bloom.NewBuilder(bloom.Blocked, 10) // bits for each key
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		b.AddKey(fmt.Appendf(nil, "user%04d", i))
	}
	data, err := b.Finish()
	if err != nil {
		panic(err)
	}

	f, err := bloom.Open(data)
	if err != nil {
		panic(err)
	}
	fmt.Println("user0007:", f.MayContainKey([]byte("user0007")))
	fmt.Println("user1234:", f.MayContainKey([]byte("user1234")))
	fmt.Printf("expected rate of false positives: %.2f %%\n", 100*f.Rate())
	// Output:
	// user0007: true
	// user1234: false
	// expected rate of false positives: 0.87 %
}

// A key is hashed once and asked of every table. Only those that may have it are
// read.
func ExampleMayContainMany() {
	var filters []*bloom.Filter
	for table := range 3 {
		b, err := bloom.NewBuilder(bloom.Blocked, 10)
		if err != nil {
			panic(err)
		}
		for i := range 100 {
			b.AddKey(fmt.Appendf(nil, "user%d%03d", table, i))
		}
		data, err := b.Finish()
		if err != nil {
			panic(err)
		}
		f, err := bloom.Open(data)
		if err != nil {
			panic(err)
		}
		filters = append(filters, f)
	}
	filters = append(filters, nil) // a table without a filter must be read

	maybe := make([]bool, len(filters))
	bloom.MayContainMany(filters, bloom.Hash([]byte("user1042")), maybe)
	fmt.Println(maybe)
	// Output:
	// [false true false true]
}

// Does a filter keep its promise? A program asks its own filters.
func ExampleMeasure() {
	b, err := bloom.NewBuilder(bloom.Blocked, 10)
	if err != nil {
		panic(err)
	}
	for i := range 100_000 {
		b.AddKey(fmt.Appendf(nil, "user%06d", i))
	}
	data, err := b.Finish()
	if err != nil {
		panic(err)
	}
	f, err := bloom.Open(data)
	if err != nil {
		panic(err)
	}
	m := bloom.Measure(f, 1_000_000, 1)
	fmt.Printf("expected %.2f %%, measured %.2f %%: %v\n", 100*m.Theory, 100*m.Rate, m.Verdict)
	// Output:
	// expected 0.95 %, measured 0.94 %: agrees
}

// How many bits a key does one false positive in a thousand take?
func ExampleBitsForRate() {
	for _, kind := range []bloom.Kind{bloom.Blocked, bloom.Classic, bloom.Fuse, bloom.Ribbon} {
		bits, err := bloom.BitsForRate(kind, 0.001)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: %.1f\n", kind, bits)
	}
	// Output:
	// blocked: 15.6
	// classic: 14.4
	// fuse: 11.3
	// ribbon: 10.4
}

// Three levels share 10 bits a key. The small ones get more of them.
func ExampleAllot() {
	plan, err := bloom.Allot([]bloom.Run{
		{Keys: 100_000, Weight: 1},
		{Keys: 1_000_000, Weight: 1},
		{Keys: 10_000_000, Weight: 1},
	}, 10)
	if err != nil {
		panic(err)
	}
	for i, bits := range plan.Bits {
		fmt.Printf("level %d: %4.1f bits, rate %.4f %%\n", i+1, bits, 100*plan.Rates[i])
	}
	fmt.Printf("reads wasted on an absent key: %.4f\n", plan.Wasted)
	// Output:
	// level 1: 20.0 bits, rate 0.0198 %
	// level 2: 14.8 bits, rate 0.1359 %
	// level 3:  9.4 bits, rate 1.2328 %
	// reads wasted on an absent key: 0.0139
}
