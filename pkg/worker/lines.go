//go:build unix

package worker

import (
	"bytes"
	"errors"
	"os"
	"syscall"
)

// maxLine is how long an answer on descriptor 3 or stdout may be. Longer lines come in pieces.
const maxLine = 1 << 20

// listener takes in lines; tooLong marks the pieces of one that is longer than maxLine.
type listener func(line []byte, tooLong bool)

// listen calls f for each line of what a command writes, until nobody has the other end any more, or
// the reading is stopped by a deadline. Then what is in the pipe still counts: a command that has
// ended had written it before.
func listen(r *os.File, f listener) {
	p := pieces{f: f}
	buffer := make([]byte, 16<<10)
	for {
		n, err := r.Read(buffer)
		p.add(buffer[:n])
		switch {
		case err == nil:
			continue
		case errors.Is(err, os.ErrDeadlineExceeded) && !p.rest(r, buffer): // the line at which it stopped is half a line
		case len(p.line) > 0: // one without a newline
			p.emit()
		}
		return
	}
}

// pieces puts lines together.
type pieces struct {
	f    listener
	line []byte
	long bool // a piece of this line was handed on already
}

func (p *pieces) add(text []byte) {
	for {
		end := bytes.IndexByte(text, '\n')
		piece := text
		if end >= 0 {
			piece = text[:end]
		}
		for len(p.line)+len(piece) > maxLine {
			n := maxLine - len(p.line)
			p.line, piece, p.long = append(p.line, piece[:n]...), piece[n:], true
			p.emit()
		}
		p.line = append(p.line, piece...)
		if end < 0 {
			return
		}
		if !p.long || len(p.line) > 0 {
			p.emit()
		}
		p.long = false
		text = text[end+1:]
	}
}

func (p *pieces) emit() {
	p.f(p.line, p.long)
	p.line = p.line[:0]
}

// rest reads what is in the pipe and does not wait for more. It is false where it did not come to the
// end: what a process that was left behind goes on writing is not waited for.
func (p *pieces) rest(r *os.File, buffer []byte) bool {
	raw, err := r.SyscallConn()
	if err != nil {
		return true
	}
	for total := 0; total < maxLine; {
		n := 0
		readable := raw.Control(func(fd uintptr) { n, err = syscall.Read(int(fd), buffer) }) == nil
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if !readable || err != nil || n <= 0 {
			return true
		}
		p.add(buffer[:n])
		total += n
	}
	return false
}
