package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"

	"github.com/siftkv/sift/bench"
)

// mainJob measures what filters save, and prints it.
func mainJob(ctx context.Context, env environment) error {
	f, err := parseJobFlags(env.args)
	if errors.Is(err, errHelp) {
		return env.help()
	}
	var asked *usageError
	if err != nil && !errors.As(err, &asked) {
		return err
	}
	keys, err := f.keysOrEnd(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		f.faults = append(f.faults, err)
	}
	if len(f.faults) > 0 {
		return &usageError{faults: f.faults}
	}
	return f.measure(ctx, env, keys)
}

// keysOrEnd is keySet until the context ends: what is named may be a pipe into
// which nobody writes.
func (f *jobFlags) keysOrEnd(ctx context.Context) (keys bench.Keys, err error) {
	read := make(chan struct{})
	go func() {
		keys, err = f.keySet()
		close(read)
	}()
	select {
	case <-read:
		return keys, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *jobFlags) measure(ctx context.Context, env environment, keys bench.Keys) (err error) {
	line := env.progress()
	defer line.clear()
	dir, err := makeDir(f.dir, f.keep, env.litter)
	if err != nil {
		return err
	}
	defer func() {
		line.show("removing the databases", 1)
		err = errors.Join(err, env.litter.remove())
	}()

	c := bench.Config{
		Keys:       keys,
		BitsPerKey: f.bits,
		Lookups:    f.lookupsOf(keys),
		CacheSize:  f.cacheFor(keys),
		Seed:       f.seed,
		Dir:        dir,
		Progress:   line.show,
	}
	if f.json {
		return f.printJSON(ctx, env, &c)
	}
	t := &tables{w: env.stdout, config: &c, flags: f, line: line}
	return t.run(ctx)
}

// makeDir makes the directory for the databases, a temporary one if dir is empty.
// It is litter unless it is to be kept.
func makeDir(dir string, keep bool, l *litter) (string, error) {
	if keep {
		l = &litter{}
	}
	return l.mkdir(func() (string, error) {
		if dir == "" {
			return os.MkdirTemp("", "kvbench-")
		}
		return dir, os.Mkdir(dir, 0o755)
	})
}

func (f *jobFlags) printJSON(ctx context.Context, env environment, c *bench.Config) error {
	r := bench.Report{Settings: f.settings(c)}
	err := c.Main(ctx, func(cells []bench.Cell) error {
		r.Add(cells)
		return nil
	})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = env.stdout.Write(append(text, '\n'))
	return err
}

// settings says what was measured and where, so that a result can be read and
// repeated.
func (f *jobFlags) settings(c *bench.Config) map[string]any {
	s := map[string]any{
		"keys":         c.Keys.Len(),
		"data_bytes":   c.Keys.Bytes(),
		"value_size":   f.valueSize,
		"bits_per_key": f.bits,
		"lookups":      c.Lookups,
		"cache_bytes":  c.CacheSize,
		"seed":         f.seed,
		"go":           runtime.Version(),
		"system":       runtime.GOOS + "/" + runtime.GOARCH,
	}
	if k, ok := c.Keys.(*bench.FileKeys); ok {
		s["keys_file"] = f.keyFile
		s["keys_held_out"] = k.HeldOut()
	}
	if f.keep {
		s["dir"] = c.Dir
	}
	return s
}
