//go:build unix

package worker

import (
	"testing"
	"time"
)

// Outcomes are gathered until there are as many as one statement takes, until nothing more comes, or for a while.
func TestGather(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*outbox){
		"enough": func(b *outbox) { b.put(outcome{}) },
		"closed": (*outbox).close,
	} {
		b := &outbox{filled: make(chan struct{}, 1)}
		b.put(outcome{})
		gathered := make(chan struct{})
		go func() { b.gather(time.Hour, 2); close(gathered) }()
		next(b)
		<-gathered
		if n := len(b.take(2)); n == 0 || (n == 1) != b.closed {
			t.Errorf("%s: %d outcomes, closed %t", name, n, b.closed)
		}
	}
	b := &outbox{filled: make(chan struct{}, 1)}
	b.put(outcome{})
	b.gather(time.Millisecond, 2)
	if n := len(b.take(2)); n != 1 {
		t.Errorf("after a while: %d outcomes", n)
	}
}
