package sift_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

// FuzzDatabase changes bytes of one file of a small database, opens it, and reads
// all of it in every way. Where the sums are left alone the answer is a typed
// error or the right data. Where they are made right again the data may be any,
// but there is no panic, no hang, no error without a type, and no memory out of
// proportion.
//
// Three bytes of patches say what a byte is changed by, and where.
func FuzzDatabase(f *testing.F) {
	type file struct {
		of   *specimen
		name string
	}
	var all []file
	for _, closed := range []bool{true, false} {
		s := makeSpecimen(f, closed)
		for _, name := range sortedNames(s.files) {
			all = append(all, file{s, name})
			data := s.files[name]
			if got := string(restamp(name, data, []byte(data))); got != data {
				f.Fatalf("the sums of %s are not those of its format", name)
			}
		}
	}
	for i, x := range all {
		size := len(x.of.files[x.name])
		for _, at := range []int{0, size / 3, size / 2, size - 90, size - 1} {
			patch := binary.LittleEndian.AppendUint16([]byte{1}, uint16(max(at, 0)))
			f.Add(uint8(i), false, patch)
			f.Add(uint8(i), true, patch)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, stamped bool, patches []byte) {
		x := all[int(which)%len(all)]
		before := x.of.files[x.name]
		data := []byte(before)
		for p := patches; len(p) >= 3; p = p[3:] {
			data[int(binary.LittleEndian.Uint16(p[1:]))%len(data)] ^= p[0]
		}
		if stamped {
			data = restamp(x.name, before, data)
		}
		least := x.of.least
		if strings.HasSuffix(x.name, ".log") && len(patches) > 3 {
			least = 0 // both the last records and what says that they were durable may be gone
		}
		defer watchdog(time60, func() string { return fmt.Sprintf("%s, sums made right: %v, %x", x.name, stamped, patches) })()
		disk := x.of.with(t, x.name, string(data))
		var found finding
		if n := allocated(func() { found = x.of.examine(disk, least) }); n > 64<<20 {
			t.Errorf("%d bytes allocated over a database of less than 64 KiB", n)
		}
		if !stamped {
			if err := x.of.judge(found, x.name, least); err != nil {
				t.Error(err)
			}
		} else if err := anyVerdict(found.err); err != nil {
			t.Error(err)
		}
		if n := disk.OpenFiles(); n != 0 {
			t.Errorf("%d files open in the end", n)
		}
	})
}

// anyVerdict accepts what a database may say about files that lie.
func anyVerdict(err error) error {
	var c *sift.CorruptionError
	if err == nil || errors.As(err, &c) || errors.Is(err, sift.ErrVersion) ||
		errors.Is(err, sift.ErrBackground) {
		return nil
	}
	return fmt.Errorf("not a typed error: %w", err)
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// restamp makes the sums in a changed file right again, as docs/formats says.
func restamp(name, before string, data []byte) []byte {
	switch {
	case strings.HasSuffix(name, ".sst"):
		restampTable([]byte(before), data)
	case strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "MANIFEST"):
		var num uint64
		_, _ = fmt.Sscanf(strings.TrimPrefix(name, "MANIFEST-"), "%d", &num) // the name has one
		restampLog([]byte(before), data, num)
	}
	return data
}
