package wal

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

// chain is a run of logs, each with the same number of records, linked.
type chain struct {
	m    *vfs.Mem
	logs []LogFile
	ws   []*Writer
	ends [][]int64 // of the records of each log
}

const perLog = 4

// newChain makes so many linked logs. sync says after which log, counted from 0,
// a sync was acknowledged; -1 for none.
func newChain(t *testing.T, n, sync int) *chain {
	t.Helper()
	c := &chain{m: vfs.NewMem()}
	var prev *Writer
	for i := range n {
		num := uint64(10 + i)
		path := fmt.Sprintf("%06d.log", num)
		w := mustCreate(t, c.m, path, num, Options{After: prev})
		var ends []int64
		for k := range perLog {
			ends = append(ends, mustAppend(t, w, payload(i*perLog+k, 100)))
			if i == sync && k < 2 {
				mustSync(t, w) // the second sync leaves a mark
			}
		}
		c.logs = append(c.logs, LogFile{Num: num, Path: path})
		c.ws = append(c.ws, w)
		c.ends = append(c.ends, ends)
		prev = w
	}
	return c
}

// edit rewrites the bytes of one log.
func (c *chain) edit(t *testing.T, i int, change func([]byte) []byte) {
	t.Helper()
	writeFile(t, c.m, c.logs[i].Path, change(readFile(t, c.m, c.logs[i].Path)))
}

