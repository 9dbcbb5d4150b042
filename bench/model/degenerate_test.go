package model

import (
	"math"
	"strings"
	"testing"
)

// finite fails the test if a number of an estimate makes no sense.
func finite(t *testing.T, e *Estimate) {
	t.Helper()
	a := e.Amplification
	for _, x := range []float64{
		e.Runs, a.Log, a.Flush, a.Compact, e.TableBytes, e.Tables, e.Space, e.FilterBytes, e.MonkeyBytes,
		e.Uniform.Absent, e.Uniform.Present, e.Monkey.Absent, e.Monkey.Present,
	} {
		if !(x >= 0) || math.IsInf(x, 0) {
			t.Fatalf("%+v", *e)
		}
	}
}

// No size and no option, however small or large, makes numbers that are none, and
// what must hold for all holds: a present key costs a read, and bits where they pay
// save reads of absent keys, or memory.
func TestExtremes(t *testing.T) {
	for _, keys := range []uint64{0, 1, 30_000, MaxKeys} {
		for name, change := range map[string]func(c *Config){
			"defaults":       func(*Config) {},
			"overwrites":     func(c *Config) { c.Overwrites = 1.5 },
			"sequential":     func(c *Config) { c.Sequential = true },
			"in order, then": func(c *Config) { c.Sequential, c.Overwrites = true, 0.01 },
			"no filters":     func(c *Config) { c.BitsPerKey = 0 },
			"many bits":      func(c *Config) { c.BitsPerKey = 64 },
			"no values":      func(c *Config) { c.ValueSize = 0 },
			"small":          func(c *Config) { c.MemTableSize, c.TableSize, c.Tree.BaseLevelSize = 32<<10, 32<<10, 1<<10 },
			"workers":        func(c *Config) { c.Workers, c.TableSize, c.MemTableSize = 64, 4<<20, 16<<10 },
			"one open":       func(c *Config) { c.MaxOpenFiles = 1 },
			"large values":   func(c *Config) { c.ValueSize, c.ValueRatio, c.MemTableSize = 100_000, 1, 1<<30 },
		} {
			c := Default()
			c.Keys = keys
			change(&c)
			for _, p := range []Policy{Levelled, Lazy} {
				e, err := NewEstimate(c, p)
				if err != nil {
					t.Fatalf("%d keys, %s, %s: %v", keys, name, p, err)
				}
				finite(t, e)
				open := opening(e.Tables, c.MaxOpenFiles)
				if keys >= 100 && e.Uniform.Present < open*0.99 {
					t.Errorf("%d keys, %s, %s: a present key costs %v reads", keys, name, p, e.Uniform.Present)
				}
				if e.MonkeyBytes > e.FilterBytes {
					t.Errorf("%d keys, %s, %s: filters take %v bytes, under Monkey %v", keys, name, p, e.FilterBytes, e.MonkeyBytes)
				}
				if keys == MaxKeys && name == "defaults" && e.Monkey.Absent > e.Uniform.Absent/2 {
					t.Errorf("%d keys, %s: absent keys cost %v reads, under Monkey %v", keys, p, e.Uniform.Absent, e.Monkey.Absent)
				}
			}
		}
	}
}

// By the formulas, more keys never cost less: bytes, levels, filters, and what a byte
// that is put costs to write, but for lazy levelling, which is cheaper with another
// level. More bits never cost reads.
func TestFormulaGrows(t *testing.T) {
	for _, p := range []Policy{Levelled, Lazy} {
		var before *Estimate
		for keys := 1e4; keys <= 1e13; keys *= 4 {
			c := Default()
			c.Keys = uint64(keys)
			e, err := Formula(c, p)
			if err != nil {
				t.Fatal(err)
			}
			if b := before; b != nil && (e.TableBytes <= b.TableBytes || e.FilterBytes <= b.FilterBytes ||
				e.Levels < b.Levels || p == Levelled && e.Amplification.Compact < b.Amplification.Compact) {
				t.Errorf("%s: %d keys cost\n%+v, fewer\n%+v", p, c.Keys, *e, *b)
			}
			before = e
		}
		reads := math.Inf(1)
		for _, bits := range []float64{1, 5, 10, 64} {
			c := Default()
			c.Keys, c.BitsPerKey = 1_000_000_000, bits
			e, err := Formula(c, p)
			if err != nil {
				t.Fatal(err)
			}
			if e.Uniform.Absent >= reads {
				t.Errorf("%s: %v bits a key cost %v reads, fewer bits %v", p, bits, e.Uniform.Absent, reads)
			}
			reads = e.Uniform.Absent
		}
	}
}

// Keys that come in order are never compacted, by the simulation and by the formula.
func TestSequentialIsMovedOnly(t *testing.T) {
	c := small(200_000, 64<<10)
	c.Sequential = true
	r, err := Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Formula(c, Levelled)
	if err != nil {
		t.Fatal(err)
	}
	if r.CompactBytes != 0 || r.Moves == 0 || e.Amplification.Compact != 0 {
		t.Errorf("%d moves, %v bytes compacted, %v by the formula", r.Moves, r.CompactBytes, e.Amplification.Compact)
	}
}

// Reads of a present and of an absent key, worked out by hand.
func TestExpectedReads(t *testing.T) {
	for _, c := range []struct {
		what  string
		runs  []place
		reads Reads
	}{
		{"nothing", nil, Reads{}},
		{"one run", []place{{density{1, 0}, 1, 0.01}}, Reads{0.01, 1}},
		// Half of the keys are in the second run, and are asked for in the first in vain.
		{"two runs", []place{{density{0.5, 0}, 1, 0.02}, {density{0.5, 0}, 1, 0.01}}, Reads{0.03, 1 + 0.5*0.02}},
		{"no filters", []place{{density{0.25, 0}, 1, 1}, {density{0.75, 0}, 1, 1}}, Reads{2, 1.75}},
		// A tenth was put again, and is found at the top; the others are below.
		{"overwritten", []place{{density{0, 0.1}, 1, 0.02}, {density{1, 0}, 1, 0.01}}, Reads{0.03, 1 + 0.9*0.02}},
		{"a hole", []place{{}, {density{1, 0}, 1, 0.01}}, Reads{0.01, 1}},
	} {
		got := expectedReads(c.runs)
		if math.Abs(got.Absent-c.reads.Absent) > 1e-12 || math.Abs(got.Present-c.reads.Present) > 1e-12 {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.reads)
		}
	}
}

// Every fault of a configuration is named.
func TestValidate(t *testing.T) {
	c := Config{Keys: MaxKeys + 1, Overwrites: -1, KeySize: 1, ValueSize: -1, BitsPerKey: 65}
	err := c.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for part := range strings.FieldsSeq("keys; overwritten bytes; values compressed memtable tables blocks workers; open bits") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in\n%v", part, err)
		}
	}
	if _, err := Simulate(c); err == nil {
		t.Error("simulated")
	}
	if _, err := Formula(c, Lazy); err == nil {
		t.Error("estimated")
	}
	if _, err := NewPlan(c, Machine{1, 1, 1}); err == nil {
		t.Error("planned")
	}
}
