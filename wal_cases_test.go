package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// newestLog is the log with the highest number.
func newestLog(all map[string]string) string {
	logs := named(all, ".log")
	return logs[len(logs)-1]
}

// used is the length of a log without the zeros behind it.
func used(data string) int { return len(strings.TrimRight(data, "\x00")) }

// killed runs work on an empty database and returns the files that the end of
// the process leaves.
func killed(t testing.TB, o sift.Options, work func(db *sift.DB)) map[string]string {
	t.Helper()
	return killedOn(t, vfs.NewMem(), o, work)
}

func killedOn(t testing.TB, disk *vfs.Mem, o sift.Options, work func(db *sift.DB)) map[string]string {
	t.Helper()
	o.FS = disk
	db, err := sift.Open("db", &o)
	must(t, err)
	work(db)
	all := mustFiles(t, disk.Kill(), "db")
	must(t, db.Close())
	return all
}

// puts writes synced keys prefix000, prefix001...
func puts(t testing.TB, prefix string, n, size int) func(db *sift.DB) {
	return func(db *sift.DB) {
		for i := range n {
			must(t, db.Put(fmt.Appendf(nil, "%s%03d", prefix, i), []byte(strings.Repeat("v", size)), nil))
		}
	}
}

// keys reads all keys of a database made of files.
func keys(t testing.TB, all map[string]string, o sift.Options) ([]string, error) {
	t.Helper()
	o.FS = image(t, "db", all)
	db, err := sift.Open("db", &o)
	if err != nil {
		return nil, err
	}
	v, err := scan(db, nil, nil)
	must(t, db.Close())
	names := make([]string, len(v))
	for i, p := range v {
		names[i] = p.key
	}
	return names, err
}

// wantKeys fails unless exactly n keys with each prefix are there.
func wantKeys(t testing.TB, what string, all map[string]string, o sift.Options, want map[string]int) {
	t.Helper()
	names, err := keys(t, all, o)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for prefix, n := range want {
		have := 0
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				have++
			}
		}
		if have != n {
			t.Errorf("%s: %d keys %s…, want %d", what, have, prefix, n)
		}
	}
}

// A batch whose end is lost is lost whole, wherever the cut is.
func TestP001_TornBatch(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	all := killed(t, o, func(db *sift.DB) {
		for i := range 4 {
			must(t, db.Put(fmt.Appendf(nil, "filler%d", i), make([]byte, 8000), sift.NoSync))
		}
		b := db.NewBatch()
		for i := range 5 {
			must(t, b.Put(fmt.Appendf(nil, "batch%d", i), []byte(strings.Repeat("b", 6000))))
		}
		must(t, db.Apply(b, sift.NoSync))
	})
	log := newestLog(all)
	data := all[log]
	for cut := 0; cut < used(data); cut += 512 {
		all[log] = data[:cut] + string(make([]byte, len(data)-cut))
		names, err := keys(t, all, o)
		if err != nil {
			t.Fatalf("zeros from %d on: %v", cut, err)
		}
		text := strings.Join(names, " ")
		if n := strings.Count(text, "batch"); n != 0 && n != 5 {
			t.Errorf("zeros from %d on: %d keys of the batch", cut, n)
		}
		for i, name := range names {
			if !strings.HasPrefix(name, "batch") && name != fmt.Sprintf("filler%d", i-strings.Count(text, "batch")) {
				t.Errorf("zeros from %d on: a hole in %v", cut, names)
			}
		}
	}
}

// Zeros behind the log's end are its unused space.
func TestP002_ZerosBehindTheEnd(t *testing.T) {
	for _, n := range []int{1, 6, 7, 8, 511, 512, 4095, 32768, 1 << 20} {
		all := killed(t, small(), puts(t, "first", 100, 10))
		all[newestLog(all)] += string(make([]byte, n))
		all = killedOn(t, image(t, "db", all), small(), puts(t, "second", 100, 10))
		wantKeys(t, fmt.Sprintf("%d zeros", n), all, small(), map[string]int{"first": 100, "second": 100})
	}
}

