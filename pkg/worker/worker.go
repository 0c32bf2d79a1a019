//go:build unix

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
	Guard        []string      // runs Guard in a process of this program; nil for none
	Warn         func(string)
}

// lined says that commands get their todos as lines on stdin.
func (o *Options) lined() bool { return o.Batch > 0 || o.Stream }

// Event is how one lease ended, as it is logged.
type Event struct {
	ID      string  `json:"id"`
	Receipt string  `json:"receipt"`
	Queue   string  `json:"queue"`
	Kind    string  `json:"kind"`
	Attempt int     `json:"attempt"`
	Outcome string  `json:"outcome"` // done, failed, dead, released, crashed, lost
	Seconds float64 `json:"seconds"`
	Error   *string `json:"error"`
}

// Summary counts what a worker did.
type Summary struct {
	Done, Failed, Released, Lost int
}

// answer is how long the database may take over one statement of the worker.
const answer = 10 * time.Second

// Worker is one running worker.
type Worker struct {
	opt    Options
	store  *store // claims
	ends   *store // settles: on a connection of its own where commands get lines, so that neither waits for the other
	renews *store // renews and tells of progress: a slow claim must not cost a lease
	spawn  *spawner
	guard  *guard
	outage outage

	mu   sync.Mutex
	held map[*held]struct{} // leases that must be renewed

	finished outbox        // what commands came to, for the settler
	wake     chan struct{} // something ended: the dispatcher looks again
	renewNow chan struct{} // leases may be over already: the keeper must not wait for its time
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

// Run works until it is told to end, by ctx or by its options. It returns in order: every lease that
// it held has ended, or was lost, or could not be told to the database within the grace time.
func Run(ctx context.Context, q *queue.Client, opt Options) (Summary, error) {
	_ = q.PrepareDirect(ctx) // before the other connections take after this one; a database that is away is waited for below
	again := q.Sibling()
	defer again.Close()
	w := &Worker{opt: opt, store: &store{q: q}, renews: &store{q: again}, spawn: newSpawner(), held: map[*held]struct{}{},
		finished: outbox{filled: make(chan struct{}, 1)}, wake: make(chan struct{}, 1), renewNow: make(chan struct{}, 1),
		halt: make(chan struct{}), giveUp: make(chan struct{})}
	w.ends = w.store
	if opt.lined() {
		own := q.Sibling()
		defer own.Close()
		w.ends = &store{q: own}
	}
	w.outage.warn = opt.Warn
	if len(opt.Guard) > 0 {
		var err error
		if w.guard, err = newGuard(opt.Guard); err != nil {
			opt.Warn("what commands have started will outlive a worker that is killed: " + err.Error())
		}
		defer w.guard.close()
	}
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
	w.finished.close()
	select {
	case <-settled:
	case <-ctx.Done(): // told to end: a database that is away is waited for no longer than for a command
		last := time.AfterFunc(max(opt.Grace, answer), func() { close(w.giveUp) })
		defer last.Stop()
		<-settled
	}
	stop()
	tasks.Wait()
	if b := w.broken.Load(); b != nil {
		return w.sum, b
	}
	return w.sum, err
}

// store is one connection, for one statement at a time.
type store struct {
	mu sync.Mutex
	q  *queue.Client
}

func (s *store) do(f func(*queue.Client) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.q)
}

// outage remembers that the database is away, so that it is told once and everybody goes on as soon
// as anybody has had an answer.
type outage struct {
	warn func(string)

	mu   sync.Mutex
	back chan struct{} // not nil while the database is away; closed when it answers again
}

// began notes that the database did not answer.
func (o *outage) began(err error) {
	o.mu.Lock()
	first := o.back == nil
	if first {
		o.back = make(chan struct{})
	}
	o.mu.Unlock()
	if first { // it may take a while to be read
		o.warn("the database is away, trying again: " + err.Error())
	}
}

// over notes that it did.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.back != nil {
		close(o.back)
		o.back = nil
	}
}

// wait returns what is closed at the end of the outage; nil, which never is, when there is none.
func (o *outage) wait() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.back
}

// temporary says whether a statement that failed so may succeed later.
func temporary(err error) bool {
	switch todo.CodeOf(err) {
	case todo.CodeUnavailable, todo.CodeUnknown, todo.CodeTimeout:
		return true
	}
	return false
}

// nudge makes the dispatcher look again.
func (w *Worker) nudge() { ring(w.wake) }

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}
