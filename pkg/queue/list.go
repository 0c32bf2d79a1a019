package queue

import (
	"context"
	"iter"
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

// time returns the point in time, by this machine's clock where it is so long ago; false where there is none.
func (m Moment) time() (time.Time, bool) {
	switch {
	case m.At != nil:
		return *m.At, true
	case m.Back != nil:
		return time.Now().Add(-*m.Back), true
	}
	return time.Time{}, false
}

// DefaultScanLimit bounds what filters without an index read.
const DefaultScanLimit = 1_000_000

// Page says which part of a list is wanted.
type Page struct {
	After   string // id after which the list goes on; "" from the start
	Limit   int    // at most so many; 0 is all
	Bodies  bool   // with payload and result
	Line    bool   // of a page with a limit: over a thousand live todos in the order in which they are due, of many done or dead ones since or until a time in that in which they ended
	Bounded bool   // the scan limit holds for whatever has no index, not for error and payload alone; and when todos were created is looked for among ids that were made within a day of it
}

// pageSize is how many rows one statement reads: enough to be quick, small enough to hold no snapshot for long.
const pageSize = 1000

// Scanned tells the reader of a list how far it got.
type Scanned struct {
	Now   time.Time // the server's clock at the last statement
	Short bool      // the scan limit ended the list early
}

// List yields the todos that match, in id order, page by page: each statement reads on after the
// last id, so a list of any length holds no snapshot, and of memory a bounded list of ids.
func (c *Client) List(ctx context.Context, f Filter, p Page, scanned *Scanned) iter.Seq2[todo.Todo, error] {
	return func(yield func(todo.Todo, error) bool) {
		err := c.readable(ctx, f)
		l := line{walk: walk{f: f, p: p, after: p.After, left: p.Limit}}
		w := &l.walk
		inLine := false
		if err == nil {
			inLine, err = c.inLine(ctx, f, p)
		}
		if err == nil && !inLine {
			err = c.begin(ctx, w)
			l.ended = !w.listed && f.endedIn(p)
			inLine = l.ended || !w.listed && f.dueIn(p)
		}
		if err == nil && inLine {
			err = c.lineUp(ctx, &l, scanned, yield)
			w.over = true
		}
		for err == nil && !w.over {
			var rows []todo.Todo
			if rows, err = c.page(ctx, w, scanned); err != nil {
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
