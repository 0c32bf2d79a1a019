package queue

import "github.com/jackc/pgx/v5"

// notify is the step that wakes waiters at the commit of its pipeline: those who wait for the names,
// and those who wait for something to claim from the queues of the ids.
func notify(names, ids []string) step {
	if names == nil {
		names = []string{}
	}
	if ids == nil {
		ids = []string{}
	}
	return step{name: "notify", args: pgx.StrictNamedArgs{"names": names, "ids": ids}}
}
