//go:build unix

package cmd_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// answers are what a command can say of one todo among several, and what follows.
func answerTable() []struct{ title, condition, result, error, delay string } {
	return []struct{ title, condition, result, error, delay string }{
		{`say {"id":"ID"}`, "done", "", "", ""},
		{`say {"receipt":"RECEIPT"}`, "done", "", "", ""},
		{`say {"id":"ID","receipt":"RECEIPT","outcome":"done","result":{"n":9007199254740993}}`, "done", `{"n": 9007199254740993}`, "", ""},
		{`say {"id":"ID","result":null}`, "done", "null", "", ""},
		{`say {"id":"ID","outcome":"complete"}`, "done", "", "", ""},
		{`print {"id":"ID","result":"by stdout"}`, "done", `"by stdout"`, "", ""},
		{`print hello; print {"id":"ID","message":"a line of a log"}; print {"half; say {"id":"ID"}`, "done", "", "", ""},
		{`say {"id":"ID","outcome":"fail"}`, "retrying", "", "the command said fail", "00:00:30"},
		{`say {"id":"ID","error":"no\nsuch"}`, "retrying", "", "no\nsuch", "00:00:30"},
		{`say {"id":"ID","retry_in":"2h"}`, "retrying", "", "the command said fail", "02:00:00"},
		{`say {"id":"ID","outcome":"dead","error":"bad"}`, "dead", "", "bad", ""},
		{`say {"id":"ID","outcome":"release"}`, "delayed", "", "", "00:00:10"},
		{`say {"id":"ID","outcome":"release","retry_in":"1h"}`, "delayed", "", "", "01:00:00"},
		{`say {"id":"ID","outcome":"crash"}`, "retrying", "", "the command said crash", "00:00:30"},
		{`say {"id":"ID","outcome":"fail","result":"part"}`, "retrying", `"part"`, "the command said fail", "00:00:30"},
		{`say {"id":"ID","progress":50}; say {"id":"ID","extend":"1m"}; say {"id":"ID","progress":100,"result":1}`, "done", "1", "", ""},
		{`say {"id":"ID","outcome":"bury"}; say {"id":"ID"}`, "done", "", "", ""},          // refused and said again
		{`say {"id":"td_unknown"}; say {"reslut":1}; say {"id":"ID"}`, "done", "", "", ""}, // names nothing, then is right
		{`say {"id":"ID"}; say {"id":"ID","outcome":"dead"}`, "done", "", "", ""},          // the first counts
		{`later`, "done", "", "", ""}, // answered after the next has come
		{``, "done", "", "", ""},
	}
}

// With --batch and with --stream a command answers for each todo with a line, by id or by receipt, on descriptor 3 or stdout.
func TestWorkLines(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--batch", "100"}, {"--stream", "--batch", "5"}, {"--stream", "--batch", "2", "-c", "3"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			c, conn, _ := withDB(t)
			var titles []string
			for _, x := range answerTable() {
				titles = append(titles, x.title)
			}
			if flags[len(flags)-1] == "3" { // there each may be the last of its command, and later never come
				for i := range titles {
					titles[i] = strings.TrimSuffix(titles[i], "later")
				}
			}
			c.titled(titles...)
			r := c.drain(append(append([]string{"--grace", "10s"}, flags...), "--", "lines-child")...)
			if r.code != 7 || r.out != "" {
				t.Errorf("exit %d, stdout %q\n%s", r.code, r.out, r.err)
			}
			for i, s := range rows(t, conn) {
				x := answerTable()[i]
				result, failure := "", ""
				if s.Result != nil {
					result = *s.Result
				}
				if s.Error != nil {
					failure = *s.Error
				}
				if s.Condition != x.condition || result != x.result || failure != x.error || s.LeaseSeq != 1 || x.delay != "" && s.Delay != x.delay {
					t.Errorf("%s: %+v, result %s, error %q", x.title, s, result, failure)
				}
			}
			holds(t, r.err, "hello\n", `a line of a log`, `{"half`+"\n", `outcome "bury" is not one of done, fail, dead, release, crash`,
				"an answer names no todo that is open", `unknown field "reslut"`)
		})
	}
}

