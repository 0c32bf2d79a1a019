//go:build unix

package cmd_test

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own, and killGroup ends that group.
func ownGroup(c *exec.Cmd)  { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
