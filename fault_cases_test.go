package sift_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// faultOutcome runs one case in a synctest bubble: its clock moves only when
// every goroutine waits, so thirty seconds on it without a step are a hang, not a
// slow machine.
func faultOutcome(t *testing.T, plan *faultPlan) (err error) {
	t.Helper()
	if *faultTrace {
		fmt.Fprintln(os.Stderr, plan)
	}
	defer watchdog(time.Minute, plan.String)()
	synctest.Test(t, func(*testing.T) {
		r := newFaultRun(plan)
		if err = r.untilDone(); err != nil {
			return
		}
		if err = r.healthy(r.disk.Kill(), (*faultKey).mayBe); err != nil {
			err = fmt.Errorf("after a kill and a reopening on a healthy disk: %w", err)
			return
		}
		if err = r.healthy(r.disk.Crash(0, 1), (*faultKey).mayBeAfterCut); err != nil {
			err = fmt.Errorf("after a power cut and a reopening on a healthy disk: %w", err)
		}
	})
	return err
}

func (r *faultRun) untilDone() error {
	done := make(chan error, 1)
	go func() { done <- r.run() }()
	for before := int64(-1); ; {
		select {
		case err := <-done:
			return err
		case <-time.After(30 * time.Second):
			if r.steps.Load() == before {
				panic("hang in " + r.plan.String())
			}
			before = r.steps.Load()
		}
	}
}

func TestFault(t *testing.T) {
	for i, mode := range faultModes {
		t.Run(mode.name, func(t *testing.T) {
			switch {
			case *faultCase != "":
				faultReplay(t, mode)
			case *faultAll:
				faultLong(t, mode)
			default:
				faultShort(t, mode, i)
			}
		})
	}
}

// faultShort takes the first calls in every mode and of the later ones a share,
// each with one error, until a run is too short to have such a call.
func faultShort(t *testing.T, mode faultMode, share int) {
	t.Helper()
	failures := 0
	for n := 1; failures < 5; n++ {
		if n > 40 && n%len(faultModes) != share {
			continue
		}
		plan := &faultPlan{mode: mode, at: int64(n), err: faultErrors[n%len(faultErrors)]}
		if err := faultOutcome(t, plan); err != nil {
			failures++
			t.Errorf("%s: %v\n\treplay: go test -run 'TestFault$' -fault.case=%s/%d .", plan, err, mode.name, n)
		}
		if !plan.struck() {
			t.Logf("%d calls", n-1)
			return
		}
	}
}

// faultLong takes every call with every error. The number of calls varies a
// little from run to run, since the engine's goroutines do not take turns, so
// some of the last cases meet no call.
func faultLong(t *testing.T, mode faultMode) {
	t.Helper()
	calls := int64(0)
	for range 5 {
		plan := &faultPlan{mode: mode, at: -1}
		must(t, faultOutcome(t, plan))
		calls = max(calls, plan.calls.Load())
	}
	replay := func(n uint64) string {
		return fmt.Sprintf("go test -run 'TestFault$' -fault.all -fault.case=%s/%d .", mode.name, n)
	}
	count := (uint64(calls)*21/20/blockSize + 1) * blockSize
	runLong(t, "fault/"+mode.name, 1, count, replay, func(n uint64, done *tally) error {
		return faultErrorsAt(t, mode, n, done)
	})
}

// faultErrorsAt runs the cases of one call, one for each error.
func faultErrorsAt(t *testing.T, mode faultMode, n uint64, done *tally) (err error) {
	t.Helper()
	for _, e := range faultErrors {
		plan := &faultPlan{mode: mode, at: int64(n), err: e}
		if failed := faultOutcome(t, plan); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", plan, failed))
		}
		plan.count(done)
	}
	return err
}

func faultReplay(t *testing.T, mode faultMode) {
	t.Helper()
	var n uint64
	if _, err := fmt.Sscanf(*faultCase, mode.name+"/%d", &n); err == nil {
		must(t, faultErrorsAt(t, mode, n, nil))
	}
}