// replay returns the numbers of the records that come out.
func (c *chain) replay(t *testing.T) ([]int, Report, error) {
	t.Helper()
	var got []int
	report, err := Replay(c.m, c.logs, func(num uint64, p []byte) error {
		i := int(p[0])
		if want := payload(i, 100); !slices.Equal(p, want) || num != uint64(10+i/perLog) {
			return fmt.Errorf("record %d is wrong, or in log %d", i, num)
		}
		got = append(got, i)
		return nil
	})
	if report.Records != int64(len(got)) || report.Bytes != int64(100*len(got)) {
		t.Errorf("report %+v for %d records", report, len(got))
	}
	if c.m.OpenFiles() > len(c.ws) {
		t.Errorf("%d files open", c.m.OpenFiles())
	}
	return got, report, err
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// Sound logs come out one after the other, sealed or not.
func TestReplaySound(t *testing.T) {
	for n := range 4 {
		for sealed := range n + 1 {
			c := newChain(t, n, -1)
			for _, w := range c.ws[:sealed] {
				mustClose(t, w)
			}
			got, report, err := c.replay(t)
			if err != nil || !slices.Equal(got, upTo(n*perLog)) || report.DroppedBytes != 0 || report.DroppedLogs != 0 {
				t.Errorf("%d logs, %d sealed: %v, %+v, %v", n, sealed, got, report, err)
			}
		}
	}
}

// When the end of a log is gone that was not durable, the logs after it are
// dropped and counted; if anything proves that it was, that is corruption. Every
// log of three, cut at every length.
func TestReplayCut(t *testing.T) {
	for sync := -1; sync < 3; sync++ {
		for i := range 3 {
			whole := newChain(t, 3, sync)
			size := len(readFile(t, whole.m, whole.logs[i].Path))
			for n := 0; n < size; n += 7 {
				c := newChain(t, 3, sync)
				c.edit(t, i, func(b []byte) []byte { return b[:n] })
				c.checkCut(t, fmt.Sprintf("sync in log %d, log %d cut to %d", sync, i, n), i, n, sync)
			}
		}
	}
}

func (c *chain) checkCut(t *testing.T, what string, i, n, sync int) {
	t.Helper()
	left := 0
	for left < perLog && c.ends[i][left] <= int64(n) {
		left++
	}
	got, report, err := c.replay(t)
	if sync > i || sync == i && i < 2 && int64(n) < c.ends[i][1] {
		// A later log was made durable after this one, or knows that part of
		// this one was.
		if !isCorrupt(err) {
			t.Fatalf("%s: %v", what, err)
		}
		return
	}
	if err != nil || !slices.Equal(got, upTo(i*perLog+left)) {
		t.Fatalf("%s: %v, %v; want %d records", what, got, err, i*perLog+left)
	}
	if want := 2 - i; report.DroppedLogs != want || want > 0 && report.DroppedBytes == 0 {
		t.Fatalf("%s: %+v", what, report)
	}
}

// A log that is missing is like an empty one: the first, one in the middle that
// is or is not in the list, the last.
func TestReplayMissing(t *testing.T) {
	for i := range 3 {
		for _, listed := range []bool{true, false} {
			if !listed && i == 0 {
				continue // then nobody knows that it was needed
			}
			c := newChain(t, 3, -1)
			if err := c.m.Remove(c.logs[i].Path); err != nil {
				t.Fatal(err)
			}
			if !listed {
				c.logs = slices.Delete(c.logs, i, i+1)
			}
			got, report, err := c.replay(t)
			if err != nil || !slices.Equal(got, upTo(i*perLog)) || report.DroppedLogs != 2-i {
				t.Errorf("log %d missing, listed %v: %v, %+v, %v", i, listed, got, report, err)
			}
			c = newChain(t, 3, 2)
			if err := c.m.Remove(c.logs[i].Path); err != nil {
				t.Fatal(err)
			}
			if !listed {
				c.logs = slices.Delete(c.logs, i, i+1)
			}
			if _, _, err := c.replay(t); i < 2 && !isCorrupt(err) {
				t.Errorf("log %d missing under a synced one, listed %v: %v", i, listed, err)
			}
		}
	}
}

// Logs before the first of the list are not missed.
func TestReplayFromTheMiddle(t *testing.T) {
	c := newChain(t, 3, 2)
	c.logs = c.logs[1:]
	got, _, err := c.replay(t)
	if err != nil || !slices.Equal(got, upTo(3 * perLog)[perLog:]) {
		t.Errorf("%v, %v", got, err)
	}
}

// A damaged record in the older of two logs, one that nothing proves durable, is
// never followed by records of the newer log. In a sealed log it is corruption.
func TestReplayOlderLogDamaged(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		for k := range perLog {
			c := newChain(t, 2, -1)
			if sealed {
				mustClose(t, c.ws[0])
			}
			c.edit(t, 0, func(b []byte) []byte {
				clear(b[c.ends[0][k]-50:][:4])
				return b
			})
			got, report, err := c.replay(t)
			if sealed != isCorrupt(err) || !slices.Equal(got, upTo(k)) || !sealed && report.DroppedLogs != 1 {
				t.Errorf("sealed %v, record %d damaged: %v, %+v, %v", sealed, k, got, report, err)
			}
		}
	}
}

// A log that follows none was begun by an Open that died before its log counted,
// so it is passed over, whatever it copied from the logs before it. The first log
// of the list may follow none.
func TestReplayFreshStart(t *testing.T) {
	c := newChain(t, 2, -1)
	c.edit(t, 0, func(b []byte) []byte { return b[:c.ends[0][1]] })
	w := mustCreate(t, c.m, "000012.log", 12, Options{})
	for i := range 2 {
		mustAppend(t, w, payload(2*perLog+i, 100))
		mustSync(t, w)
	}
	c.logs = append(c.logs, LogFile{Num: 12, Path: "000012.log"})
	c.ws = append(c.ws, w)
	got, report, err := c.replay(t)
	if err != nil || !slices.Equal(got, []int{0, 1}) || report.DroppedLogs != 1 {
		t.Errorf("%v, %+v, %v", got, report, err)
	}
	c.logs = c.logs[2:] // its manifest is in force
	if got, _, err := c.replay(t); err != nil || !slices.Equal(got, []int{8, 9}) {
		t.Errorf("as the first log: %v, %v", got, err)
	}
}

