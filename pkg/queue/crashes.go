package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// What it takes to accuse a todo or a host. A todo that fells whoever takes it runs out of its lease under
// several owners and never fails in order; a host that is sick loses most of its leases where no other loses many.
const (
	poisonExpiries = 3
	poisonOwners   = 2
	sickLeases     = 5
	sickShare      = 0.5
	wellShare      = 0.1
)

// Crashes is how leases ended within a window, those that ran out apart from those that failed in order.
type Crashes struct {
	Since     todo.Time `json:"since"`
	Estimated bool      `json:"estimated"` // the scan limit was met: the window is shorter than was asked for
	Leases    int64     `json:"leases"`
	Completed int64     `json:"completed"`
	Failed    int64     `json:"failed"`
	Released  int64     `json:"released"`
	Expired   int64     `json:"expired"` // ran out, by themselves or taken over
	Findings  []Finding `json:"findings"`
	Hosts     []Host    `json:"hosts"` // the one that lost the greatest share first
}

// Finding is a todo or a host that is behind leases that ran out, with the evidence and what to do next.
type Finding struct {
	Code    string    `json:"code"` // poison, sick-host
	ID      *string   `json:"id"`   // of the todo
	Queue   *string   `json:"queue"`
	Host    *string   `json:"host"`
	Expired int64     `json:"expired"`
	Owners  []string  `json:"owners"`
	First   todo.Time `json:"first"`
	Last    todo.Time `json:"last"`
	Text    string    `json:"text"`
	Command string    `json:"command"`
}

// Host is what follows the @ in the names of owners, or the whole name where there is none.
type Host struct {
	Host      string   `json:"host"`
	Owners    []string `json:"owners"`
	Leases    int64    `json:"leases"`
	Completed int64    `json:"completed"`
	Failed    int64    `json:"failed"`
	Released  int64    `json:"released"`
	Expired   int64    `json:"expired"`
	Percent   float64  `json:"expired_percent"`
}

func (h Host) share() float64 { return float64(h.Expired) / float64(h.Leases) }

// Crashes reads how leases ended within a window that ends now, and judges todos and hosts by it.
// limit bounds the rows that are read of what was completed and of what ended otherwise.
func (c *Client) Crashes(ctx context.Context, queues []string, window time.Duration, limit int) (Crashes, error) {
	var r Crashes
	hosts := map[string]*Host{}
	args := pgx.StrictNamedArgs{"queues": orNull(queues), "window": window, "cap": limit}
	err := c.run(ctx, reads, func() []step {
		r = Crashes{Findings: []Finding{}, Hosts: []Host{}}
		clear(hosts)
		return []step{
			{name: "crashes_owners", args: args, row: func(row pgx.CollectableRow) error {
				var owner string
				var h Host
				err := row.Scan(&owner, &h.Completed, &h.Failed, &h.Released, &h.Expired, &h.Leases, &r.Since, &r.Estimated)
				add(hosts, owner, h)
				return err
			}},
			{name: "crashes_todos", args: pgx.StrictNamedArgs{"queues": orNull(queues), "window": window, "cap": limit, "least": poisonExpiries},
				row: func(row pgx.CollectableRow) error { return r.poison(row) }},
		}
	})
	for _, h := range hosts {
		h.Percent = math.Round(float64(h.Expired)*1000/float64(h.Leases)) / 10
		slices.Sort(h.Owners)
		r.Hosts = append(r.Hosts, *h)
		r.Leases, r.Completed, r.Failed = r.Leases+h.Leases, r.Completed+h.Completed, r.Failed+h.Failed
		r.Released, r.Expired = r.Released+h.Released, r.Expired+h.Expired
	}
	slices.SortFunc(r.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.share(), a.share()), cmp.Compare(b.Leases, a.Leases), cmp.Compare(a.Host, b.Host))
	})
	r.sick()
	return r, err
}

// add counts the leases of an owner to those of its host.
func add(hosts map[string]*Host, owner string, h Host) {
	name := owner[strings.LastIndexByte(owner, '@')+1:]
	t := hosts[name]
	if t == nil {
		t = &Host{Host: name}
		hosts[name] = t
	}
	t.Owners = append(t.Owners, owner)
	t.Leases, t.Completed, t.Failed = t.Leases+h.Leases, t.Completed+h.Completed, t.Failed+h.Failed
	t.Released, t.Expired = t.Released+h.Released, t.Expired+h.Expired
}

func (r *Crashes) poison(row pgx.CollectableRow) error {
	var f Finding
	var id, queue, kind string
	var dead bool
	err := row.Scan(&id, &queue, &kind, &dead, &f.Expired, &f.Owners, &f.First, &f.Last)
	if err != nil || len(f.Owners) < poisonOwners {
		return err
	}
	f.Code, f.ID, f.Queue = "poison", &id, &queue
	f.Text = fmt.Sprintf("%d leases ran out under %d owners and none failed in order: it may fell whoever works on it", f.Expired, len(f.Owners))
	f.Command = "todoctl bury " + shellWord(id) + " --reason 'fells its workers'"
	if dead {
		f.Command = "todoctl show " + shellWord(id)
	}
	r.Findings = append(r.Findings, f)
	return nil
}

// sick accuses a host only in comparison: where others lose leases too, or there are none, it is the work.
func (r *Crashes) sick() {
	if len(r.Hosts) < 2 {
		return
	}
	worst, next := r.Hosts[0], r.Hosts[1]
	if worst.Leases < sickLeases || worst.share() <= sickShare || next.share() >= wellShare {
		return
	}
	text := fmt.Sprintf("%d of %d leases ran out (%.0f%%), while no other host lost over %.0f%%", worst.Expired, worst.Leases, worst.Percent, next.Percent)
	r.Findings = append(r.Findings, Finding{Code: "sick-host", Host: &worst.Host, Expired: worst.Expired, Owners: worst.Owners, Text: text,
		Command: "todoctl list --held-by " + shellWord(worst.Owners[0])})
}
