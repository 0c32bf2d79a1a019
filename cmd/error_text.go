package cmd

import (
	"io"

	"github.com/todoctl/todoctl/pkg/todo"
)

// errorText reads the text of a failure. Only as much is kept as can be stored; the rest is read and
// dropped, so that whoever writes it does not die of a closed pipe.
func (a *App) errorText(file string) (string, error) {
	in, err := a.open("--error-file", file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, todo.MaxError+1))
	if err != nil {
		return "", todo.Errorf(todo.CodeInternal, "--error-file: %v", err)
	}
	_, _ = io.Copy(io.Discard, in) // what was kept is enough
	return string(text), nil
}
