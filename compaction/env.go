package compaction

import (
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// Opener opens tables.
type Opener interface {
	// NewCompactionIter is for one walk from front to back. The iterator shows
	// range deletions too, each in its place, and keeps its table open until it
	// is closed.
	NewCompactionIter(t *manifest.TableMeta) (iterator.Iterator, error)

	// Verify reads all of a table, and returns where it differs from its format
	// or from what the manifest records of it.
	Verify(t *manifest.TableMeta) error
}

// Env is what Run and Flush need of the database. They only read it, so that
// several jobs may share one.
type Env struct {
	FS     vfs.FS
	Dir    string
	Tables Opener

	// NewFileNum returns a file number that was never given out, NewID a random
	// table id. Both are called from several goroutines.
	NewFileNum func() uint64
	NewID      func() uint64

	// Writer returns how tables of a level are written. The id is filled in.
	Writer func(level int) sstable.WriterOptions

	// Snapshots are the sequence numbers of all live snapshots, ascending. A
	// snapshot that is taken later must see everything that the inputs hold.
	Snapshots []uint64

	// NamesLater leaves it to the caller to make the outputs' names durable.
	NamesLater bool

	// TableSize is Options.TableSize.
	TableSize int64
	// Workers is the number of goroutines that one job may use; 0 means 1.
	Workers int
}

// Result is what a job made. Its tables are durable, with their names unless
// Env.NamesLater is set, but belong to nobody until the caller installs them.
type Result struct {
	Outputs []*manifest.TableMeta // sorted, disjoint; each with its filter
	Stats   Stats
}

// Stats says what a job did.
type Stats struct {
	In, Out      Tally
	Drops        Drops
	BytesRead    int64 // the inputs' files
	BytesWritten int64 // the outputs' files
	Parts        int   // how many goroutines shared the job
}
