//go:build unix

package cmd

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// withSignals returns a context that the first interrupt or termination cancels, and a function that
// says which signal it was. A signal that was ignored at the start stays so: a shell's background job
// must survive the Ctrl-C that is meant for the foreground.
func withSignals(parent context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(parent)
	var first atomic.Value
	ch := make(chan os.Signal, 2)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	go func() {
		sig := <-ch
		first.Store(sig)
		signal.Stop(ch) // the second one meets the default: the process ends at once
		cancel()
	}()
	return ctx, func() os.Signal {
		sig, _ := first.Load().(os.Signal)
		return sig
	}
}

// die ends the process by the signal that it was sent.
func die(sig os.Signal) {
	signal.Reset(sig)
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(syscall.Getpid(), s)
		time.Sleep(time.Second) // delivery is not instant; Main returns a plain status if it never comes
	}
}

// keepPipeErrors makes a write to a closed pipe fail instead of killing the process, so that what was
// claimed can be given back. The returned function restores the default.
func keepPipeErrors() func() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGPIPE)
	return func() { signal.Stop(ch) }
}