// What a command that is dead left unanswered follows from how it died, and from --on.
func TestWorkUnanswered(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		flags, titles []string
		want          string // conditions and attempts
		history       string // of the first that was left
		exit          int
	}{
		{[]string{"--batch", "9"}, []string{"", "exit 3", ""}, "done 1, retrying 1, retrying 1", "failed exit 3 without an answer", 7},
		{[]string{"--batch", "9"}, []string{"", "exit 0", ""}, "done 1, retrying 1, retrying 1", "failed exit 0 without an answer", 7},
		{[]string{"--batch", "9"}, []string{"", "warn why; exit 65", ""}, "done 1, dead 1, dead 1", "failed exit 65 without an answer: why", 7},
		{[]string{"--batch", "9", "--on", "3=release,0=release"}, []string{"exit 3", ""}, "delayed 0, delayed 0", "released exit 3 without an answer", 0},
		{[]string{"--batch", "9"}, []string{"exit 127", ""}, "pending 0, pending 0", "released exit 127 without an answer", 127},
		{[]string{"--stream"}, []string{"", "exit 3", ""}, "done 1, retrying 1, done 1", "failed exit 3 without an answer", 7},
		{[]string{"--stream", "--batch", "2"}, []string{"exit 99", "", ""}, "delayed 0, delayed 0, done 1", "released exit 99 without an answer", 0},
		{[]string{"--batch", "9"}, []string{"silent", "", ""}, "retrying 1, done 1, done 1", "failed exit 0 without an answer", 7},
		// The one that it was at is to blame for the time; the others are given back at once and done by another command.
		{[]string{"--batch", "9", "--run-timeout", "5s", "--max", "4"}, []string{"", "hang", "", ""}, "done 1, retrying 1, pending 0, pending 0",
			"failed timeout: ran longer than 5s", 7},
		{[]string{"--stream", "--batch", "3", "--run-timeout", "5s"}, []string{"", "hang", "", ""}, "done 1, retrying 1, done 1, done 1",
			"failed timeout: ran longer than 5s", 7},
		// One that reads no more would never end.
		{[]string{"--stream"}, []string{"", "deaf", ""}, "done 1, done 1, retrying 1", "failed the command closed its stdin and did not answer", 7},
	} {
		t.Run(strings.Join(append(x.flags, x.titles...), " "), func(t *testing.T) {
			t.Parallel()
			c, conn, _ := withDB(t)
			c.titled(x.titles...)
			r := c.drain(append(x.flags, "--", "lines-child")...)
			all := rows(t, conn)
			if got := conditions(all); r.code != x.exit || got != x.want {
				t.Errorf("exit %d, %s\n%s", r.code, got, r.err)
			}
			for _, s := range all {
				if s.History != "" {
					if s.History != x.history {
						t.Errorf("%q, want %q", s.History, x.history)
					}
					break
				}
			}
		})
	}
}

// A signal gives a stream the grace time; what it has not answered by then is given back with its attempt.
func TestWorkLinesFirstSignal(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--batch=3", "--stream"} {
		c, conn, _ := withDB(t)
		c.titled("", "warn here; hang", "")
		p := c.start("todoctl", "work", "-q", "q", "--grace", "100ms", flag, "--", "lines-child")
		waitUntil(t, "the second todo", func() bool { return pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state <> 'pending'") >= 2 })
		waitUntil(t, "the first one's end", func() bool { return rows(t, conn)[0].Condition == "done" })
		p.tell(syscall.SIGTERM)
		if r := p.end(); r.code != 0 {
			t.Errorf("exit %d\n%s", r.code, r.err)
		}
		if got := conditions(rows(t, conn)); got != "done 1, pending 0, pending 0" {
			t.Errorf("%s: %s", flag, got)
		}
	}
}

// With -o json every line on stderr is one JSON object, those of the commands too, whatever bytes they hold.
func TestWorkOutputAsJSON(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("enqueue", "-q", "q")
	r := c.run("work", "-q", "q", "--drain", "-o", "json", "--", "sh", "-c", `echo to stdout; printf 'to "stderr" \377\n' >&2; printf 'no newline'`)
	var output []string
	for line := range strings.Lines(r.err) {
		v := decode[map[string]any](t, line)
		if text, ok := v["output"].(string); ok {
			output = append(output, text)
		} else if v["todo"] == nil {
			t.Errorf("neither output nor todo: %s", line)
		}
	}
	slices.Sort(output)
	if want := []string{"no newline", "to \"stderr\" \ufffd", "to stdout"}; r.code != 0 || !slices.Equal(output, want) {
		t.Errorf("exit %d, output %q, want %q", r.code, output, want)
	}
}
