package cmd

import (
	"testing"
	"time"
)

// The bar fills with what is read, and never beyond its end where the file grew meanwhile.
func TestProgressBar(t *testing.T) {
	t.Parallel()
	for read, want := range map[int64]string{
		0:   "[.........................]   0%",
		50:  "[############.............]  50%",
		99:  "[########################.]  99%",
		100: "[#########################] 100%",
		130: "[#########################] 100%",
	} {
		if got := bar(read, 100); got != want {
			t.Errorf("%d of 100: %s, want %s", read, got, want)
		}
	}
	for _, x := range []struct {
		read, size int64
		want       time.Duration
	}{{0, 100, 0}, {25, 100, 30 * time.Second}, {100, 100, 0}, {101, 100, 0}} {
		if got := remaining(x.read, x.size, 10*time.Second); got != x.want {
			t.Errorf("%d of %d in 10 s: %s left, want %s", x.read, x.size, got, x.want)
		}
	}
}
