package pgnet

import (
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// Turns forwards connections to a server, byte by byte, and counts how often a client had to wait for
// an answer before it could go on: the network turns, which on a distant server are all that counts. Under TLS the
// farewell cannot be told from other messages, and counts as one.
type Turns struct {
	address string
	dir     string

	mu    sync.Mutex
	ended sync.Cond // a connection has ended
	open  int       // connections
	count int
}

// NewTurns starts a counter in front of a server's socket ("unix" and its path) or port ("tcp" and host:port). It listens
// on the same kind of network, on a socket in Dir by which clients find port 5432, or on a port of 127.0.0.1. It ends
// with the test.
func NewTurns(t testing.TB, network, address string) *Turns {
	t.Helper()
	p := &Turns{dir: shortDir(t)}
	p.ended.L = &p.mu
	own := "127.0.0.1:0"
	if network == "unix" {
		own = filepath.Join(p.dir, ".s.PGSQL.5432")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), network, own)
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	accept(t, l, func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial(network, address)
		if err != nil {
			return // the client sees a closed connection
		}
		defer server.Close()
		p.connections(1)
		defer p.connections(-1)
		p.forward(client, server)
	})
	return p
}

// Dir is the directory of the socket, as the parameter host takes it.
func (p *Turns) Dir() string { return p.dir }

// Address is host:port of the counter, or the path of its socket.
func (p *Turns) Address() string { return p.address }

// Take returns the turns since the last call, once every connection has ended: a client does not wait for its farewell.
func (p *Turns) Take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.open > 0 {
		p.ended.Wait()
	}
	n := p.count
	p.count = 0
	return n
}

func (p *Turns) connections(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += more
	p.ended.Broadcast()
}

// terminate is the client's farewell, for which nobody waits.
const terminate = "X\x00\x00\x00\x04"

func (p *Turns) forward(client, server net.Conn) {
	answered := true // the server spoke last, so what the client says now begins a turn
	var both sync.WaitGroup
	pass := func(from, to net.Conn, seen func([]byte)) {
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				seen(buf[:n])
				if _, err := to.Write(buf[:n]); err != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		_ = client.Close()
		_ = server.Close()
	}
	both.Go(func() {
		pass(client, server, func(b []byte) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if answered && string(b) != terminate {
				p.count++
			}
			answered = false
		})
	})
	pass(server, client, func([]byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		answered = true
	})
	both.Wait()
}
