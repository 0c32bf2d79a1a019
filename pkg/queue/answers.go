package queue

import (
	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Result is what a verb did to one todo, in the order in which the todos were named. Error says why
// it was refused, and is null where it was not.
type Result struct {
	ID             string         `json:"id"`
	Receipt        *string        `json:"receipt"`
	Queue          *string        `json:"queue"` // null, as state and condition, where there is no such todo
	State          todo.State     `json:"state"`
	Condition      todo.Condition `json:"condition"`
	Owner          *string        `json:"owner"`
	LeaseExpiresAt todo.Time      `json:"lease_expires_at"`
	Attempt        int            `json:"attempt"`
	MaxAttempts    int            `json:"max_attempts"`
	RunAt          todo.Time      `json:"run_at"`
	NextRetryAt    todo.Time      `json:"next_retry_at"`
	Already        bool           `json:"already"` // it had been done before, with the same receipt
	Op             *string        `json:"op"`      // an operator's verb in the journal; null for workers' verbs and where nothing was changed
	Error          *todo.Error    `json:"error"`
}

func result(t *todo.Todo) Result {
	queue := t.Queue // a pointer into the todo would keep all of it
	return Result{ID: t.ID, Receipt: t.Receipt, Queue: &queue, State: t.State, Condition: t.Condition, Owner: t.Owner,
		LeaseExpiresAt: t.LeaseExpiresAt, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, RunAt: t.RunAt, NextRetryAt: t.NextRetryAt}
}

// refuse says that nothing was done to the todo. The receipt goes: it names the latest lease, and may be
// somebody else's by now.
func (r *Result) refuse(why *todo.Error) { r.Error, r.Receipt = why, nil }

// answers are the rows that a statement changed, by id.
type answers struct {
	list []Result
	at   map[string]int
}

func newAnswers(n int) *answers { return &answers{make([]Result, 0, n), make(map[string]int, n)} }

func (a *answers) len() int           { return len(a.list) }
func (a *answers) has(id string) bool { _, ok := a.at[id]; return ok }

// cut forgets all but the first n: the try that they came from did not commit.
func (a *answers) cut(n int) {
	for _, r := range a.list[n:] {
		delete(a.at, r.ID)
	}
	a.list = a.list[:n]
}

func (a *answers) keep() func(pgx.CollectableRow) error {
	var s scanner
	return func(row pgx.CollectableRow) error {
		err := s.scan(row)
		a.at[s.todo.ID] = len(a.list)
		a.list = append(a.list, result(&s.todo))
		return err
	}
}
