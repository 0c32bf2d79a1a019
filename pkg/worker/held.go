//go:build unix

package worker

import (
	"sync"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// held is a lease that this worker holds.
type held struct {
	todo    *todo.Todo
	receipt todo.Receipt
	name    string        // the receipt as it is printed
	lost    chan struct{} // closed when the lease is lost

	mu      sync.Mutex
	asked   bool      // a renewal was asked for since the last one that succeeded
	trouble error     // and failed of this
	wants   time.Time // the command asked to have it so long
	until   time.Time // the lease is granted so long
	gone    bool
	reason  string
}

func (h *held) lose(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.gone, h.reason = true, why
		close(h.lost)
	}
}

func (h *held) isLost() (why string, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason, h.gone
}

// wanted returns until when the command asked to have the todo; zero if it did not.
func (h *held) wanted() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wants
}

// want notes that the command needs the todo for so long. A shorter wish does not take back a longer one.
func (h *held) want(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := time.Now().Add(d); until.After(h.wants) {
		h.wants = until
	}
}

// granted notes that the lease lasts ttl from the given time on.
func (h *held) granted(asked time.Time, ttl time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until, h.asked, h.trouble = asked.Add(ttl), false, nil
}

// refused notes that the lease could not be renewed, this time.
func (h *held) refused(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.trouble = true, err
}

// why is what stood in the way of the last renewal, for the end of a message.
func (h *held) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble == nil {
		return ""
	}
	return ": " + h.trouble.Error()
}

// over says whether the lease is over by this machine's clocks, and whether the database has been
// asked since it was last renewed. The wall clock counts as well as the monotonic one, which stands
// still while the machine sleeps.
func (h *held) over(now time.Time) (over, asked bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.After(h.until) || now.Round(0).After(h.until.Round(0)), h.asked
}

// lapsed says that a lease of this worker is over of which it does not know yet whether it is lost. It is asked for
// each todo that ends, and looks at all leases: not again where hardly any time has gone by, on the wall clock either.
func (f *feed) lapsed(now time.Time) bool {
	if since := now.Round(0).Sub(f.checked.Round(0)); since >= 0 && since < expiring/10 && now.Sub(f.checked) < expiring/10 {
		return false
	}
	if f.w.lapsed(now) {
		return true
	}
	f.checked = now
	return false
}

func (w *Worker) lapsed(now time.Time) bool {
	for _, h := range w.all() {
		if over, _ := h.over(now); over {
			if _, lost := h.isLost(); !lost {
				return true
			}
		}
	}
	return false
}

// hold notes leases that were just claimed, asked for at the given time.
func (w *Worker) hold(list []todo.Todo, asked time.Time) []*held {
	out := make([]*held, len(list))
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range list {
		t := &list[i]
		r := todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}
		h := &held{todo: t, receipt: r, name: r.String(), lost: make(chan struct{})}
		h.granted(asked, w.opt.Claim.TTL)
		w.held[h] = struct{}{}
		out[i] = h
	}
	return out
}

func (w *Worker) drop(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, h)
}

func (w *Worker) all() []*held {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*held, 0, len(w.held))
	for h := range w.held {
		list = append(list, h)
	}
	return list
}
