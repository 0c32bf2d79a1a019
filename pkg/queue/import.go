package queue

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Imported is a line of an export, checked, with the names that its todo is to have here.
type Imported struct {
	Line        int // of the input, from 1
	ID          string
	Queue       string
	Key         *string
	MaxAttempts int
	JSON        string // the whole line; it goes to the server as it came, so that no digit is lost
}

// ImportParams says how an import is done and what the journal notes of it.
type ImportParams struct {
	DryRun  bool           // count, and change nothing
	Options map[string]any // what it was given, for the journal
	Reason  *string        // for the journal
}

// ImportResult counts what became of the lines of an import.
type ImportResult struct {
	Op         *string `json:"op"` // in the journal; null where nothing was created
	Verb       string  `json:"verb"`
	Lines      int     `json:"lines"`      // read, blank ones apart
	Created    int     `json:"created"`    // todos
	Existing   int     `json:"existing"`   // there is a todo with the id; it was left as it is
	Superseded int     `json:"superseded"` // a live todo has the key
	Invalid    int     `json:"invalid"`
}

// Import makes todos of all that next yields until io.EOF, with their history and events, in one
// transaction: all or nothing. What is there already is left as it is, so that an import can be repeated.
// It leaves a row in the journal where it made any. An error of next is returned as it is.
func (c *Client) Import(ctx context.Context, next func() (*Imported, error), p ImportParams) (ImportResult, error) {
	r := ImportResult{Verb: "import"}
	o, err := newOp("import", nil, p.Options, p.Reason)
	if err != nil {
		return r, err
	}
	src := &importStage{ahead: ahead[Imported]{next: next, size: func(n *Imported) int { return len(n.JSON) + 512 }}}
	if err := src.fill(); err != nil {
		return r, err
	}
	used := false
	err = c.transaction(ctx, nil, func(x *tx) error {
		if used && !src.whole {
			return todo.Errorf(todo.CodeUnavailable, "the import met another one; nothing was written").
				WithHint("run it again: a stream cannot be read twice by itself")
		}
		used = true
		src.restart()
		src.read = 0
		var err error
		if r, err = src.load(x, p.DryRun); err != nil || r.Created == 0 || p.DryRun {
			return err
		}
		r.Op = &o.id
		return x.do(c.entry(o, &r.Lines, &r.Created))
	})
	if src.err != nil {
		return ImportResult{}, src.err // bad input explains the rollback better than the rollback does
	}
	return r, err
}

// load stages the lines and makes todos of them.
func (s *importStage) load(x *tx, dry bool) (ImportResult, error) {
	r := ImportResult{Verb: "import"}
	if err := x.do(step{name: "enqueue_stage"}); err != nil {
		return r, err
	}
	if _, err := x.tx.CopyFrom(x.ctx, pgx.Identifier{"todoctl_stage"}, []string{"ord", "id", "queue", "idempotency_key", "max_attempts", "payload"}, s); err != nil {
		return r, err
	}
	twice, err := x.count(step{name: "import_twice"})
	if err != nil {
		return r, err
	}
	if !dry {
		if err := x.do(step{name: "import_events"}); err != nil {
			return r, err
		}
		if r.Created, err = x.count(step{name: "import_todos"}); err != nil {
			return r, err
		}
	}
	if err := x.do(step{name: "import_count", row: func(row pgx.CollectableRow) error { return row.Scan(&r.Existing, &r.Superseded) }}); err != nil {
		return r, err
	}
	r.Lines, r.Existing = s.read, r.Existing+twice
	if dry {
		r.Created = r.Lines - r.Existing - r.Superseded
		return r, nil
	}
	r.Superseded = r.Lines - r.Existing - r.Created
	if r.Created == 0 {
		return r, nil
	}
	return r, errors.Join(x.do(step{name: "import_attempts"}), x.do(step{name: "enqueue_stage_queues"}), x.do(step{name: "enqueue_stage_notify"}))
}

// importStage hands the lines of an import to COPY, one at a time. It implements pgx.CopyFromSource.
type importStage struct {
	ahead[Imported]
	read int // lines handed over
}

// Values returns the columns of the current line.
func (s *importStage) Values() ([]any, error) {
	s.read++
	n := s.current
	return []any{s.read, n.ID, n.Queue, n.Key, n.MaxAttempts, n.JSON}, nil
}
