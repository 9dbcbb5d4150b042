package sift_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// All faults of a set of options are named at once, with value and field, before
// the disk is touched.
func TestBadOptionsAllNamed(t *testing.T) {
	calls := 0
	o := &sift.Options{
		FS:           vfs.NewFault(vfs.NewMem(), func(vfs.Op) error { calls++; return nil }),
		MemTableSize: -7, MaxMemTables: -8, CacheSize: -9, MaxOpenFiles: -10, BlockSize: -11, TableSize: -12,
		Workers: -13, ManifestSize: -14, Compression: 99, Filter: sift.FilterOptions{BitsPerKey: -15},
		Compaction: sift.CompactionOptions{L0Compact: -16, L0Slow: -17, L0Stop: -18, BaseLevelSize: -19, Multiplier: -20},
	}
	_, err := sift.Open("db", o)
	wantError(t, "Open", err, sift.ErrInvalidOption)
	for _, want := range []string{
		"MemTableSize", "-7", "MaxMemTables", "-8", "CacheSize", "-9", "MaxOpenFiles", "-10", "BlockSize", "-11", "TableSize", "-12",
		"Workers", "-13", "ManifestSize", "-14", "Compression", "99", "BitsPerKey", "-15",
		"L0Compact", "-16", "L0Slow", "-17", "L0Stop", "-18", "BaseLevelSize", "-19", "Multiplier", "-20",
	} {
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %s: %v", want, err)
		}
	}
	if calls != 0 {
		t.Errorf("%d calls to the file system before the options were refused", calls)
	}
}

// Each bad value is refused on its own, and contradictions are found.
func TestP130_BadOptionsOneByOne(t *testing.T) {
	for name, o := range map[string]sift.Options{
		"filter bits NaN":              {Filter: sift.FilterOptions{BitsPerKey: math.NaN()}},
		"filter bits +Inf":             {Filter: sift.FilterOptions{BitsPerKey: math.Inf(1)}},
		"filter bits -Inf":             {Filter: sift.FilterOptions{BitsPerKey: math.Inf(-1)}},
		"filter bits 1000":             {Filter: sift.FilterOptions{BitsPerKey: 1000}},
		"filter bits 1e-300":           {Filter: sift.FilterOptions{BitsPerKey: 1e-300}},
		"filter bits -1":               {Filter: sift.FilterOptions{BitsPerKey: -1}},
		"multiplier 1":                 {Compaction: sift.CompactionOptions{Multiplier: 1}},
		"level 0 stops before it slow": {Compaction: sift.CompactionOptions{L0Slow: 10, L0Stop: 5}},
		"level 0 slow before compact":  {Compaction: sift.CompactionOptions{L0Compact: 10, L0Slow: 5, L0Stop: 20}},
		"read-only that must not be":   {ReadOnly: true, ErrorIfExists: true},
		"must exist and must not":      {MustExist: true, ErrorIfExists: true},
		"memtable of 1 byte":           {MemTableSize: 1},
		"block over 1 MiB":             {BlockSize: 1<<20 + 1},
		"1,000 workers":                {Workers: 1000},
	} {
		o.FS = vfs.NewMem()
		db, err := sift.Open("db", &o)
		wantError(t, name, err, sift.ErrInvalidOption)
		if err == nil {
			must(t, db.Close())
		}
		if names, _ := o.FS.List("."); len(names) != 0 {
			t.Errorf("%s: Open made %v", name, names)
		}
	}
}

// Nil options are the documented defaults, and no field is read or changed after
// Open.
func TestNilOptions(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a", "b", "db"), nil)
	must(t, db.Put([]byte("k"), []byte("v"), nil), db.Flush(), db.Close())
	o, before := small(), small()
	o.FS = sift.NewMemFS()
	before.FS = o.FS
	db = open(t, "db", &o)
	if o != before {
		t.Errorf("Open changed its options from %+v to %+v", before, o)
	}
	o = sift.Options{}
	must(t, db.Put([]byte("k"), []byte("v"), nil), db.Flush(), db.Close())
}

// Paths that cannot be a database: an error that names the path, and nothing
// made.
func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("mine"), 0o644))
	paths := map[string]string{"empty path": "", "a file": file, "below a file": filepath.Join(file, "db")}
	if runtime.GOOS != "windows" {
		paths["dangling symlink"] = filepath.Join(dir, "dangling")
		must(t, os.Symlink(filepath.Join(dir, "nowhere"), paths["dangling symlink"]))
	}
	for name, path := range paths {
		for _, o := range []*sift.Options{nil, {ReadOnly: true}, {MustExist: true}} {
			db, err := sift.Open(path, o)
			if err == nil {
				t.Errorf("%s: Open says nothing (%+v)", name, o)
				must(t, db.Close())
			} else if !strings.Contains(err.Error(), path) {
				t.Errorf("%s: the error does not name %s: %v", name, path, err)
			}
		}
	}
	if data, err := os.ReadFile(file); string(data) != "mine" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Open made what the dangling symlink names")
	}
}

