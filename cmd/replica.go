package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
)

// farBehind is how far behind a standby may be before that is a warning and not a note.
const farBehind = time.Minute

// replicaFlag gives --read-replica to the commands that only read.
func (a *App) replicaFlag(root *cobra.Command) {
	for _, path := range [][]string{{"list"}, {"show"}, {"queues"}, {"dead-letters"}, {"dead-letters", "list"}, {"dead-letters", "groups"},
		{"why"}, {"crashes"}, {"owners"}, {"check"}, {"export"}, {"journal"}, {"journal", "list"}, {"journal", "show"}, {"leases", "advise"}} {
		c, rest, err := root.Find(path)
		if err != nil || len(rest) > 0 {
			continue
		}
		c.Flags().BoolVar(&a.Flags.ReadReplica, "read-replica", false,
			"read from a standby among the hosts of the database URL, and tell how far behind it is; without one from the primary")
	}
}

// tellReplica says which server answers, and how far behind it is.
func (a *App) tellReplica(ctx context.Context, q *queue.Client) error {
	r, err := q.Replica(ctx)
	if err != nil {
		return err
	}
	behind := r.Behind.Round(100 * time.Millisecond)
	switch {
	case !r.Standby:
		a.Note("no standby answers; reading from the primary")
	case !r.Known:
		a.Warn("reading from the standby %s, which does not tell how far behind it is", r.Server)
	case r.Behind >= farBehind:
		a.Warn("reading from the standby %s, up to %s behind", r.Server, behind)
	default:
		a.Note("reading from the standby %s, up to %s behind", r.Server, behind)
	}
	return nil
}
