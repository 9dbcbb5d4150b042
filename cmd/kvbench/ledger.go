package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/siftkv/sift/bench"
)

// A ledger is a file of the rows that are done, one JSON object a line, so that an
// interrupted table can go on. One without a file keeps nothing.
type ledger struct {
	file  *os.File
	rows  []bench.FPRRow // that were there
	seed  uint64
	short bool
	err   error // of the first row that could not be noted
}

// A ledgerLine says of a row what determines it.
type ledgerLine struct {
	Seed  uint64       `json:"seed"`
	Short bool         `json:"short"`
	Row   bench.FPRRow `json:"row"`
}

// openLedger reads the rows of a run with that seed and precision from the named
// file, which it makes if there is none. Without a name there is no ledger. A last
// line that was cut short, by a kill or a full disk, is taken away.
func openLedger(name string, seed uint64, short bool) (*ledger, error) {
	l := &ledger{seed: seed, short: short}
	if name == "" {
		return l, nil
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l.file = file
	if err := l.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), l.close())
	}
	return l, nil
}

func (l *ledger) read() error {
	var end int64 // of the last whole line
	lines := bufio.NewReader(l.file)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && isCut(text) {
			break
		}
		var line ledgerLine
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("line %d is not one of a ledger: %w", n, err)
		}
		if line.Seed != l.seed || line.Short != l.short {
			return fmt.Errorf("line %d is of a run with -seed %d and -short=%v", n, line.Seed, line.Short)
		}
		l.rows = append(l.rows, line.Row)
		end += int64(len(text))
	}
	_, err := l.file.Seek(end, io.SeekStart)
	return errors.Join(err, l.file.Truncate(end))
}

// lineStart is what every line begins with.
var lineStart = []byte(`{"seed":`)

// isCut reports whether the end of a file is nothing or an unfinished line of a
// ledger, and not what somebody else has written.
func isCut(text []byte) bool {
	return bytes.HasPrefix(text, lineStart) || bytes.HasPrefix(lineStart, text)
}

// note appends a row that was not there.
func (l *ledger) note(row bench.FPRRow) {
	if l.file == nil || l.err != nil || l.has(row.FPRCell) {
		return
	}
	text, err := json.Marshal(ledgerLine{l.seed, l.short, row})
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	l.err = err
}

func (l *ledger) has(c bench.FPRCell) bool {
	for _, r := range l.rows {
		if r.FPRCell == c {
			return true
		}
	}
	return false
}

// close returns what went wrong with the rows that were noted. It may be called
// again.
func (l *ledger) close() error {
	if l.file == nil {
		return l.err
	}
	l.err = errors.Join(l.err, l.file.Close())
	l.file = nil
	return l.err
}
