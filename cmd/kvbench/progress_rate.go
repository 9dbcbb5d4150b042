package main

import (
	"fmt"
	"strings"
	"time"
)

// A paced progress is a line with a bar for a job that takes minutes: how much of
// all is done, what is being done, how fast, and how long it may still take. A nil
// one shows nothing.
type paced struct {
	line  *progress
	start time.Time
	total float64 // operations
	now   func() time.Time
}

// paced returns a line for so many operations, if somebody may see it.
func (env environment) paced(total float64) *paced {
	line := env.progress()
	if line == nil {
		return nil
	}
	return &paced{line: line, start: time.Now(), total: total, now: time.Now}
}

// show says what is being done, and how many of all operations are done.
func (p *paced) show(what string, done float64) {
	if p == nil || p.now().Before(p.line.next) {
		return
	}
	p.line.next, p.line.on = p.now().Add(progressEvery), true
	fmt.Fprintf(p.line.w, "%s%s", clearLine, p.text(what, done))
}

// text is the line. The rate is that of the whole job so far; until a second has
// passed nothing is said of it.
func (p *paced) text(what string, done float64) string {
	const width = 20
	share := min(max(done/max(p.total, 1), 0), 1)
	full := int(share * width)
	text := fmt.Sprintf("[%s%s] %3.0f %%  %s", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*share, what)
	spent := p.now().Sub(p.start)
	if spent < time.Second || done <= 0 {
		return text
	}
	rate := done / spent.Seconds()
	left := time.Duration(max(p.total-done, 0) / rate * float64(time.Second))
	return fmt.Sprintf("%s  %s/s  %s left", text, digits(rate), left.Round(time.Second))
}

// clear takes the line away.
func (p *paced) clear() {
	if p != nil {
		p.line.clear()
	}
}
