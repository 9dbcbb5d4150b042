package main

import (
	"fmt"
	"io"
	"time"
)

// progress is one line that is written over and over. A nil one shows nothing.
type progress struct {
	w    io.Writer
	what string
	next time.Time
	on   bool // the line is on the screen
}

// progressEvery is how often the line changes: often enough to look alive.
const progressEvery = 100 * time.Millisecond

const clearLine = "\r\x1b[K"

// progress returns the line for what takes long, if somebody may see it.
func (env environment) progress() *progress {
	if !env.tty {
		return nil
	}
	return &progress{w: env.stderr}
}

// show says what is being done, and how much of it is done.
func (p *progress) show(what string, done float64) {
	if p == nil {
		return
	}
	now := time.Now()
	if what == p.what && now.Before(p.next) {
		return
	}
	p.what, p.next, p.on = what, now.Add(progressEvery), true
	fmt.Fprintf(p.w, "%s%s %3.0f %%", clearLine, what, 100*done)
}

// clear takes the line away, so that something else can be printed.
func (p *progress) clear() {
	if p == nil || !p.on {
		return
	}
	p.on = false
	fmt.Fprint(p.w, clearLine)
}
