package render_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// unTSV reads what the TSV form wrote.
func unTSV(t *rapid.T, cell string) string {
	var b strings.Builder
	for i := 0; i < len(cell); i++ {
		if cell[i] != '\\' {
			b.WriteByte(cell[i])
			continue
		}
		i++
		hex := func(n int) {
			r, err := strconv.ParseUint(cell[i+1:i+1+n], 16, 32)
			if err != nil {
				t.Fatalf("bad escape in %q", cell)
			}
			b.WriteRune(rune(r))
			i += n
		}
		switch cell[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case '\\':
			b.WriteByte('\\')
		case 'x':
			hex(2)
		case 'u':
			hex(4)
		case 'U':
			hex(8)
		default:
			t.Fatalf("unknown escape in %q", cell)
		}
	}
	return b.String()
}

func write(t *rapid.T, o render.Options, rows []map[string]any, fields ...string) string {
	var b bytes.Buffer
	w, err := render.New(&b, render.Shape{Many: true, Fields: fields}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Row(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// anyText draws valid UTF-8 that is rich in what the forms treat as special.
func anyText() *rapid.Generator[string] {
	special := rapid.SampledFrom([]rune("\t\n\r\\\",' \x00\x1b\x7f\u0085\u202e\U000e0041=;."))
	return rapid.Map(rapid.StringOf(rapid.OneOf(rapid.Rune(), special)), func(s string) string { return strings.ToValidUTF8(s, "") })
}

func TestTSVAndCSVComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(t, "columns")
		fields := []string{"id", "b", "c", "d"}[:width]
		var rows []map[string]any
		var want [][]string
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			row, cells := map[string]any{}, make([]string, width)
			for i, f := range fields {
				cells[i] = anyText().Draw(t, f)
				row[f] = cells[i]
			}
			rows, want = append(rows, row), append(want, cells)
		}
		for _, tty := range []bool{false, true} {
			out := write(t, render.Options{Format: render.TSV, TTY: tty, Fields: fields}, rows, fields...)
			var got [][]string
			for line := range strings.Lines(out) {
				cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
				for i := range cells {
					cells[i] = unTSV(t, cells[i])
				}
				got = append(got, cells)
			}
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("TSV %q came back as %q, want %q", out, got, want)
			}
		}
		out := write(t, render.Options{Format: render.CSV, Fields: fields}, rows, fields...)
		got, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatalf("CSV %q: %v", out, err)
		}
		for _, cells := range want {
			for i := range cells {
				cells[i] = strings.ReplaceAll(cells[i], "\r\n", "\n") // Go's reader does so; the file has both
			}
		}
		if !slices.Equal(got[0], fields) || !slices.EqualFunc(got[1:], want, slices.Equal) {
			t.Fatalf("CSV %q came back as %q, want %q", out, got, want)
		}
	})
}

func TestJSONKeepsEveryDigit(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		digits := number.Draw(t, "number")
		payload := `{"a":[` + digits + `],"b":"<&>"}`
		rows := []map[string]any{{"id": "x", "payload": json.RawMessage(payload)}}
		for _, o := range []render.Options{{Format: render.JSON}, {Format: render.JSONL}, {Format: render.JSONL, Fields: []string{"payload", "id"}},
			{Format: render.TSV, Fields: []string{"payload"}}, {JQ: ".[].payload"}, {Format: render.JSONL, JQ: ".payload.a[0]"}} {
			if out := write(t, o, rows, "id", "payload"); !strings.Contains(out, digits) {
				t.Fatalf("%+v: no %s in %s", o, digits, out)
			}
		}
	})
}

