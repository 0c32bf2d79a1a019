//go:build !unix

package cmd

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
)

// withSignals returns a context that the first interrupt cancels, and which signal it was.
func withSignals(parent context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(parent)
	var first atomic.Value
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt)
	go func() {
		sig := <-ch
		first.Store(sig)
		signal.Stop(ch)
		cancel()
	}()
	return ctx, func() os.Signal {
		sig, _ := first.Load().(os.Signal)
		return sig
	}
}

// die does nothing: there is no dying of a signal here, and Main returns a plain status.
func die(os.Signal) {}

// keepPipeErrors does nothing: a write to a closed pipe is an error here.
func keepPipeErrors() func() { return func() {} }
