package sift_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// This file is the oracle of linearizable_test.go: what calls on a few keys may
// answer if each takes effect at one moment between its begin and its end, and
// what a kill or a power cut may leave of that. It knows the contract only.

// groupKeys are the keys of a group, which batches write and snapshots read
// together. No call concerns two groups.
const groupKeys = 3

// A content is what the keys of a group hold: the number of the write that a key
// has its value from, or one of these.
type content [groupKeys]int

const (
	absent    = 0
	untouched = -1 // in a write or a read: not this key
	present   = -2 // in a read: some value, as Has says
)

func nothing() content { return content{untouched, untouched, untouched} }

// allows says whether a read may find c in a group that holds now.
func (c content) allows(now content) bool {
	for i, v := range c {
		if v != untouched && v != now[i] && (v != present || now[i] == absent) {
			return false
		}
	}
	return true
}

// after is what a group that held now holds once c was written to it.
func (c content) after(now content) content {
	for i, v := range c {
		if v != untouched {
			now[i] = v
		}
	}
	return now
}

type callKind uint8

const (
	callRead  callKind = iota
	callWrite          // of one commit
	callSync           // SyncWAL
	callKill           // the end of the process, after all else
	callCut            // a power cut, after all else
)

// A groupCall is a call, as far as it concerns one group.
type groupCall struct {
	kind  callKind
	write content
	sync  bool // the write was acknowledged as durable
	maybe bool // a crash came before the acknowledgement: there or not
}

func (c groupCall) String() string {
	text := [...]string{"read", "write", "SyncWAL", "kill", "power cut"}[c.kind]
	if c.kind == callWrite {
		text += fmt.Sprintf(" %v, sync %v, cut off %v", c.write, c.sync, c.maybe)
	}
	return text
}

// A groupLife is what is known of a group between two crashes: its content when
// the database was opened, and when it was opened again.
type groupLife struct {
	found, left content
	history     []porcupine.Operation
}

// A groupState is the present content of a group, and whether a power cut now
// may leave what was left: the contents that it may leave are those since the
// last that was surely durable.
type groupState struct {
	now  content
	left bool
}

// step is what a call may make of a state; nothing if the call cannot have
// answered so.
func (l *groupLife) step(s groupState, c groupCall, found content) []any {
	written := c.write.after(s.now)
	switch {
	case c.kind == callRead && found.allows(s.now), c.kind == callKill && s.now == l.left, c.kind == callCut && s.left:
		return []any{s}
	case c.kind == callSync:
		return []any{groupState{s.now, s.now == l.left}}
	case c.kind == callWrite && c.maybe:
		return []any{s, groupState{written, s.left || written == l.left}}
	case c.kind == callWrite && c.sync: // and with it all that was committed before
		return []any{groupState{written, written == l.left}}
	case c.kind == callWrite:
		return []any{groupState{written, s.left || written == l.left}}
	}
	return nil
}

// verdict asks the checker about calls.
func (l *groupLife) verdict(history []porcupine.Operation, limit time.Duration) porcupine.CheckResult {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{groupState{l.found, l.found == l.left}} },
		Step: func(state, input, output any) []any {
			return l.step(state.(groupState), input.(groupCall), output.(content))
		},
	}
	return porcupine.CheckOperationsTimeout(m.ToModel(), history, limit)
}

// check says why the calls cannot have happened one after another. A history that
// the checker cannot judge in time is a failure too.
func (l *groupLife) check(limit time.Duration) error {
	result := l.verdict(l.history, limit)
	if result == porcupine.Ok {
		return nil
	}
	return fmt.Errorf("%s: %d calls from %v to %v:\n%s", result, len(l.history), l.found, l.left, l.firstIllegal())
}

// firstIllegal shows the end of the shortest part of the history, by the moments
// at which calls ended, that cannot have happened.
func (l *groupLife) firstIllegal() string {
	byEnd := slices.Clone(l.history)
	slices.SortStableFunc(byEnd, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	n := 1 + sort.Search(len(byEnd)-1, func(i int) bool {
		part := slices.Clone(byEnd[:i+1])
		for _, o := range byEnd[i+1:] { // what had begun by then may have had its effect
			if c := o.Input.(groupCall); c.kind == callWrite && o.Call < byEnd[i].Return {
				c.maybe, o.Input = true, c
				part = append(part, o)
			}
		}
		return l.verdict(part, time.Second) != porcupine.Ok
	})
	var text strings.Builder
	for _, o := range byEnd[max(0, n-12):n] {
		fmt.Fprintf(&text, "\t%d to %d: client %d: %v found %v\n", o.Call, o.Return, o.ClientId, o.Input, o.Output)
	}
	return text.String()
}

// The oracle itself: what may and may not be left by a crash.
func TestLinearModel(t *testing.T) {
	write := func(n int, sync bool) groupCall {
		return groupCall{kind: callWrite, write: content{n, untouched, untouched}, sync: sync}
	}
	begun := groupCall{kind: callWrite, write: content{3, 3, untouched}, maybe: true}
	read, kill, cut, synced := groupCall{kind: callRead}, groupCall{kind: callKill}, groupCall{kind: callCut}, groupCall{kind: callSync}
	for name, c := range map[string]struct {
		calls []groupCall
		found content // by reads, and after the crash
		want  bool
	}{
		"the newest":                     {[]groupCall{write(1, false), write(2, false), read}, content{2}, true},
		"a stale value":                  {[]groupCall{write(1, false), write(2, false), read}, content{1}, false},
		"some value":                     {[]groupCall{write(1, false), read}, content{present}, true},
		"some value where none is":       {[]groupCall{write(0, false), read}, content{present}, false},
		"NoSync after a kill":            {[]groupCall{write(1, false), kill}, content{1}, true},
		"NoSync lost by a kill":          {[]groupCall{write(1, false), kill}, content{0}, false},
		"NoSync lost by a power cut":     {[]groupCall{write(1, false), cut}, content{0}, true},
		"Sync lost by a power cut":       {[]groupCall{write(1, true), cut}, content{0}, false},
		"NoSync before Sync lost":        {[]groupCall{write(1, false), write(2, true), cut}, content{1}, false},
		"only the last NoSync lost":      {[]groupCall{write(1, false), write(2, false), cut}, content{1}, true},
		"lost after SyncWAL":             {[]groupCall{write(1, false), synced, cut}, content{0}, false},
		"not acknowledged and not there": {[]groupCall{begun, kill}, content{0, 0}, true},
		"not acknowledged and there":     {[]groupCall{begun, cut}, content{3, 3}, true},
		"half a batch":                   {[]groupCall{begun, cut}, content{3, 0}, false},
	} {
		l := groupLife{left: c.found}
		for i, call := range c.calls {
			l.history = append(l.history, porcupine.Operation{Input: call, Output: c.found, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if err := l.check(time60); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
