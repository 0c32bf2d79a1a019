package queue

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todoctl/todoctl/pkg/todo"
)

// BulkResult counts what a bulk enqueue made.
type BulkResult struct {
	Created    int `json:"created"`
	Duplicates int `json:"duplicates"`
	Invalid    int `json:"invalid"`
}

// BulkLine says what became of one line of input.
type BulkLine struct {
	Line    int    `json:"line"`
	ID      string `json:"id"`
	Created bool   `json:"created"`
}

// BulkOptions says what is done with lines that turn out bad only at the server, and whether the
// caller wants to know what became of each line.
type BulkOptions struct {
	Skip func(line int, raw, reason string) // called after the commit; nil: a bad line fails the whole
	Each func(BulkLine) error               // called in input order after the commit; nil where only counts are wanted
}

// EnqueueMany makes todos of all that next yields until io.EOF, in one transaction: all or nothing.
// Duplicates, within the input too, collapse into the first. An error of next is returned as it is
// and nothing is written.
func (c *Client) EnqueueMany(ctx context.Context, next func() (*NewTodo, error), o BulkOptions) (BulkResult, error) {
	var r BulkResult
	src := &stage{ahead: ahead[NewTodo]{next: next, size: sizeOf}, keepIDs: o.Each != nil}
	if err := src.fill(); err != nil {
		return r, err
	}
	if err := c.ready(ctx); err != nil {
		return r, err
	}
	var live map[int]string
	used := false
	err := c.transaction(ctx, without("enqueue_many"), func(x *tx) error {
		if used && !src.whole {
			return todo.Errorf(todo.CodeUnavailable, "the import met another one; nothing was written").
				WithHint("run it again: a stream cannot be read twice by itself")
		}
		used = true
		src.rewind()
		var err error
		r, live, err = src.enqueue(x, o)
		return err
	})
	if src.err != nil {
		return BulkResult{}, src.err // bad input explains the rollback better than the rollback does
	}
	if err != nil {
		return BulkResult{}, src.explain(err)
	}
	for _, b := range src.bad { // not before: a transaction that is tried again finds them again
		o.Skip(src.line(b.ord), b.raw, b.reason)
	}
	if o.Each != nil {
		return r, src.report(live, o.Each)
	}
	return r, nil
}

// enqueue stages, inserts, and accounts for every line.
func (s *stage) enqueue(x *tx, o BulkOptions) (BulkResult, map[int]string, error) {
	var r BulkResult
	if err := x.do(step{name: "enqueue_stage"}); err != nil {
		return r, nil, err
	}
	if _, err := x.tx.CopyFrom(x.ctx, pgx.Identifier{"todoctl_stage"}, stageColumns(), s); err != nil {
		return r, nil, err
	}
	if err := s.dropBadEvents(x, o); err != nil {
		return r, nil, err
	}
	if err := x.do(step{name: "enqueue_many_events"}); err != nil {
		return r, nil, err
	}
	staged := s.read - len(s.dropped)
	made, live, err := s.insert(x, staged, o.Each != nil)
	if err != nil {
		return r, nil, err
	}
	r = BulkResult{Created: made, Duplicates: staged - made, Invalid: len(s.dropped)}
	return r, live, errors.Join(x.do(step{name: "enqueue_stage_queues"}), x.do(step{name: "enqueue_stage_notify"}))
}

// beginnings bounds how often an insert begins again. Two importers of the same keys beside quick workers
// need it: who waited for the other's keys finds them free again.
const beginnings = 20

// insert makes the todos and, where each line is to be told of, finds what the others are duplicates of.
// Where such a one has come and gone meanwhile there is room for the line, and it begins again from
// before the insert: keys taken by two inserts are in no order, and two imports would deadlock.
//
// The quick statement is an error where somebody else takes one of the keys meanwhile; the other one is ready for that. Each go is in
// one savepoint and no deeper: who waits for a key of a savepoint inside would wait for the whole transaction, also
// after the go was taken back.
func (s *stage) insert(x *tx, staged int, each bool) (made int, live map[int]string, err error) {
	statement := "enqueue_many"
	for range beginnings {
		err := pgx.BeginFunc(x.ctx, x.tx, func(point pgx.Tx) error {
			y := &tx{ctx: x.ctx, tx: point}
			live = map[int]string{}
			if each {
				if err := y.do(step{name: "enqueue_before"}); err != nil {
					return err
				}
			}
			if made, err = y.count(step{name: statement}); err != nil || !each {
				return err
			}
			if err := y.do(step{name: "enqueue_duplicates", row: func(row pgx.CollectableRow) error {
				var ord int
				var id *string
				err := row.Scan(&ord, &id)
				if id != nil {
					live[ord] = *id
				}
				return err
			}}); err != nil {
				return err
			}
			if made+len(live) < staged {
				return pgx.ErrTxCommitRollback
			}
			return nil
		})
		var pg *pgconn.PgError
		switch {
		case errors.As(err, &pg) && pg.Code == "23505":
			statement = "enqueue_many_contended"
		case !errors.Is(err, pgx.ErrTxCommitRollback):
			return made, live, err
		}
	}
	return 0, nil, todo.Errorf(todo.CodeUnavailable, "the todos of some keys come and go too quickly; nothing was written").
		WithHint("run the same command again")
}

// dropBadEvents finds lines that refer to an event that is not there.
func (s *stage) dropBadEvents(x *tx, o BulkOptions) error {
	s.dropped, s.bad = map[int]bool{}, nil
	if !s.events {
		return nil
	}
	var ords []int
	var first []string
	if err := x.do(step{name: "enqueue_missing_events", row: func(row pgx.CollectableRow) error {
		var b badLine
		var id string
		var raw *string
		err := row.Scan(&b.ord, &id, &raw)
		if b.reason = "event_id: no event " + id; raw != nil {
			b.raw = *raw
		}
		ords, s.bad = append(ords, b.ord), append(s.bad, b)
		first = append(first, fmt.Sprintf("line %d: %s", s.line(b.ord), b.reason))
		return err
	}}); err != nil || len(ords) == 0 {
		return err
	}
	if o.Skip == nil {
		return todo.Errorf(todo.CodeData, "%s; nothing was written", first[0]).With("lines", first[:min(len(first), 20)]).
			WithHint("--skip-invalid leaves such lines out")
	}
	for _, ord := range ords {
		s.dropped[ord] = true
	}
	return x.do(step{name: "enqueue_unstage", args: pgx.StrictNamedArgs{"ords": ords}})
}

// explain names the line that the server refused while it was copied.
func (s *stage) explain(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if m := regexp.MustCompile(`COPY \S+, line (\d+)`).FindStringSubmatch(pg.Where); m != nil {
			if row, _ := strconv.Atoi(m[1]); row > 0 {
				return todo.Errorf(todo.CodeData, "line %d: %s; nothing was written", s.line(row-1), pg.Message)
			}
		}
	}
	return eventError(err)
}

// eventError says that an event id names no event where the foreign key says no more than that.
func eventError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23503" {
		return todo.Errorf(todo.CodeData, "the event id names no event").WithHint("store the delivery with --event, or leave --event-id away")
	}
	return err
}

// compact is an id without the bytes that all of them share.
type compact uuid.UUID

func (id compact) String() string { return "td_" + uuid.UUID(id).String() }
