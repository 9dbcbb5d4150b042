package manifest

import (
	"path/filepath"
	"testing"
)

// Every name that Path makes is parsed back to what it stands for.
func TestNamesRoundTrip(t *testing.T) {
	for _, kind := range []FileKind{Current, CurrentTemp, Lock, Manifest, Log, Table} {
		for _, num := range []uint64{1, 999999, 1000000, MaxFileNum} {
			base := filepath.Base(Path("dir", kind, num))
			if kind <= Lock {
				num = 0
			}
			if k, n := ParseName(base); k != kind || n != num {
				t.Errorf("%s: kind %d number %d, want %d and %d", base, k, n, kind, num)
			}
		}
	}
}

// What other programs and people leave in the directory is nobody's business
// of ours, however much it looks like a file of ours.
func TestForeignNames(t *testing.T) {
	for _, base := range []string{
		"", ".", "..", "._000012.sst", ".DS_Store", "000012.sst.bak", "99999999999999999999.sst",
		"18446744073709551615.sst", "72057594037927936.sst", "-1.log", "notes.txt",
		"000000.sst", "12.sst", "0000012.sst", "+00012.sst", "00001a.log", "000012.SST", "000012",
		"MANIFEST", "MANIFEST-", "MANIFEST-1", "MANIFEST-000000", "manifest-000001", "MANIFEST-000001.tmp",
		"CURRENT ", "current", "CURRENT.bak", "LOCK.old", ".sst", ".log", "１２３４５６.sst",
	} {
		if kind, num := ParseName(base); kind != Foreign || num != 0 {
			t.Errorf("%q: kind %d number %d, want foreign", base, kind, num)
		}
	}
}
