//go:build unix

package worker

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the help tells of descriptor 3 is what is understood there, no more and no less.
func TestAnswersAreTold(t *testing.T) {
	var told []string
	for _, said := range append(Answers(), Outcomes()...) {
		line := strings.NewReplacer(`"result":…`, `"result":{"n":1}`, "…", "x").Replace(said.Line)
		if _, err := parseReply([]byte(line), false); err != nil {
			t.Errorf("%s: %v", said.Line, err)
		}
		for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(said.Line, -1) {
			told = append(told, m[1])
		}
	}
	for i := range reflect.TypeFor[reply]().NumField() {
		if name := reflect.TypeFor[reply]().Field(i).Tag.Get("json"); name != "" && !slices.Contains(told, name) {
			t.Errorf("%s is not told", name)
		}
	}
	for _, name := range []string{"done", "fail", "dead", "release", "crash"} {
		if p, err := parseReply([]byte(`{"id":"x","outcome":"`+name+`"}`), false); err != nil {
			t.Error(err)
		} else if o, final, err := p.outcome(); err != nil || !final || string(o.action) != name {
			t.Errorf("%s: %+v, %v, %v", name, o, final, err)
		}
	}
	if p, err := parseReply([]byte(`{"retry_in":"1d","extend":"90s"}`), false); err != nil || *p.retryIn != 24*time.Hour || p.extend != 90*time.Second {
		t.Errorf("%+v, %v", p, err)
	}
}

// Lines are put together however they come, long ones in pieces that are marked.
func TestPieces(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for name, x := range map[string]struct{ in, want string }{
		"none":              {"", ""},
		"lines":             {"a\n\nb\n", "a||b|"},
		"without a newline": {"a\nb", "a|b|"},
		"just short enough": {long + "\nb\n", long + "|b|"},
		"one byte too long": {long + "y\nb\n", long + "+y+b|"},
		"two pieces":        {long + long + "\nb\n", long + "+" + long + "+b|"},
		"three and no end":  {long + long + "y", long + "+" + long + "+y+"},
	} {
		for _, chunk := range []int{1 << 30, 4096, 1000} {
			var got strings.Builder
			p := pieces{f: func(line []byte, tooLong bool) {
				got.Write(line)
				got.WriteString(map[bool]string{true: "+", false: "|"}[tooLong])
			}}
			for in := x.in; in != ""; {
				n := min(chunk, len(in))
				p.add([]byte(in[:n]))
				in = in[n:]
			}
			if len(p.line) > 0 {
				p.emit()
			}
			if got.String() != x.want {
				t.Errorf("%s, %d at a time: %d bytes, want %d", name, chunk, got.Len(), len(x.want))
			}
		}
	}
}

// The end of what a command said is kept, in whole characters.
func TestTail(t *testing.T) {
	var said tail
	for range 10000 {
		said.add([]byte("0123456789"))
	}
	said.add([]byte("caf\xe9 é"))
	got := said.String()
	if len(got) > tailSize+8 || len(got) < tailSize-8 || !strings.HasSuffix(got, "0123456789\ncaf\uFFFD é") {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-30):])
	}
	for how, x := range map[string][2]string{"nothing": {"", "exit 1"}, "a line": {"why", "exit 1: why"}, "two": {"first\nwhy", "exit 1: why\nfirst\nwhy"}} {
		if got := failure("exit 1", x[0]); got != x[1] {
			t.Errorf("%s: %q, want %q", how, got, x[1])
		}
	}
}

// An answer that is a receipt alone is read without a decoder, and means the same as one with a space in it, which is not.
func TestBareAnswer(t *testing.T) {
	for line, quick := range map[string]bool{
		`{"receipt":"td_01900000-0000-7000-8000-00000000000a@12"}`: true, `{"receipt":""}`: true, `{"receipt":"td_x"}`: true,
		`{"receipt":"a\"b"}`: false, `{"receipt":"A"}`: false, `{"receipt":"é"}`: false, `{"receipt":"a","progress":3}`: false,
		`{"receipt":"a","id":"b"}`: false, `{"receipt":"a"}x`: false, `{"receipt":"a`: false, `{"receipt":"`: false, `{"receipt":"a" }`: false, `{"receipt":null}`: false,
	} {
		if _, ok := bare([]byte(line)); ok != quick {
			t.Errorf("%s: read without a decoder: %t", line, ok)
		}
		got, err := parseReply([]byte(line), false)
		want, wrong := parseReply([]byte(strings.Replace(line, "{", "{ ", 1)), false)
		if !reflect.DeepEqual(got, want) || (err == nil) != (wrong == nil) {
			t.Errorf("%s: %+v, %v; with a space %+v, %v", line, got, err, want, wrong)
		}
	}
}
