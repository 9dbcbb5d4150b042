package wal

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

// BenchmarkAppend hands records of 140 bytes to a real file.
func BenchmarkAppend(b *testing.B) {
	w := benchLog(b, 64<<20)
	p := payload(1, 140)
	b.SetBytes(140)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Append(p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSync commits records of 140 bytes with 1 and with 16 callers.
func BenchmarkSync(b *testing.B) {
	for name, callers := range map[string]int{"1": 1, "16": 16} {
		b.Run(name, func(b *testing.B) {
			w := benchLog(b, 64<<20)
			p := payload(1, 140)
			var commit sync.Mutex
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					for i := c; i < b.N; i += callers {
						commit.Lock()
						end, err := w.Append(p)
						commit.Unlock()
						if err == nil {
							err = w.Sync(end)
						}
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkReplay recovers 400,000 records of 140 bytes from a real file.
func BenchmarkReplay(b *testing.B) {
	w := benchLog(b, 64<<20)
	for i := range 400_000 {
		mustAppend(b, w, payload(i, 140))
	}
	logs := []LogFile{{Num: 7, Path: w.path}}
	b.ResetTimer()
	for b.Loop() {
		report, err := Replay(vfs.OS(), logs, func(uint64, []byte) error { return nil })
		if err != nil || report.Records != 400_000 {
			b.Fatal(report, err)
		}
	}
}

func benchLog(b *testing.B, preallocate int64) *Writer {
	b.Helper()
	w, err := Create(vfs.OS(), filepath.Join(b.TempDir(), logPath), 7, Options{Preallocate: preallocate})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Abandon() })
	return w
}
