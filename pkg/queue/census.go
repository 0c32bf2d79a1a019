package queue

import (
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// census is what the statements that count queues have read.
type census struct {
	only   []string
	queues map[string]*counted
	known  sizes
}

// counted is one queue: what was counted, and what seems to lie beyond.
type counted struct {
	Counts
	found    bool // something names it, a todo or an enqueue
	read     int64
	beyond   []beyond // of live todos
	moreDead *float64
}

// beyond is the rest of a part of a queue that was not counted to its end.
type beyond struct {
	to     *int64
	weight float64
}

// sizes is what the server's statistics say of the table.
type sizes struct{ every, live, dead int64 }

func (x *census) reset() {
	x.queues, x.known = map[string]*counted{}, sizes{}
}

func (x *census) queue(name string) *counted {
	q := x.queues[name]
	if q == nil {
		q = &counted{Counts: Counts{Queue: name}}
		x.queues[name] = q
	}
	return q
}

func (x *census) steps(least int) []step {
	args := pgx.StrictNamedArgs{"queues": orNull(x.only), "least": least}
	return []step{
		{name: "queues", args: args, row: func(row pgx.CollectableRow) error {
			var name string
			var q Counts
			var named, more bool
			var ends []*string
			if err := row.Scan(&name, &named, &q.Paused, &q.PausedUntil, &q.PausedBy, &q.Reason, &q.Dead, &more, &ends); err != nil {
				return err
			}
			q.Queue = name
			to := x.queue(name)
			to.found, to.Counts = named || q.Dead > 0, q
			if more {
				to.DeadEstimated, to.moreDead = true, new(apart(ends, q.Dead))
			}
			return nil
		}},
		{name: "queues_live", args: args, row: x.part},
		{name: "queues_sizes", row: func(row pgx.CollectableRow) error {
			return row.Scan(&x.known.every, &x.known.live, &x.known.dead)
		}},
	}
}

// part adds one side of a queue, due or later, of one assignee or of none.
func (x *census) part(row pgx.CollectableRow) error {
	var name, mostly string
	var due, more bool
	var n, pending, claimed, failed int64
	var oldest, lapsed, span, ends *float64
	if err := row.Scan(&name, &due, &n, &more, &pending, &claimed, &failed, &mostly, &oldest, &lapsed, &span, &ends); err != nil {
		return err
	}
	q := x.queue(name)
	q.found, q.read = true, q.read+n
	to := map[string]*int64{string(todo.Pending): &q.Delayed, string(todo.Claimed): &q.Claimed, string(todo.Failed): &q.Retrying}
	if due {
		to[string(todo.Pending)], to[string(todo.Claimed)] = &q.Pending, &q.Expired
		q.OldestSeconds, q.OldestExpiredSeconds = older(q.OldestSeconds, oldest), older(q.OldestExpiredSeconds, lapsed)
	}
	*to[string(todo.Pending)] += pending
	*to[string(todo.Claimed)] += claimed
	*to[string(todo.Failed)] += failed
	if rest := n - pending - claimed - failed; rest > 0 {
		*to[mostly] += rest
		q.LiveEstimated = true
	}
	if more {
		q.LiveEstimated = true
		weight := float64(n)
		if span != nil && ends != nil && *ends > 0 {
			weight = max(float64(n+sample(n))**span / *ends - float64(n), 1)
		}
		q.beyond = append(q.beyond, beyond{to[mostly], weight})
	}
	return nil
}

// sample is how many are read from the other end of what is beyond the first n.
func sample(n int64) int64 { return n/4 + 1 }

// between guesses how many lie between the first n and the last n, from the span of all and that of both ends.
func between(n int64, span, ends *float64) float64 {
	if span == nil || ends == nil || *ends <= 0 {
		return 0.5 // nobody knows: nothing, or where the statistics say that something is left, what no other queue seems to have
	}
	return max(2*float64(n)**span / *ends - 2*float64(n), 1) + float64(n)
}

// older is the greater of two ages, either of which may be unknown.
func older(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// apart guesses how many ids lie beyond the first n, from how densely these and the last ones lie: ids are numbers that grow with time.
func apart(ends []*string, n int64) float64 {
	var at [4]*big.Float
	for i, id := range ends {
		if id == nil {
			return float64(n)
		}
		v, ok := new(big.Int).SetString(strings.ReplaceAll(strings.TrimPrefix(*id, "td_"), "-", ""), 16)
		if !ok {
			return float64(n)
		}
		at[i] = new(big.Float).SetInt(v)
	}
	less := func(a, b *big.Float) *big.Float { return new(big.Float).Sub(a, b) }
	dense := new(big.Float).Add(less(at[1], at[0]), less(at[3], at[2]))
	if dense.Sign() <= 0 {
		return float64(n)
	}
	times, _ := new(big.Float).Quo(less(at[3], at[0]), dense).Float64()
	return max(float64(n+sample(n))*times-float64(n), 1)
}

// counts estimates what was not counted, and returns the queues that there are in order of their names. Of all together the
// statistics say how many there are; what is left of it goes to the queues that go on, by what seems to lie beyond.
func (x *census) counts() []Counts {
	live, dead := float64(x.known.live), float64(x.known.dead)
	moreLive, moreDead := 0.0, 0.0
	for _, q := range x.queues {
		live, dead = live-float64(q.read), dead-float64(q.Dead)
		for _, b := range q.beyond {
			moreLive += b.weight
		}
		if q.moreDead != nil {
			moreDead += *q.moreDead
		}
	}
	list := []Counts{}
	for _, q := range x.queues {
		for _, b := range q.beyond {
			*b.to += int64(b.weight * x.scale(live, moreLive))
		}
		if q.moreDead != nil {
			q.Dead += int64(*q.moreDead * x.scale(dead, moreDead))
		}
		if q.found {
			list = append(list, q.Counts)
		}
	}
	slices.SortFunc(list, func(a, b Counts) int { return strings.Compare(a.Queue, b.Queue) })
	return list
}

// scale is by how much guesses are off that should make up what is left.
func (x *census) scale(left, guessed float64) float64 {
	if len(x.only) > 0 || left <= 0 || guessed == 0 {
		return 1 // what the other queues have is not known, or the statistics are old
	}
	return left / guessed
}
