package queue

import (
	"errors"
	"io"
)

// firstBytes is how much input is read before the transaction begins, so that a small input never
// keeps one open while its pipe is slow. A larger one is staged as it comes, in a table that nobody
// else can wait for; todos are touched only when the input is at its end.
const firstBytes = 8 << 20

// ahead reads an input of which the first lines are read before a transaction begins. An input that is no longer than
// those can be read again, when the transaction is tried again.
type ahead[T any] struct {
	next func() (*T, error)
	size func(*T) int // bytes of a line, about

	head    []*T // read before the transaction began
	whole   bool // head is all there is
	at      int  // place in head
	current *T
	err     error
}

// fill reads the first lines, up to firstBytes.
func (a *ahead[T]) fill() error {
	for size := 0; size < firstBytes; {
		n, err := a.next()
		if errors.Is(err, io.EOF) {
			a.whole = true
			return nil
		}
		if err != nil {
			return err
		}
		size += a.size(n)
		a.head = append(a.head, n)
	}
	return nil
}

// restart begins again with the first line.
func (a *ahead[T]) restart() { a.at, a.err = 0, nil }

// Next moves to the next line.
func (a *ahead[T]) Next() bool {
	if a.at < len(a.head) {
		a.current = a.head[a.at]
		if !a.whole {
			a.head[a.at] = nil // a stream is not read twice; let go of what has been sent
		}
		a.at++
		return true
	}
	if a.whole {
		return false
	}
	n, err := a.next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			a.err = err
		}
		return false
	}
	a.current = n
	return true
}

// Err returns what ended the input early; it makes COPY fail and the transaction roll back.
func (a *ahead[T]) Err() error { return a.err }
