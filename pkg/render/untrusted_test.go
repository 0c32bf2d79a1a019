package render_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/todoctl/todoctl/pkg/render"
)

// displayWidth counts terminal cells by rules of its own, for text without joined emoji.
func displayWidth(line string) int {
	n := 0
	for _, r := range strings.TrimRight(line, "\n") {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF,
			r >= 0xFF00 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
			n += 2
		default:
			n++
		}
	}
	return n
}

// raw finds a character that a terminal might act upon.
func raw(s string) (rune, bool) {
	for _, r := range s {
		if r == '\n' || r == '\u200D' {
			continue
		}
		if r < 0x20 || r == 0x7F || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, !utf8.ValidString(s)
}

func lines(t *testing.T, path string) []item {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []item
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var in struct {
			Title   string
			Payload json.RawMessage
		}
		if err := json.Unmarshal(sc.Bytes(), &in); err != nil {
			t.Fatal(err)
		}
		v := sample(len(all)+1, in.Title)
		v.Payload = in.Payload
		all = append(all, v)
	}
	return all
}

func TestCaseC105EscapesNeverReachATerminal(t *testing.T) {
	todos := lines(t, "testdata/C105-escapes.ndjson")
	if len(todos) != 6 {
		t.Fatalf("%d rows", len(todos))
	}
	for _, v := range todos {
		v.Owner, v.Error = ptr(v.Title), ptr(v.Title)
		full := one()
		full.Table, full.Payload = append(full.Table, "owner", "error"), true
		for _, form := range append(forms(), render.EnvForm) {
			for _, s := range []render.Shape{full, list()} {
				if s.Many && form == render.EnvForm {
					continue
				}
				got := show(t, s, render.Options{Format: form, TTY: true, Width: 80}, v)
				if form == render.TSV {
					got = strings.ReplaceAll(got, "\t", "") // the separator itself
				}
				if r, found := raw(got); found {
					t.Errorf("%s prints %U raw:\n%q", form, r, got)
				}
			}
		}
		// Off a terminal a table and TSV are as harmless to a log.
		for _, form := range []string{render.Table, render.Wide, render.TSV} {
			got := show(t, list(), render.Options{Format: form}, v)
			if i := strings.IndexFunc(got, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7F }); i >= 0 {
				t.Errorf("%s holds a control character: %q", form, got)
			}
		}
		// JSON keeps the data, escaped.
		for _, tty := range []bool{false, true} {
			var back []struct{ Title string }
			if err := json.Unmarshal([]byte(show(t, list(), render.Options{Format: render.JSON, TTY: tty}, v)), &back); err != nil {
				t.Fatal(err)
			}
			if back[0].Title != v.Title {
				t.Errorf("%q came back as %q", v.Title, back[0].Title)
			}
		}
	}
}

