package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// To find which of many queues has the oldest head, the server looks at the head of each: a hundred queues cost eight times
// the claim itself. But a head only becomes younger. So a client remembers what it saw, and looks at those alone that were the oldest; what
// it finds there is the oldest of all if it is no younger than the next one was. What comes to lie before a head (released, reaped,
// with a head start, committed late) or is assigned to the caller meanwhile is found when all heads are looked at again.
const (
	headsHeld = time.Second // how long a client goes by what it remembers
	headsMany = 16          // queues; fewer are all looked at
	headsFew  = 8           // that are looked at instead
)

// heads is what a client remembers of the queues of its claims.
type heads struct {
	owner string
	read  time.Time            // when all were looked at, by this machine's clock; zero: they must be
	own   bool                 // todos are assigned to the caller, and come first, whatever the queue
	least map[string]time.Time // how old the head of a queue is at most; one that had nothing to claim is not there
	gave  []string             // these have given something since they were looked at
}

// oldest returns the queues to look at, and how old what is taken there must be. None: at all queues.
func (h *heads) oldest(p ClaimParams) (queues []string, until *time.Time) {
	if h.own || h.owner != p.Owner || time.Since(h.read) >= headsHeld || len(h.least) <= headsFew {
		return nil, nil
	}
	for q := range h.least {
		queues = append(queues, q)
	}
	slices.SortFunc(queues, func(a, b string) int { return cmp.Or(h.least[a].Compare(h.least[b]), cmp.Compare(a, b)) })
	next := h.least[queues[headsFew]]
	return queues[:headsFew], &next
}

// step looks at the heads of queues after a claim, into found.
func (h *heads) step(p ClaimParams, queues []string, found *heads) step {
	return step{name: "claim_heads", args: pgx.StrictNamedArgs{"queues": queues, "owner": p.Owner},
		row: func(row pgx.CollectableRow) error {
			var queue string
			var at *time.Time
			err := row.Scan(&queue, &at, &found.own)
			if at != nil {
				found.least[queue] = *at
			}
			return err
		}}
}

// learn takes over what a claim of all queues has found, or of some.
func (h *heads) learn(p ClaimParams, queues []string, found heads, some bool, claimed []todo.Todo, buried []string) {
	if !some {
		*h = heads{owner: p.Owner, read: time.Now(), own: found.own, least: found.least}
		return
	}
	for _, q := range queues {
		if at, ok := found.least[q]; ok {
			h.least[q] = at
		} else {
			delete(h.least, q)
		}
	}
	h.own, h.gave = h.own || found.own, h.gave[:0]
	if len(claimed)+len(buried) == 0 {
		h.read = time.Time{}
	}
	for i := range claimed {
		if q := claimed[i].Queue; !slices.Contains(h.gave, q) {
			h.gave = append(h.gave, q)
		}
	}
}
