package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// extra holds the columns that some statements return beside those of a todo.
type extra struct {
	now        time.Time // the server's clock
	matched    *bool     // list: the filters without an index agree
	endedAs    *string   // classify: outcome of the lease in question
	endedOwner *string   // classify: who held it
	paused     *bool     // classify: the todo's queue is paused
	liveID     *string   // classify: the live todo that holds a terminal one's key
	progress   *int      // what the worker of lease progressSeq said
	progSeq    *int
	walked     *int    // claim: pages of the pool index
	history    *string // export: the ended leases, as a JSON array
	event      *string // export: as a JSON object
	pause      pause   // why: of the todo's queue
	released   *int64  // why: of its last leases
	said       *string // why: the reason of the last release
	ahead      *int64  // why: how many are due before it
	looked     *int64  // why: how many were looked at to tell
}

// pause is what an operator said of a queue.
type pause struct {
	at, until  todo.Time
	by, reason *string
}

// scanner reads the rows of one answer. What a row is read into is made once for all of them: a worker
// reads some ten thousand rows a second.
type scanner struct {
	todo todo.Todo // the row that was read last
	extra

	dest   []any
	result *string
}

// scan reads a row on its own.
func scan(row pgx.CollectableRow) (todo.Todo, extra, error) {
	var s scanner
	err := s.scan(row)
	return s.todo, s.extra, err
}

// scan reads a row by the names of its columns. A column that this release does not know is passed
// over, so that it works on the schema of the next one.
func (s *scanner) scan(row pgx.CollectableRow) error {
	if s.dest == nil {
		for _, f := range row.FieldDescriptions() {
			s.dest = append(s.dest, s.target(f.Name))
		}
	}
	t := &s.todo
	if err := row.Scan(s.dest...); err != nil {
		return fmt.Errorf("read todo: %w", err)
	}
	t.Result, t.Receipt, t.Progress = nil, nil, nil
	if s.result != nil {
		raw := json.RawMessage(*s.result)
		t.Result = &raw
	}
	if t.LeaseSeq > 0 {
		receipt := todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}.String()
		t.Receipt = &receipt
	}
	if s.progSeq != nil && *s.progSeq == t.LeaseSeq && t.State == todo.Claimed {
		t.Progress = s.progress
	}
	t.Condition = condition(t, s.now)
	return nil
}

func (s *scanner) target(column string) any {
	t := &s.todo
	switch column {
	case "id":
		return &t.ID
	case "queue":
		return &t.Queue
	case "kind":
		return &t.Kind
	case "source":
		return &t.Source
	case "title":
		return &t.Title
	case "state":
		return &t.State
	case "owner":
		return &t.Owner
	case "lease_expires_at":
		return &t.LeaseExpiresAt
	case "lease_seq":
		return &t.LeaseSeq
	case "attempt":
		return &t.Attempt
	case "max_attempts":
		return &t.MaxAttempts
	case "run_at":
		return &t.RunAt
	case "next_retry_at":
		return &t.NextRetryAt
	case "available_at":
		return &t.AvailableAt
	case "assignee":
		return &t.Assignee
	case "idempotency_key":
		return &t.IdempotencyKey
	case "event_id":
		return &t.EventID
	case "error":
		return &t.Error
	case "fingerprint":
		return &t.Fingerprint
	case "payload":
		return (*[]byte)(&t.Payload)
	case "result":
		return &s.result
	case "created_at":
		return &t.CreatedAt
	case "updated_at":
		return &t.UpdatedAt
	case "claimed_at":
		return &t.ClaimedAt
	case "completed_at":
		return &t.CompletedAt
	}
	return s.extra.target(column)
}

func (x *extra) target(column string) any {
	switch column {
	case "server_now":
		return &x.now
	case "walked":
		return &x.walked
	case "matched":
		return &x.matched
	case "progress":
		return &x.progress
	case "progress_seq":
		return &x.progSeq
	case "ended_as":
		return &x.endedAs
	case "ended_owner":
		return &x.endedOwner
	case "paused":
		return &x.paused
	case "live_id":
		return &x.liveID
	case "history":
		return &x.history
	case "event":
		return &x.event
	}
	return x.whyTarget(column)
}

func (x *extra) whyTarget(column string) any {
	switch column {
	case "paused_at":
		return &x.pause.at
	case "paused_until":
		return &x.pause.until
	case "paused_by":
		return &x.pause.by
	case "reason":
		return &x.pause.reason
	case "released":
		return &x.released
	case "said":
		return &x.said
	case "ahead":
		return &x.ahead
	case "looked":
		return &x.looked
	}
	return nil // pgx passes over a column whose target is nil
}

// condition reads what the state means at the given time of the server.
func condition(t *todo.Todo, now time.Time) todo.Condition {
	switch t.State {
	case todo.Pending:
		if t.RunAt.After(now) {
			return todo.IsDelayed
		}
		return todo.IsPending
	case todo.Claimed:
		if t.LeaseExpiresAt.After(now) {
			return todo.IsClaimed
		}
		return todo.IsExpired
	case todo.Failed:
		if t.NextRetryAt.IsNull() {
			return todo.IsDead
		}
		return todo.IsRetrying
	}
	return todo.Condition(t.State)
}

// collect returns a row function that appends todos to *list.
func collect(list *[]todo.Todo) func(pgx.CollectableRow) error {
	var s scanner
	return func(row pgx.CollectableRow) error {
		err := s.scan(row)
		*list = append(*list, s.todo)
		return err
	}
}