// A long record cut anywhere is dropped, reported, and does not hide what is
// written afterwards.
func TestP004_P010_CutLongRecord(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	for _, flushed := range []bool{false, true} {
		all := killed(t, o, func(db *sift.DB) {
			must(t, db.Put([]byte("short"), nil, nil))
			if flushed {
				must(t, db.Flush())
			}
			must(t, db.Put([]byte("long"), []byte(strings.Repeat("L", 100_000)), nil))
		})
		log := newestLog(all)
		data := all[log]
		start := strings.Index(data, "LLLL")
		for _, cut := range []int{start, start + 20, start + 4096, start + 32768, start + 65536, start + 99_999} {
			all[log] = data[:cut]
			torn := int64(0)
			o := o
			o.Events = &sift.Events{TornLog: func(bytes int64) { torn += bytes }}
			after := killedOn(t, image(t, "db", all), o, puts(t, "small", 10, 10))
			if torn == 0 {
				t.Errorf("cut at %d: nobody was told of a torn log", cut)
			}
			what := fmt.Sprintf("flushed %v, cut at %d", flushed, cut)
			wantKeys(t, what, after, o, map[string]int{"long": 0, "small": 10, "short": 1})
		}
	}
}

// A last record that is there in part is cut off, whatever part it is.
func TestP005_EveryLengthOfTheLastRecord(t *testing.T) {
	value := []byte(strings.Repeat("v", 700))
	o := small()
	o.MemTableSize = 1 << 20
	before := killed(t, o, puts(t, "synced", 20, 700))
	all := killed(t, o, func(db *sift.DB) {
		puts(t, "synced", 20, 700)(db)
		must(t, db.Put([]byte("unsynced"), value, sift.NoSync))
	})
	log := newestLog(all)
	data := all[log]
	step := pick2(*longForm, 1, 5)
	for n := used(before[newestLog(before)]) + 1; n < used(data); n += step {
		all[log] = data[:n]
		wantKeys(t, fmt.Sprintf("cut to %d of %d", n, used(data)), all, o, map[string]int{"synced": 20, "unsynced": 0})
	}
}

// Records that are appended after a damaged tail are found by the next recovery.
func TestP007_WritingAfterACutTail(t *testing.T) {
	all := killed(t, small(), puts(t, "first", 50, 20))
	log := newestLog(all)
	all[log] = all[log][:used(all[log])-10]
	all = killedOn(t, image(t, "db", all), small(), puts(t, "second", 50, 20))
	wantKeys(t, "after the second kill", all, small(), map[string]int{"first": 49, "second": 50})
}

// A newer log that is empty or all zeros takes nothing away.
func TestP011_NewerEmptyLog(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	all := killed(t, o, puts(t, "key", 500, 20))
	var num int
	_, err := fmt.Sscanf(newestLog(all), "%d.log", &num)
	must(t, err)
	for _, n := range []int{0, 4 << 10, 1 << 20} {
		all[fmt.Sprintf("%06d.log", num+1)] = string(make([]byte, n))
		wantKeys(t, fmt.Sprintf("a newer log of %d zeros", n), all, o, map[string]int{"key": 500})
	}
}

// A value of which some sectors were lost is absent or whole.
func TestP014_LostSectorsOfAValue(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	disk := vfs.NewMem()
	o.FS = disk
	value := make([]byte, 12_288)
	for i := range value {
		value[i] = byte(i/512 + 1)
	}
	db := open(t, "db", &o)
	must(t, db.Put([]byte("before"), nil, nil), db.Put([]byte("k"), value, sift.NoSync))
	whole, lost := 0, 0
	for seed := range uint64(300) {
		o := o
		o.FS = disk.Crash(int(50+seed%50), seed)
		after, err := sift.Open("db", &o)
		must(t, err)
		switch v, err := after.Get([]byte("k")); {
		case err == nil && string(v) == string(value):
			whole++
		case err != nil && len(v) == 0:
			lost++
		default:
			t.Errorf("seed %d: %d bytes, %v", seed, len(v), err)
		}
		if _, err := after.Get([]byte("before")); err != nil {
			t.Errorf("seed %d: what was synced before: %v", seed, err)
		}
		must(t, after.Close())
	}
	if lost == 0 {
		t.Errorf("the value was whole %d times and never lost: nothing was tested", whole)
	}
}

