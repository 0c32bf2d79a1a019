package queue

import (
	"context"
	"slices"
	"sync"

	"github.com/todoctl/todoctl/pkg/todo"
)

// coalesced is how many calls become one statement at most. Beyond some hundreds a batch is no cheaper
// for each todo, and everybody in it waits longer.
const coalesced = 500

// Coalescer lets many goroutines claim and complete todos one at a time at the cost of batches: calls
// that come while a statement is under way wait for each other, and are one statement next. There is no
// timer: a call that finds a connection idle is sent at once. It is safe for concurrent use.
type Coalescer struct {
	mu      sync.Mutex
	waiting *sync.Cond // for calls, or for the end
	claims  []*call[ClaimParams, todo.Todo]
	settles []*call[Completion, Result]
	closed  bool
	running sync.WaitGroup
}

// call is one caller who waits for his part of a batch.
type call[P, R any] struct {
	param  P
	answer chan answer[R] // holds one
	left   bool           // the caller waits no more; guarded by the Coalescer's mutex
}

type answer[R any] struct {
	value R
	err   error
}

// NewCoalescer opens so many connections. Two keep a server busy: one carries out what the other gathers.
func NewCoalescer(ctx context.Context, opt Options, connections int) (*Coalescer, error) {
	clients := make([]*Client, 0, connections)
	for range connections {
		c, err := Open(ctx, opt)
		if err != nil {
			for _, c := range clients {
				c.Close()
			}
			return nil, err
		}
		clients = append(clients, c)
	}
	b := &Coalescer{}
	b.waiting = sync.NewCond(&b.mu)
	for _, c := range clients {
		b.running.Go(func() {
			defer c.Close()
			b.work(context.WithoutCancel(ctx), c) // a batch is of many callers: none of them ends it
		})
	}
	return b, nil
}

// Close lets what is under way come to its end, and refuses what comes after.
func (b *Coalescer) Close() {
	b.mu.Lock()
	b.closed = true
	b.waiting.Broadcast()
	b.mu.Unlock()
	b.running.Wait()
}

// Claim takes the next todo, as Client.Claim does; Limit is not looked at. Calls with the same queues,
// owner, ttl and order share a statement. A caller whose context ends gets that error, and a todo that was claimed
// for him nevertheless is given back.
func (b *Coalescer) Claim(ctx context.Context, p ClaimParams) (todo.Todo, error) {
	return submit(ctx, b, &b.claims, p)
}

// Complete acknowledges one todo by its receipt, as Client.CompleteEach does. Where the context ends
// first the outcome is unknown; repeating it is safe.
func (b *Coalescer) Complete(ctx context.Context, one Completion) (Result, error) {
	if one.Receipt.Seq == 0 {
		return Result{}, todo.Errorf(todo.CodeUsage, "complete %s: a receipt is needed, not an id", one.Receipt.ID)
	}
	return submit(ctx, b, &b.settles, one)
}

// submit puts a call into a list and waits for its answer.
func submit[P, R any](ctx context.Context, b *Coalescer, list *[]*call[P, R], param P) (zero R, err error) {
	c := &call[P, R]{param: param, answer: make(chan answer[R], 1)}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return zero, todo.Errorf(todo.CodeInternal, "closed")
	}
	*list = append(*list, c)
	b.waiting.Signal()
	b.mu.Unlock()
	select {
	case a := <-c.answer:
		return a.value, a.err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case a := <-c.answer: // it came just now, and must not get lost
		return a.value, a.err
	default:
	}
	c.left = true
	*list = slices.DeleteFunc(*list, func(other *call[P, R]) bool { return other == c })
	return zero, &todo.Error{Code: todo.CodeTimeout, Message: "no answer in time; the outcome is unknown", Err: context.Cause(ctx)}
}

// give answers a call, and is false where nobody waits for it any more.
func give[P, R any](b *Coalescer, c *call[P, R], value R, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.left {
		return false
	}
	c.answer <- answer[R]{value, err}
	return true
}

// work carries out one batch after the other until the end. The longer list is the one that pays more.
func (b *Coalescer) work(ctx context.Context, c *Client) {
	for {
		b.mu.Lock()
		for len(b.claims)+len(b.settles) == 0 && !b.closed {
			b.waiting.Wait()
		}
		if len(b.claims)+len(b.settles) == 0 {
			b.mu.Unlock()
			return
		}
		if len(b.settles) >= len(b.claims) {
			batch := b.takeSettles()
			b.mu.Unlock()
			b.settle(ctx, c, batch)
		} else {
			batch := b.takeClaims()
			b.mu.Unlock()
			b.claim(ctx, c, batch)
		}
	}
}

// takeClaims takes the calls that ask for the same as the first.
func (b *Coalescer) takeClaims() (batch []*call[ClaimParams, todo.Todo]) {
	first := b.claims[0].param
	b.claims = slices.DeleteFunc(b.claims, func(c *call[ClaimParams, todo.Todo]) bool {
		p := c.param
		if len(batch) == coalesced || p.Owner != first.Owner || p.TTL != first.TTL || p.Strict != first.Strict || p.Again != first.Again ||
			!slices.Equal(p.Queues, first.Queues) {
			return false
		}
		batch = append(batch, c)
		return true
	})
	return batch
}

// takeSettles takes each todo once: two rows for one would be two updates of one row.
func (b *Coalescer) takeSettles() (batch []*call[Completion, Result]) {
	seen := map[string]bool{}
	b.settles = slices.DeleteFunc(b.settles, func(c *call[Completion, Result]) bool {
		id := c.param.Receipt.ID
		if len(batch) == coalesced || seen[id] {
			return false
		}
		seen[id] = true
		batch = append(batch, c)
		return true
	})
	return batch
}

func (b *Coalescer) claim(ctx context.Context, c *Client, batch []*call[ClaimParams, todo.Todo]) {
	p := batch[0].param
	p.Limit = len(batch)
	got, err := c.Claim(ctx, p)
	var unwanted []todo.Todo
	for _, t := range got {
		for given := false; !given; {
			if len(batch) == 0 {
				unwanted = append(unwanted, t)
				break
			}
			given = give(b, batch[0], t, nil)
			batch = batch[1:]
		}
	}
	if len(unwanted) > 0 {
		// Should it fail, they come back when their leases end, as after a crash.
		_ = c.Unclaim(ctx, unwanted, "the caller waits no more")
	}
	if err == nil && len(batch) > 0 {
		err = c.whyEmpty(ctx, p)
	}
	for _, rest := range batch {
		give(b, rest, todo.Todo{}, err)
	}
}

func (b *Coalescer) settle(ctx context.Context, c *Client, batch []*call[Completion, Result]) {
	list := make([]Completion, len(batch))
	for i, one := range batch {
		list[i] = one.param
	}
	results, err := c.CompleteEach(ctx, list)
	for i, one := range batch {
		var r Result
		if err == nil {
			r = results[i]
		}
		give(b, one, r, err)
	}
}
