// Package todo holds the vocabulary that every other package speaks: the work item with its states
// and conditions, receipts, the limits on names, and the one error type. Standard library only.
package todo

import "encoding/json"

// State is the stored state of a todo: one of four.
type State string

// The four states.
const (
	Pending State = "pending"
	Claimed State = "claimed"
	Done    State = "done"
	Failed  State = "failed"
)

// MarshalJSON prints null for the state of a todo that is not there.
func (s State) MarshalJSON() ([]byte, error) { return orNull(string(s)) }

// Condition is what a state means at a given moment; it is read off the row and never stored.
type Condition string

// The conditions. Pending, Claimed and Done also name states; the others exist only here.
const (
	IsPending  Condition = "pending"  // claimable now
	IsDelayed  Condition = "delayed"  // pending, but not before a time still to come
	IsClaimed  Condition = "claimed"  // leased, the lease still runs
	IsExpired  Condition = "expired"  // the lease is over and nobody has taken or reaped it yet
	IsDone     Condition = "done"     // acknowledged
	IsRetrying Condition = "retrying" // failed, waits out its backoff
	IsDead     Condition = "dead"     // failed for good: a dead letter
)

// MarshalJSON prints null for the condition of a todo that is not there.
func (c Condition) MarshalJSON() ([]byte, error) { return orNull(string(c)) }

func orNull(s string) ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(s)
}

// Conditions lists every condition, in the order in which a todo meets them.
func Conditions() []Condition {
	return []Condition{IsPending, IsDelayed, IsClaimed, IsExpired, IsRetrying, IsDone, IsDead}
}

// Todo is one work item as it is printed: the row, its condition by the server's clock, and the
// receipt of its latest lease. JSON names are a promise to scripts; within a major version they are
// only added to. Payload and Result keep every digit that was stored.
type Todo struct {
	ID             string           `json:"id"`
	Receipt        *string          `json:"receipt"` // td_<uuid>@<lease_seq>; null before the first lease
	Queue          string           `json:"queue"`
	Kind           string           `json:"kind"`
	Source         string           `json:"source"`
	Title          string           `json:"title"`
	State          State            `json:"state"`
	Condition      Condition        `json:"condition"`
	Owner          *string          `json:"owner"`
	LeaseExpiresAt Time             `json:"lease_expires_at"`
	LeaseSeq       int              `json:"lease_seq"`
	Attempt        int              `json:"attempt"`
	MaxAttempts    int              `json:"max_attempts"`
	Progress       *int             `json:"progress"` // percent, as the worker of this lease last said
	RunAt          Time             `json:"run_at"`
	NextRetryAt    Time             `json:"next_retry_at"`
	AvailableAt    Time             `json:"available_at"`
	Assignee       *string          `json:"assignee"`
	IdempotencyKey *string          `json:"idempotency_key"`
	EventID        *string          `json:"event_id"`
	Error          *string          `json:"error"`
	Fingerprint    *string          `json:"fingerprint"`
	Payload        json.RawMessage  `json:"payload"`
	Result         *json.RawMessage `json:"result"`
	CreatedAt      Time             `json:"created_at"`
	UpdatedAt      Time             `json:"updated_at"`
	ClaimedAt      Time             `json:"claimed_at"`
	CompletedAt    Time             `json:"completed_at"`
}

// Attempt is one lease that ended otherwise than in completion.
type Attempt struct {
	LeaseSeq  int              `json:"lease_seq"`
	Attempt   int              `json:"attempt"`
	Owner     *string          `json:"owner"`
	ClaimedAt Time             `json:"claimed_at"`
	EndedAt   Time             `json:"ended_at"`
	Outcome   string           `json:"outcome"` // failed, released, expired, taken over, buried
	Error     *string          `json:"error"`
	Result    *json.RawMessage `json:"result"`
}

// Event is the record of a delivery that a todo came from.
type Event struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	Kind       string          `json:"kind"`
	ExternalID *string         `json:"external_id"`
	Payload    json.RawMessage `json:"payload"`
	ReceivedAt Time            `json:"received_at"`
}
