package main

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/siftkv/sift/bench/report"
	"github.com/siftkv/sift/bench/workload"
)

// figureNames are the columns of figures, in the order of a CSV file.
func figureNames() []string {
	return []string{
		workload.OpsPerSec, workload.P50, workload.P99, workload.P999, workload.Max,
		workload.ReadCallsPerOp, workload.ReadBytesPerOp, workload.DiskReadsPerOp,
		workload.WrittenPerOp, workload.DirtiedAmplification, workload.OwnAmplification, workload.SpaceAmplification,
		workload.PeakAnon, workload.PeakResident, report.MemTableBytes, report.CacheBytes, report.FilterBytes,
		workload.AllocsPerOp, workload.ProcessorPerOp, workload.OthersShare,
		workload.FlushTime, workload.CompactTime, workload.Lost,
	}
}

// resultCSV returns what prints results as CSV, after the names of the columns. A
// figure that there is not is an empty field.
func resultCSV(w io.Writer) (func(*workload.Result) error, error) {
	out := csv.NewWriter(w)
	header := []string{
		"store", "workload", "keys", "pairs", "value_size", "clients", "sync", "cold", "seed", "operations", "step_operations", "seconds",
	}
	err := out.Write(append(header, figureNames()...))
	return func(r *workload.Result) error {
		fields := []string{
			r.Store, r.Workload, r.Keys, strconv.Itoa(r.Pairs), strconv.Itoa(r.ValueSize), strconv.Itoa(r.Clients),
			strconv.FormatBool(r.Sync), strconv.FormatBool(r.Cold), strconv.FormatUint(r.Seed, 10),
			strconv.FormatInt(r.Operations, 10), strconv.Itoa(r.StepOps), exact(r.Seconds),
		}
		for _, name := range figureNames() {
			text := ""
			if v, ok := r.Figures[name]; ok {
				text = exact(v)
			}
			fields = append(fields, text)
		}
		if err := out.Write(fields); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	}, err
}
