//go:build unix

package worker

import (
	"fmt"
	"strconv"
	"strings"
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
	for _, rule := range strings.Split(text, ",") {
		what, name, ok := strings.Cut(strings.TrimSpace(rule), "=")
		action, known := actionOf(name)
		if !ok || !known {
			return fmt.Errorf("%q is not CODE=ACTION with one of done, fail, dead, release, crash, stop", rule)
		}
		if what == "signal" {
			m.signal = action
			continue
		}
		first, last, ranged := strings.Cut(what, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 8)
		if err != nil {
			return fmt.Errorf("%q is not an exit code", first)
		}
		to, err := strconv.ParseUint(last, 10, 8)
		if err != nil || to < from {
			return fmt.Errorf("%q is not a range of exit codes", what)
		}
		for code := from; code <= to; code++ {
			m.codes[code] = action
		}
	}
	return nil
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
