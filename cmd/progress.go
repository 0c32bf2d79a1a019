package cmd

import (
	"fmt"
	"time"
)

// progress tells a person on a terminal how far a long change is, from the third second on.
type progress struct {
	app   *App
	what  string
	start time.Time
	last  time.Time
}

func (a *App) progress(what string) *progress {
	now := time.Now()
	return &progress{app: a, what: what, start: now, last: now}
}

func (p *progress) at(n int) {
	now := time.Now()
	if !p.app.Streams.ErrTTY || p.app.Flags.Quiet || now.Sub(p.start) < 2*time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	fmt.Fprintf(p.app.Streams.Err, "\r\x1b[K%d %s, %.0f/s", n, p.what, float64(n)/now.Sub(p.start).Seconds())
}

// end clears the line.
func (p *progress) end() {
	if p.last != p.start {
		fmt.Fprint(p.app.Streams.Err, "\r\x1b[K")
	}
}
