package queue

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Of a filter that has no index a statement reads so many rows before it says how far it got: at first few, since often
// enough most of them match, then more, so that a long walk takes few network turns.
const (
	firstLook = 2 * pageSize
	lastLook  = 50 * pageSize
)

// walk is a list on its way through an index in id order, or through a bounded list of ids.
type walk struct {
	f           Filter
	p           Page
	ids         []string // that are left, where listed
	listed      bool
	after       string
	last        string // where it ends at the latest; "" where nothing says so
	left        int    // of p.Limit
	look        int    // how many rows the next statement reads at most
	read        int    // rows, as far as the scan limit counts them
	over, short bool
}

// begin finds out whether the ids that can match are few.
func (c *Client) begin(ctx context.Context, w *walk) (err error) {
	w.look = pageSize
	if w.left > 0 {
		w.look = min(w.left, pageSize)
	}
	w.ids, err = c.few(ctx, w.f, w.p)
	w.listed = w.ids != nil
	begun, found := slices.BinarySearch(w.ids, w.after)
	if found {
		begun++
	}
	w.ids = w.ids[begun:]
	w.over = w.listed && len(w.ids) == 0
	if !w.listed && w.p.Bounded {
		w.created()
	}
	return err
}

// idSkew is how far the clock of who made an id may be from the server's.
const idSkew = 24 * time.Hour

// created leaves out the ids that were made long before or after the time in which todos of the filter were created: in ten million
// rows those of the last hour are beyond any scan limit.
func (w *walk) created() {
	if at, ok := w.f.CreatedSince.time(); ok {
		w.after = max(w.after, idFrom(at.Add(-idSkew)))
	}
	if at, ok := w.f.CreatedUntil.time(); ok {
		w.last = idFrom(at.Add(idSkew))
	}
}

// page reads on: the next rows of an index, or some of the ids where these are few.
func (c *Client) page(ctx context.Context, w *walk, scanned *Scanned) ([]todo.Todo, error) {
	size := pageSize
	if w.left > 0 {
		size = min(size, w.left)
	}
	look, limited := w.look, w.limited()
	if limited {
		look = min(look, w.limit()-w.read)
	}
	var part []string
	if w.listed {
		look = min(look, len(w.ids))
		part = w.ids[:look]
	}
	args := w.f.walkArgs(w.after, size, look, part, w.p.Bodies)
	var rows []todo.Todo
	looked := int64(0)
	err := c.run(ctx, reads, func() []step {
		rows, looked = nil, 0
		return []step{{name: "list", args: args, row: func(row pgx.CollectableRow) error {
			t, x, err := scan(row)
			if err != nil {
				return err
			}
			w.after, scanned.Now, looked = t.ID, x.now, *x.looked
			if *x.matched {
				rows = append(rows, t)
			}
			return nil
		}}}
	})
	if err != nil {
		return nil, err
	}
	w.moved(len(rows), size, look, int(looked))
	return rows, nil
}

// moved counts what a page found, of at most size, and how many rows it looked at, of at most look.
func (w *walk) moved(found, size, look, looked int) {
	full := found == size // there the statement stopped
	if w.listed {
		done := look
		if full {
			for done = 0; done < look && w.ids[done] <= w.after; done++ {
			}
		}
		w.ids, looked = w.ids[done:], done
	}
	switch {
	case w.p.Limit > 0 && found >= w.left:
		w.over = true
	case w.listed:
		w.over = len(w.ids) == 0
	default:
		w.over = !full && looked < look || w.last != "" && w.after > w.last
	}
	w.left = max(w.left-found, 0)
	w.count(looked, found, !w.over)
	if !full {
		w.look = min(max(4*w.look, firstLook), lastLook)
	}
}

// count counts rows that were looked at, and those of them that match, and ends a list at the scan limit where there is more.
func (w *walk) count(looked, found int, more bool) {
	switch {
	case !w.f.indexed():
		w.read += looked
	case found > 0 && w.f.plain():
		w.read = 0 // such rows lie all over the table: a stretch without any is what must end
	default:
		w.read += looked - found // the rest is the answer
	}
	if more && w.limited() && w.read >= w.limit() {
		w.over, w.short = true, true
	}
}

// plain says whether a filter names nothing but queues and states.
func (f Filter) plain() bool {
	return f.indexed() && f.MinAttempt == nil && f.Since == Moment{} && f.Until == Moment{} && f.CreatedSince == Moment{} && f.CreatedUntil == Moment{} &&
		len(f.Kinds)+len(f.Sources)+len(f.Owners)+len(f.Assignees)+len(f.Keys)+len(f.Fingerprints) == 0
}

// limited says whether the scan limit holds for this list.
func (w *walk) limited() bool { return !w.f.indexed() || w.p.Bounded }

func (w *walk) limit() int {
	if w.f.ScanLimit == 0 {
		return DefaultScanLimit
	}
	return w.f.ScanLimit
}

// walkArgs are the arguments of a page. Dead letters alone have an index in id order, and so have those of one queue and of one
// fingerprint; ids that are named are looked up by the primary key.
func (f Filter) walkArgs(after string, size, look int, ids []string, bodies bool) pgx.StrictNamedArgs {
	args := f.args(after, size, bodies)
	args["look"], args["ids"], args["dead_queue"], args["dead_fingerprint"] = look, ids, nil, nil
	if ids != nil {
		args["dead"] = false
	}
	switch dead := args["dead"] == true; {
	case dead && len(f.Fingerprints) == 1:
		args["dead_fingerprint"] = f.Fingerprints[0]
	case dead && len(f.Queues) == 1:
		args["dead_queue"] = f.Queues[0]
	}
	args["dead_id"] = args["dead"] == true && args["dead_fingerprint"] == nil && args["dead_queue"] == nil
	return args
}
