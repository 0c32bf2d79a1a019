package cmd

import (
	"io"
	"os"
)

// createRejects opens the file that keeps bad lines. It is emptied first, so it must not be the one that is read.
func (a *App) createRejects(name string, in io.Reader) (*os.File, error) {
	for _, r := range []io.Reader{in, a.Streams.In} {
		f, ok := r.(*os.File)
		if !ok {
			continue
		}
		read, err := f.Stat()
		there, missing := os.Stat(name)
		if err == nil && missing == nil && read.Mode().IsRegular() && os.SameFile(read, there) {
			return nil, usagef("--rejects: %s is the file that is read", name)
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, usagef("--rejects: %v", err)
	}
	return f, nil
}
