package queue

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Filter selects todos; what is empty selects nothing out. The lists are alternatives, the members
// are all required.
type Filter struct {
	Queues       []string
	Conditions   []todo.Condition // empty: every condition
	Kinds        []string
	Sources      []string
	Owners       []string // of leases that are held now
	Assignees    []string
	Keys         []string
	Fingerprints []string
	MinAttempt   *int
	Error        *string // POSIX regular expression over the error text; has no index
	Payload      *string // JSON that the payload contains; has no index
	Since, Until Moment  // when the todo entered its condition
	CreatedSince Moment
	CreatedUntil Moment
	ScanLimit    int // rows to read at most for the filters without an index; 0 is DefaultScanLimit
}

// Moment is a point in time: absolute, or so long before the server's now. Empty is none.
type Moment struct {
	At   *time.Time
	Back *time.Duration
}

// DefaultScanLimit bounds what filters without an index read.
const DefaultScanLimit = 1_000_000

// Page says which part of a list is wanted.
type Page struct {
	After   string // id after which the list goes on; "" from the start
	Limit   int    // at most so many; 0 is all
	Bodies  bool   // with payload and result
	Line    bool   // of over a thousand live todos alone: in the order in which they are due rather than that of their ids; of a page with a limit
	Bounded bool   // the scan limit holds for whatever has no index, not for error and payload alone
}

// pageSize is how many rows one statement reads: enough to be quick, small enough to hold no snapshot for long.
const pageSize = 1000

// Scanned tells the reader of a list how far it got.
type Scanned struct {
	Now   time.Time // the server's clock at the last statement
	Short bool      // the scan limit ended the list early
}

// few is up to how many ids a list is read id by id.
const few = 10_000

// List yields the todos that match, in id order, page by page: each statement reads on after the
// last id, so a list of any length holds no snapshot, and of memory a bounded list of ids.
func (c *Client) List(ctx context.Context, f Filter, p Page, scanned *Scanned) iter.Seq2[todo.Todo, error] {
	return func(yield func(todo.Todo, error) bool) {
		err := c.readable(ctx, f)
		w := walk{f: f, p: p, after: p.After, left: p.Limit}
		inLine := false
		if err == nil {
			inLine, err = c.inLine(ctx, f, p)
		}
		switch {
		case err != nil:
		case inLine:
			l := line{walk: w}
			err = c.lineUp(ctx, &l, scanned, yield)
			w.over, w.short = true, l.short
		default:
			err = c.begin(ctx, &w)
		}
		for err == nil && !w.over {
			var rows []todo.Todo
			if rows, err = c.page(ctx, &w, scanned); err != nil {
				break
			}
			for _, t := range rows {
				if !yield(t, nil) {
					return
				}
			}
		}
		scanned.Short = w.short
		if err != nil {
			yield(todo.Todo{}, err)
		}
	}
}

// few returns the ids that can match, in order, or nil where they are many or no index finds them.
func (c *Client) few(ctx context.Context, f Filter, after string) ([]string, error) {
	name, args := "list_few", f.fewArgs(after)
	if args != nil && args["dead"] == false && len(f.Keys) > 0 {
		name, args = "list_keys", pgx.StrictNamedArgs{"queues": orNull(f.Queues), "keys": f.Keys, "after": after, "page": few + 1}
	}
	if args == nil {
		name, args = "list_ended", f.endedArgs(after)
	}
	if args == nil || name == "list_few" && args["dead"] == true && args["live"] == false && len(f.Queues) < 2 {
		return nil, nil
	}
	var ids []string
	if err := c.run(ctx, reads, func() []step { return []step{fewStep(name, args, &ids)} }); err != nil {
		return nil, err
	}
	return inOrder(ids), nil
}

// fewStep lists ids into *ids: at most one more than few.
func fewStep(name string, args pgx.StrictNamedArgs, ids *[]string) step {
	*ids = []string{}
	return step{name: name, args: args, row: func(row pgx.CollectableRow) error {
		var id string
		err := row.Scan(&id)
		*ids = append(*ids, id)
		return err
	}}
}

// inOrder sorts what fewStep listed; nil where these are too many.
func inOrder(ids []string) []string {
	if len(ids) > few {
		return nil
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// fewArgs returns nil for a filter that done todos may match: no index holds them.
func (f Filter) fewArgs(after string) pgx.StrictNamedArgs {
	live, dead := false, false
	states := []string{} // of live todos
	for _, s := range f.Conditions {
		live = live || s != todo.IsDead
		dead = dead || s == todo.IsDead
		switch s {
		case todo.IsPending, todo.IsDelayed:
			states = append(states, string(todo.Pending))
		case todo.IsClaimed, todo.IsExpired:
			states = append(states, string(todo.Claimed))
		case todo.IsRetrying:
			states = append(states, string(todo.Failed))
		}
	}
	if len(f.Conditions) == 0 || slices.Contains(f.Conditions, todo.IsDone) {
		return nil
	}
	return pgx.StrictNamedArgs{"live": live, "dead": dead, "states": states, "after": after, "page": few + 1,
		"queues": orNull(f.Queues), "owners": orNull(f.Owners), "assignees": orNull(f.Assignees), "keys": orNull(f.Keys),
		"fingerprints": orNull(f.Fingerprints)}
}

// endedArgs is for a list of what was done since a time; nil for any other.
func (f Filter) endedArgs(after string) pgx.StrictNamedArgs {
	if !slices.Equal(f.Conditions, []todo.Condition{todo.IsDone}) || f.Since == (Moment{}) {
		return nil
	}
	return pgx.StrictNamedArgs{"after": after, "page": few + 1, "queues": orNull(f.Queues), "since": f.Since.At, "since_back": f.Since.Back}
}

// readable fails where the regular expression of a filter cannot be read.
func (c *Client) readable(ctx context.Context, f Filter) error {
	if f.Error == nil {
		return nil
	}
	return c.run(ctx, reads, func() []step {
		return []step{{name: "list_error", args: pgx.StrictNamedArgs{"error": *f.Error}}}
	})
}

func (f Filter) indexed() bool { return f.Error == nil && f.Payload == nil }

func (f Filter) args(after string, size int, bodies bool) pgx.StrictNamedArgs {
	live, dead := len(f.Conditions) > 0, len(f.Conditions) > 0
	conditions := make([]string, len(f.Conditions))
	for i, s := range f.Conditions {
		conditions[i] = string(s)
		live = live && s != todo.IsDone && s != todo.IsDead
		dead = dead && s == todo.IsDead
	}
	return pgx.StrictNamedArgs{
		"after": after, "page": size, "bodies": bodies, "live": live, "dead": dead,
		"queues": orNull(f.Queues), "conditions": orNull(conditions), "kinds": orNull(f.Kinds), "sources": orNull(f.Sources),
		"owners": orNull(f.Owners), "assignees": orNull(f.Assignees), "keys": orNull(f.Keys), "fingerprints": orNull(f.Fingerprints),
		"min_attempt": f.MinAttempt, "error": f.Error, "payload": f.Payload,
		"since": f.Since.At, "since_back": f.Since.Back, "until": f.Until.At, "until_back": f.Until.Back,
		"created_since": f.CreatedSince.At, "created_since_back": f.CreatedSince.Back,
		"created_until": f.CreatedUntil.At, "created_until_back": f.CreatedUntil.Back,
	}
}

// orNull makes an empty list null: the statements take null for a filter that was not given.
func orNull(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
