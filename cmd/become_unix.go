//go:build unix

package cmd

import (
	"syscall"

	"github.com/todoctl/todoctl/pkg/todo"
)

// become replaces this process by another program, so that the terminal, its signals and the exit
// status are that program's own.
func become(path string, argv, env []string) error {
	err := syscall.Exec(path, argv, env)
	e := todo.Errorf(todo.CodeUnavailable, "run %s: %v", path, err)
	e.Err = err
	return e
}
