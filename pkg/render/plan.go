package render

import (
	"bufio"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/todoctl/todoctl/pkg/todo"
)

// plan is what a shape and the options come to: one form and its fields, all checked.
type plan struct {
	shape  Shape
	opts   Options
	format string
	fields []string // chosen with --fields, else nil
	jq     *gojq.Code
}

func newPlan(s Shape, o Options) (*plan, error) {
	s = s.withDefaults()
	if o.Source == "default" {
		o.Source = "" // nobody said it, so that no message can name a place
	}
	p := &plan{shape: s, opts: o}
	for _, step := range []func() error{p.chooseFormat, p.chooseFields, p.checkForm, p.compileJQ} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (s Shape) withDefaults() Shape {
	if s.ID == "" {
		s.ID = "id"
	}
	if s.Fields == nil {
		seen := append([]string{s.ID}, names(slices.Concat(s.Table, s.Wide, s.TSV))...)
		for _, f := range seen {
			if !slices.Contains(s.Fields, f) {
				s.Fields = append(s.Fields, f)
			}
		}
	}
	if s.Table == nil {
		s.Table = slices.DeleteFunc(slices.Clone(s.Fields), isPayload)
	}
	if s.Wide == nil {
		s.Wide = s.Table
	}
	if s.TSV == nil {
		s.TSV = slices.DeleteFunc(names(s.Table), func(f string) bool { return f == s.ID })
		if slices.Contains(s.Fields, s.ID) {
			s.TSV = slices.Insert(s.TSV, 0, s.ID)
		}
	}
	return s
}

// chooseFormat settles the form. A jq filter implies JSON, unless the command line itself asks for
// another form, which is a contradiction.
func (p *plan) chooseFormat() error {
	p.format = p.opts.Format
	known := func(f Format) bool { return f.Name == p.format }
	switch {
	case p.format == "" && p.opts.Source != "":
		return todo.Errorf(todo.CodeUsage, "%s is set but empty", p.opts.Source).
			WithHint("forms: %s", strings.Join(formatNames(), ", "))
	case p.format == "" && p.opts.JQ != "":
		p.format = JSON
	case p.format == "" && p.opts.TTY:
		p.format = Table
	case p.format == "":
		p.format = TSV
	case !slices.ContainsFunc(Formats(), known):
		return unknown("output form", p.format, formatNames()).atSource(p.opts.Source)
	case p.opts.JQ != "" && p.format != JSON && p.format != JSONL:
		if p.saidElsewhere() {
			p.format = JSON
			return nil
		}
		return todo.Errorf(todo.CodeUsage, "--jq filters JSON, not %s", p.format).
			WithHint("leave -o %s away, or write -o json or -o jsonl", p.format)
	}
	return nil
}

// saidElsewhere tells a form of the config or environment from one on the command line.
func (p *plan) saidElsewhere() bool { return p.opts.Source != "" && p.opts.Source != "--output" }

func (p *plan) chooseFields() error {
	if p.opts.Fields != nil && len(p.opts.Fields) == 0 {
		return todo.Errorf(todo.CodeUsage, "--fields is empty").
			WithHint("fields: %s", strings.Join(p.shape.Fields, ", "))
	}
	for i, f := range p.opts.Fields {
		f = strings.TrimSpace(f)
		switch {
		case f == "":
			return todo.Errorf(todo.CodeUsage, "--fields has an empty name").
				WithHint("fields: %s", strings.Join(p.shape.Fields, ", "))
		case !slices.Contains(p.shape.Fields, f):
			return unknown("field", f, p.shape.Fields).Error
		case slices.Contains(p.fields[:i], f):
			return todo.Errorf(todo.CodeUsage, "--fields names %s twice", f)
		}
		p.fields = append(p.fields, f)
	}
	return nil
}

// checkForm refuses what the form cannot print, whatever the data will be.
func (p *plan) checkForm() error {
	has := func(f string) bool { return slices.Contains(p.shape.Fields, f) }
	refuse := func(why, hint string) error {
		e := &refusal{todo.Errorf(todo.CodeUsage, "%s", why).WithHint("%s", hint)}
		return e.atSource(p.opts.Source)
	}
	switch p.format {
	case ID:
		if !has(p.shape.ID) {
			return refuse("this command has no id to print", "use -o json, tsv or table")
		}
	case Receipt:
		if !has("receipt") {
			return refuse("this command has no receipt to print", "use -o id, or -o json")
		}
	case EnvForm:
		switch {
		case !has("id") || !has("payload"):
			return refuse("-o env prints a todo, and this command answers with something else", "use -o json or tsv")
		case p.shape.Many:
			return refuse("-o env prints one todo, and this command line asks for a list",
				"leave --limit and further ids away, or use -o jsonl")
		}
	case Table, Wide:
		for _, f := range p.fields {
			if isPayload(f) && !p.shape.Payload {
				return refuse(f+" is not shown in tables", "use -o json, csv or tsv with --fields")
			}
		}
	}
	if p.fields != nil && slices.Contains([]string{ID, Receipt, EnvForm}, p.format) {
		return todo.Errorf(todo.CodeUsage, "--fields has no meaning with -o %s", p.format).
			WithHint("use -o tsv, csv, json or jsonl")
	}
	return nil
}

func (p *plan) compileJQ() error {
	if p.opts.JQ == "" {
		return nil
	}
	query, err := gojq.Parse(p.opts.JQ)
	if err == nil {
		p.jq, err = gojq.Compile(query)
	}
	if err != nil {
		return todo.Errorf(todo.CodeUsage, "--jq: %v", err).WithHint("the filter is jq's language: --jq '.id'")
	}
	return nil
}

// form builds the writer of rows; it cannot fail, since everything was checked.
func (p *plan) form(out *bufio.Writer) form {
	columns := func(standard []string) []string {
		if p.fields != nil {
			return p.fields
		}
		return standard
	}
	tty := p.opts.TTY
	switch p.format {
	case JSON, JSONL:
		array := p.shape.Many && p.format == JSON
		if p.jq != nil {
			return &jqForm{out: out, code: p.jq, fields: p.fields, array: array, tty: tty}
		}
		return &jsonForm{out: out, fields: p.fields, array: array, tty: tty, indent: tty && p.format == JSON}
	case CSV:
		return newCSV(out, columns(p.shape.Fields), tty)
	case TSV:
		return &tsvForm{out: out, fields: columns(p.shape.TSV), tty: tty}
	case ID:
		return &tsvForm{out: out, fields: []string{p.shape.ID}, tty: tty}
	case Receipt:
		return &tsvForm{out: out, fields: []string{"receipt"}, orElse: p.shape.ID, tty: tty}
	case EnvForm:
		return &envForm{out: out, tty: tty}
	}
	fixWidths()
	specs := p.shape.Table
	if p.format == Wide {
		specs = p.shape.Wide
	}
	if p.shape.Many {
		return &tableForm{out: out, columns: parseColumns(columns(specs)), id: p.shape.ID, style: p.style()}
	}
	return &sheetForm{out: out, columns: parseColumns(columns(specs)), id: p.shape.ID, style: p.style(),
		payload: p.shape.Payload && p.fields == nil}
}

func (p *plan) style() style {
	st := style{width: p.opts.Width, color: p.opts.Color, now: p.opts.Now}
	if st.width <= 0 {
		st.width = 80
	}
	if p.format == Wide {
		st.width = 0
	}
	return st
}

// refusal is a usage error that can still learn where its cause was said.
type refusal struct{ *todo.Error }

func (r *refusal) atSource(source string) error {
	if source == "" {
		return r.Error
	}
	e := *r.Error
	e.Message = source + ": " + e.Message
	return &e
}

// unknown names a word that is not in the list, and the one that was probably meant.
func unknown(what, word string, known []string) *refusal {
	e := todo.Errorf(todo.CodeUsage, "unknown %s %q", what, word)
	if near := todo.Nearest(word, known); near != "" {
		e.Message += ", did you mean " + near + "?"
	}
	return &refusal{e.WithHint("%ss: %s", what, strings.Join(known, ", "))}
}

func formatNames() []string {
	var all []string
	for _, f := range Formats() {
		all = append(all, f.Name)
	}
	return all
}

func isPayload(field string) bool { return field == "payload" || field == "result" }
