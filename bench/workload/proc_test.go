package workload

import "testing"

// What Linux says is read by name, and nothing is made of what it does not say.
func TestParseFields(t *testing.T) {
	text := []byte("Name:\tsift\nVmHWM:\t   7808 kB\nRssAnon:\t    3100 kB\nwchar: 12\n")
	got, ok := parseFields(text, "RssAnon", "VmHWM", "wchar")
	if !ok || got[0] != 3100 || got[1] != 7808 || got[2] != 12 {
		t.Errorf("%v, %t", got, ok)
	}
	for _, bad := range []string{"", "RssAnon:\n", "RssAnon: many kB\n", "RssAno: 1\n"} {
		if got, ok := parseFields([]byte(bad), "RssAnon"); ok {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}

// The share that others took is what was busy less what was ours, of all; a name
// with brackets and blanks in it does not move the columns.
func TestOthersShare(t *testing.T) {
	before := parseProcessorUse(
		[]byte("42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 100 50 0 0"), []byte("cpu  1000 0 500 8000 100 0 0 0 700 0\ncpu0 1 2\n"))
	after := parseProcessorUse(
		[]byte("42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 140 60 0 0"), []byte("cpu  1100 0 520 8060 110 0 10 0 700 0\ncpu0 1 2\n"))
	share, own, ok := after.others(before)
	// 200 ticks passed: 130 busy, 50 of them ours.
	if !ok || share != 0.4 || own != 0.5 {
		t.Errorf("others %v, own %v s, %t; want 0.4 and 0.5 s", share, own, ok)
	}
	for _, bad := range [][2]string{{"", ""}, {"1 (x) S 1", "cpu 1 2 3 4 5 6 7 8 9"}, {"1 (x) S 1 2 3 4 5 6 7 8 9 10 1 1", "cpu 1"}} {
		u := parseProcessorUse([]byte(bad[0]), []byte(bad[1]))
		if _, _, ok := u.others(before); ok {
			t.Errorf("%q gives a share", bad)
		}
	}
	if _, _, ok := before.others(before); ok {
		t.Error("no time gives a share")
	}
}
