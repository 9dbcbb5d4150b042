package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/siftkv/sift/bench/report"
)

// runReport shows what was measured, or measures and shows that.
func runReport(ctx context.Context, env environment) error {
	f, err := parseReportFlags(env.args)
	if errors.Is(err, errHelp) {
		_, err = io.WriteString(env.stdout, reportUsage)
		return err
	}
	if err != nil {
		return err
	}
	data := new(report.Data)
	if len(f.files) > 0 {
		err = readOrEnd(ctx, f.files, openFile, data)
	} else {
		err = f.measure(ctx, env, data)
	}
	if err != nil {
		return err
	}
	switch {
	case f.json:
		err = data.WriteJSON(env.stdout)
	case f.csv:
		err = data.WriteCSV(env.stdout)
	default:
		err = data.WriteText(env.stdout)
	}
	if err != nil || f.html == "" {
		return err
	}
	if err := writePage(f.html, data.WriteHTML); err != nil {
		return err
	}
	if f.json || f.csv {
		return nil
	}
	_, err = fmt.Fprintf(env.stdout, "\nThe plots are in %s\n", f.html)
	return err
}

// openFile opens a file of results.
func openFile(name string) (io.ReadCloser, error) { return os.Open(name) }

// readOrEnd reads files until the context ends: what is named may be a pipe into
// which nobody writes.
func readOrEnd(ctx context.Context, files []string, open func(string) (io.ReadCloser, error), data *report.Data) error {
	done := make(chan error, 1)
	go func() { done <- readFiles(files, open, data) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readFiles reads all files, and lists what is wrong with each.
func readFiles(files []string, open func(string) (io.ReadCloser, error), data *report.Data) error {
	var faults []error
	for _, name := range files {
		f, err := open(name)
		if err == nil {
			err = errors.Join(data.Read(name, f), f.Close())
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// writePage writes a file so that it is never half there.
func writePage(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
