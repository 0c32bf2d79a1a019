package queue

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// few is up to how many ids a list is read id by id.
const few = 10_000

// few returns the ids that can match, in order, or nil where they are many or no index finds them. Those before the page are among
// them: how many there are decides on the order of all pages.
func (c *Client) few(ctx context.Context, f Filter, p Page) ([]string, error) {
	name, args := f.lead()
	if args == nil {
		return nil, nil
	}
	if f.endedIn(p) { // what is more than this is read in another order
		args["page"] = pageSize + 1
	}
	var ids []string
	if err := c.run(ctx, reads, func() []step { return []step{fewStep(name, args, &ids)} }); err != nil {
		return nil, err
	}
	return inOrder(ids, args), nil
}

// fewStep lists ids into *ids, at most as many as the arguments say, which is one more than few.
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
func inOrder(ids []string, args pgx.StrictNamedArgs) []string {
	if len(ids) == args["page"] {
		return nil
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lead returns the statement that lists the ids which a filter can match by the index that says most, and its arguments; nil where no
// index does, or where one has what matches in the order of ids.
func (f Filter) lead() (string, pgx.StrictNamedArgs) {
	live, dead, done, states := f.reach()
	args := pgx.StrictNamedArgs{"page": few + 1}
	add := func(name string, value any) { args[name] = value }
	onlyDead := dead && !done && !live
	switch {
	case len(f.Keys) > 0:
		add("keys", f.Keys)
		add("queues", orNull(f.Queues))
		add("live", live)
		add("ended", dead || done)
		return "list_keys", args
	case onlyDead && len(f.Fingerprints) == 1:
		return "", nil
	case len(f.Fingerprints) > 0, slices.Equal(f.Conditions, []todo.Condition{todo.IsRetrying}):
		add("fingerprints", orNull(f.Fingerprints))
		add("states", states)
		add("dead", dead)
		return "list_failures", args
	case !live && f.Since != Moment{}:
		add("queues", orNull(f.Queues))
		add("done", done)
		add("dead", dead)
		add("since", f.Since.At)
		add("since_back", f.Since.Back)
		return "list_ended", args
	case done, onlyDead && len(f.Queues) < 2:
		return "", nil
	}
	add("live", live)
	add("dead", dead)
	add("states", states)
	add("queues", orNull(f.Queues))
	add("owners", orNull(f.Owners))
	add("assignees", orNull(f.Assignees))
	return "list_few", args
}

// reach says which todos a filter's conditions can be met by, and lists the states of those that are not dead.
func (f Filter) reach() (live, dead, done bool, states []string) {
	conditions := f.Conditions
	if len(conditions) == 0 {
		conditions = []todo.Condition{todo.IsPending, todo.IsClaimed, todo.IsRetrying, todo.IsDone, todo.IsDead}
	}
	states = []string{}
	for _, s := range conditions {
		switch s {
		case todo.IsDead:
			dead = true
			continue
		case todo.IsDone:
			done = true
			states = append(states, string(todo.Done))
			continue
		case todo.IsPending, todo.IsDelayed:
			states = append(states, string(todo.Pending))
		case todo.IsClaimed, todo.IsExpired:
			states = append(states, string(todo.Claimed))
		case todo.IsRetrying:
			states = append(states, string(todo.Failed))
		}
		live = true
	}
	return live, dead, done, states
}
