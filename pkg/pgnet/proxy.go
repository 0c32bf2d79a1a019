// Package pgnet is the network between a client and PostgreSQL in tests: a proxy that breaks a
// connection at a chosen moment, a server that asks for passwords on a loopback port, and the
// certificates with which it speaks TLS.
package pgnet

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Proxy forwards connections on a socket of its own to the server of a URL, and breaks one when it is
// told to: before a statement reaches the server, or after the server has carried it out and before
// its answer reaches the client.
type Proxy struct {
	dir      string
	upstream string // socket file of the server
	address  url.URL

	mu     sync.Mutex
	match  []byte // lower case; nil while nothing is armed
	answer bool   // cut the answer, not the request
	cuts   int
	refuse []byte // startup parameter
	quiet  bool   // notifications are kept back
}

// NewProxy starts a proxy to the server of a URL that names a socket directory, as pgtest's do. It ends
// with the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("pgnet: %v", err)
	}
	q := u.Query()
	dir := shortDir(t)
	p := &Proxy{dir: dir, upstream: filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port")), address: *u}
	q.Set("host", dir)
	p.address.RawQuery = q.Encode()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", filepath.Join(dir, ".s.PGSQL."+q.Get("port")))
	if err != nil {
		t.Fatal(err)
	}
	accept(t, l, func(client net.Conn) { p.serve(t.Context(), client) })
	return p
}

// accept serves the connections of a listener until the test ends.
func accept(t testing.TB, l net.Listener, serve func(net.Conn)) {
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
}

// shortDir makes a directory of the test's own: the path of a socket is limited to about a hundred bytes.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgnet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// URL is the URL of the same database by way of the proxy.
func (p *Proxy) URL() string { return p.address.String() }

// CutAnswer breaks the next connection that sends a message with text in it (any case), once the
// server has carried the message out: the client hears nothing of it.
func (p *Proxy) CutAnswer(text string) { p.arm(text, true) }

// CutRequest breaks the next connection that sends a message with text in it, which the server then
// never sees.
func (p *Proxy) CutRequest(text string) { p.arm(text, false) }

// RefuseParameter refuses every connection whose startup message holds this parameter, in the words of
// a pooler.
func (p *Proxy) RefuseParameter(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = []byte(name)
}

// DropNotifications keeps back every notification from now on, as a pooler in transaction mode does.
func (p *Proxy) DropNotifications() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
}

// drops says whether the client must not hear a message of the server.
func (p *Proxy) drops(kind byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet && kind == 'A' // NotificationResponse
}

// Cuts returns how many connections were broken, so that a test knows that its fault took place.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *Proxy) arm(text string, answer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.answer = bytes.ToLower([]byte(text)), answer
}

// hit says whether a message is the one that is waited for, and disarms.
func (p *Proxy) hit(message []byte) (hit, answer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.match == nil || !bytes.Contains(bytes.ToLower(message), p.match) {
		return false, false
	}
	p.match = nil
	p.cuts++
	return true, p.answer
}

func (p *Proxy) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "unix", p.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { // a client that is never closed must not hold the test up
		_ = client.Close()
		_ = server.Close()
	})()
	cut := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer client.Close()
		defer server.Close()
		p.answers(client, server, cut)
	}()
	p.requests(client, server, cut)
	_ = server.Close()
	<-done
}

// requests forwards what the client says, message by message.
func (p *Proxy) requests(client io.ReadWriter, server io.Writer, cut chan struct{}) {
	for typed := false; ; typed = true { // the first message has no type byte
		_, message, err := read(client, typed)
		if err != nil {
			return
		}
		if !typed && p.refuses(message) {
			_ = p.sayNo(client)
			return
		}
		if typed {
			switch hit, answer := p.hit(message); {
			case hit && answer:
				close(cut)
			case hit:
				return
			}
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

func (p *Proxy) refuses(startup []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.refuse) > 0 && bytes.Contains(startup, append(append([]byte{0}, p.refuse...), 0))
}

func (p *Proxy) sayNo(client io.Writer) error {
	fields := "SFATAL\x00VFATAL\x00C08P01\x00Munsupported startup parameter: " + string(p.refuse) + "\x00\x00"
	message := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(fields)+4))
	_, err := client.Write(append(message, fields...))
	return err
}

// answers forwards what the server says. After the cut it swallows everything up to the word that
// the server is done, which comes after the commit, and then hangs up.
func (p *Proxy) answers(client io.Writer, server io.Reader, cut chan struct{}) {
	for {
		kind, message, err := read(server, true)
		if err != nil {
			return
		}
		select {
		case <-cut:
			if kind == 'Z' { // ReadyForQuery
				return
			}
		default:
			if p.drops(kind) {
				continue
			}
			if _, err := client.Write(message); err != nil {
				return
			}
		}
	}
}

// read returns one message whole, with its header.
func read(r io.Reader, typed bool) (kind byte, message []byte, err error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if size < 0 || size > 1<<30 {
		return 0, nil, fmt.Errorf("message of %d bytes", size)
	}
	message = make([]byte, len(head)+size)
	copy(message, head)
	_, err = io.ReadFull(r, message[len(head):])
	return head[0], message, err
}
