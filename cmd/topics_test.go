package cmd_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/todoctl/todoctl/cmd"
	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
	"github.com/todoctl/todoctl/pkg/worker"
)

func TestTopicsTellWhatTheProgramKnows(t *testing.T) {
	c := bare(t)
	var codes, settings, output, variables, worked []string
	for _, e := range cmd.ExitCodes() {
		codes = append(codes, fmt.Sprintf("  %-4d %s", e.Code, e.Name))
	}
	for _, v := range config.Variables() {
		settings = append(settings, v.Env)
	}
	for _, f := range render.Formats() {
		output = append(output, "  "+f.Name+" ")
	}
	for _, v := range render.EnvVariables() {
		variables = append(variables, "  "+v.Variable+" ")
	}
	for _, r := range worker.DefaultMap().Rules() {
		worked = append(worked, fmt.Sprintf("  %-11s%s ", r.On, r.Action))
	}
	for _, said := range append(worker.Answers(), worker.Outcomes()...) {
		worked = append(worked, "  "+said.Line+" ")
	}
	output = append(output, render.FieldsOf(todo.Todo{})...)
	for topic, words := range map[string][]string{
		"exit-codes": codes, "environment": append(settings, "default_profile", "production"), "output": output,
		"worker": append(append(variables, worked...), "date -u", "reap --quiet"),
	} {
		got := c.ok("help", topic)
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("help %s has no %q", topic, word)
			}
		}
		for _, line := range strings.Split(got, "\n") {
			if utf8.RuneCountInString(line) > 80 && !strings.Contains(line, "* * *") {
				t.Errorf("help %s is wider than 80 columns: %s", topic, line)
			}
		}
	}
	if got := c.ok("--help"); !strings.Contains(got, "exit-codes") || !strings.Contains(got, "worker") {
		t.Errorf("--help does not tell of the topics:\n%s", got)
	}
}
