package main

import (
	"math"
	"testing"
	"time"
)

// easy is a scene that one database carries with ease.
func easy() scene {
	c := cost{100 * time.Microsecond, 10 * time.Microsecond}
	return scene{workers: 100, offered: 1000, batch: 10, databases: 1, cores: 4, work: 5 * time.Millisecond, enqueue: 10,
		trip: time.Millisecond, flush: time.Millisecond, idle: 10 * time.Millisecond, claiming: c, settling: c, enqueuing: c, length: 10 * time.Second}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// A server that is not full completes what is offered, and a claim that meets nobody takes the trip, the statement
// and the flush.
func TestSimulationBelowCapacity(t *testing.T) {
	s := easy()
	r := simulate(s, 1)
	near(t, "rate", r.rate, 1000, 0.05)
	near(t, "claim", quantile(r.claims, 0.5), 2.2, 0.1)
	if r.busy > 0.6 {
		t.Errorf("the cores are busy for %g of the time", r.busy)
	}
}

// A server that is offered more than its cores can carry completes what they can, and no more.
func TestSimulationAtCapacity(t *testing.T) {
	s := easy()
	s.offered, s.cores, s.workers, s.work, s.idle = 100_000, 1, 2000, 0, time.Second
	s.enqueue, s.enqueuing = 1000, cost{} // only the workers' statements cost
	r := simulate(s, 1)
	// Ten todos take two statements of 0.2 ms of the one core.
	near(t, "rate", r.rate, 10/0.0004, 0.05)
	near(t, "busy", r.busy, 1, 0.02)
	two := s
	two.databases = 2
	near(t, "rate of two databases", simulate(two, 1).rate, 2*r.rate, 0.05)
}

// Workers bound the rate where todos are long.
func TestSimulationBoundByWorkers(t *testing.T) {
	s := easy()
	s.workers, s.work, s.batch = 10, 100*time.Millisecond, 1
	near(t, "rate", simulate(s, 1).rate, 10/0.1042, 0.05)
}

// The same seed gives the same, another one something near.
func TestSimulationRepeats(t *testing.T) {
	a, b, c := simulate(easy(), 1), simulate(easy(), 1), simulate(easy(), 2)
	if a.rate != b.rate || len(a.claims) != len(b.claims) {
		t.Errorf("the same seed gave %g and %g", a.rate, b.rate)
	}
	near(t, "another seed", c.rate, a.rate, 0.1)
}
