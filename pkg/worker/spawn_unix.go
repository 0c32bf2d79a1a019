//go:build unix && !linux

package worker

import "syscall"

// attributes puts a command into a process group of its own, so that it can be stopped with all that it started.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
