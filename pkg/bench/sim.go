package main

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// cost is what a statement takes of one core of the server: once, and for each todo in it.
type cost struct{ once, each time.Duration }

func (c cost) of(n int) time.Duration { return c.once + time.Duration(n)*c.each }

// scene is one arrangement of workers and databases, to be simulated.
type scene struct {
	workers   int           // each claims a batch, works it off todo by todo, completes it
	offered   int           // todos a second, over all databases
	batch     int           // todos that a worker claims and completes in one statement
	databases int           // queues are spread evenly over them, by profile
	cores     int           // of each database's server
	work      time.Duration // of one todo
	enqueue   int           // todos that a producer enqueues in one statement
	trip      time.Duration // over the network, there and back
	flush     time.Duration // of a commit; those that wait share it, and it keeps no core busy
	idle      time.Duration // until a worker that found nothing looks again
	claiming  cost
	settling  cost
	enqueuing cost
	length    time.Duration // of what is simulated
}

// seen is what came of a scene, from its second half: the first fills it up.
type seen struct {
	rate   float64   // todos completed a second
	claims []float64 // ms from asking to having, of claims that found something
	waits  []float64 // ms from being offered to being started
	busy   float64   // of the cores' time
}

// event is something that happens at a time.
type event struct {
	at time.Duration
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// server is one database: cores that carry out statements in the order in which they arrive.
type server struct {
	free    int
	queue   []func() // statements that wait for a core
	pending []time.Duration
	busy    time.Duration
}

// simulation is a scene that runs.
type simulation struct {
	scene
	now     time.Duration
	agenda  events
	servers []*server
	random  *rand.Rand
	done    int
	seen    seen
}

// simulate runs a scene. The same scene and seed give the same result.
func simulate(s scene, seed uint64) seen {
	m := &simulation{scene: s, random: rand.New(rand.NewPCG(seed, seed))}
	for range s.databases {
		m.servers = append(m.servers, &server{free: s.cores})
	}
	for i := range s.databases {
		m.produce(m.servers[i])
	}
	for i := range s.workers {
		at := time.Duration(m.random.Int64N(int64(s.idle) + 1)) // they did not start at one moment
		m.after(at, func() { m.claim(m.servers[i%s.databases]) })
	}
	for len(m.agenda) > 0 && m.agenda[0].at <= s.length {
		next := heap.Pop(&m.agenda).(event)
		m.now = next.at
		next.do()
	}
	var busy time.Duration
	for _, server := range m.servers {
		busy += server.busy
	}
	m.seen.rate = float64(m.done) / (s.length / 2).Seconds()
	m.seen.busy = busy.Seconds() / (s.length.Seconds() * float64(s.databases*s.cores))
	return m.seen
}

func (m *simulation) after(d time.Duration, do func()) { heap.Push(&m.agenda, event{m.now + d, do}) }

// counted says whether the second half has begun.
func (m *simulation) counted() bool { return m.now >= m.length/2 }

// statement sends one to a server. begin returns what it costs, from its start on, and done comes when the answer is there.
func (m *simulation) statement(s *server, begin func() time.Duration, done func()) {
	m.after(m.trip/2, func() {
		run := func() {
			took := begin()
			s.busy += took
			m.after(took, func() {
				if len(s.queue) > 0 {
					next := s.queue[0]
					s.queue = s.queue[1:]
					next()
				} else {
					s.free++
				}
				m.after(m.flush+m.trip/2, done)
			})
		}
		if s.free == 0 {
			s.queue = append(s.queue, run)
			return
		}
		s.free--
		run()
	})
}

// produce offers todos at random times, at the rate that falls on this database.
func (m *simulation) produce(s *server) {
	mean := float64(time.Second) * float64(m.scene.enqueue*m.databases) / float64(m.offered)
	m.after(time.Duration(m.random.ExpFloat64()*mean), func() {
		offered := m.now
		m.statement(s, func() time.Duration { return m.enqueuing.of(m.scene.enqueue) }, func() {
			for range m.scene.enqueue {
				s.pending = append(s.pending, offered)
			}
		})
		m.produce(s)
	})
}

// claim is one turn of a worker, and begins the next.
func (m *simulation) claim(s *server) {
	asked := m.now
	var got []time.Duration
	m.statement(s, func() time.Duration {
		n := min(m.batch, len(s.pending))
		got, s.pending = s.pending[:n], s.pending[n:]
		return m.claiming.of(n)
	}, func() {
		if len(got) == 0 {
			m.after(m.idle, func() { m.claim(s) })
			return
		}
		if m.counted() {
			m.seen.claims = append(m.seen.claims, milliseconds(m.now-asked))
			for i, offered := range got {
				m.seen.waits = append(m.seen.waits, milliseconds(m.now+time.Duration(i)*m.work-offered))
			}
		}
		m.after(time.Duration(len(got))*m.work, func() {
			m.statement(s, func() time.Duration { return m.settling.of(len(got)) }, func() {
				if m.counted() {
					m.done += len(got)
				}
				m.claim(s)
			})
		})
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
