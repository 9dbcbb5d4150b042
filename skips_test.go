package sift_test

import (
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// skips are the only reasons for which a test of this module, or of those nested
// in it, may be left out, and why nothing is lost by that. What a machine cannot
// do, but CI must, is not among them: unable says so, and fails there.
var skips = map[string]string{
	"the test binary runs where there is no go command":                                   "only away from a checkout",
	"-bloom.grid covers it":                                                               "the same, done longer",
	"takes minutes; run with -bloom.grid":                                                 "the long form, by hand",
	"takes gigabytes; run with -bloom.large=100000000":                                    "the long form, by hand",
	"the race detector and the extra checks take memory of their own":                     "tested without them",
	"open files cannot be removed here: %v":                                               "Windows; tested elsewhere",
	"symbolic links need a privilege there":                                               "Windows; tested elsewhere",
	"no symbolic links here (Windows needs a privilege): %v":                              "Windows; tested elsewhere",
	"such a value does not fit a 32-bit address space beside anything else":               "tested on 64 bits",
	"needs gigabytes of memory: run it with -long":                                        "the long form, by hand",
	"the race detector allocates by itself":                                               "tested without it",
	"the race detector allocates":                                                         "tested without it",
	"needs the build tag invariants or the race detector":                                 "the race step has it",
	"too few lookups for a rate; the race detector sees the same code in the other tests": "tested without it",
	"too few operations for a rate":                                                       "-short asks for less; the ordinary tests have it",
	"files in memory have no device to be read from":                                      "tested where there is a disk",
	"pipes cannot be filled here: %v":                                                     "Linux can",
	"no pipes with names here: %v":                                                        "Linux has them",
	"this system does not count read calls":                                               "Linux does",
	noLoop:                                                                                "what tmpfs shows stands; ext4 is asked where it can be",
}

// noLoop is why there is no ext4 to test on.
const noLoop = "no loop device, or no mkfs.ext4, to make an ext4 with"

// unable leaves a test out that cannot run on this machine. Under .ci/run, which
// sets SIFT_CI, that is a failure, unless the reason is one of skips.
func unable(t testing.TB, reason string, cause error) {
	t.Helper()
	if _, listed := skips[reason]; os.Getenv("SIFT_CI") != "" && !listed {
		t.Fatalf("not to be left out in CI: %s: %v", reason, cause)
	}
	t.Skipf("%s: %v", reason, cause)
}

// TestSkipsAreListed finds every call that skips a test and wants its reason
// among skips, and every reason there in use.
func TestSkipsAreListed(t *testing.T) {
	const literal = `("(?:[^"\\]|\\.)*")` // f may also be a file, whose Skip is another
	call := regexp.MustCompile(`\b(?:[tb]|tb)\.Skip(?:f|Now)?\(` + literal + `?|\bf\.(?:Skipf?\(` + literal + `|SkipNow\()`)
	used := map[string]bool{noLoop: true}
	root := os.DirFS(".")
	must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || path == "skips_test.go" {
			return err
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			reason, _ := strconv.Unquote(m[1] + m[2]) // "" without a reason
			if used[reason] = true; skips[reason] == "" {
				t.Errorf("%s skips a test for a reason that is not listed: %q", path, reason)
			}
		}
		return nil
	}))
	for reason := range skips {
		if !used[reason] {
			t.Errorf("nothing is skipped for the reason %q any more", reason)
		}
	}
}
