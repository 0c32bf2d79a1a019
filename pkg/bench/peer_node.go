package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// nodePeer is a peer that runs on node, on a database of its own. Its script in node/ knows the verbs
// setup, fill N, drain N and latency N, and answers with a line of JSON.
type nodePeer struct {
	node, script   string
	host, database string
	processes      int // that drain
	drop           func()
}

// node finds node and the peers that make bench installs.
func (b *bench) node(ctx context.Context, peer string) (*nodePeer, error) {
	dir := filepath.Join(source(), "node")
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s is not installed: run npm ci in pkg/bench/node, or leave it out with -npm=false", peer)
	}
	p := &nodePeer{node: found[0], script: filepath.Join(dir, peer+".mjs"), processes: 1}
	if peer == "graphile-worker" {
		p.processes = 2 // more are slower on two processors
	}
	url, drop, err := b.database(ctx, "template0")
	if err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	p.host, p.database, p.drop = cfg.Host, cfg.Database, drop
	_, err = p.run(ctx, "setup", 0)
	return p, err
}

// said is the answer of a script.
type said struct {
	Seconds   float64   `json:"seconds"`
	Latencies []float64 `json:"latencies"` // ms
}

func (p *nodePeer) run(ctx context.Context, verb string, n int) (said, error) {
	var s said
	c := exec.CommandContext(ctx, p.node, p.script, verb, strconv.Itoa(n))
	c.Env = append(os.Environ(), "BENCH_HOST="+p.host, "BENCH_DATABASE="+p.database, "NO_LOG_SUCCESS=1", "NODE_ENV=production")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return s, fmt.Errorf("%s %s: %w", filepath.Base(p.script), verb, err)
	}
	return s, json.Unmarshal(out, &s)
}

// fill makes n jobs in an empty queue.
func (p *nodePeer) fill(ctx context.Context, n int) error {
	_, err := p.run(ctx, "fill", n)
	return err
}

// drain works them off. Each process tells how long it took; the slowest counts.
func (p *nodePeer) drain(ctx context.Context, n int) (time.Duration, error) {
	answers, faults := make([]said, p.processes), make([]error, p.processes)
	var all sync.WaitGroup
	for i := range p.processes {
		all.Go(func() { answers[i], faults[i] = p.run(ctx, "drain", n) })
	}
	all.Wait()
	slowest := 0.0
	for _, a := range answers {
		slowest = max(slowest, a.Seconds)
	}
	return time.Duration(slowest * float64(time.Second)), errors.Join(faults...)
}

func (p *nodePeer) latency(ctx context.Context, n int) ([]float64, error) {
	s, err := p.run(ctx, "latency", n)
	return s.Latencies, err
}
