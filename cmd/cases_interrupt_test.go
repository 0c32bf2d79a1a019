package cmd_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestC047InterruptAtAnyMoment sends the signal after a growing time, so that it meets every stage of a claim: before it,
// in it, after it. What is claimed was printed; what was not printed is free again, with its attempt.
func TestC047InterruptAtAnyMoment(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	const rounds = 16
	c.from(0, strings.Repeat("{}\n", rounds))
	var got strings.Builder
	for i := range rounds {
		var out bytes.Buffer
		p := exec.Command("todoctl", "claim", "-q", "q", "--ttl", "10m", "-o", "id")
		p.Dir, p.Env, p.Stdout = c.dir, c.env, &out
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 6 * time.Millisecond)
		_ = p.Process.Signal(os.Interrupt) // it may have ended
		_ = p.Wait()
		if end := p.ProcessState.String(); end != "signal: interrupt" && end != "exit status 0" {
			t.Errorf("round %d ended with %s", i, end)
		}
		got.WriteString(out.String())
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'claimed' AND NOT id = ANY($1)", strings.Fields(got.String())); n != 0 {
		t.Errorf("%d todos are held by processes that never told so", n)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'pending' AND attempt <> 0"); n != 0 {
		t.Errorf("%d todos lost an attempt", n)
	}
}

// TestC047InterruptAfterTheCommit lets the claim commit and keeps the answer back until the process, told to end, has asked
// the server to cancel. The claim is given back, and the process dies of the signal.
func TestC047InterruptAfterTheCommit(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		c, conn, url := withDB(t)
		todo := c.ok("enqueue", "-q", "q")
		var out, errs bytes.Buffer
		p := exec.Command("todoctl", "claim", "-q", "q", "-o", "id")
		p.Dir, p.Env, p.Stdout, p.Stderr = c.dir, c.with("TODOCTL_DATABASE_URL="+heldAnswers(t, url)).env, &out, &errs
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the claim is committed", func() bool { return pgValue[string](t, conn, "SELECT state FROM todos") == "claimed" })
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		if end := p.ProcessState.String(); end != "signal: "+sig.String() || out.Len() > 0 {
			t.Errorf("%s: it ended with %s and printed %q %q", sig, end, out.String(), errs.String())
		}
		if got := c.ok("show", todo, "--jq", "[.state, .attempt, .owner, .history[].outcome] | tojson"); got != `["pending",0,null,"released"]` {
			t.Errorf("%s left the todo as %s", sig, got)
		}
	}
}

// TestC047OutputCannotBeWritten closes the pipe that the claim is written to.
func TestC047OutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.from(0, strings.Repeat("{}\n", 3))
	for _, args := range [][]string{{"-o", "id"}, {"-n", "2", "-o", "json"}, {"-o", "env"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		var errs bytes.Buffer
		p := exec.Command("todoctl", append([]string{"claim", "-q", "q"}, args...)...)
		p.Dir, p.Env, p.Stdout, p.Stderr = c.dir, c.env, w, &errs
		_ = p.Run()
		_ = w.Close()
		if end := p.ProcessState.String(); end != "exit status 1" {
			t.Errorf("%q ended with %s: %s", args, end, errs.String())
		}
		if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state <> 'pending' OR attempt <> 0"); n != 0 {
			t.Errorf("%q: %d todos are not free again", args, n)
		}
	}
}

// heldAnswers returns the URL of the same database by way of a proxy that, once a claim has gone to the server, lets nothing
// back to the client until somebody asks the server to cancel a statement: as if signal and answer had crossed on their way.
func heldAnswers(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "held") // short: the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	upstream := filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL."+q.Get("port")))
	if err != nil {
		t.Fatal(err)
	}
	cancelled := make(chan struct{})
	var once sync.Once
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { relay(client, upstream, cancelled, func() { once.Do(func() { close(cancelled) }) }) })
		}
	})
	t.Cleanup(func() {
		once.Do(func() { close(cancelled) })
		_ = l.Close()
		open.Wait()
		_ = os.RemoveAll(dir)
	})
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return u.String()
}

// relay forwards one connection until either side closes it.
func relay(client net.Conn, upstream string, cancelled <-chan struct{}, cancel func()) {
	defer client.Close()
	server, err := net.Dial("unix", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	held := make(chan struct{})
	var answers sync.WaitGroup
	defer answers.Wait()
	answers.Go(func() {
		defer client.Close()
		for b := make([]byte, 64<<10); ; {
			n, err := server.Read(b)
			select {
			case <-held:
				<-cancelled
			default:
			}
			if _, werr := client.Write(b[:n]); err != nil || werr != nil {
				return
			}
		}
	})
	const cancelRequest = 80877102
	for b, first := make([]byte, 64<<10), true; ; first = false {
		n, err := client.Read(b)
		if first && n == 16 && binary.BigEndian.Uint32(b[4:]) == cancelRequest {
			cancel()
		}
		if bytes.Contains(b[:n], []byte("UPDATE todos")) {
			select {
			case <-held: // the claim is not the last statement: it is given back
			default:
				close(held)
			}
		}
		if _, werr := server.Write(b[:n]); err != nil || werr != nil {
			_ = server.Close()
			return
		}
	}
}