func TestAnyTextIsHarmlessOnATerminal(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom(nil, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)))
	rapid.Check(t, func(t *rapid.T) {
		title := strings.ToValidUTF8(text.Draw(t, "title"), "")
		v := sample(1, title)
		v.Payload, _ = json.Marshal(map[string]string{title: title})
		s := one()
		s.Payload = true
		for _, form := range append(forms(), render.EnvForm) {
			var b bytes.Buffer
			w, err := render.New(&b, s, render.Options{Format: form, TTY: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Row(v), w.Close()); err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(b.String(), "\t", "")
			if r, found := raw(got); found {
				t.Fatalf("%s prints %U raw: %q", form, r, got)
			}
			if form == render.JSON {
				var back struct{ Title string }
				if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Title != title {
					t.Fatalf("%q came back as %q, %v", title, back.Title, err)
				}
			}
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "日本 é": "日本 é", "a\x1b[0m": `a\x1b[0m`, "a\nb\tc\rd": `a\nb\tc\rd`, "\u009b1m": `\u009b1m`, "\u202egpj": `\u202egpj`,
		"\u2028": `\u2028`, "\x7f\x00": `\x7f\x00`, "bad \xff\xfe": `bad \xff\xfe`, "👨\u200d👩": "👨\u200d👩", "\U000e0041": `\U000e0041`,
		"\ufeffbom": `\ufeffbom`, "soft\u00adhyphen": `soft\u00adhyphen`, "\ufffd": "\ufffd",
	} {
		if got := render.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// The table of wide text is printed by a process of its own for each locale: the width table of the
// library below go-pretty is chosen when a process starts.
func TestCaseC107WideTextKeepsColumnsStraight(t *testing.T) {
	todos := lines(t, "testdata/C107-wide.ndjson")
	var rows []any
	for _, v := range todos {
		rows = append(rows, v)
	}
	table := show(t, list(), render.Options{Format: render.Table, Now: clock()}, rows...)
	if os.Getenv("RENDER_TEST_PRINT") != "" {
		fmt.Print(table)
		return
	}
	all := strings.Split(strings.TrimRight(table, "\n"), "\n")
	if len(all) != 7 {
		t.Fatalf("%d lines:\n%s", len(all), table)
	}
	for i, line := range all {
		if i == 4 {
			continue // joined emoji: terminals differ, see the documentation of output
		}
		if got, want := displayWidth(line), displayWidth(all[0]); got != want {
			t.Errorf("%d cells, the header has %d: %q", got, want, line)
		}
	}
	for _, locale := range []string{"C", "C.UTF-8", "zh_CN.UTF-8", "ja_JP.UTF-8"} {
		c := exec.Command(os.Args[0], "-test.run=^TestCaseC107WideTextKeepsColumnsStraight$")
		c.Env = append(os.Environ(), "RENDER_TEST_PRINT=1", "LANG="+locale, "LC_ALL="+locale)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(out), table) {
			t.Errorf("with LANG=%s:\n%s\nelsewhere:\n%s", locale, out, table)
		}
	}
	for _, v := range todos {
		var back []struct{ Title string }
		if err := json.Unmarshal([]byte(show(t, list(), render.Options{Format: render.JSON}, v)), &back); err != nil || back[0].Title != v.Title {
			t.Errorf("%q came back as %v, %v", v.Title, back, err)
		}
	}
}

func TestCaseC109ColorOnlyWhereAskedFor(t *testing.T) {
	for _, c := range []struct {
		mode, env string
		tty, want bool
	}{
		{"auto", "", true, true}, {"auto", "", false, false}, {"", "", true, true},
		{"auto", "NO_COLOR=1", true, false}, {"auto", "NO_COLOR=", true, true}, {"auto", "NO_COLOR=0", true, false},
		{"auto", "TERM=dumb", true, false}, {"auto", "CLICOLOR=0", true, false}, {"auto", "CLICOLOR=1", false, false},
		{"auto", "CLICOLOR_FORCE=1", false, true}, {"auto", "CLICOLOR_FORCE=0", false, false}, {"auto", "CLICOLOR_FORCE=", false, false},
		{"auto", "CLICOLOR_FORCE=1 NO_COLOR=1", true, false}, {"auto", "CLICOLOR_FORCE=1 TERM=dumb", false, true},
		{"always", "NO_COLOR=1 TERM=dumb", false, true}, {"never", "CLICOLOR_FORCE=1", true, false},
	} {
		getenv := func(name string) string {
			for _, kv := range strings.Fields(c.env) {
				if v, found := strings.CutPrefix(kv, name+"="); found {
					return v
				}
			}
			return ""
		}
		if got := render.UseColor(c.mode, getenv, c.tty); got != c.want {
			t.Errorf("%+v: color %v", c, got)
		}
	}
	for _, form := range forms() {
		color := show(t, list(), render.Options{Format: form, Color: true}, mixed()...)
		plain := show(t, list(), render.Options{Format: form}, mixed()...)
		if isTable := form == render.Table || form == render.Wide; (color != plain) != isTable || isTable && strings.Contains(plain, "\x1b") {
			t.Errorf("%s with color:\n%q\nwithout:\n%q", form, color, plain)
		}
	}
	// The words are there without the color, and the columns stand where they stood.
	plain := show(t, list(), render.Options{Format: render.Table}, mixed()...)
	colored := show(t, list(), render.Options{Format: render.Table, Color: true}, mixed()...)
	for _, code := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
	}
	if plain != colored {
		t.Errorf("color changes more than colors:\n%s\n%s", plain, colored)
	}
}
