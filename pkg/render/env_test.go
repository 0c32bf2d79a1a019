package render_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/render"
)

// shells that eval what -o env prints; both must be there, as they are wherever this is built.
func shells() []string { return []string{"dash", "bash", "sh"} }

// evaluate runs eval on text as a script would, and prints the named variables with NUL between.
func evaluate(t testing.TB, shell, text string, names ...string) map[string]string {
	t.Helper()
	script := "set -eu\nt=$(cat)\neval \"$t\"\n"
	for _, n := range names {
		script += `printf '%s\0' "$` + n + "\"\n"
	}
	c := exec.Command(shell, "-c", script)
	c.Stdin = strings.NewReader(text)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", shell, err, stderr.String())
	}
	all := map[string]string{}
	values := strings.Split(string(out), "\x00")
	for i, n := range names {
		all[n] = values[i]
	}
	return all
}

func variables() []string {
	var all []string
	for _, v := range render.EnvVariables() {
		all = append(all, v.Variable)
	}
	return all
}

func TestEnvSurvivesEval(t *testing.T) {
	v := sample(1, "it's $(touch x) `id` \\ \"q\" !! \t* ~\nsecond line\n")
	v.Source = "high \u00c1\u00c2\u0101\u0881 bytes 日本 \x01\x02\x7f\x1b"
	v.Payload = json.RawMessage(`{"big":"` + strings.Repeat("a'b$", 50_000) + `","n":9007199254740993}`)
	got := show(t, one(), render.Options{Format: render.EnvForm}, v)
	want := map[string]string{
		"TODO_ID": v.ID, "TODO_RECEIPT": *v.Receipt, "TODO_QUEUE": "mail", "TODO_KIND": "welcome", "TODO_TITLE": v.Title,
		"TODO_SOURCE": v.Source, "TODO_KEY": "delivery-1", "TODO_OWNER": "w1@host", "TODO_ATTEMPT": "2", "TODO_MAX_ATTEMPTS": "5",
		"TODO_DEADLINE": "1796126700", "TODO_PAYLOAD": string(v.Payload),
	}
	if len(want) != len(variables()) {
		t.Errorf("variables are %v", variables())
	}
	for _, shell := range shells() {
		for name, value := range evaluate(t, shell, got, variables()...) {
			if value != want[name] {
				t.Errorf("%s: %s is %.100q, want %.100q", shell, name, value, want[name])
			}
		}
	}
	var direct bytes.Buffer
	if err := render.Env(&direct, v); err != nil || direct.String() != got {
		t.Errorf("Env and -o env differ: %v", err)
	}
	if strings.Contains(got, "export") {
		t.Error("it exports")
	}
}

// All texts are evaluated by one shell, since starting one is what takes time.
func TestEnvOfAnyText(t *testing.T) {
	var text bytes.Buffer
	var want []string
	for seed := range 500 {
		v := sample(1, strings.ReplaceAll(anyText().Example(seed), "\x00", ""))
		v.Payload, _ = json.Marshal(v.Title)
		if err := render.Env(&text, v); err != nil {
			t.Fatal(err)
		}
		text.WriteString(`printf '%s\0%s\0' "$TODO_TITLE" "$TODO_PAYLOAD"` + "\n")
		want = append(want, v.Title, string(v.Payload))
	}
	for _, shell := range shells() {
		c := exec.Command(shell, "-euc", `eval "$(cat)"`)
		c.Stdin = bytes.NewReader(text.Bytes())
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", shell, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(got) != len(want) {
			t.Fatalf("%s: %d values, want %d", shell, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q came back as %q", shell, want[i], got[i])
			}
		}
	}
}

func TestEnvOfNulls(t *testing.T) {
	v := item{ID: "td_1"}
	text := "TODO_KEY=old\nTODO_DEADLINE=1\n" + show(t, one(), render.Options{Format: render.EnvForm}, v)
	for _, shell := range shells() {
		for name, value := range evaluate(t, shell, text, variables()...) {
			want := map[string]string{"TODO_ID": "td_1", "TODO_ATTEMPT": "0", "TODO_MAX_ATTEMPTS": "0", "TODO_PAYLOAD": "null"}[name]
			if value != want {
				t.Errorf("%s: %s is %q, want %q", shell, name, value, want)
			}
		}
	}
}

func TestEnvNoneUnsetsAndFails(t *testing.T) {
	var none bytes.Buffer
	if err := render.EnvNone(&none, 3); err != nil {
		t.Fatal(err)
	}
	before := show(t, one(), render.Options{Format: render.EnvForm}, sample(1, "old"))
	for _, shell := range shells() {
		script := "eval \"$1\"\neval \"$2\"\necho \"rc=$? id=${TODO_ID-none} payload=${TODO_PAYLOAD-none} deadline=${TODO_DEADLINE-none}\"\n" +
			"if eval \"$2\"; then echo true; else echo \"false $?\"; fi\nset -e\neval \"$2\"\necho unreached\n"
		out, err := exec.Command(shell, "-c", script, "sh", before, none.String()).CombinedOutput()
		if want := "rc=3 id=none payload=none deadline=none\nfalse 3\n"; string(out) != want {
			t.Errorf("%s: got %q, want %q", shell, out, want)
		}
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 {
			t.Errorf("%s: set -e ends with %v", shell, err)
		}
	}
}
