package intake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// ImportOptions says under which names exported todos are to come in.
type ImportOptions struct {
	Options
	Queue string // instead of their own; "" keeps it
	Rekey string // makes new ids, and is put behind each key; "" keeps both
}

// NewImport reads the lines of an export from in.
func NewImport(in io.Reader, opt ImportOptions) *Reader[queue.Imported] {
	fields := slices.Concat(answerFields(), []string{"history", "event"})
	parse := func(raw []byte, line int) (*queue.Imported, error) {
		n, err := exportedLine(raw, fields)
		if n == nil || err != nil {
			return nil, err
		}
		n.Line = line
		return n, opt.rename(n)
	}
	return &Reader[queue.Imported]{in: bufio.NewReaderSize(in, 256<<10), opt: opt.Options, parse: parse}
}

// rename gives a todo the names that were asked for.
func (o ImportOptions) rename(n *queue.Imported) error {
	if o.Queue != "" {
		n.Queue = o.Queue
	}
	if o.Rekey == "" {
		return nil
	}
	n.ID = todo.Rekey(n.ID, o.Rekey)
	if n.Key != nil {
		key := *n.Key + o.Rekey
		n.Key = &key
		return todo.CheckKey(key)
	}
	return nil
}

// exportedLine reads one line of an export; nil without an error is a blank one.
func exportedLine(raw []byte, fields []string) (*queue.Imported, error) {
	line, err := trim(raw, MaxDepth+3) // results stand in the history, three levels down
	if err != nil || line == nil {
		return nil, err
	}
	members, err := object(line)
	if err != nil {
		return nil, err
	}
	if err := onlyKnown(members, fields); err != nil {
		return nil, err
	}
	for _, name := range []string{"id", "queue", "state"} {
		if _, ok := members[name]; !ok {
			return nil, fmt.Errorf("no field %q; a line of todoctl export has it", name)
		}
	}
	s := queue.Shown{Todo: todo.Todo{MaxAttempts: queue.DefaultMaxAttempts}}
	if json.Unmarshal(line, &s) != nil {
		return nil, faultOf(members)
	}
	if err := checkExported(&s); err != nil {
		return nil, err
	}
	return &queue.Imported{ID: s.ID, Queue: s.Queue, Key: s.IdempotencyKey, MaxAttempts: s.MaxAttempts, JSON: string(line)}, nil
}

// faultOf finds the member that cannot be read, and says what is wrong with it.
func faultOf(members map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		one, err := json.Marshal(map[string]json.RawMessage{name: members[name]})
		if err == nil {
			err = json.Unmarshal(one, &queue.Shown{})
		}
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &kind):
			return fmt.Errorf("%s: a JSON %s where there should be another type", name, kind.Value)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return errors.New("the members do not go together")
}

// checkExported returns a data error unless the row is one that the tables can hold.
func checkExported(s *queue.Shown) error {
	n := &queue.NewTodo{Queue: s.Queue, Title: s.Title, Kind: s.Kind, Source: s.Source, Key: s.IdempotencyKey, Assignee: s.Assignee, MaxAttempts: s.MaxAttempts}
	if s.Event != nil {
		n.Event = &queue.NewEvent{ExternalID: s.Event.ExternalID}
	}
	if err := CheckTodo(n); err != nil {
		return err
	}
	if s.Owner != nil {
		if err := todo.CheckOwner("owner", *s.Owner); err != nil {
			return err
		}
	}
	if r, err := todo.ParseReceipt(s.ID); err != nil || r.String() != s.ID || r.Seq != 0 {
		return fmt.Errorf("id: %q is not the id of a todo", s.ID)
	}
	claimed := s.State == todo.Claimed
	for _, bad := range []struct {
		is   bool
		what string
	}{
		{!slices.Contains([]todo.State{todo.Pending, todo.Claimed, todo.Done, todo.Failed}, s.State), "state: not one of pending, claimed, done, failed"},
		{claimed == s.LeaseExpiresAt.IsNull(), "lease_expires_at: a claimed todo has it, and no other"},
		{claimed && s.Owner == nil, "owner: a claimed todo has one"},
		{s.State != todo.Failed && !s.NextRetryAt.IsNull(), "next_retry_at: only a failed todo has it"},
		{s.State == todo.Done && s.CompletedAt.IsNull(), "completed_at: a done todo has it"},
		{s.Attempt < 0 || s.Attempt > s.MaxAttempts, "attempt: not between 0 and max_attempts"},
		{s.LeaseSeq < 0 || s.LeaseSeq > math.MaxInt32, "lease_seq: out of range"},
		{s.Progress != nil && (*s.Progress < 0 || *s.Progress > 100), "progress: not between 0 and 100"},
		{s.EventID != nil && s.Event == nil, "event: the event that event_id names is not in the line"},
		{s.Event != nil && (s.Event.ID == "" || s.EventID == nil || *s.EventID != s.Event.ID), "event: its id is not event_id"},
	} {
		if bad.is {
			return errors.New(bad.what)
		}
	}
	return checkHistory(s.History)
}

func checkHistory(history []todo.Attempt) error {
	seen := map[int]bool{}
	for i, a := range history {
		switch {
		case a.LeaseSeq < 1 || a.LeaseSeq > math.MaxInt32 || seen[a.LeaseSeq]:
			return fmt.Errorf("history[%d]: lease_seq %d is out of range or there twice", i, a.LeaseSeq)
		case a.Attempt < 0 || a.Attempt > math.MaxInt32:
			return fmt.Errorf("history[%d]: attempt %d is out of range", i, a.Attempt)
		case !slices.Contains([]string{"failed", "released", "expired", "taken over", "buried"}, a.Outcome):
			return fmt.Errorf("history[%d]: %q is not how a lease ends", i, a.Outcome)
		}
		seen[a.LeaseSeq] = true
	}
	return nil
}
