package main

import (
	"fmt"
	"io"
)

const shortUsage = `Usage: kvbench [flags]
       kvbench -help for what they are
`

const usage = `kvbench shows what filters save. It loads the same keys into a database without
filters and one with, looks up keys that are not there and keys that are, and
prints the disk reads side by side: once as the load left the tables, which
overlap, and once compacted.

Usage:
  kvbench [flags]

What is loaded:
  -n N            keys (default 1,000,000; with -keys, all of the file)
  -value-size B   bytes in each value, which compress to half (default 100)
  -keys FILE      keys from a text file instead, one a line, or key TAB value;
                  .gz too. A fifth of them is held out: the absent keys
  -seed N         makes another load, and other lookups (default 1)

What is measured:
  -lookups N      of absent keys, and of present ones, each time (default 100,000;
                  with -keys, no more than are held out)
  -bits B         filter bits for each key, 1 to 64 (default 10)
  -cache SIZE     block cache of each database: 4096, 64KiB, 8MiB, 1GiB
                  (default a twentieth of the data)

Where, and how it is shown:
  -dir DIR        make the databases in DIR, which must not exist yet
                  (default a new temporary directory)
  -keep           leave them there; otherwise they are removed
  -json           print one JSON object, with counts as totals
`

func (env environment) help() error {
	if _, err := io.WriteString(env.stdout, usage); err != nil {
		return err
	}
	return printCommands(env.stdout)
}

func printCommands(w io.Writer) error {
	if _, err := fmt.Fprint(w, "\nOther commands:\n"); err != nil {
		return err
	}
	for _, c := range commands() {
		if _, err := fmt.Fprintf(w, "  kvbench %-8s%s\n", c.name, c.summary); err != nil {
			return err
		}
	}
	return nil
}