// Leftovers of an older log behind the live end are not read as records.
func TestP016_LeftoversOfAnOlderLog(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	var old string
	disk := vfs.NewMem()
	all := killedOn(t, disk, o, func(db *sift.DB) {
		puts(t, "old", 200, 300)(db)
		now := mustFiles(t, disk, "db")
		old = now[newestLog(now)]
		must(t, db.Flush())
		puts(t, "live", 20, 50)(db)
	})
	log := newestLog(all)
	end := used(all[log])
	live := all[log][:end]
	for _, from := range []int{0, 512, 1024, 4096} {
		for _, at := range []int{end, (end + 511) / 512 * 512, (end+511)/512*512 + 512} {
			all[log] = live + string(make([]byte, at-end)) + old[from:]
			o := o
			o.FS = image(t, "db", all)
			wantKeys(t, fmt.Sprintf("leftovers from %d at %d of %d", from, at, end), all, o, map[string]int{"live": 20, "old": 200})
		}
	}
}

// Records that end near the edge of a block or of the file are all read.
func TestP017_RecordsNearAnEdge(t *testing.T) {
	o := small()
	o.MemTableSize = 64 << 10
	for pad := range 65 {
		all := killed(t, o, func(db *sift.DB) {
			puts(t, "key", 7, 4000)(db)
			must(t, db.Put([]byte("pad"), make([]byte, 4096-300-pad), nil), db.Put([]byte("last"), []byte("end"), nil))
		})
		wantKeys(t, fmt.Sprintf("pad %d", pad), all, o, map[string]int{"key": 7, "pad": 1, "last": 1})
		log := newestLog(all)
		all[log] = all[log][:used(all[log])]
		wantKeys(t, fmt.Sprintf("pad %d, no spare space", pad), all, o, map[string]int{"key": 7, "pad": 1, "last": 1})
	}
}

// Damage in the older of two logs is corruption: what is in the newer one must
// not be served over the hole.
func TestP019_OlderLogDamaged(t *testing.T) {
	stalled := newStall(vfs.NewMem(), ".sst")
	o := small()
	o.MemTableSize, o.FS = 2<<10, stalled.fs
	db, err := sift.Open("db", &o)
	must(t, err)
	for i := range 4 {
		must(t, db.Put(fmt.Appendf(nil, "%d", i), []byte(strings.Repeat("v", 700)), nil))
	}
	all := mustFiles(t, stalled.disk.Kill(), "db")
	stalled.release()
	must(t, db.Close())
	logs := named(all, ".log")
	if len(logs) < 2 {
		t.Fatalf("only %v: the memtable was not switched", logs)
	}
	for _, log := range logs[:len(logs)-1] {
		data := all[log]
		if used(data) < 200 {
			continue
		}
		at := used(data) - 100
		all[log] = data[:at] + "\x00\x00\x00\x00" + data[at+4:]
		_, err := keys(t, all, o)
		wantCorrupt(t, "zeros in "+log, err, log)
		all[log] = data
	}
}

// A synced write in a later log implies everything in the earlier ones.
func TestP025_OldLogSyncedFirst(t *testing.T) {
	stalled := newStall(vfs.NewMem(), ".sst")
	o := small()
	o.MemTableSize, o.FS = 2<<10, stalled.fs
	m := newModel()
	db, err := sift.Open("db", &o)
	must(t, err)
	for i := 0; len(named(mustFiles(t, stalled.disk, "db"), ".log")) < 3; i++ {
		write(t, db, m, put(fmt.Sprintf("a%03d", i), strings.Repeat("v", 100)))
	}
	must(t, db.Put([]byte("b"), nil, sift.Sync))
	m.apply(put("b", ""))
	cut := stalled.disk.Crash(0, 1)
	stalled.release()
	must(t, db.Close())
	o.FS = cut
	db = open(t, "db", &o)
	must(t, m.head().check(db, rand.New(rand.NewPCG(25, 0))))
}

// Handing bytes to the operating system does not count as syncing them.
func TestP040_SyncAfterNoSync(t *testing.T) {
	disk := vfs.NewMem()
	syncs := 0
	o := small()
	o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && vfs.FileType(op.Name) == "log" {
			syncs++
		}
		return nil
	})
	m, db := newModel(), open(t, "db", &o)
	for i := range 10 {
		write(t, db, m, put(fmt.Sprint(i), "v"))
	}
	syncs = 0
	must(t, db.SyncWAL())
	if syncs == 0 {
		t.Error("SyncWAL syncs no log")
	}
	o.FS = disk.Crash(0, 1)
	after := open(t, "db", &o)
	must(t, m.head().check(after, rand.New(rand.NewPCG(40, 0))))
}
