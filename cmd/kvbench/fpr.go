package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bloom"
)

const fprShortUsage = `Usage: kvbench fpr [flags]
       kvbench fpr -help for what they are
`

const fprUsage = `kvbench fpr compares the false-positive rate that theory expects of a filter with
the one that absent keys meet: for every kind of filter, sizes of 10 to 50 million
keys, 5 to 24 bits a key, and keys of little entropy. It exits with 1 if a rate is
one that theory and chance do not explain, which means that the hashes are badly
mixed.

Usage:
  kvbench fpr [flags]

  -short          leave out 50 million keys and measure the rest less precisely:
                  less than 40 seconds on two cores, where all takes 15 minutes
                  and 3 GB of memory for each worker
  -seed N         other keys and probes (default 1)
  -workers N      rows that are measured at once (default one for each core)
  -ledger FILE    note each row in FILE and, after an interruption, go on from
                  there; a ledger belongs to one seed, and to -short or not
  -json           print one JSON object
`

// maxWorkers bounds what somebody can ask for by a slip.
const maxWorkers = 1024

// fprFlags are the arguments of kvbench fpr.
type fprFlags struct {
	bench.FPROptions
	json   bool
	ledger string
	arguments
}

func parseFPRFlags(args []string) (*fprFlags, error) {
	f := &fprFlags{FPROptions: bench.FPROptions{Seed: defaultSeed}}
	f.defBool("short", &f.Short)
	f.def("seed", func(s string) (err error) { f.Seed, err = parseSeed(s); return err })
	f.def("workers", intFlag(&f.Workers, 1, maxWorkers))
	f.def("ledger", func(s string) error {
		if f.ledger = s; s == "" {
			return errors.New("want a name")
		}
		return nil
	})
	f.defBool("json", &f.json)
	err := f.parse(args)
	var asked *usageError
	if errors.As(err, &asked) {
		asked.usage = fprShortUsage
	}
	return f, err
}

// fpr prints the table of theory against practice. Its error says that they
// differ.
func fpr(ctx context.Context, env environment) error {
	f, err := parseFPRFlags(env.args)
	if errors.Is(err, errHelp) {
		_, err = io.WriteString(env.stdout, fprUsage)
		return err
	}
	if err != nil {
		return err
	}
	report, err := f.measure(ctx, env)
	if err != nil {
		return err
	}
	if f.json {
		err = f.printJSON(env.stdout, report)
	} else {
		_, err = io.WriteString(env.stdout, f.heading()+fprTable(report.Rows)+fprSummary(report))
	}
	if err == nil && !report.OK() {
		err = fmt.Errorf("%s of %s rates differ from theory: the hashes are badly mixed",
			commas(len(report.Bad())), commas(len(report.Rows)))
	}
	return err
}

const fprProgress = "measuring rates of false positives"

// measure runs the grid, or what the ledger lacks of it.
func (f *fprFlags) measure(ctx context.Context, env environment) (bench.FPRReport, error) {
	line := env.progress()
	defer line.clear()
	ledger, err := openLedger(f.ledger, f.Seed, f.Short)
	if err != nil {
		return bench.FPRReport{}, fmt.Errorf("-ledger: %w", err)
	}
	defer ledger.close()
	f.Done = ledger.rows
	cells, done := len(f.Cells()), 0
	f.Progress = func(row bench.FPRRow) {
		done++
		line.show(fprProgress, float64(done)/float64(cells))
		ledger.note(row)
	}
	line.show(fprProgress, 0)
	report, err := bench.FPR(ctx, f.FPROptions)
	return report, errors.Join(err, ledger.close())
}

func (f *fprFlags) printJSON(w io.Writer, r bench.FPRReport) error {
	text, err := json.MarshalIndent(map[string]any{
		"settings": map[string]any{
			"seed":   f.Seed,
			"short":  f.Short,
			"go":     runtime.Version(),
			"system": runtime.GOOS + "/" + runtime.GOARCH,
		},
		"rows": r.Rows,
		"ok":   r.OK(),
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func (f *fprFlags) heading() string {
	text := "False positives that theory expects and that absent keys met, seed " + strconv.FormatUint(f.Seed, 10)
	if f.Short {
		text += ", in short"
	}
	return text + "\n\n"
}

func fprTable(rows []bench.FPRRow) string {
	var g grid
	g.row("kind, keys", []string{"number", "bits", "filters", "by theory", "measured", "99.9 % interval", "ratio", "verdict"})
	for _, r := range rows {
		ratio := "-" // nothing to compare
		if r.Verdict != bloom.Unjudged {
			ratio = strconv.FormatFloat(r.Ratio(), 'f', 3, 64)
		}
		g.row(fmt.Sprintf("%v, %s", r.Kind, r.From), []string{
			commas(r.Keys), strconv.FormatFloat(r.Bits, 'f', -1, 64), commas(r.Filters),
			percent(r.Theory), percent(r.Rate), digits(100*r.Low) + " to " + percent(r.High), ratio, r.Verdict.String(),
		})
	}
	return g.String()
}

func fprSummary(r bench.FPRReport) string {
	return fmt.Sprintf(`
%s rates: %s agree with theory, %s differ, %s are below 1e-05 %% and not judged.
A rate agrees if it is not more than 3 %% below or 5 %% above the exact formula (8 %%
for filters of 12 probes and more) but for what chance explains in 99.9 %% of cases.
`, commas(len(r.Rows)), commas(len(r.With(bloom.Agrees))), commas(len(r.With(bloom.Differs))), commas(len(r.With(bloom.Unjudged))))
}
