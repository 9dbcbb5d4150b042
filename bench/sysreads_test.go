package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// The counter's text is read, and anything else is "not known".
func TestParseSystemReads(t *testing.T) {
	const text = "rchar: 4292\nwchar: 0\nsyscr: 13\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
	if got, want := parseSystemReads([]byte(text)), (SystemReads{true, 13, 4292}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	for _, bad := range []string{"", "rchar: 4292\n", "rchar: x\nsyscr: 13\n", "syscr 13\nrchar 12\n"} {
		if got := parseSystemReads([]byte(bad)); got.Known {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

// Where the system counts, the meter's own reading is taken off: what is left is
// what was read in between. Other goroutines of the test may read too, so it may
// be more.
func TestSystemReadsMeter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meter := StartSystemReads()
	var buf [1024]byte
	for i := range 100 {
		if _, err := f.ReadAt(buf[:], int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	got := meter.Stop()
	if !got.Known {
		if _, err := os.Stat(sysReadsFile); err == nil {
			t.Errorf("%s is there and was not understood", sysReadsFile)
		}
		return
	}
	idle := got.Calls
	for range 20 { // the runtime may read something, but not each time
		idle = min(idle, StartSystemReads().Stop().Calls)
	}
	if idle != 0 {
		t.Errorf("%d calls counted while nothing was read", idle)
	}
	if got.Calls < 100 || got.Calls > 110 || got.Bytes < 100*1024-64 {
		t.Errorf("counted %d calls and %d bytes; want 100 and %d", got.Calls, got.Bytes, 100*1024)
	}
}
