package cmd_test

import (
	"bytes"
	"sync"
)

// written takes what a process writes, and may be read while it does.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes in what was written.
func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// String returns what was written so far.
func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
