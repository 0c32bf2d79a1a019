package config_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/todoctl/todoctl/pkg/config"
)

func TestCaseC120FileOfSomebodyElse(t *testing.T) {
	w := newWorld(t, "queue: mail\n")
	chmod(t, w.path(), 0)
	done := make(chan error, 1)
	go func() {
		// Root reads everything: this thread, which ends with the goroutine, gives that up.
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			for _, dir := range []string{w.home, w.home + "/.config", w.home + "/.config/todoctl"} {
				if err := os.Chmod(dir, 0o755); err != nil {
					done <- err
					return
				}
			}
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		_, err := config.Load(w.input())
		done <- err
	}()
	refused(t, <-done, w.path(), "permission denied", "--config")
}
