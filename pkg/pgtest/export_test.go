//go:build unix

package pgtest

// WatcherPID returns the process that cleans up after this binary.
func WatcherPID() int { return shared.home.watch.Process.Pid }
