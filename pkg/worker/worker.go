//go:build unix

// Package worker makes a worker of any command: it claims todos, runs the command for each, renews
// the leases meanwhile, and writes down what came of it. A lease that is lost stops its command, and
// the outcome is not written.
package worker

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Options says what to work on, with what, and when to end.
type Options struct {
	Command      []string
	Env          []string // of the command, without the TODO_ variables
	Claim        queue.ClaimParams
	Concurrency  int           // commands at once
	RunTimeout   time.Duration // of one command; 0 is none
	Grace        time.Duration // from the signal to end until commands are stopped
	ReleaseDelay time.Duration // before a released todo may be claimed again
	On           Map
	StdoutResult bool          // the last line of stdout is the result
	Drain        bool          // end when nothing is claimable
	Max          int           // end after so many todos; 0 is never
	Idle         time.Duration // end after idling so long; 0 is never
	Batch        int           // todos that one command gets as lines; 0 is one, the usual way
	Stream       bool          // the command lives on and gets line after line
	Listen       bool          // be notified of work, where the server allows it
	Stderr       io.Writer     // takes the lines of the commands; safe for concurrent writes of whole lines
	Log          func(Event)   // told of each lease that ended
	Warn         func(string)
}

// Event is how one lease ended, as it is logged.
type Event struct {
	ID      string  `json:"id"`
	Queue   string  `json:"queue"`
	Kind    string  `json:"kind"`
	Attempt int     `json:"attempt"`
	Outcome string  `json:"outcome"` // done, failed, dead, released, crashed, lost
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"`
}

// Summary counts what a worker did.
type Summary struct {
	Done, Failed, Released, Lost int
}

// answer is how long the database may take over one statement of the worker.
const answer = 10 * time.Second

// Worker is one running worker.
type Worker struct {
	opt   Options
	store *store
	spawn *spawner

	mu   sync.Mutex
	held map[string]*held // leases that must be renewed, by receipt

	finished chan outcome  // what commands came to, for the settler
	wake     chan struct{} // something ended: the dispatcher looks again
	halt     chan struct{} // closed when commands must stop
	giveUp   chan struct{} // closed when outcomes that cannot be written count as lost
	running  atomic.Int64  // commands that run
	inflight atomic.Int64  // todos that commands have
	unsaid   atomic.Int64  // outcomes that are not written yet
	broken   atomic.Pointer[CannotRun]
	progress notes
	sum      Summary // written by the settler alone
}

// CannotRun says that the command cannot be started at all.
type CannotRun struct {
	Code   int // 126 or 127
	Reason string
}

// Error says so.
func (e *CannotRun) Error() string { return "cannot run the command: " + e.Reason }

// held is a lease that this worker holds.
type held struct {
	todo    todo.Todo
	receipt todo.Receipt
	lost    chan struct{} // closed when the lease is lost

	mu      sync.Mutex
	renewed time.Time // when the last renewal that succeeded was asked for
	wants   time.Time // the command asked to have it so long
	until   time.Time // and it was granted so long
	gone    bool
	why     string
}

func (h *held) lose(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.gone, h.why = true, why
		close(h.lost)
	}
}

func (h *held) isLost() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why, h.gone
}

// Run works until it is told to end, by ctx or by its options. It returns in order: every lease that
// it held has ended, or was lost, or could not be told to the database within the grace time.
func Run(ctx context.Context, q *queue.Client, opt Options) (Summary, error) {
	w := &Worker{opt: opt, store: &store{q: q}, spawn: newSpawner(), held: map[string]*held{},
		finished: make(chan outcome, 1024), wake: make(chan struct{}, 1), halt: make(chan struct{}), giveUp: make(chan struct{})}
	defer w.spawn.stop()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var tasks sync.WaitGroup
	tasks.Go(func() { w.keep(background) })
	tasks.Go(func() { w.expire(background) })
	tasks.Go(func() { w.note(background) })
	settled := make(chan struct{})
	go func() { defer close(settled); w.settle(background) }()
	err := w.dispatch(ctx, background)
	close(w.finished)
	if ctx.Err() != nil {
		last := time.AfterFunc(max(opt.Grace, answer), func() { close(w.giveUp) })
		defer last.Stop()
	}
	<-settled
	stop()
	tasks.Wait()
	if b := w.broken.Load(); b != nil {
		return w.sum, b
	}
	return w.sum, err
}

// store is the one connection that claims, renews and settles, one at a time.
type store struct {
	mu sync.Mutex
	q  *queue.Client
}

func (s *store) do(f func(*queue.Client) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.q)
}

// hold notes leases that were just claimed, asked for at the given time.
func (w *Worker) hold(list []todo.Todo, asked time.Time) []*held {
	out := make([]*held, len(list))
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range list {
		h := &held{todo: t, receipt: todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}, lost: make(chan struct{}), renewed: asked}
		w.held[h.receipt.String()] = h
		out[i] = h
	}
	return out
}

func (w *Worker) drop(h *held) {
	w.mu.Lock()
	delete(w.held, h.receipt.String())
	w.mu.Unlock()
}

func (w *Worker) all() []*held {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*held, 0, len(w.held))
	for _, h := range w.held {
		list = append(list, h)
	}
	return list
}

// nudge makes the dispatcher look again.
func (w *Worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
