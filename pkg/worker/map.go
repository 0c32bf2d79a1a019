package worker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Action is what becomes of a todo when its command has ended.
type Action string

// The actions.
const (
	Done    Action = "done"
	Fail    Action = "fail"    // backoff, or dead at the cap
	Dead    Action = "dead"    // a dead letter at once
	Release Action = "release" // given back, no attempt spent
	Crash   Action = "crash"   // like fail, and in the history a lease that expired
	Stop    Action = "stop"    // the command cannot run: all is given back and the worker ends
)

// past is what a log says of a lease that ended so.
func (a Action) past() string {
	switch a {
	case Done, Dead:
		return string(a)
	case Crash:
		return "crashed"
	case Release, Stop:
		return "released"
	}
	return "failed"
}

// Map says which action follows on an exit code, and on death by signal.
type Map struct {
	codes  [256]Action
	signal Action
}

// DefaultMap returns the map that --on starts from.
func DefaultMap() Map {
	m := Map{signal: Crash}
	for i := range m.codes {
		m.codes[i] = Fail
	}
	m.codes[0] = Done
	m.codes[65], m.codes[78] = Dead, Dead // EX_DATAERR and EX_CONFIG of sysexits(3)
	m.codes[99] = Release
	m.codes[126], m.codes[127] = Stop, Stop
	return m
}

// Set reads rules such as 3=dead,10-19=release,signal=fail; where two name a code, the last one counts.
func (m *Map) Set(text string) error {
	changed := *m // nothing changes when one of them is refused
	for _, rule := range strings.Split(text, ",") {
		what, name, ok := strings.Cut(strings.TrimSpace(rule), "=")
		action, known := actionOf(strings.TrimSpace(name))
		what = strings.TrimSpace(what)
		if !ok || !known {
			return fmt.Errorf("%q is not CODE=ACTION with one of done, fail, dead, release, crash, stop", rule)
		}
		if what == "signal" {
			changed.signal = action
			continue
		}
		first, last, ranged := strings.Cut(what, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 8)
		if err != nil {
			return fmt.Errorf("%q is not an exit code (0 to 255), a range of them, or signal", what)
		}
		to, err := strconv.ParseUint(last, 10, 8)
		if err != nil || to < from {
			return fmt.Errorf("%q is not a range of exit codes (0 to 255)", what)
		}
		for code := from; code <= to; code++ {
			changed.codes[code] = action
		}
	}
	*m = changed
	return nil
}

// Rule is a line of the map as it is told to people: codes or signal, and what follows on them.
type Rule struct {
	On     string
	Action Action
}

// Rules tells the map: the codes that differ from what follows on most of them, those, and signal.
func (m Map) Rules() []Rule {
	count := map[Action]int{}
	usual := m.codes[1]
	for _, a := range m.codes {
		if count[a]++; count[a] > count[usual] {
			usual = a
		}
	}
	var rules []Rule
	for first := 0; first < len(m.codes); first++ {
		last := first
		for last+1 < len(m.codes) && m.codes[last+1] == m.codes[first] {
			last++
		}
		name := strconv.Itoa(first)
		if last > first {
			name += "-" + strconv.Itoa(last)
		}
		at := slices.IndexFunc(rules, func(r Rule) bool { return r.Action == m.codes[first] })
		switch {
		case m.codes[first] == usual:
		case at >= 0:
			rules[at].On += ", " + name
		default:
			rules = append(rules, Rule{name, m.codes[first]})
		}
		first = last
	}
	return append(rules, Rule{"any other", usual}, Rule{"signal", m.signal})
}

// Meaning says in words what an action does.
func (a Action) Meaning() string {
	switch a {
	case Done:
		return "done"
	case Fail:
		return "failed: tried again after a backoff, a dead letter at its last attempt"
	case Dead:
		return "a dead letter at once"
	case Release:
		return "given back, no attempt spent, not to come back for --release-delay (10s)"
	case Crash:
		return "like fail; the history calls the lease expired, as of a worker that died"
	case Stop:
		return "the command cannot run: everything is given back and the worker ends with this code"
	}
	return string(a)
}

// exit is how a command ended.
type exit struct {
	code   int
	signal syscall.Signal // not 0: it died of this
}

// String says how a command ended, as it begins the error text.
func (x exit) String() string {
	if x.signal != 0 {
		return fmt.Sprintf("signal %d (%s)", int(x.signal), x.signal)
	}
	return "exit " + strconv.Itoa(x.code)
}

// String is what the flag shows as its value.
func (m *Map) String() string { return "" }

// Type names the value in the help.
func (m *Map) Type() string { return "code=action,…" }

func actionOf(name string) (Action, bool) {
	switch a := Action(name); a {
	case Done, Fail, Dead, Release, Crash, Stop:
		return a, true
	case "complete":
		return Done, true
	}
	return "", false
}

// of returns the action on the end of a command.
func (m Map) of(x exit) Action {
	if x.signal != 0 {
		return m.signal
	}
	return m.codes[x.code&255]
}
