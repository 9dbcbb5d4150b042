package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asKvbench makes the test binary be kvbench, for the tests that need a process.
const asKvbench = "KVBENCH_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asKvbench) != "" {
		os.Exit(mainCode())
	}
	os.Exit(m.Run())
}

// An outcome is what a user sees of one call.
type outcome struct {
	code           int
	stdout, stderr string
}

// kvbench calls it with arguments, and with an empty directory for temporary
// files that it returns.
func kvbench(t *testing.T, args ...string) (got outcome, temp string) {
	t.Helper()
	temp = t.TempDir()
	t.Setenv("TMPDIR", temp) // Unix
	t.Setenv("TMP", temp)    // Windows
	var stdout, stderr bytes.Buffer
	env := environment{args: args, stdout: &stdout, stderr: &stderr, litter: &litter{}}
	got.code = env.run(context.Background())
	got.stdout, got.stderr = stdout.String(), stderr.String()
	return got, temp
}

// isEmpty fails the test unless a directory has nothing in it.
func isEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}

// small makes a run that takes a moment.
var small = []string{"-n", "3000", "-lookups", "300"}

// Every fault is listed, with the flag, what was given and what is wanted; the
// exit code is 2, and nothing is made.
func TestFaults(t *testing.T) {
	existing := t.TempDir()
	none := filepath.Join(existing, "none")
	_, openErr := os.Open(none) // what the system says
	_, statErr := os.Stat(none)
	const usage = "\nUsage: kvbench [flags]\n       kvbench -help for what they are\n"
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"command", []string{"nosuch"}, []string{`there is no command "nosuch"`}},
		{"argument", []string{"-json", "more"}, []string{`unexpected argument "more"`}},
		{"unknown flags", []string{"-x", "5", "-n", "5", "-y"}, []string{
			"flag provided but not defined: -x",
			`-n "5": want a whole number from 100 to 1,000,000,000`,
			"flag provided but not defined: -y",
		}},
		{"no flags", []string{"-=", "-n", "7", "---x", "-json"}, []string{
			"bad flag syntax: -=",
			`-n "7": want a whole number from 100 to 1,000,000,000`,
			"bad flag syntax: ---x",
		}},
		{"no value", []string{"-n"}, []string{"flag needs an argument: -n"}},
		{"bad truth", []string{"-json=maybe"}, []string{`invalid boolean value "maybe" for -json: parse error`}},
		{"numbers", []string{
			"-n", "-1", "-value-size", "1e3", "-lookups", "0", "-bits", "NaN", "-seed", "-1", "-cache", "0",
		}, []string{
			`-n "-1": want a whole number from 100 to 1,000,000,000`,
			`-value-size "1e3": want a whole number from 0 to 1,048,576`,
			`-lookups "0": want a whole number from 1 to 1,000,000,000`,
			`-bits "NaN": want a number from 1 to 64`,
			`-seed "-1": want a whole number from 0 to 2^64-1`,
			`-cache "0": want a size above zero such as 4096, 64KiB, 8MiB or 1GiB`,
		}},
		{"bits out of range", []string{"-bits", "0", "-bits", "65", "-bits", "Inf"}, []string{
			`-bits "0": want a number from 1 to 64`,
			`-bits "65": want a number from 1 to 64`,
			`-bits "Inf": want a number from 1 to 64`,
		}},
		{"places", []string{"-dir", existing, "-keys", none}, []string{
			`-dir "` + existing + `": it exists already, and kvbench writes only where nothing was; name a new one`,
			"-keys: " + openErr.Error(),
		}},
		{"empty place", []string{"-dir", ""}, []string{`-dir "": want a name`}},
		{"place in nothing", []string{"-dir", filepath.Join(none, "db")}, []string{
			`-dir "` + filepath.Join(none, "db") + `": nothing can be made there: ` + statErr.Error(),
		}},
		{"too much", []string{"-n", "1_000_000_000", "-value-size", "1_048_576", "-bits", "x"}, []string{
			`-bits "x": want a number from 1 to 64`,
			"1,000,000,000 keys with values of 1,048,576 B are 954 TiB; the limit is 1.00 TiB",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, temp := kvbench(t, c.args...)
			want := ""
			for _, fault := range c.want {
				want += "kvbench: " + fault + "\n"
			}
			if got != (outcome{exitUsage, "", want + usage}) {
				t.Errorf("exit code %d, output %q, and\n%s\nwant exit code 2, no output, and\n%s", got.code, got.stdout, got.stderr, want)
			}
			isEmpty(t, temp)
		})
	}
	isEmpty(t, existing)
}

// Asked for help, it helps, on the standard output, and names every flag.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-help"}, {"-h"}, {"help"}, {"-n", "5", "-help"}} {
		got, _ := kvbench(t, args...)
		if got.code != exitOK || got.stderr != "" || !strings.HasPrefix(got.stdout, "kvbench shows what filters save.") {
			t.Errorf("kvbench %q: exit code %d, %q on stderr, and\n%s", args, got.code, got.stderr, got.stdout)
		}
		for name := range strings.FieldsSeq("-n -value-size -bits -lookups -cache -seed -dir -keys -json -keep") {
			if !strings.Contains(got.stdout, "\n  "+name+" ") {
				t.Errorf("the help does not say what %s is", name)
			}
		}
	}
}

// Sizes and counts are read as people write them.
func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "4096": 4096, "4_096": 4096, "4,096B": 4096, "64KiB": 64 << 10, "64k": 64 << 10, "8MiB": 8 << 20, "8MB": 8 << 20,
		"1GiB": 1 << 30, "1T": 1 << 40,
	} {
		if got, err := parseSize(s); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "B", "KiB", "-1", "0", "1.5MiB", "2T", "9223372036854775807", "99999999999G", "8 MiB", "MiB8"} {
		if got, err := parseSize(s); err == nil {
			t.Errorf("parseSize(%q) = %d; want an error", s, got)
		}
	}
}

// Any arguments are settings in range, or a list of faults.
func FuzzArguments(f *testing.F) {
	f.Add("-n=1000 -bits=15.5 -cache=8MiB -seed=7 -json -keep")
	f.Add("-n -1 -value-size 99999999999999999999 -lookups 0x10 -dir . more")
	f.Add("-= ---")
	f.Add("-bits=NaN -bits 1e309 -cache=9223372036854775807T --")
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parseJobFlags(strings.Fields(line))
		if err != nil {
			if asked := (*usageError)(nil); !errors.Is(err, errHelp) && (!errors.As(err, &asked) || len(asked.faults) == 0) {
				t.Errorf("%q: %v", line, err)
			}
			return
		}
		ok := (got.keys == 0 || got.keys >= 100 && got.keys <= maxKeys) && got.valueSize >= 0 && got.valueSize <= 1<<20 &&
			got.lookups >= 0 && got.lookups <= maxLookups && got.bits >= minBits && got.bits <= maxBits && got.cache >= 0 && got.cache <= maxDataBytes
		if !ok {
			t.Errorf("%q gives %+v", line, got)
		}
	})
}
