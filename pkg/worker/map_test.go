package worker

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// Every exit code there is, and every signal, has the action that the contract names.
func TestDefaultMap(t *testing.T) {
	m := DefaultMap()
	want := map[int]Action{0: Done, 65: Dead, 78: Dead, 99: Release, 126: Stop, 127: Stop}
	for code := range 256 {
		action, named := want[code]
		if !named {
			action = Fail
		}
		if got := m.of(exit{code: code}); got != action {
			t.Errorf("exit %d: %s, want %s", code, got, action)
		}
	}
	for sig := syscall.Signal(1); sig < 65; sig++ {
		if got := m.of(exit{signal: sig}); got != Crash {
			t.Errorf("signal %d: %s", sig, got)
		}
	}
}

// Rules name one code each in turn, and change that one alone.
func TestEachCodeCanBeMapped(t *testing.T) {
	usual := DefaultMap()
	for code := range 256 {
		m := DefaultMap()
		action := Release
		if usual.of(exit{code: code}) == Release {
			action = Dead
		}
		if err := m.Set(fmt.Sprintf("%d=%s", code, action)); err != nil {
			t.Fatal(err)
		}
		for other := range 256 {
			want := usual.of(exit{code: other})
			if other == code {
				want = action
			}
			if got := m.of(exit{code: other}); got != want {
				t.Errorf("with %d=%s, exit %d: %s, want %s", code, action, other, got, want)
			}
		}
	}
}

func TestRules(t *testing.T) {
	m := DefaultMap()
	for _, text := range []string{"3=dead,4=release,signal=fail", "10-19=release , 15=done", "15-16=crash", "16=stop", "255=complete", "7=dead,7=fail"} {
		if err := m.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[int]Action{3: Dead, 4: Release, 10: Release, 14: Release, 15: Crash, 16: Stop, 17: Release, 19: Release, 20: Fail,
		255: Done, 7: Fail, 0: Done, 65: Dead, 99: Release, 127: Stop} {
		if got := m.of(exit{code: code}); got != want {
			t.Errorf("exit %d: %s, want %s", code, got, want)
		}
	}
	if got := m.of(exit{signal: syscall.SIGKILL}); got != Fail {
		t.Errorf("signal: %s", got)
	}
	for _, bad := range []string{"", "3", "3=", "=dead", "3=bury", "3=DEAD", "256=dead", "-1=dead", "+1=dead", "a=dead", "5-3=dead", "3-256=dead",
		"3-=dead", "1.0=dead", "8=dead,", "8=dead,9=bury", "signal=done,x", "signals=dead", "3=dead;4=dead", "0x3=dead"} {
		before := m
		if err := m.Set(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		} else if strings.Contains(err.Error(), "strconv") {
			t.Errorf("%q: %v", bad, err)
		}
		if m != before {
			t.Errorf("%q is refused and changes the map", bad)
		}
	}
}

func TestRulesAreTold(t *testing.T) {
	m := DefaultMap()
	if err := m.Set("10-12=release"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range m.Rules() {
		got = append(got, r.On+"="+string(r.Action))
		if r.Action.Meaning() == string(r.Action) && r.Action != Done {
			t.Errorf("%s has no meaning", r.Action)
		}
	}
	if want := "0=done; 10-12, 99=release; 65, 78=dead; 126-127=stop; any other=fail; signal=crash"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}
