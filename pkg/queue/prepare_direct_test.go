//go:build unix

package queue

import (
	"slices"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgnet"
)

// A session of the server's own is known before anything was notified; one of a pooler is not taken for it.
func TestPrepareDirect(t *testing.T) {
	t.Parallel()
	direct := newWorld(t)
	pooled := worldAt(t, direct.url)
	pooled.url = pgnet.NewPooler(t, direct.url)
	pooled.Client = pooled.client()
	for _, w := range []*world{direct, pooled} {
		if err := w.PrepareDirect(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.add("q")
		w.claimOne()
	}
	if got := direct.prepared(); !slices.Contains(got, "claim") {
		t.Errorf("on a session of the server's prepared are %q", got)
	}
	if pooled.opt.Prepare {
		t.Error("through a pooler statements are prepared")
	}
}
