package worker

import "syscall"

// attributes puts a command into a process group of its own, so that it can be stopped with all that
// it started, and has it die with the worker.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
