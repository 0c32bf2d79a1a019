package queue

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Entry is a row of the journal: what an operator did, in one go or in parts.
type Entry struct {
	Op        string          `json:"op"` // op_<uuidv7>
	Verb      string          `json:"verb"`
	Who       string          `json:"who"`  // as the operator's settings name them
	Role      string          `json:"role"` // of the database, as the server knows it
	Host      string          `json:"host"`
	At        todo.Time       `json:"at"`
	EndedAt   todo.Time       `json:"ended_at"` // of the last part so far
	Filter    json.RawMessage `json:"filter"`   // by the names of the flags; null where ids or queues were named
	Options   json.RawMessage `json:"options"`
	Reason    *string         `json:"reason"`
	Matched   int64           `json:"matched"`
	Changed   int64           `json:"changed"`
	Queues    []string        `json:"queues"` // of the todos that it changed
	Undoes    *string         `json:"undoes"`
	UndoneBy  *string         `json:"undone_by"`  // the newest undo that put something of it back
	KeptUntil todo.Time       `json:"kept_until"` // its before-images are; null where there are none, or none any more
}

// JournalFilter selects entries; what is empty selects nothing out.
type JournalFilter struct {
	Ops, Verbs, Who []string
	Queues          []string
	Touched         []string // ids of todos
	Since, Until    Moment
}

// Journal yields the entries that match, the newest first, after the one named after where it is not "".
func (c *Client) Journal(ctx context.Context, f JournalFilter, after string, limit int) ([]Entry, time.Time, error) {
	var list []Entry
	var now time.Time
	args := pgx.StrictNamedArgs{"ops": orNull(f.Ops), "verbs": orNull(f.Verbs), "who": orNull(f.Who), "queues": orNull(f.Queues), "touched": orNull(f.Touched), "after": nil,
		"since": f.Since.At, "since_back": f.Since.Back, "until": f.Until.At, "until_back": f.Until.Back, "page": limit}
	if after != "" {
		args["after"] = after
	}
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "journal", args: args, row: func(row pgx.CollectableRow) error {
			var e Entry
			var filter *string
			var options string
			err := row.Scan(&e.Op, &e.Verb, &e.Who, &e.Role, &e.Host, &e.At, &e.EndedAt, &filter, &options, &e.Reason, &e.Matched, &e.Changed,
				&e.Queues, &e.Undoes, &e.UndoneBy, &e.KeptUntil, &now)
			if filter != nil {
				e.Filter = json.RawMessage(*filter)
			}
			e.Options = json.RawMessage(options)
			list = append(list, e)
			return err
		}}}
	})
	return list, now, err
}

// Entry reads one entry of the journal.
func (c *Client) Entry(ctx context.Context, op string) (Entry, time.Time, error) {
	list, now, err := c.Journal(ctx, JournalFilter{Ops: []string{op}}, "", 1)
	if err == nil && len(list) == 0 {
		err = todo.Errorf(todo.CodeNotFound, "no %s in the journal", op).WithHint("todoctl journal lists what operators did")
	}
	if err != nil {
		return Entry{}, now, err
	}
	return list[0], now, nil
}

// Touched is a todo, or a queue, that a verb changed.
type Touched struct {
	ID       string  `json:"id"`
	UndoneBy *string `json:"undone_by"`
}

// Touched lists what a verb changed in the order of the ids, at most limit, after the given one; it is empty for what keeps
// no before-images, and once they are dropped.
func (c *Client) Touched(ctx context.Context, op, after string, limit int) ([]Touched, error) {
	var list []Touched
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "journal_rows", args: pgx.StrictNamedArgs{"op": op, "after": after, "page": limit},
			row: func(row pgx.CollectableRow) error {
				var t Touched
				err := row.Scan(&t.ID, &t.UndoneBy)
				list = append(list, t)
				return err
			}}}
	})
	return list, err
}

// op is an operator's verb while it runs, and what the journal says of it.
type op struct {
	id, verb string
	filter   *string // JSON
	options  string  // JSON
	reason   *string
	undoes   *string
}

// newOp gives a verb its id. filter is nil where ids or queues were named.
func newOp(verb string, filter, options map[string]any, reason *string) (*op, error) {
	id, err := NewID("op_")
	if err != nil {
		return nil, err
	}
	o := &op{id: id, verb: verb}
	if reason != nil {
		o.reason = new(todo.CleanError(*reason))
	}
	if filter != nil {
		text, err := json.Marshal(filter)
		if err != nil {
			return nil, err
		}
		o.filter = new(string(text))
	}
	if options == nil {
		options = map[string]any{}
	}
	text, err := json.Marshal(options)
	o.options = string(text)
	return o, err
}

// entry is the step that writes the op into the journal, or extends it by what this transaction changed.
// changed nil is to be counted, and the queues are to be found; that makes a second try of the same transaction harmless.
func (c *Client) entry(o *op, matched, changed *int, queues ...string) step {
	var who *string
	if c.opt.Who != "" {
		who = &c.opt.Who
	}
	keep := &c.opt.BeforeImages
	if o.verb == "prune" || o.verb == "import" {
		keep = nil
	}
	return step{name: "journal_entry", args: pgx.StrictNamedArgs{"op": o.id, "verb": o.verb, "who": who, "host": c.opt.Host,
		"filter": o.filter, "options": o.options, "reason": o.reason, "queues": queues, "undoes": o.undoes, "matched": matched, "changed": changed, "keep": keep}}
}

// queuesOf are the queues of some todos.
func queuesOf(list map[string]todo.Todo) []string {
	all := map[string]bool{}
	for _, t := range list {
		all[t.Queue] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// dropPage bounds how many before-images are dropped in one transaction.
const dropPage = 10_000

// dropImages drops before-images whose time is over, in at most so many transactions. It is done by the verbs that write
// new ones, in a transaction of its own: what they did stands whether it succeeds or not, so it reports nothing.
func (c *Client) dropImages(ctx context.Context, transactions int) {
	for range transactions {
		dropped, verbs := 0, 0
		err := c.run(ctx, repeats, func() []step {
			return []step{{name: "journal_drop", args: pgx.StrictNamedArgs{"page": dropPage}, row: func(row pgx.CollectableRow) error {
				return row.Scan(&dropped, &verbs)
			}}}
		})
		if err != nil || verbs == 0 {
			return
		}
	}
}

// journal is a filter by the names of its flags, for the journal and for plans.
func (f Filter) journal() map[string]any {
	m := map[string]any{}
	for name, list := range map[string][]string{"queue": f.Queues, "kind": f.Kinds, "source": f.Sources, "held_by": f.Owners,
		"assignee": f.Assignees, "key": f.Keys, "fingerprint": f.Fingerprints} {
		if len(list) > 0 {
			m[name] = list
		}
	}
	if len(f.Conditions) > 0 {
		m["state"] = f.Conditions
	}
	for name, moment := range map[string]Moment{"since": f.Since, "until": f.Until, "created_since": f.CreatedSince, "created_until": f.CreatedUntil} {
		switch {
		case moment.At != nil:
			m[name] = moment.At.UTC().Format(time.RFC3339Nano)
		case moment.Back != nil:
			m[name] = moment.Back.String()
		}
	}
	if f.MinAttempt != nil {
		m["min_attempt"] = *f.MinAttempt
	}
	if f.Error != nil {
		m["error"] = *f.Error
	}
	if f.Payload != nil {
		m["payload"] = *f.Payload
	}
	return m
}
