package wal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/vfs"
)

// sample is a small log with all that a log can have.
type sample struct {
	name string
	data []byte
	want [][]byte
	recs []placed
	ends []int // want[:ends[i]] are the payloads before recs[i]
}

func newSample(t testing.TB, name string, data []byte, want [][]byte) sample {
	s := sample{name: name, data: data, want: want, recs: dissect(t, data, 7)}
	n := 0
	for _, r := range s.recs {
		s.ends = append(s.ends, n)
		if r.typ == typeData {
			n++
		}
	}
	if n != len(want) {
		t.Fatalf("%s: %d data records in the file, want %d", name, n, len(want))
	}
	return s
}

// samples returns logs in every way to end: sealed, killed between and after
// syncs, never synced, in a fresh, a preallocated and a reused file.
func samples(t testing.TB) []sample {
	var out []sample
	for _, o := range []struct {
		name  string
		alloc int64
		reuse bool
		seal  bool
		sync  int // sync after every so many records
	}{
		{"sealed", 0, false, true, 3},
		{"synced each", 0, false, false, 1},
		{"synced some", 0, false, false, 4},
		{"never synced", 0, false, false, 100},
		{"preallocated", 8 << 10, false, false, 3},
		{"reused", 0, true, false, 2},
		{"reused and sealed", 0, true, true, 100},
	} {
		m := vfs.NewMem()
		opts := Options{Preallocate: o.alloc}
		if o.reuse {
			writeFile(t, m, "old", payload(99, 6000))
			opts.Reuse = "old"
		}
		w := mustCreate(t, m, logPath, 7, opts)
		var want [][]byte
		for i := range 10 {
			want = append(want, payload(i, []int{0, 5, 140, 492, 700}[i%5]))
			mustAppend(t, w, want[i])
			if i%o.sync == o.sync-1 {
				mustSync(t, w)
			}
		}
		if o.seal {
			mustClose(t, w)
		}
		out = append(out, newSample(t, o.name, readFile(t, m, logPath), want))
	}
	return out
}

// check reads a damaged copy of the sample and compares with what the format
// promises: the records before the damage, and an error exactly if a mark that
// is still to be found says that the damaged one was durable.
func (s sample) check(t *testing.T, what string, data []byte) {
	t.Helper()
	hit := len(s.recs) // the first damaged record
	for i, r := range s.recs {
		if r.end > int64(len(data)) || !slices.Equal(data[r.start:r.end], s.data[r.start:r.end]) {
			hit = i
			break
		}
	}
	got, tail, err := readData(t, data)
	if hit == len(s.recs) {
		if err != nil {
			t.Fatalf("%s, %s: %v", s.name, what, err)
		}
		wantPrefix(t, s.name+", "+what, got, s.want, len(s.want))
		return
	}
	wantPrefix(t, s.name+", "+what, got, s.want, s.ends[hit])
	durable := s.findableMark(data, hit) >= s.recs[hit].end
	switch {
	case durable && !isCorrupt(err):
		t.Fatalf("%s, %s: record %d was durable, got %v", s.name, what, hit, err)
	case err != nil && !isCorrupt(err):
		t.Fatalf("%s, %s: %v", s.name, what, err)
	case err != nil && s.highestMark() < s.recs[hit].end:
		t.Fatalf("%s, %s: record %d was not known durable, got %v", s.name, what, hit, err)
	case err == nil && tail.End > s.recs[hit].start:
		t.Fatalf("%s, %s: tail %+v reaches into record %d", s.name, what, tail, hit)
	}
}

// findableMark is the highest mark of the sound records behind hit that start a
// sector.
func (s sample) findableMark(data []byte, hit int) int64 {
	var mark int64
	for _, r := range s.recs[hit:] {
		if r.start%sectorSize == 0 && r.end <= int64(len(data)) && slices.Equal(data[r.start:r.end], s.data[r.start:r.end]) {
			mark = max(mark, r.mark)
		}
	}
	return mark
}

func (s sample) highestMark() int64 {
	var mark int64
	for _, r := range s.recs {
		mark = max(mark, r.mark)
	}
	return mark
}

// Every flipped bit is found if it matters, and only then.
func TestEveryBitFlip(t *testing.T) {
	first, step := 0, 1
	if invariants.Enabled {
		first, step = 7, 8 // one bit of each byte: the race detector makes it slow
	}
	for _, s := range samples(t) {
		data := slices.Clone(s.data)
		for i := range data {
			for bit := i & first; bit < 8; bit += step {
				data[i] ^= 1 << bit
				s.check(t, "bit flipped", data)
				data[i] ^= 1 << bit
			}
		}
	}
}

