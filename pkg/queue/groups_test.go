package queue

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todoctl/todoctl/pkg/todo"
)

// TestThreeTemplatesAreThreeGroups fails 1,500 todos with three errors that differ in what varies from
// one to the next.
func TestThreeTemplatesAreThreeGroups(t *testing.T) {
	w := newWorld(t)
	templates := []string{
		`dial tcp 192.0.2.%d:5432: connect: connection refused after %d ms`,
		`customer "name-%d" not found (request 0190c6a4-7b3e-7000-8000-00000000%04d)`,
		`open /var/spool/mail/%d/new/%d.eml: no such file or directory`,
	}
	var texts, prints, queues []string
	for i := range 1500 {
		text := fmt.Sprintf(templates[i%3], i%250, i)
		texts, prints, queues = append(texts, text), append(prints, todo.Fingerprint(text)), append(queues, []string{"a", "b"}[i%2])
	}
	w.exec(`INSERT INTO todos (queue, kind, state, error, fingerprint, completed_at, attempt, payload)
		SELECT q, 'k' || o % 3, 'failed', e, p, now() - o * interval '1 s', 5, jsonb_build_object('to', jsonb_build_object('tier', o % 2))
		  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY u(e, p, q, o)`, texts, prints, queues)

	groups, err := w.Groups(context.Background(), Filter{}, GroupBy{Error: true}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 3 {
		t.Fatalf("%d groups", len(groups))
	}
	for _, g := range groups {
		if g.Count != 500 || g.Attempts != 2500 || !cmp.Equal(g.Queues, []string{"a", "b"}) || len(g.Kinds) != 1 || g.Fingerprint == nil ||
			g.Sample == nil || todo.Fingerprint(*g.Sample) != *g.Fingerprint || g.Kind != nil {
			t.Errorf("%+v", g)
		}
	}
	for name, c := range map[string]struct {
		f    Filter
		by   GroupBy
		want []int64
	}{
		"by queue":                 {Filter{}, GroupBy{Queue: true}, []int64{750, 750}},
		"by error and queue":       {Filter{}, GroupBy{Error: true, Queue: true}, []int64{250, 250, 250, 250, 250, 250}},
		"by a part of the payload": {Filter{}, GroupBy{Path: []string{"to", "tier"}}, []int64{750, 750}},
		"of one fingerprint":       {Filter{Fingerprints: prints[:1]}, GroupBy{Error: true}, []int64{500}},
		"of one queue":             {Filter{Queues: []string{"a"}}, GroupBy{Kind: true}, []int64{250, 250, 250}},
		"of none":                  {Filter{Queues: []string{"c"}}, GroupBy{Error: true}, nil},
	} {
		groups, err := w.Groups(context.Background(), c.f, c.by, 100)
		if err != nil {
			t.Fatal(err)
		}
		var counts []int64
		for _, g := range groups {
			counts = append(counts, g.Count)
		}
		if !cmp.Equal(counts, c.want) {
			t.Errorf("%s: %v, want %v", name, counts, c.want)
		}
	}
}
