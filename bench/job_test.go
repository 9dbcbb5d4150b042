package bench

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

// tiny returns a run that takes a moment in memory.
func tiny(fs sift.FS) *Config {
	return &Config{
		Keys:       NewGenerated(2000, 20, 1),
		BitsPerKey: 10,
		Lookups:    100,
		CacheSize:  1 << 10,
		Dir:        "run",
		FS:         fs,
	}
}

// Whatever a run is doing when its context ends, it ends with the cause, and
// both databases can be opened again.
func TestMainCancelled(t *testing.T) {
	for _, at := range []string{
		"loading without filters", "loading with filters", "looking up absent keys without filters (fresh)",
		"looking up present keys with filters (fresh)", "compacting", "looking up present keys with filters (compacted)",
	} {
		t.Run(at, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			fs := sift.NewMemFS()
			c := tiny(fs)
			var seen []string
			c.Progress = func(what string, _ float64) {
				seen = append(seen, what)
				if what == at {
					cancel(cause)
				}
			}
			if err := c.Main(ctx, func([]Cell) error { return nil }); !errors.Is(err, cause) {
				t.Errorf("it ended with %v; want %v", err, cause)
			}
			if last := seen[len(seen)-1]; last != at {
				t.Errorf("it went on until %q", last)
			}
			for _, name := range []string{"filters-off", "filters-on"} {
				db, err := sift.Open(filepath.Join(c.Dir, name), &sift.Options{FS: fs})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if err := db.Close(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		})
	}
}

// An error of whoever is told the results ends a run, and comes back.
func TestMainStopped(t *testing.T) {
	stop := errors.New("no more")
	calls := 0
	err := tiny(sift.NewMemFS()).Main(t.Context(), func([]Cell) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls; want %v after 1", err, calls, stop)
	}
}

// A database that is there already is not loaded into.
func TestMainExisting(t *testing.T) {
	fs := sift.NewMemFS()
	db, err := sift.Open(filepath.Join("run", "filters-on"), &sift.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tiny(fs).Main(t.Context(), nil); !errors.Is(err, sift.ErrExists) {
		t.Errorf("got %v; want ErrExists", err)
	}
}

// Validate lists every fault at once.
func TestValidate(t *testing.T) {
	err := (&Config{BitsPerKey: 65, Lookups: 0, CacheSize: -1}).Validate()
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"no keys", "65 bits per key; want 1 to 64", "0 lookups", "block cache of -1 bytes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if err := tiny(nil).Validate(); err != nil {
		t.Errorf("a good run is refused: %v", err)
	}
}

// A wrong answer is found, for either kind of key.
func TestWrongAnswers(t *testing.T) {
	keys := NewGenerated(100, 10, 1)
	absent := series{keys: keys, kind: Absent, key: keys.Absent(nil, 0)}
	if err := absent.check(0, nil); err == nil || !strings.Contains(err.Error(), "wrong answer") {
		t.Errorf("an absent key that is found: %v", err)
	}
	present := series{keys: keys, kind: Present, key: keys.Present(nil, 3)}
	if err := present.check(3, sift.ErrNotFound); !errors.Is(err, sift.ErrNotFound) {
		t.Errorf("a present key that is not found: %v", err)
	}
	present.value = keys.Value(nil, 4)
	if err := present.check(3, nil); err == nil || !strings.Contains(err.Error(), "wrong answer") {
		t.Errorf("another key's value: %v", err)
	}
	present.value = keys.Value(nil, 3)
	if err := present.check(3, nil); err != nil {
		t.Errorf("the right value: %v", err)
	}
}
