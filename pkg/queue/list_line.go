package queue

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/todoctl/todoctl/pkg/todo"
)

// line is a list of live todos on its way through the order in which they are due, or of those that ended through that in which
// they did.
type line struct {
	walk
	ended  bool
	at     pgtype.Timestamptz // the place after which it goes on, and of todos with that place the id
	id     string
	more   bool
	looked int // at rows, for the last page
}

// dueIn says whether a page can be in the order in which todos are due: only live ones have one.
func (f Filter) dueIn(p Page) bool {
	live, dead, done, _ := f.reach()
	return p.Line && p.Limit > 0 && live && !dead && !done
}

// inLine says whether a page is in the order in which todos are due before it is known how many can match: where live ones are not
// too many, or an index leads to them, they are sorted by id like any others.
func (c *Client) inLine(ctx context.Context, f Filter, p Page) (many bool, err error) {
	if name, _ := f.lead(); name != "list_few" || !f.dueIn(p) {
		return false, nil
	}
	err = c.run(ctx, reads, func() []step {
		return []step{{name: "list_many", args: pgx.StrictNamedArgs{"queues": orNull(f.Queues), "page": pageSize + 1},
			row: func(row pgx.CollectableRow) error { return row.Scan(&many) }}}
	})
	return many, err
}

// endedIn says whether a page is in the order in which todos ended.
func (f Filter) endedIn(p Page) bool {
	live, _, _, _ := f.reach()
	name, _ := f.lead()
	return p.Line && p.Limit > 0 && !live && (name == "" || name == "list_ended") && len(f.Fingerprints) == 0 && (f.Since != Moment{} || f.Until != Moment{})
}

// lineUp yields live todos in the order in which they are due, or those that ended. What is leased keeps its place, so that a todo that is claimed
// meanwhile is neither listed twice nor passed over.
func (c *Client) lineUp(ctx context.Context, l *line, scanned *Scanned, yield func(todo.Todo, error) bool) error {
	l.look = pageSize
	if l.left > 0 {
		l.look = min(l.look, l.left)
	}
	l.at, l.id, l.more = beginning(), "", true
	if l.p.After != "" {
		if err := c.place(ctx, l); err != nil {
			return err
		}
	}
	for l.more && !l.over {
		ids, err := c.next(ctx, l)
		if err != nil {
			return err
		}
		looked, found := l.looked, 0
		for len(ids) > 0 {
			size := pageSize
			if l.left > 0 && l.f.plain() {
				size = min(size, l.left)
			}
			size = min(size, len(ids))
			rows, err := c.named(ctx, l, ids[:size], scanned)
			if err != nil {
				return err
			}
			ids, found = ids[size:], found+len(rows)
			for _, t := range rows {
				if !yield(t, nil) {
					return nil
				}
				if l.left--; l.left == 0 {
					return nil
				}
			}
		}
		l.count(looked, min(found, looked), l.more)
	}
	return nil
}

// beginning is the place before every other.
func beginning() pgtype.Timestamptz {
	return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
}

// place finds where the todo stands after which a list goes on.
func (c *Client) place(ctx context.Context, l *line) error {
	found := false
	err := c.run(ctx, reads, func() []step {
		return []step{{name: "list_place", args: pgx.StrictNamedArgs{"id": l.p.After, "ended": l.ended}, row: func(row pgx.CollectableRow) error {
			found, l.id = true, l.p.After
			return row.Scan(&l.at)
		}}}
	})
	if err == nil && !found {
		return notFound(l.p.After)
	}
	return err
}

// next lists ids on, and says whether there is more after them.
func (c *Client) next(ctx context.Context, l *line) ([]string, error) {
	name, args := "list_line", l.f.lineArgs(l.at, l.id, l.look)
	if l.ended {
		name, args = "list_line_ended", l.f.endedArgs(l.at, l.id, l.look)
	}
	var ids []string
	at, after, more, looked := l.at, l.id, false, int64(0)
	err := c.run(ctx, reads, func() []step {
		ids, more, looked = nil, false, 0
		return []step{{name: name, args: args, row: func(row pgx.CollectableRow) error {
			var id string
			var place pgtype.Timestamptz
			var far bool
			if err := row.Scan(&id, &place, &far, &looked); err != nil {
				return err
			}
			if far {
				at, after, more = place, id, true
				return nil
			}
			ids = append(ids, id)
			return nil
		}}}
	})
	l.at, l.id, l.more = at, after, more
	l.looked = int(looked)
	l.look = min(max(2*l.look, 100), pageSize)
	return ids, err
}

// lineArgs are the arguments of a page: what follows a place, so many of each queue and assignee.
func (f Filter) lineArgs(at pgtype.Timestamptz, id string, each int) pgx.StrictNamedArgs {
	has := func(states ...todo.Condition) bool {
		return slices.ContainsFunc(f.Conditions, func(s todo.Condition) bool { return slices.Contains(states, s) })
	}
	args := f.args("", 0, false)
	for _, name := range []string{"after", "page", "bodies", "live", "dead"} {
		delete(args, name)
	}
	args["after_at"], args["after_id"], args["each"] = at, id, each
	args["due"], args["later"] = has(todo.IsPending, todo.IsExpired, todo.IsRetrying), has(todo.IsDelayed, todo.IsClaimed, todo.IsRetrying)
	args["claimed"] = has(todo.IsClaimed)
	return args
}

// endedArgs are the arguments of a page of those that ended.
func (f Filter) endedArgs(at pgtype.Timestamptz, id string, each int) pgx.StrictNamedArgs {
	_, dead, done, _ := f.reach()
	return pgx.StrictNamedArgs{"after_at": at, "after_id": id, "each": each, "queues": orNull(f.Queues), "done": done, "dead": dead,
		"since": f.Since.At, "since_back": f.Since.Back, "until": f.Until.At, "until_back": f.Until.Back}
}

// named reads those of some todos that match, in the order in which they are named.
func (c *Client) named(ctx context.Context, l *line, ids []string, scanned *Scanned) ([]todo.Todo, error) {
	args := l.f.walkArgs("", len(ids), len(ids), slices.Sorted(slices.Values(ids)), l.p.Bodies)
	found := map[string]todo.Todo{}
	err := c.run(ctx, reads, func() []step {
		clear(found)
		return []step{{name: "list", args: args, row: func(row pgx.CollectableRow) error {
			t, x, err := scan(row)
			if scanned.Now = x.now; err == nil && *x.matched {
				found[t.ID] = t
			}
			return err
		}}}
	})
	var rows []todo.Todo
	for _, id := range ids {
		if t, ok := found[id]; ok {
			rows = append(rows, t)
		}
	}
	return rows, err
}