// A log cut anywhere yields the records that are whole, and is not taken for
// damaged: what proves durability is cut off as well. What was cut is counted.
func TestEveryTruncation(t *testing.T) {
	for _, s := range samples(t) {
		for n := range s.data {
			s.check(t, fmt.Sprintf("cut to %d", n), s.data[:n])
			_, tail, err := readData(t, s.data[:n])
			if err != nil {
				t.Fatalf("%s, cut to %d: %v", s.name, n, err)
			}
			if s.name != "never synced" || n < headerLen {
				continue
			}
			rest := s.data[s.wholeUpTo(n):n]
			if len(rest) < headerLen {
				rest = rest[:lastNonZero(rest)+1] // zeros may be preallocated ones
			}
			if tail.Dropped != int64(len(rest)) {
				t.Fatalf("%s, cut to %d: %d bytes dropped, want %d", s.name, n, tail.Dropped, len(rest))
			}
		}
	}
}

// wholeUpTo returns where the last record ends that lies within n bytes.
func (s sample) wholeUpTo(n int) int64 {
	var end int64
	for _, r := range s.recs {
		if r.end <= int64(n) {
			end = r.end
		}
	}
	return end
}

// Every run of sectors that is zeroed or turned to garbage is found if it holds
// a durable record.
func TestEverySectorLost(t *testing.T) {
	rng := newRand(t, 2)
	for _, s := range samples(t) {
		sectors := (len(s.data) + sectorSize - 1) / sectorSize
		for from := range sectors {
			for to := from + 1; to <= sectors; to++ {
				hole := [2]int{from * sectorSize, min(to*sectorSize, len(s.data))}
				data := slices.Clone(s.data)
				clear(data[hole[0]:hole[1]])
				s.check(t, fmt.Sprintf("%v zeroed", hole), data)
				for i := hole[0]; i < hole[1]; i++ {
					data[i] = byte(rng.Uint32())
				}
				s.check(t, fmt.Sprintf("%v garbage", hole), data)
			}
		}
	}
}

// A sealed log has no torn tail: any lost record is damage.
func TestSealedLogHasNoTornTail(t *testing.T) {
	for _, s := range samples(t) {
		last := s.recs[len(s.recs)-1]
		if last.typ != typeSeal {
			continue
		}
		for i, r := range s.recs[:len(s.recs)-1] {
			data := slices.Clone(s.data)
			clear(data[r.start:r.end])
			if _, _, err := readData(t, data); !isCorrupt(err) {
				t.Errorf("%s: record %d zeroed: %v", s.name, i, err)
			}
		}
	}
}

// A seal that is lost at the end of a trimmed file is counted as torn off, also
// when the file was reused.
func TestLostSealIsCounted(t *testing.T) {
	for _, reuse := range []string{"", "old"} {
		m := memLog(t, "old", payload(99, 6000))
		w := mustCreate(t, m, logPath, 7, Options{Reuse: reuse})
		end := mustAppend(t, w, payload(0, 100))
		if err := w.Trim(); err != nil {
			t.Fatal(err)
		}
		mustClose(t, w)
		data := readFile(t, m, logPath)
		data[len(data)-1] ^= 1
		got, tail, err := readData(t, data)
		if err != nil || len(got) != 1 || tail.Dropped != int64(len(data))-end {
			t.Errorf("reuse %q: %d records, %+v, %v", reuse, len(got), tail, err)
		}
	}
}

// Two records that change places, and a record that is left out, are found,
// though each of them is sound.
func TestMisplacedRecords(t *testing.T) {
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{})
	var want [][]byte
	for i := range 6 {
		want = append(want, payload(i, sectorSize-headerLen)) // a sector each
		mustAppend(t, w, want[i])
		mustSync(t, w)
	}
	mustClose(t, w)
	pristine := readFile(t, m, logPath)
	sector := func(b []byte, i int) []byte { return b[i*sectorSize:][:sectorSize] }
	for i := 1; i <= 6; i++ {
		for j := i + 1; j <= 6; j++ {
			data := slices.Clone(pristine)
			copy(sector(data, i), sector(pristine, j))
			copy(sector(data, j), sector(pristine, i))
			got, _, err := readData(t, data)
			wantPrefix(t, fmt.Sprintf("sectors %d and %d swapped", i, j), got, want, i-1)
			if !isCorrupt(err) {
				t.Errorf("sectors %d and %d swapped: %v", i, j, err)
			}
		}
	}
}
