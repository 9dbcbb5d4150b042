package model

import "github.com/siftkv/sift/internal/manifest"

// NumLevels is the number of levels that a database has.
const NumLevels = manifest.NumLevels

// A Result is what a load cost and left. All numbers are expectations; sizes are in
// bytes.
type Result struct {
	Levels [NumLevels]Level
	Runs   []Run // in the order in which a lookup asks them

	Puts       float64
	UserBytes  float64 // keys and values that were put
	BatchBytes float64 // what Metrics.Writes.Logged counts
	LogBytes   float64 // batches and what frames them in the log
	// Written by flushes and by compactions, and read by these.
	FlushBytes, CompactBytes, ReadBytes float64

	Flushes, Compactions, Moves int
	FilterBytes                 float64 // what resident filters take
}

// A Level is the tables of one level.
type Level struct {
	Tables  int
	Bytes   int64
	Entries float64
}

// A Run is a level, or a table of level 0: what a lookup asks once.
type Run struct {
	Level   int
	Tables  float64
	Entries float64
	Covered float64 // the share of all keys that lie within the bounds of a table
	Rate    float64 // of the filter's false positives, where there is a table; 1: no filter

	tables []tableOfRun // in key order
}

type tableOfRun struct {
	span
	rate float64
}

// WriteAmplification is the bytes that go to disk for each byte that is put.
type WriteAmplification struct {
	Log     float64 `json:"log"`
	Flush   float64 `json:"flush"`
	Compact float64 `json:"compact"`
}

// Total adds up.
func (w WriteAmplification) Total() float64 { return w.Log + w.Flush + w.Compact }

// Amplification returns what was written for each byte that was put.
func (r *Result) Amplification() WriteAmplification {
	if r.UserBytes == 0 {
		return WriteAmplification{}
	}
	return WriteAmplification{r.LogBytes / r.UserBytes, r.FlushBytes / r.UserBytes, r.CompactBytes / r.UserBytes}
}

// TableBytes returns the bytes of all tables.
func (r *Result) TableBytes() float64 {
	var n float64
	for _, l := range r.Levels {
		n += float64(l.Bytes)
	}
	return n
}

// Tables returns how many there are.
func (r *Result) Tables() int {
	n := 0
	for _, l := range r.Levels {
		n += l.Tables
	}
	return n
}

// Depth returns how many levels under level 0 hold data.
func (r *Result) Depth() int {
	n := 0
	for _, l := range r.Levels[1:] {
		if l.Tables > 0 {
			n++
		}
	}
	return n
}

// describe notes what lies where at the end.
func (s *simulation) describe() {
	for level := range s.v.Levels {
		l := &s.out.Levels[level]
		run := Run{Level: level}
		for _, t := range s.v.Levels[level].Tables {
			l.Tables++
			l.Bytes += t.Size
			l.Entries += float64(t.Entries)
			s.out.FilterBytes += filterMemory(float64(t.Entries), s.c.BitsPerKey)
			s.addTable(&run, t)
			if level == 0 {
				s.out.Runs = append(s.out.Runs, run)
				run = Run{}
			}
		}
		if run.Tables > 0 {
			s.out.Runs = append(s.out.Runs, run)
		}
	}
	for i := range s.out.Runs {
		if r := &s.out.Runs[i]; r.Covered > 0 {
			r.Rate /= r.Covered // the mean over the keys that meet a table
		}
	}
}

func (s *simulation) addTable(r *Run, t *manifest.TableMeta) {
	sp := s.spanOf(t)
	rate := filterRate(float64(t.Entries), s.c.BitsPerKey)
	r.Tables++
	r.Entries += float64(t.Entries)
	r.Covered += sp.width()
	r.Rate += sp.width() * rate
	r.tables = append(r.tables, tableOfRun{sp, rate})
}