func TestCaseC112EmptyAnswers(t *testing.T) {
	for form, want := range map[string]string{
		render.JSON: "[]\n", render.JSONL: "", render.TSV: "", render.ID: "", render.Receipt: "", render.Table: "", render.Wide: "",
	} {
		for _, tty := range []bool{false, true} {
			if got := show(t, list(), render.Options{Format: form, TTY: tty}); got != want {
				t.Errorf("an empty list as %s is %q, want %q", form, got, want)
			}
			if got := show(t, one(), render.Options{Format: form, TTY: tty}); got != "" {
				t.Errorf("no object as %s is %q", form, got)
			}
		}
	}
	if got := show(t, list(), render.Options{Format: render.CSV, Fields: []string{"id", "queue"}}); got != "id,queue\n" {
		t.Errorf("an empty list as csv is %q", got)
	}
	if got := show(t, list(), render.Options{JQ: "length"}); got != "0\n" {
		t.Errorf("the length of an empty list is %q", got)
	}
	// Lists and maps inside an object are never null.
	type inner struct {
		Tags []string `json:"tags"`
	}
	type outer struct {
		inner
		ID     string          `json:"id"`
		Lines  []int           `json:"lines"`
		Counts map[string]int  `json:"counts"`
		Nested inner           `json:"nested"`
		Raw    json.RawMessage `json:"raw"`
		None   *string         `json:"none"`
	}
	got := show(t, render.Shape{Fields: render.FieldsOf(outer{})}, render.Options{Format: render.JSON}, &outer{ID: "x", inner: inner{Tags: []string{}}})
	if want := `{"tags":[],"id":"x","lines":[],"counts":{},"nested":{"tags":[]},"raw":null,"none":null}` + "\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// full fails after so many bytes, as a disk does, and remembers how often it was asked.
type full struct{ room, writes int }

func (f *full) Write(p []byte) (int, error) {
	f.writes++
	if len(p) <= f.room {
		f.room -= len(p)
		return len(p), nil
	}
	n := f.room
	f.room = 0
	return n, syscall.ENOSPC
}

func TestCaseC115LostOutputIsAnError(t *testing.T) {
	for _, form := range append(forms(), render.EnvForm) {
		s := list()
		s.Many = form != render.EnvForm
		rows := 1
		if s.Many {
			rows = 400 // more than the buffer holds
		}
		for _, room := range []int{0, 10, 100, 8 << 10} {
			f := &full{room: room}
			w, err := render.New(f, s, render.Options{Format: form})
			if err != nil {
				t.Fatal(err)
			}
			for range rows {
				if err = w.Row(sample(1, strings.Repeat("x", 50))); err != nil {
					break
				}
			}
			if err == nil {
				err = w.Close()
			}
			if form == render.EnvForm && room == 8<<10 {
				if err != nil {
					t.Errorf("%s: %v", form, err)
				}
				continue
			}
			if !errors.Is(err, syscall.ENOSPC) || todo.CodeOf(err) != todo.CodeInternal || !strings.Contains(err.Error(), "write output: no space left") {
				t.Errorf("%s with room for %d bytes: error is %v", form, room, err)
			}
		}
	}
	for _, err := range []error{render.Env(&full{}, sample(1, "x")), render.EnvNone(&full{}, 3)} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error is %v", err)
		}
	}
	w, err := render.New(&full{}, one(), render.Options{Format: render.JSON})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Row(sample(1, "x")), w.Flush()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Flush says %v", err)
	}
}

// Machine forms hold no rows back: what was written is on its way after some more rows.
func TestMachineFormsStream(t *testing.T) {
	for _, form := range []string{render.JSON, render.JSONL, render.TSV, render.CSV, render.ID, render.Receipt} {
		f := &full{room: 1 << 30}
		w, err := render.New(f, list(), render.Options{Format: form})
		if err != nil {
			t.Fatal(err)
		}
		row := sample(1, strings.Repeat("x", 1000))
		for range 2000 {
			if err := w.Row(row); err != nil {
				t.Fatal(err)
			}
		}
		if written := 1<<30 - f.room; f.writes < 2 || written < 2000*len(row.ID)-(64<<10) {
			t.Errorf("%s: %d bytes in %d writes after 2000 rows", form, written, f.writes)
		}
	}
}

func TestOneObjectIsOne(t *testing.T) {
	w, err := render.New(io.Discard, one(), render.Options{Format: render.JSON})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Row(sample(1, "a")); err != nil {
		t.Fatal(err)
	}
	if err := w.Row(sample(2, "b")); todo.CodeOf(err) != todo.CodeInternal || err == nil {
		t.Errorf("a second object: %v", err)
	}
	for _, bad := range []any{1, "x", nil, []int{1}, func() {}} {
		w, err := render.New(io.Discard, one(), render.Options{Format: render.JSON})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Row(bad); err == nil {
			t.Errorf("%T is taken for an object", bad)
		}
	}
}
