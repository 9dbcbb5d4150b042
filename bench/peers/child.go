package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"

	"github.com/siftkv/sift/bench/workload"
)

// childName is the first argument of a process that makes one state or runs one
// workload of one engine, so that no engine finds the other's garbage, nor its
// own of the phase before.
const childName = "phase"

// allPut is what a process prints that put all pairs and is about to kill itself.
const allPut = "all put"

// killSelf ends this process as nothing in it can see.
func killSelf() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err) // a state that only a killed process leaves cannot be made
	}
	select {}
}

// define defines the flags that parent and child share, with their defaults.
func define(set *flag.FlagSet, c *workload.Config) {
	*c = workload.DefaultConfig()
	set.StringVar(&c.Keys, "keys", c.Keys, "`kind` of keys: hex, decimal or paths")
	set.IntVar(&c.Pairs, "n", c.Pairs, "pairs of a key and a value")
	set.IntVar(&c.ValueSize, "value-size", c.ValueSize, "bytes of a value, which compress to about half")
	set.IntVar(&c.Lookups, "lookups", c.Lookups, "operations of a workload that reads, and a tenth as many scans")
	set.IntVar(&c.Syncs, "syncs", c.Syncs, "writes that wait for the device")
	set.IntVar(&c.Opens, "opens", c.Opens, "times to open a database, where that is measured")
	set.Uint64Var(&c.Seed, "seed", c.Seed, "of the keys, the values and the choices")
	set.Int64Var(&c.Settings.CacheSize, "cache", c.Settings.CacheSize, "bytes of block cache")
	set.Int64Var(&c.Settings.MemTableSize, "memtable", c.Settings.MemTableSize, "bytes of memtable")
}

// child makes a state, or runs a workload and prints its result.
func child(ctx context.Context, args []string, stdout io.Writer) error {
	var r workload.Runner
	set := flag.NewFlagSet(childName, flag.ContinueOnError)
	define(set, &r.Config)
	set.StringVar(&r.Store, "engine", "", "")
	set.StringVar(&r.Dir, "dir", "", "")
	name := set.String("workload", "", "")
	build := set.Bool("build", false, "")
	cold := set.Bool("cold", false, "")
	profile := set.String("cpuprofile", "", "")
	if err := set.Parse(args); err != nil {
		return err
	}
	var err error
	if r.Open, err = opener(r.Store); err != nil {
		return err
	}
	specs, err := workload.Find(*name)
	if err != nil {
		return err
	}
	if *cold {
		r.BeforeOpen = dropPages
	}
	if *build {
		r.Kill = func() {
			fmt.Fprintln(stdout, allPut)
			killSelf()
		}
		return r.Build(ctx, specs[0])
	}
	result, err := profiled(*profile, func() (*workload.Result, error) { return r.Run(ctx, specs[0]) })
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}

// profiled runs f, and writes a CPU profile of it to a file unless the name is
// empty.
func profiled[T any](name string, f func() (T, error)) (result T, err error) {
	if name == "" {
		return f()
	}
	file, err := os.Create(name)
	if err != nil {
		return result, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return result, errors.Join(err, file.Close())
	}
	result, err = f()
	pprof.StopCPUProfile()
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return result, err
}

func makeDir(dir string) error { return os.MkdirAll(dir, 0o755) }