// A missing database is not made by a read-only open, nor if it must exist.
func TestP200_MissingDatabase(t *testing.T) {
	for name, o := range map[string]sift.Options{"read-only": {ReadOnly: true}, "must exist": {MustExist: true}} {
		for _, empty := range []bool{false, true} {
			mem := vfs.NewMem()
			if empty {
				must(t, mem.MkdirAll("db"))
			}
			o.FS = mem
			_, err := sift.Open("db", &o)
			wantError(t, fmt.Sprintf("%s, empty directory %v", name, empty), err, sift.ErrNotExist)
			names, err := mem.List("db")
			if len(names) != 0 || (err == nil) != empty {
				t.Errorf("%s: Open made %v (%v)", name, names, err)
			}
			if n := mem.OpenFiles(); n != 0 {
				t.Errorf("%s: %d files open", name, n)
			}
		}
	}
}

// ErrorIfExists refuses an existing database and makes a missing one.
func TestErrorIfExists(t *testing.T) {
	o := &sift.Options{FS: vfs.NewMem(), ErrorIfExists: true}
	must(t, open(t, "db", o).Close())
	before := mustFiles(t, o.FS, "db")
	_, err := sift.Open("db", o)
	wantError(t, "a second Open", err, sift.ErrExists)
	unchanged(t, before, mustFiles(t, o.FS, "db"))
}

// Tables without a CURRENT or manifest are somebody's data: refused with a hint
// at repair, and no byte touched.
func TestP055_TablesWithoutManifest(t *testing.T) {
	s := makeSpecimen(t, true)
	for name, drop := range map[string]string{"no CURRENT": "CURRENT", "no CURRENT or MANIFEST": "CURRENT MANIFEST"} {
		disk := image(t, "db", s.files)
		for file := range s.files {
			if prefix, _, _ := strings.Cut(file, "-"); strings.Contains(drop, prefix) {
				must(t, disk.Remove("db/"+file))
			}
		}
		before := mustFiles(t, disk, "db")
		for _, o := range []sift.Options{{}, {ReadOnly: true}, {MustExist: true}} {
			o.FS = disk
			_, err := sift.Open("db", &o)
			if err == nil || !strings.Contains(err.Error(), "repair") {
				t.Errorf("%s: error %v, want one that hints at repair", name, err)
			}
			unchanged(t, before, mustFiles(t, disk, "db"))
		}
	}
}

// A directory with somebody else's files is refused.
func TestForeignDirectory(t *testing.T) {
	for _, foreign := range []map[string]string{
		{"notes.txt": "mine"},
		{"notes.txt": "mine", "LOCK": ""},
		{"000012.sst": "from elsewhere"},
	} {
		disk := image(t, "db", foreign)
		before := mustFiles(t, disk, "db")
		db, err := sift.Open("db", &sift.Options{FS: disk})
		if err == nil {
			t.Errorf("a directory with %v was taken for a new database", sortedNames(foreign))
			must(t, db.Close())
			continue
		}
		unchanged(t, before, mustFiles(t, disk, "db"))
	}
}

// Stray files are neither read, deleted nor counted, and numbers stay unique.
func TestP073_StrayFiles(t *testing.T) {
	s := makeSpecimen(t, true)
	strays := map[string]string{
		"._000012.sst": "x", ".DS_Store": "x", "000012.sst.bak": "x", "99999999999999999999.sst": "x",
		"-1.log": "x", "notes.txt": "x", "CURRENT.bak": "x", "MANIFEST": "x", "MANIFEST-": "x", "1.sst": "x", "0000001.log": "x",
	}
	disk := image(t, "db", s.files)
	for name, data := range strays {
		must(t, writeFile(disk, "db/"+name, data))
	}
	must(t, disk.MkdirAll("db/000099.sst/inside"))
	o := small()
	o.FS = disk
	for range 3 {
		db := open(t, "db", &o)
		for range 100 {
			write(t, db, s.model, put("stray", strings.Repeat("v", 500)))
		}
		must(t, db.Compact(nil, nil), s.model.head().check(db, rand.New(rand.NewPCG(73, 0))), db.Close())
	}
	after := mustFiles(t, disk, "db")
	for name, data := range strays {
		if after[name] != data {
			t.Errorf("stray file %s is now %q", name, after[name])
		}
	}
	if _, err := disk.Stat("db/000099.sst/inside"); err != nil {
		t.Errorf("the stray directory: %v", err)
	}
}

