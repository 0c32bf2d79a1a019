package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Statistics of when nothing was claimed say that hardly a row is. The holders' statements visit the todos that they
// name all the same, and no others: on a table of middling size the planner would rather walk all of it.
func TestHoldersVisitWhatTheyName(t *testing.T) {
	t.Parallel()
	const n = 500
	w := newWorld(t)
	w.exec("INSERT INTO todos (id, queue) SELECT 'td_' || lpad(i::text, 8, '0'), 'q' FROM generate_series(1, 20000) i")
	w.exec("ANALYZE todos")
	ids, seqs, results, percents := make([]string, n), make([]int, n), make([]*string, n), make([]int, n)
	for i := range ids {
		ids[i], seqs[i] = fmt.Sprintf("td_%08d", 1+i), 1
	}
	w.exec("UPDATE todos SET state = 'claimed', owner = 'a', attempt = 1, lease_seq = 1, lease_expires_at = now() + interval '1 hour' WHERE id = ANY ($1)", ids)
	for file, more := range map[string]pgx.StrictNamedArgs{
		"complete":      {"result": nil},
		"heartbeat":     {"ttl": time.Minute},
		"release":       {"delay": nil, "error": nil},
		"fail":          {"error": "x", "fingerprint": "", "result": nil, "retry_in": nil, "dead": false, "outcome": "failed", "base": time.Second, "cap": time.Minute},
		"complete_each": {"results": results},
		"renew":         {"ttl": time.Minute},
		"progress":      {"percents": percents},
	} {
		more["ids"], more["seqs"] = ids, seqs
		switch file {
		case "complete", "heartbeat", "release", "fail":
			more["owner"], more["named"], more["force"] = "a", false, false
		}
		off := without(file)
		if read := w.plan(file, "run", more, off).rows(); read < n || read > 3*n {
			t.Errorf("%s of %d todos reads %d rows", file, n, read)
		}
	}
}
