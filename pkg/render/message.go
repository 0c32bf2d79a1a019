package render

import (
	"errors"
	"io"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Error prints a failure on the error stream: "todoctl: " and what happened in one line, then
// "hint: " and what to type next in another; or as one JSON object in one line.
func Error(w io.Writer, err error, json, tty bool) {
	e := &todo.Error{Code: todo.CodeInternal, Message: err.Error()}
	var known *todo.Error
	if errors.As(err, &known) {
		c := *known
		e = &c
		if e.Message == "" {
			e.Message = string(e.Code)
		}
	}
	if json {
		object := map[string]any{}
		for k, v := range e.Details {
			object[k] = v
		}
		object["code"], object["message"], object["hint"] = e.Code, e.Message, nil
		if e.Hint != "" {
			object["hint"] = e.Hint
		}
		jsonLine(w, "error", object, tty)
		return
	}
	text := "todoctl: " + oneLine(e.Message) + "\n"
	if e.Hint != "" {
		text += "hint: " + oneLine(e.Hint) + "\n"
	}
	_, _ = io.WriteString(w, text) // nobody is left to tell
}

// Warning prints something that a user should know although the command goes on.
func Warning(w io.Writer, text string, json bool) { message(w, "warning", text, json) }

// Note prints something that a user may want to know.
func Note(w io.Writer, text string, json bool) { message(w, "note", text, json) }

func message(w io.Writer, kind, text string, json bool) {
	if json {
		jsonLine(w, kind, text, true) // whether a terminal reads it, or a log that one shows
		return
	}
	_, _ = io.WriteString(w, kind+": "+oneLine(text)+"\n")
}

// jsonLine writes {"kind": value} with a single call, so that lines of several processes do not mix.
func jsonLine(w io.Writer, kind string, value any, tty bool) {
	line, err := encode(map[string]any{kind: value})
	if err != nil {
		line, _ = encode(map[string]any{kind: map[string]any{"code": todo.CodeInternal, "message": err.Error(), "hint": nil}})
	}
	if tty {
		line = harmlessJSON(line)
	}
	_, _ = w.Write(append(line, '\n'))
}

// oneLine joins the lines of a message and cleans it: messages quote input, and end up in logs.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return Clean(s)
}
