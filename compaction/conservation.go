package compaction

import (
	"errors"
	"fmt"
	"strings"

	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/sstable"
)

// ConservationError says that a job lost, doubled or altered an entry: what
// went in is not what came out and what was dropped for a reason. A bug or bad
// memory did that, or an input that is not what the manifest says. The job has
// removed its outputs, and its inputs are as they were.
type ConservationError struct {
	Inputs           []*manifest.TableMeta // none for a flush
	In, Out, Dropped Tally
}

func (e *ConservationError) Error() string {
	var b strings.Builder
	b.WriteString("sift: conservation law broken: ")
	b.WriteString("the result was thrown away; check the machine's memory and the input tables")
	fmt.Fprintf(&b, ": %d entries (sum %016x) in, %d (%016x) out, %d (%016x) dropped",
		e.In.Entries, uint64(e.In.Sum), e.Out.Entries, uint64(e.Out.Sum), e.Dropped.Entries, uint64(e.Dropped.Sum))
	for _, t := range e.Inputs {
		fmt.Fprintf(&b, ", %06d.sst", t.Num)
	}
	return b.String()
}

// blame looks for the input whose content explains why a job's entries
// contradict each other or what is recorded of them. It reads them all again, and
// adds to err what it finds; that the checks of single blocks hold does not make
// a table sound.
func blame(opener Opener, inputs []*manifest.TableMeta, err error) error {
	var broken *ConservationError
	if !errors.As(err, &broken) && !errors.Is(err, sstable.ErrEntry) {
		return err
	}
	for _, t := range inputs {
		if fault := opener.Verify(t); fault != nil {
			return errors.Join(fault, err)
		}
	}
	return err
}

// checkConservation compares what the inputs are known to hold, from when they
// were written, with what became of it. The sums commute, so that neither the
// order of the entries nor the cut into parts matters.
func checkConservation(inputs []*manifest.TableMeta, s *Stats) error {
	dropped := s.Drops.Total()
	sum := s.Out
	sum.plus(dropped)
	if sum == s.In {
		return nil
	}
	return &ConservationError{Inputs: inputs, In: s.In, Out: s.Out, Dropped: dropped}
}

// tallyOf is what the manifest says that the tables hold.
func tallyOf(tables []*manifest.TableMeta) Tally {
	var t Tally
	for _, table := range tables {
		t.plus(Tally{table.Entries + table.RangeDeletes, table.Sum})
	}
	return t
}
