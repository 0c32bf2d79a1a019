package queue

import (
	"sort"

	"github.com/google/uuid"
)

func stageColumns() []string {
	return []string{"ord", "id", "queue", "source", "kind", "title", "payload", "event_id", "event_source", "event_kind",
		"external_id", "event", "idempotency_key", "assignee", "max_attempts", "at", "delay", "raw"}
}

// stage hands the lines of a bulk enqueue to COPY, one at a time. It implements pgx.CopyFromSource.
type stage struct {
	ahead[NewTodo]
	keepIDs bool
	read    int  // lines handed over
	events  bool // some line refers to an event
	ids     []compact
	gaps    []gap        // where line numbers jump
	dropped map[int]bool // lines that the server side found bad
	bad     []badLine    // the same, with what is told of them
}

// sizeOf is how much a line takes of memory, about.
func sizeOf(n *NewTodo) int { return len(n.Payload) + len(n.Title) + len(n.Raw) + 512 }

// badLine is a line that the server found bad.
type badLine struct {
	ord         int
	raw, reason string
}

// gap says that from the row with this position on, the line number is position + add.
type gap struct{ ord, add int }

// rewind starts over, for a transaction that is tried again.
func (s *stage) rewind() {
	s.restart()
	s.read, s.events, s.ids, s.gaps = 0, false, nil, nil
}

// Values returns the columns of the current line.
func (s *stage) Values() ([]any, error) {
	n, ord := s.current, s.read
	s.read++
	if line := n.Line; len(s.gaps) == 0 || s.line(ord) != line {
		s.gaps = append(s.gaps, gap{ord, line - ord})
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	if s.keepIDs {
		s.ids = append(s.ids, compact(id))
	}
	var source, kind, external, event, eventID, raw *string
	eventID = n.EventID
	if n.Raw != "" {
		raw = &n.Raw
	}
	if n.Event != nil {
		fresh, err := NewID("ev_")
		if err != nil {
			return nil, err
		}
		source, kind, external, event, eventID = &n.Event.Source, &n.Event.Kind, n.Event.ExternalID, &n.Event.Payload, &fresh
	}
	s.events = s.events || n.EventID != nil
	return []any{ord, compact(id).String(), n.Queue, n.Source, n.Kind, n.Title, n.Payload, eventID, source, kind,
		external, event, n.Key, n.Assignee, n.MaxAttempts, n.At, n.Delay, raw}, nil
}

// line returns the line number of a position.
func (s *stage) line(ord int) int {
	i := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i].ord > ord })
	if i == 0 {
		return ord + 1
	}
	return ord + s.gaps[i-1].add
}

// report tells what became of each line, in order.
func (s *stage) report(live map[int]string, each func(BulkLine) error) error {
	for ord, id := range s.ids {
		if s.dropped[ord] {
			continue
		}
		l := BulkLine{Line: s.line(ord), ID: id.String(), Created: true}
		if other, ok := live[ord]; ok {
			l.ID, l.Created = other, false
		}
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}
