package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress tells a person on a terminal how far a long change is, from the third second on.
type progress struct {
	app   *App
	what  string
	start time.Time
	last  time.Time
	input *counted // what is read, where its size is known
}

func (a *App) progress(what string) *progress {
	now := time.Now()
	return &progress{app: a, what: what, start: now, last: now}
}

// counted counts what was read of a file.
type counted struct {
	io.ReadCloser
	read, size int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.read += int64(n)
	return n, err
}

// of makes the progress know how large its input is, where it is a plain file. The input is to be read from what it returns.
func (p *progress) of(in io.ReadCloser) io.ReadCloser {
	f, ok := in.(*os.File)
	if !ok {
		return in
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return in
	}
	p.input = &counted{ReadCloser: in, size: info.Size()}
	return p.input
}

// at says that n are done.
func (p *progress) at(n int) {
	if !p.app.Streams.ErrTTY || p.app.Flags.Quiet {
		return
	}
	now := time.Now()
	if now.Sub(p.start) < 2*time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	line := fmt.Sprintf("%d %s, %.0f/s", n, p.what, float64(n)/now.Sub(p.start).Seconds())
	if p.input != nil {
		line = bar(p.input.read, p.input.size) + " " + line
		if left := remaining(p.input.read, p.input.size, now.Sub(p.start)); left > 0 {
			line += ", " + left.String() + " left"
		}
	}
	fmt.Fprint(p.app.Streams.Err, "\r\x1b[K"+line)
}

// bar draws how much of an input is read, 32 columns wide.
func bar(read, size int64) string {
	const width = 25
	full := int(width * min(read, size) / size)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*min(read, size)/size)
}

// remaining is how long the rest of an input takes at the rate so far, in whole seconds; 0 where that is not known.
func remaining(read, size int64, elapsed time.Duration) time.Duration {
	if read <= 0 || read >= size {
		return 0
	}
	return time.Duration(float64(elapsed) * float64(size-read) / float64(read)).Round(time.Second)
}

// end clears the line.
func (p *progress) end() {
	if p.last != p.start {
		fmt.Fprint(p.app.Streams.Err, "\r\x1b[K")
		p.last = p.start
	}
}

// busy tells a person on a terminal, from the third second on, for how long one statement has been at work.
// The function that it returns ends that.
func (a *App) busy(what string) (end func()) {
	if !a.Streams.ErrTTY || a.Flags.Quiet {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		start, shown := time.Now(), false
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				if shown {
					fmt.Fprint(a.Streams.Err, "\r\x1b[K")
				}
				return
			case now := <-tick.C:
				if d := now.Sub(start); d >= 2*time.Second {
					shown = true
					fmt.Fprintf(a.Streams.Err, "\r\x1b[K%s, %ds", what, int(d.Seconds()))
				}
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