// A log whose header is lost is not taken for one that follows none: it is damaged
// if a mark in it says that it was durable, and empty otherwise.
func TestReplayHeaderLost(t *testing.T) {
	for i := range 3 {
		for _, synced := range []bool{true, false} {
			sync := -1
			if synced {
				sync = i
			}
			c := newChain(t, 3, sync)
			c.edit(t, i, func(b []byte) []byte {
				clear(b[:headerLen])
				return b
			})
			got, _, err := c.replay(t)
			if synced != isCorrupt(err) || !synced && (err != nil || !slices.Equal(got, upTo(i*perLog))) {
				t.Errorf("header of log %d lost, synced %v: %v, %v", i, synced, got, err)
			}
		}
	}
}

// A record whose append was reported as failed, and that is in the log all the
// same, is left out once another log has gone on without it.
func TestReplayFailedAppend(t *testing.T) {
	for _, successor := range []bool{false, true} {
		m := vfs.NewMem()
		old, err := Create(failing{m, failAt(vfs.OpAppend, 3, errDone)}, "000010.log", 10, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &chain{m: m, logs: []LogFile{{Num: 10, Path: "000010.log"}}, ws: []*Writer{old}}
		mustAppend(t, old, payload(0, 100))
		mustSync(t, old)
		if _, err := old.Append(payload(1, 100)); !errors.Is(err, errDone) {
			t.Fatal(err)
		}
		want := []int{0, 1} // without a successor it may be found
		if successor {
			w := mustCreate(t, m, "000011.log", 11, Options{After: old})
			mustAppend(t, w, payload(4, 100))
			mustSync(t, w)
			c.logs = append(c.logs, LogFile{Num: 11, Path: "000011.log"})
			c.ws = append(c.ws, w)
			want = []int{0, 4}
		}
		if got, _, err := c.replay(t); err != nil || !slices.Equal(got, want) {
			t.Errorf("successor %v: %v, %v; want %v", successor, got, err, want)
		}
	}
}

// New logs that never got a byte, or only zeros, take nothing away from the
// older one.
func TestReplayEmptyNewestLog(t *testing.T) {
	for _, n := range []int{0, 4 << 10, 1 << 20} {
		c := newChain(t, 1, 0)
		writeFile(t, c.m, "000011.log", make([]byte, n))
		c.logs = append(c.logs, LogFile{Num: 11, Path: "000011.log"})
		got, report, err := c.replay(t)
		if err != nil || !slices.Equal(got, upTo(perLog)) || report.DroppedLogs != 0 || report.DroppedBytes != 0 {
			t.Errorf("%d zeros: %v, %+v, %v", n, got, report, err)
		}
	}
}

// The order is the caller's business, and a wrong one is refused.
func TestReplayOrder(t *testing.T) {
	c := newChain(t, 2, -1)
	slices.Reverse(c.logs)
	if _, _, err := c.replay(t); err == nil {
		t.Error("logs in the wrong order were replayed")
	}
}

// An error of the callback ends the replay, and is returned as it is.
func TestReplayCallbackError(t *testing.T) {
	c := newChain(t, 2, -1)
	stop := errors.New("stop")
	n := 0
	_, err := Replay(c.m, c.logs, func(uint64, []byte) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 3 {
		t.Errorf("%d calls, %v", n, err)
	}
}

// A call that fails is neither damage nor the end of a log.
func TestReplayIOErrors(t *testing.T) {
	c := newChain(t, 3, 1)
	c.edit(t, 1, func(b []byte) []byte { return b[:c.ends[1][2]] })
	for n := uint64(1); ; n++ {
		hit := false
		fsys := vfs.NewFault(c.m, func(op vfs.Op) error {
			if op.Seq == n {
				hit = true
				return syscall.EIO
			}
			return nil
		})
		_, err := Replay(fsys, c.logs, func(uint64, []byte) error { return nil })
		if !hit {
			return
		}
		if !errors.Is(err, syscall.EIO) || isCorrupt(err) {
			t.Fatalf("call %d: %v", n, err)
		}
	}
}
