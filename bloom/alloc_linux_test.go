package bloom

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// The memory of a large filter has the kernel's mark for huge pages; a kernel
// without them refuses the advice.
func TestLargeFiltersAskForHugePages(t *testing.T) {
	large := Alloc(hugeFrom)
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); errors.Is(err, fs.ErrNotExist) {
		if askForHugePages(large) == nil {
			t.Error("a kernel without huge pages took the advice")
		}
	} else if !wantsHugePages(t, &large[len(large)/2]) {
		t.Error("no huge pages for a large filter")
	}
}

// wantsHugePages reports whether the mapping of an address is marked.
func wantsHugePages(t *testing.T, at *byte) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	var from, to uintptr
	for line := range strings.Lines(string(maps)) {
		if _, err := fmt.Sscanf(line, "%x-%x ", &from, &to); err == nil {
			continue
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			if p := uintptr(unsafe.Pointer(at)); from <= p && p < to {
				return slices.Contains(strings.Fields(flags), "hg")
			}
		}
	}
	t.Fatalf("no mapping of %p", at)
	return false
}
