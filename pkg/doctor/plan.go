package doctor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
)

// node is a node of a plan, as EXPLAIN (FORMAT JSON) prints it.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Plans    []node `json:"Plans"`
}

// claimPlan asks how the server would claim. It is planned as a write and rolled back, never run.
func claimPlan(ctx context.Context, d *doctor) (Status, string, string, error) {
	if d.server.standby {
		return Unknown, "this is a standby; claims run elsewhere", "", nil
	}
	t, err := d.table(ctx)
	if err != nil {
		return Unknown, "", "", err
	}
	if t.live+t.dead < fewDead {
		return OK, "the table is too small for the plan to matter", "", nil
	}
	sql, err := db.Query("claim")
	if err != nil {
		return Unknown, "", "", err
	}
	tx, err := d.conn.Begin(ctx)
	if err != nil {
		return Unknown, "", "", err
	}
	defer func() { _ = tx.Rollback(ctx) }() // planned, not run; and not kept either
	var text string
	err = tx.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+sql, pgx.StrictNamedArgs{"owner": "doctor", "queue": "doctor", "n": 1,
		"ttl": "1 min", "expired": ""}).Scan(&text)
	if err != nil {
		return Unknown, "", "", err
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		return Unknown, "", "", err
	}
	for _, p := range plans {
		if bad := p.Plan.bad(); bad != "" {
			return Critical, "a claim would do a " + bad, "ANALYZE todos; if that does not help, todoctl migrate status tells of missing indexes", nil
		}
	}
	return OK, "a claim reads its indexes in order", "", nil
}

// bad returns what a claim must never do, "" when the plan does not.
func (n node) bad() string {
	switch {
	case n.Type == "Sort" || n.Type == "Incremental Sort":
		return n.Type
	case n.Relation == "todos" && (n.Type == "Seq Scan" || n.Type == "Bitmap Heap Scan"):
		return fmt.Sprintf("%s of todos", n.Type)
	}
	for _, p := range n.Plans {
		if bad := p.bad(); bad != "" {
			return bad
		}
	}
	return ""
}
