package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What kvbench model prints without flags stands in its page, to the letter, the plan
// for 10^12 keys included. Other processors may round another way.
func TestModelPage(t *testing.T) {
	got, temp := kvbench(t, "model")
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, %q on stderr", got.code, got.stderr)
	}
	isEmpty(t, temp)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "model.md"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" && !strings.Contains(string(page), "```\n"+got.stdout+"```\n") {
		t.Errorf("docs/model.md does not have what kvbench model prints now:\n%s", got.stdout)
	}
	for _, part := range []string{
		"\n1,000,000  ", "\n1,000,000,000,000  ", " simulation\n", " formula\n", "\nLEVELLED, as sift is\n",
		"\nLAZY LEVELLING, which sift does not have: by formula only\n", "\nWHERE ONE MACHINE ENDS\n",
		"\n1,000,000,000,000 KEYS\n", "\nCut it into 19 shards, ", "\nShard by a hash ", "\nShard by ranges ",
	} {
		if !strings.Contains(got.stdout, part) {
			t.Errorf("%q is not in\n%s", part, got.stdout)
		}
	}
}

// A database that fits one machine is not cut, and a flag changes what it is about.
func TestModelFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-keys 1", []string{"\n1    ", "\n1 KEY\n", "There is nothing to shard."}},
		{"-keys 5e6,1_000_000", []string{"\n5,000,000 KEYS\n", "\n1,000,000  "}},
		{"-keys 1e6 -bits 12.5 -memory 1MiB", []string{"filters of 12.5 bits a key", "Filters may take 1.00 MiB", "filters fill the memory"}},
		{"-keys 1e6 -disk 400MiB -rate 1MiB", []string{"there are 400 MiB of disk", "writing 1.00 MiB a second", "One machine holds"}},
		{"-keys 1e6 -disk 2TiB -memory 3T", []string{"there are 2.00 TiB of disk", "may take 3.00 TiB"}},
		{"-keys 1e6 -key-size 40 -value-size 1000 -compress 1", []string{"Keys of 40 B and values of 1,000 B, of which compression leaves 100 %"}},
		{"-keys 1e6 -order sequential", []string{"in sequential order"}},
		{"-keys 1e6 -overwrites 2", []string{"then 2.00 times as many put again"}},
		{"-keys 1e6 -memtable 1MiB -table 2MiB -base 4MiB -multiplier 3 -open-files 7", []string{
			"memtable 1.00 MiB, tables 2.00 MiB, base level 4.00 MiB, levels up to 3 times", "among the 7 that stay open",
		}},
	} {
		got, _ := kvbench(t, append([]string{"model"}, strings.Fields(c.args)...)...)
		if got.code != exitOK || got.stderr != "" {
			t.Errorf("%s: exit code %d, %q on stderr", c.args, got.code, got.stderr)
		}
		for _, part := range c.want {
			if !strings.Contains(got.stdout, part) {
				t.Errorf("%s: %q is not in\n%s", c.args, part, got.stdout)
			}
		}
	}
}

// -json has a row for each size and policy, and the plan, in the same names.
func TestModelJSON(t *testing.T) {
	out, _ := kvbench(t, "model", "-json", "-keys", "1e6,1e12")
	var got struct {
		Settings map[string]any
		Rows     []map[string]any
		Plan     map[string]any
	}
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil || out.code != exitOK || out.stderr != "" {
		t.Fatalf("exit code %d, %v: %s", out.code, err, out.stderr)
	}
	want := strings.Fields(`filter_bytes filter_bytes_monkey keys levels policy reads_monkey reads_uniform runs simulated
		space table_bytes tables write_amplification`)
	if len(got.Rows) != 4 || got.Plan["shards"] != 19.0 || got.Settings["bits_per_key"] != 10.0 {
		t.Errorf("%d rows, settings %v, plan %v", len(got.Rows), got.Settings, got.Plan)
	}
	for i, row := range got.Rows {
		if names := fields(row); !slices.Equal(names, want) {
			t.Errorf("row %d has the fields %q; want %q", i, names, want)
		}
		if simulated := i == 0; row["simulated"] != simulated {
			t.Errorf("row %d: simulated is %v", i, row["simulated"])
		}
	}
}

// Every fault is listed with what was given and what is wanted.
func TestModelFaults(t *testing.T) {
	got, temp := kvbench(t, "model", "-keys", "5,x", "-keys=0", "-bits", "0", "-order", "up", "-disk", "0TiB", "-memory", "much",
		"-compress", "2", "-key-size", "7", "-multiplier=1", "-n", "3", "more")
	const want = `kvbench: -keys "5,x": want whole numbers from 1 to 1e15, such as 1e6,5e9
kvbench: -keys "0": want whole numbers from 1 to 1e15, such as 1e6,5e9
kvbench: -bits "0": want a number from 1 to 64
kvbench: -order "up": want random or sequential
kvbench: -disk "0TiB": want a size above zero such as 8MiB, 64GiB or 8TiB
kvbench: -memory "much": want a size above zero such as 4096, 64KiB, 8MiB or 1GiB
kvbench: -compress "2": want a number from 0.001 to 1
kvbench: -key-size "7": want a whole number from 8 to 65,535
kvbench: -multiplier "1": want a whole number from 2 to 100
kvbench: flag provided but not defined: -n
kvbench: unexpected argument "more"

Usage: kvbench model [flags]
       kvbench model -help for what they are
`
	if got != (outcome{exitUsage, "", want}) {
		t.Errorf("exit code %d, output %q, and\n%s\nwant\n%s", got.code, got.stdout, got.stderr, want)
	}
	isEmpty(t, temp)
	got, _ = kvbench(t, "model", "-keys", "1e12", "-memory", "1KiB")
	const small = "kvbench: model: 1000000000000 keys want more than 1048576 machines with 1024 bytes of memory for filters" +
		" and 8796093022208 of disk; give each more with -memory and -disk\n"
	if got != (outcome{exitFailed, "", small}) {
		t.Errorf("exit code %d, %q, and %q", got.code, got.stdout, got.stderr)
	}
}

func TestModelHelp(t *testing.T) {
	for _, flag := range []string{"-h", "-help"} {
		if got, _ := kvbench(t, "model", flag); got != (outcome{exitOK, modelUsage, ""}) {
			t.Errorf("%s: exit code %d, %q, and\n%s", flag, got.code, got.stderr, got.stdout)
		}
	}
	names := "-keys -key-size -value-size -compress -order -overwrites -bits -memtable -table -base -multiplier -open-files -memory -disk -rate -json"
	for name := range strings.FieldsSeq(names) {
		if !strings.Contains(modelUsage, "\n  "+name+" ") {
			t.Errorf("the help does not say what %s is", name)
		}
	}
	if got, _ := kvbench(t, "help"); !strings.Contains(got.stdout, "\n  kvbench model   ") {
		t.Errorf("the help does not name the command:\n%s", got.stdout)
	}
}
