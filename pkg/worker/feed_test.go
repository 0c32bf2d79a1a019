//go:build unix

package worker

import (
	"encoding/json"
	"testing"

	"github.com/todoctl/todoctl/pkg/todo"
)

// What a worker claims beforehand fits into memory: the larger the payloads the fewer, but one for each command.
func TestClaimsFitIntoMemory(t *testing.T) {
	t.Parallel()
	sized := func(n, bytes int) []todo.Todo {
		list := make([]todo.Todo, n)
		for i := range list {
			list[i].Payload = make(json.RawMessage, bytes)
		}
		return list
	}
	f := &feed{w: &Worker{opt: Options{Concurrency: 4, Batch: 1000}, spawn: &spawner{}}, size: -1}
	if n := f.wanted(); n != firstClaim {
		t.Errorf("before anything is known it claims %d, not %d", n, firstClaim)
	}
	f.weigh(sized(50, 4))
	if n := f.wanted(); n != maxClaim {
		t.Errorf("of small ones it claims %d, not %d", n, maxClaim)
	}
	f.weigh(sized(10, 1<<20))
	if n := f.wanted(); n != maxBytes>>20 {
		t.Errorf("of 1 MiB each it claims %d, not %d", n, maxBytes>>20)
	}
	f.w.inflight.Store(maxBytes >> 20)
	if n := f.wanted(); n != 0 {
		t.Errorf("with %d of them at work it claims %d more", maxBytes>>20, n)
	}
	f.w.inflight.Store(0)
	f.weigh(sized(4, 16<<20*4))
	if n := f.wanted(); n != 4 {
		t.Errorf("of 64 MiB each it claims %d, not one for each command", n)
	}
	for range 200 {
		f.weigh(sized(50, 4))
	}
	if n := f.wanted(); n != maxClaim {
		t.Errorf("when they are small again it claims %d, not %d", n, maxClaim)
	}
}