// A CURRENT that does not name a manifest of this directory is corrupt; nothing
// outside is opened, and little of it is read.
func TestP043_P044_BadCurrent(t *testing.T) {
	s := makeSpecimen(t, true)
	good := s.files["CURRENT"]
	line := strings.TrimSuffix(good, "\n")
	for name, content := range map[string]string{
		"empty": "", "newline": "\n", "garbage": "\x00\xff\x17", "CRLF": line + "\r\n", "twice": line + line + "\n",
		"two lines": good + good, "spaces": line + "  \n", "leading space": " " + good, "no newline": line,
		"parent": "../" + good, "absolute": "/db/" + good, "a table": "000001.sst\n", "lower case": strings.ToLower(good),
		"huge": strings.Repeat(good, 1<<20/len(good)), "zeros": string(make([]byte, len(good))),
	} {
		disk := s.with(t, "CURRENT", content)
		before := mustFiles(t, disk, "db")
		var read int64
		watched := vfs.NewFault(disk, func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && filepath.Base(op.Name) == "CURRENT" {
				read += op.Len
			}
			if op.Kind == vfs.OpOpen && filepath.Dir(op.Name) != "db" {
				t.Errorf("%s: Open opens %s", name, op.Name)
			}
			return nil
		})
		for _, o := range []sift.Options{{}, {ReadOnly: true}, {MustExist: true}} {
			o.FS = watched
			_, err := sift.Open("db", &o)
			wantCorrupt(t, "CURRENT "+name, err, "CURRENT")
			unchanged(t, before, mustFiles(t, disk, "db"))
		}
		if read > 16<<10 {
			t.Errorf("%s: %d bytes of CURRENT were read", name, read)
		}
		if n := disk.OpenFiles(); n != 0 {
			t.Errorf("%s: %d files open", name, n)
		}
	}
}

// The manifest that CURRENT names is gone: corrupt, in every mode.
func TestP047_ManifestMissing(t *testing.T) {
	s := makeSpecimen(t, true)
	for _, o := range []sift.Options{{}, {ReadOnly: true}, {MustExist: true}} {
		disk := image(t, "db", s.files)
		manifest := strings.TrimSpace(s.files["CURRENT"])
		must(t, disk.Remove("db/"+manifest))
		before := mustFiles(t, disk, "db")
		o.FS = disk
		_, err := sift.Open("db", &o)
		wantCorrupt(t, "Open", err, "")
		if err != nil && !strings.Contains(err.Error(), manifest) {
			t.Errorf("the error does not name %s: %v", manifest, err)
		}
		unchanged(t, before, mustFiles(t, disk, "db"))
	}
}

// Missing, empty, shortened and lengthened tables are all named at Open, with
// their sizes.
func TestP062_BadTables(t *testing.T) {
	s := makeSpecimen(t, true)
	tables := named(s.files, ".sst")
	if len(tables) < 2 {
		t.Fatalf("the specimen has %d tables, want 2 or more", len(tables))
	}
	for name, change := range map[string]func(data string) string{
		"empty":         func(string) string { return "" },
		"a byte short":  func(d string) string { return d[:len(d)-1] },
		"half":          func(d string) string { return d[:len(d)/2] },
		"a byte longer": func(d string) string { return d + "x" },
		"4 KiB longer":  func(d string) string { return d + string(make([]byte, 4096)) },
		"missing":       nil,
	} {
		disk := image(t, "db", s.files)
		for _, table := range tables {
			must(t, disk.Remove("db/"+table))
			if change != nil {
				must(t, writeFile(disk, "db/"+table, change(s.files[table])))
			}
		}
		before := mustFiles(t, disk, "db")
		for _, o := range []sift.Options{{}, {ReadOnly: true}} {
			o.FS = disk
			_, err := sift.Open("db", &o)
			wantCorrupt(t, "tables "+name, err, "")
			for _, table := range tables {
				if err == nil {
					break
				}
				if !strings.Contains(err.Error(), table) || !strings.Contains(err.Error(), fmt.Sprint(len(s.files[table]))) {
					t.Errorf("tables %s: the error does not give %s and its size %d: %v", name, table, len(s.files[table]), err)
				}
			}
			unchanged(t, before, mustFiles(t, disk, "db"))
		}
	}
}

// The same table under two names, or two tables in each other's place.
func TestSameTableTwice(t *testing.T) {
	s := makeSpecimen(t, true)
	tables := named(s.files, ".sst")
	for _, from := range tables {
		for _, to := range tables {
			if from == to {
				continue
			}
			f := s.examine(s.with(t, to, s.files[from]), s.least)
			if f.err == nil {
				t.Errorf("%s is a copy of %s: no error", to, from)
			} else if err := s.judge(f, to+" "+from, s.least); err != nil {
				t.Errorf("%s is a copy of %s: %v", to, from, err)
			}
		}
	}
}
