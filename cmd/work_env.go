//go:build unix

package cmd

import (
	"slices"
	"strings"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/render"
)

// childEnv is the environment of the commands: this process's own, without the variables that the
// connection came from, which a command has no business with, and without those of another todo.
func (a *App) childEnv(keep []string) ([]string, error) {
	d, err := a.Config.Database()
	if err != nil {
		return nil, err
	}
	ours := append(dbconn.Variables(d.URL), "TODOCTL_DATABASE_URL", "TODOCTL_DATABASE_URL_FILE")
	if d.Source == "DATABASE_URL" {
		ours = append(ours, d.Source)
	}
	if v := a.Config.Value("profile"); d.Profile != "" && v.Source == "TODOCTL_PROFILE" {
		ours = append(ours, v.Source)
	}
	for _, v := range render.EnvVariables() {
		ours = append(ours, v.Variable)
	}
	var env []string
	for _, kv := range a.Env {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(ours, name) || slices.Contains(keep, name) {
			env = append(env, kv)
		}
	}
	return env, nil
}
