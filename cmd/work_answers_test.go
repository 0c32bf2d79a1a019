//go:build unix

package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// untilFile is what a command does that waits for the test to make a file.
func untilFile(name string) string { return "while ! [ -e " + name + " ]; do sleep 0.02; done" }

// touch makes such a file.
func (c *cli) touch(name string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// What a command says on descriptor 3, line by line.
func TestWorkAnswers(t *testing.T) {
	t.Parallel()
	says := func(line string) string { return "printf '%s\\n' '" + line + "' >&3; " }
	list := []struct {
		does, condition string
		result          string // "" for none
		error           string // how the error begins
		delay           string
	}{
		{says(`{"result":{"n":9007199254740993,"d":1.10}}`), "done", `{"d": 1.10, "n": 9007199254740993}`, "", ""},
		{says(`{"result":1}`) + says(`{"result":[2]}`), "done", `[2]`, "", ""},
		{says(`{"result":null}`), "done", `null`, "", ""},
		{`printf '{"result":"no newline"}' >&3`, "done", `"no newline"`, "", ""},
		{says("") + says(` {"result":"blank lines around"} `) + says(" \t"), "done", `"blank lines around"`, "", ""},
		{says(`{"progress":0}`) + says(`{"progress":100,"result":"both","extend":"1s"}`), "done", `"both"`, "", ""},
		{says(`{"error":"no matter"}`) + says(`{"retry_in":"1h"}`), "done", "", "", ""},
		{`printf '{"result":"%s"}\n' "$(head -c 1000000 /dev/zero | tr '\0' x)" >&3`, "done", `"` + strings.Repeat("x", 1000000) + `"`, "", ""},
		{says(`{"error":"no such mailbox\nat all"}`) + "exit 65", "dead", "", "no such mailbox\nat all", ""},
		{says(`{"error":"first"}`) + says(`{"error":"second"}`) + "exit 1", "retrying", "", "second", "00:00:30"},
		{says(`{"retry_in":"2h"}`) + "exit 1", "retrying", "", "exit 1", "02:00:00"},
		{says(`{"retry_in":"0s","error":"soon"}`) + "exit 65", "dead", "", "soon", ""},
		{says(`{"retry_in":"90m"}`) + "exit 99", "delayed", "", "", "01:30:00"},
		{says(`{"result":"so far"}`) + "exit 1", "retrying", `"so far"`, "exit 1", "00:00:30"},
		{says(`hello`), "retrying", "", `an answer cannot be read (not valid JSON at byte 1`, "00:00:30"},
		{says(`{"result":1} {"result":2}`), "retrying", "", `an answer cannot be read`, "00:00:30"},
		{says(`{"reslut":1}`), "retrying", "", `an answer cannot be read (unknown field "reslut")`, "00:00:30"},
		{says(`[1]`), "retrying", "", `an answer cannot be read (not an object): "[1]"`, "00:00:30"},
		{says(`null`), "retrying", "", `an answer cannot be read (not an object): "null"`, "00:00:30"},
		{says(`{"progress":"40"}`), "retrying", "", `an answer cannot be read (progress is not a whole number)`, "00:00:30"},
		{says(`{"progress":40.5}`), "retrying", "", `an answer cannot be read (progress is not a whole number)`, "00:00:30"},
		{says(`{"progress":101}`), "retrying", "", `progress 101 is not between 0 and 100`, "00:00:30"},
		{says(`{"retry_in":"300"}`), "retrying", "", `retry_in "300" is not a duration`, "00:00:30"},
		{says(`{"retry_in":300}`), "retrying", "", `an answer cannot be read (retry_in is not a string)`, "00:00:30"},
		{says(`{"extend":"-1s"}`), "retrying", "", `extend "-1s" is not a duration`, "00:00:30"},
		{says(`{"extend":"8d"}`), "retrying", "", `extend "8d" is not a duration of at most 7d`, "00:00:30"},
		{says(`{"result":"\u0000"}`), "retrying", "", `an answer cannot be read (byte 12 holds \u0000`, "00:00:30"},
		{says(`{"outcome":"dead"}`), "retrying", "", `an answer speaks of an outcome`, "00:00:30"},
		{says(`{"id":"td_1","result":1}`), "retrying", "", `an answer speaks of an outcome or of another todo`, "00:00:30"},
		{`printf '{"id":"%s","receipt":"%s","result":7}\n' "$TODO_ID" "$TODO_RECEIPT" >&3`, "done", "7", "", ""},
		{`head -c 1100000 /dev/zero | tr '\0' x >&3; ` + says("") + says(`{"result":1}`), "retrying", "1", "an answer is longer than 1 MiB", "00:00:30"},
		{says(`{"result":1e400}`), "done", "1" + strings.Repeat("0", 400), "", ""},
	}
	c, conn, _ := withDB(t)
	var titles []string
	for _, x := range list {
		titles = append(titles, x.does)
	}
	c.titled(titles...)
	if r := c.drain(append([]string{"-c", "4"}, obey()...)...); r.code != 7 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for i, s := range rows(t, conn) {
		x := list[i]
		if s.Condition != x.condition || text(s.Result) != x.result || !strings.HasPrefix(text(s.Error), x.error) || x.error == "" && s.Error != nil ||
			x.delay != "" && s.Delay != x.delay {
			t.Errorf("%.100s: %s, result %.80s, error %q, due in %s", x.does, s.Condition, text(s.Result), text(s.Error), s.Delay)
		}
	}
}

// Progress shows while the command runs, an extension holds for the lease and for --run-timeout.
func TestWorkProgressAndExtension(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled(`echo '{"progress":40}' >&3; echo '{"extend":"2h"}' >&3; sleep 2.5; ` + untilFile("go"))
	p := c.start(append([]string{"todoctl", "work", "-q", "q", "--drain", "--ttl", "1m", "--run-timeout", "2s"}, obey()...)...)
	now := func() row { return rows(t, conn)[0] }
	waitUntil(t, "progress", func() bool { s := now(); return s.Progress != nil && *s.Progress == 40 })
	waitUntil(t, "the extension", func() bool { return time.Until(*now().Lease) > 100*time.Minute })
	if got := c.ok("list", "-q", "q", "-o", "json", "--jq", ".[].progress"); got != "40" {
		t.Errorf("list shows progress %s", got)
	}
	if got := c.ok("show", now().ID, "-o", "json", "--jq", ".progress"); got != "40" {
		t.Errorf("show shows progress %s", got)
	}
	c.touch("go")
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := now(); s.Condition != "done" {
		t.Errorf("%+v", s)
	}
	if got := c.ok("show", now().ID, "-o", "json", "--jq", ".progress"); got != "null" {
		t.Errorf("a todo that is done shows progress %s", got)
	}
}

// With --result stdout the last line of stdout is the result: JSON as it is, any other text as a string.
func TestWorkResultFromStdout(t *testing.T) {
	t.Parallel()
	list := []struct{ does, condition, result string }{
		{`echo first; echo '{"n":1.10}'`, "done", `{"n": 1.10}`},
		{`echo 18446744073709551615`, "done", `18446744073709551615`},
		{`printf 'no newline'`, "done", `"no newline"`},
		{`echo '{"half":'`, "done", `"{\"half\":"`},
		{`printf 'caf\351\n'`, "done", `"caf�"`},
		{`echo text; echo; echo ' '`, "done", `"text"`},
		{`echo loser; echo '{"result":"winner"}' >&3`, "done", `"winner"`},
		{`true`, "done", ``},
		{`echo first; head -c 1100000 /dev/zero | tr '\0' x`, "retrying", ``},
		{`head -c 1100000 /dev/zero | tr '\0' x; echo; echo last`, "done", `"last"`},
		{`echo lost; exit 1`, "retrying", ``},
	}
	c, conn, _ := withDB(t)
	var titles []string
	for _, x := range list {
		titles = append(titles, x.does)
	}
	c.titled(titles...)
	r := c.drain(append([]string{"-c", "2", "--result", "stdout"}, obey()...)...)
	if r.code != 7 || r.out != "" {
		t.Errorf("exit %d, stdout %q", r.code, r.out)
	}
	for i, s := range rows(t, conn) {
		got := ""
		if s.Result != nil {
			got = *s.Result
		}
		if s.Condition != list[i].condition || got != list[i].result {
			t.Errorf("%s: %s, result %.80s", list[i].does, s.Condition, got)
		}
	}
	holds(t, r.err, "first\n", "lost\n")
	holds(t, c.fails(2, "work", "-q", "q", "--result", "stderr", "--", "true").err, "--result")
}

// What PostgreSQL alone refuses fails that todo and none beside it.
func TestWorkResultRefusedByTheDatabase(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	pgExec(t, conn, "ALTER TABLE todos ADD CONSTRAINT small CHECK (result <> '13')")
	c.titled(`echo '{"result":12}' >&3`, `echo '{"result":13}' >&3`, `echo '{"result":13}' >&3; exit 1`, `echo '{"result":14}' >&3`)
	if r := c.drain(append([]string{"-c", "4"}, obey()...)...); r.code != 7 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	all := rows(t, conn)
	if all[0].Condition != "done" || all[3].Condition != "done" || all[1].Condition != "retrying" || all[2].Condition != "retrying" {
		t.Errorf("%+v", all)
	}
	holds(t, all[1].History, "failed the result cannot be stored: ")
	holds(t, all[2].History, "failed exit 1")
}

// The lines for machines: one JSON object for each todo, null where there is nothing.
func TestWorkLogForMachines(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("exit 0", "echo a >&2; echo b >&2; exit 65", "exit 99")
	r := c.drain(append([]string{"-o", "json", "--on-failed-exit", "3"}, obey()...)...)
	if r.code != 3 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	type event struct {
		Todo *struct {
			ID, Receipt, Queue, Outcome string
			Attempt                     int
			Seconds                     *float64
			Error                       *string
		}
		Error *struct{ Code, Message string }
	}
	var events []event
	for line := range strings.Lines(r.err) {
		if strings.HasPrefix(line, `{"output":`) { // the command's own
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events = append(events, e)
	}
	all := rows(t, conn)
	if len(events) != 4 || events[3].Error == nil || events[3].Error.Code != "partial" {
		t.Fatalf("%s", r.err)
	}
	for i, want := range []struct{ outcome, error string }{{"done", ""}, {"dead", "exit 65: b"}, {"released", "exit 99"}} {
		e := events[i].Todo
		if e.ID != all[i].ID || e.Receipt != e.ID+"@1" || e.Queue != "q" || e.Outcome != want.outcome || e.Attempt != 1 || e.Seconds == nil ||
			(e.Error == nil) != (want.error == "") || e.Error != nil && *e.Error != want.error {
			t.Errorf("%+v", e)
		}
	}
	c.titled("exit 0", "exit 1")
	if r := c.drain(append([]string{"--quiet", "--on-failed-exit", "0"}, obey()...)...); r.code != 0 || r.err != "" {
		t.Errorf("exit %d, stderr %q", r.code, r.err)
	}
}
