package cmd_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tty runs todoctl with stdout and stderr on a terminal of this width, and returns what it shows.
func (c *cli) tty(width int, args ...string) outcome {
	c.t.Helper()
	primary, secondary := c.openTerminal(width)
	p := exec.Command("todoctl", args...)
	p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr = c.dir, c.env, secondary, secondary, secondary
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	_ = secondary.Close()
	shown, err := io.ReadAll(primary)
	if err != nil && !errors.Is(err, syscall.EIO) { // what Linux says when the last writer is gone
		c.t.Fatal(err)
	}
	_ = p.Wait() // the exit status is asked for below
	return outcome{out: strings.ReplaceAll(string(shown), "\r\n", "\n"), code: p.ProcessState.ExitCode()}
}

func (c *cli) openTerminal(width int) (primary, secondary *os.File) {
	c.t.Helper()
	primary, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = primary.Close() })
	fd := int(primary.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		c.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)}); err != nil {
		c.t.Fatal(err)
	}
	secondary, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return primary, secondary
}
