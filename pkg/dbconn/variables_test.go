package dbconn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/dbconn"
)

// What the text says itself does not come from a variable; everything else does.
func TestVariables(t *testing.T) {
	for text, want := range map[string]string{
		"":                                            "PGHOST PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE",
		"postgres://":                                 "PGHOST PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE",
		"postgres://h":                                "PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE",
		"postgres://u:p@127.0.0.1:5433/d":             "PGSERVICE",
		"postgres://u@[::1]:5433/d":                   "PGPASSWORD PGPASSFILE PGSERVICE",
		"postgres://u@/d?host=/run/x&port=5433":       "PGPASSWORD PGPASSFILE PGSERVICE",
		"postgres:///d?service=s":                     "PGHOST PGPORT PGUSER PGPASSWORD PGPASSFILE",
		"host=h user=u password='p w' dbname=d":       "PGPORT PGSERVICE",
		"host=h port=5433 user=u dbname=d passfile=x": "PGPASSWORD PGSERVICE",
	} {
		all := dbconn.Variables(text)
		got := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			return strings.HasPrefix(name, "PGSSL") || name == "PGHOSTADDR" || name == "PGSERVICEFILE" || name == "PGOPTIONS"
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", text, strings.Join(got, " "), want)
		}
		if slices.Contains(all, "PGHOST") != slices.Contains(all, "PGHOSTADDR") {
			t.Errorf("%q: of PGHOST and PGHOSTADDR only one: %v", text, all)
		}
	}
}
