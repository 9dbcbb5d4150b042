package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bench/workload"
)

// Data is what has been measured, in the order in which it was read. Add to it
// with Read, or with AddRun and AddCells.
type Data struct {
	Runs    []workload.Result
	Cells   []sweep.Cell
	Skipped []Skipped

	bytes  int      // of the lines that were kept
	stores []string // in the order of reading
	cases  map[Case]bool
}

// Skipped are lines of one kind that this version does not understand.
type Skipped struct {
	Why   string `json:"why"`
	Lines int    `json:"lines"`
	First string `json:"first"` // where: file:line
}

// Limits of what is read. A file beyond them is not a report of measurements.
const (
	maxLine   = 8 << 20   // bytes; an hour's timeline has a fortieth of it
	maxBytes  = 256 << 20 // of lines that are kept
	maxRuns   = 100_000
	maxCells  = 10_000
	maxStores = 12 // more cannot be told apart in a plot
	maxCases  = 200
)

// whatIsRead ends errors about lines that are something else.
const whatIsRead = "want the lines that kvbench run -json, kvbench sweep -json or bench/peers -json print"

// A LineError says which line cannot be read, why, and what to do.
type LineError struct {
	File string
	Line int // from 1 on
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Read adds the lines of a file. Its error is a LineError unless reading failed or
// nothing was there. After an error what was read before stays.
func (d *Data) Read(name string, r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	line, before := 0, len(d.Runs)+len(d.Cells)
	for s.Scan() {
		line++
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		if len(text) == 1 && (text[0] == '{' || text[0] == '[') {
			return &LineError{name, line, fmt.Errorf("JSON over several lines; %s", whatIsRead)}
		}
		skip, err := d.add(text)
		if err != nil {
			return &LineError{name, line, err}
		}
		if skip != "" {
			d.skip(skip, fmt.Sprintf("%s:%d", name, line))
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &LineError{name, line + 1, fmt.Errorf("the line has more than %d bytes; %s", maxLine, whatIsRead)}
	} else if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(d.Runs)+len(d.Cells) == before {
		return fmt.Errorf("%s: no measurements in %d lines; %s", name, line, whatIsRead)
	}
	return nil
}

func (d *Data) skip(why, where string) {
	i := slices.IndexFunc(d.Skipped, func(s Skipped) bool { return s.Why == why })
	if i < 0 {
		d.Skipped = append(d.Skipped, Skipped{Why: why, First: where})
		i = len(d.Skipped) - 1
	}
	d.Skipped[i].Lines++
}

// add adds one line, or says why it is passed over.
func (d *Data) add(text []byte) (skip string, err error) {
	var kind struct {
		Store    json.RawMessage `json:"store"`
		Workload json.RawMessage `json:"workload"`
		Sweep    json.RawMessage `json:"sweep"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return "", explain(err)
	}
	switch {
	case kind.Sweep != nil:
		return d.addCell(text, kind.Sweep)
	case kind.Store != nil && kind.Workload != nil:
		return "", d.addRun(text)
	}
	return "neither a workload of a store nor a cell of a sweep", nil
}

func (d *Data) addRun(text []byte) error {
	if d.bytes += len(text); d.bytes > maxBytes {
		return fmt.Errorf("more than %d bytes of results; make a report of fewer", maxBytes)
	}
	var r workload.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return explain(err)
	}
	return d.AddRun(&r)
}

// AddRun adds a result, unless it cannot have been measured or is too much.
func (d *Data) AddRun(r *workload.Result) error {
	if err := checkRun(r); err != nil {
		return err
	}
	if len(d.Runs) == maxRuns {
		return fmt.Errorf("more than %d results; make a report of fewer", maxRuns)
	}
	if !slices.Contains(d.stores, r.Store) {
		if len(d.stores) == maxStores {
			return fmt.Errorf("%q is one store more than the %d that a report shows side by side; leave some out", r.Store, maxStores)
		}
		d.stores = append(d.stores, r.Store)
	}
	if c := caseOf(r); !d.cases[c] {
		if len(d.cases) == maxCases {
			return fmt.Errorf("more than %d workloads and settings of them; make a report of fewer", maxCases)
		}
		if d.cases == nil {
			d.cases = make(map[Case]bool)
		}
		d.cases[c] = true
	}
	d.Runs = append(d.Runs, *r)
	return nil
}

func (d *Data) addCell(text, version []byte) (skip string, err error) {
	var v float64
	if err := json.Unmarshal(version, &v); err != nil {
		return "", fmt.Errorf("the field sweep is %.20q; want the number of a version", version)
	}
	if v != sweep.Version {
		return fmt.Sprintf("cells of version %v of a sweep, where this kvbench reads version %d: measure again, or use the kvbench that wrote them", v, sweep.Version), nil
	}
	var c sweep.Cell
	if err := json.Unmarshal(text, &c); err != nil {
		return "", explain(err)
	}
	return "", d.AddCells(c)
}

// AddCells adds cells of a sweep.
func (d *Data) AddCells(cells ...sweep.Cell) error {
	for i := range cells {
		if len(d.Cells) == maxCells {
			return fmt.Errorf("more than %d cells of sweeps; make a report of fewer", maxCells)
		}
		if err := checkCell(&cells[i]); err != nil {
			return err
		}
		d.Cells = append(d.Cells, cells[i])
	}
	return nil
}

// explain turns an error of package json into one that says what to do.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("a JSON %s, not an object; %s", wrong.Value, whatIsRead)
	case errors.As(err, &wrong):
		return fmt.Errorf("the field %.80s is a %.40s; want a value of type %v: the line was not written by this version, or changed", wrong.Field, wrong.Value, wrong.Type)
	case errors.As(err, &syntax) && err.Error() == "unexpected end of JSON input":
		return fmt.Errorf("the line is cut off: what wrote it did not finish; remove the line, or measure again (%s)", whatIsRead)
	}
	return fmt.Errorf("not JSON (%w); %s", err, whatIsRead)
}
