package queue

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// files returns the statements by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	entries, err := db.Queries.ReadDir("queries")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		if list[name], err = statement(name); err != nil {
			t.Fatal(err)
		}
	}
	if len(list) < 40 {
		t.Fatalf("only %d statements", len(list))
	}
	return list
}

// positional rewrites @name to $1 and so on, as the driver does.
func positional(t *testing.T, sql string) (string, int) {
	t.Helper()
	named := pgx.StrictNamedArgs{}
	for _, m := range regexp.MustCompile(`@([a-z_]+)`).FindAllStringSubmatch(sql, -1) {
		named[m[1]] = nil
	}
	out, list, err := named.RewriteQuery(context.Background(), nil, sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out, len(list)
}

func TestStatementsPrepare(t *testing.T) {
	conn := pgtest.Connect(t, pgtest.Database(t))
	stage, err := statement("enqueue_stage")
	if err != nil {
		t.Fatal(err)
	}
	// The staging table lives as long as a transaction.
	if _, err := conn.Exec(t.Context(), "BEGIN; "+stage); err != nil {
		t.Fatal(err)
	}
	for name, sql := range files(t) {
		if name == "enqueue_stage" {
			continue
		}
		out, n := positional(t, sql)
		d, err := conn.Prepare(t.Context(), name, out)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.ParamOIDs) != n {
			t.Errorf("%s: %d parameters, %d in the file", name, len(d.ParamOIDs), n)
		}
	}
}

// A parameter without a cast gets its type from where it stands, in each place another one.
func TestStatementsCastEveryParameter(t *testing.T) {
	for name, sql := range files(t) {
		body := regexp.MustCompile(`(?m)^--.*$`).ReplaceAllString(sql, "")
		for _, m := range regexp.MustCompile(`@[a-z_]+(::[a-z]+)?`).FindAllStringSubmatch(body, -1) {
			if m[1] == "" {
				t.Errorf("%s: %s has no cast", name, m[0])
			}
		}
	}
}

func TestStatementsSayWhatTheyDo(t *testing.T) {
	header := regexp.MustCompile(`^(--.*\n)+`)
	says := regexp.MustCompile(`^-- [A-Z][a-z].+\. (.+\. )?Guard: .+\. (.+\. )?Index: .+\.$`)
	for name, sql := range files(t) {
		head := header.FindString(sql)
		if !says.MatchString(strings.ReplaceAll(strings.TrimSpace(head), "\n-- ", " ")) {
			t.Errorf("%s: the comment must say what it does, then Guard: and Index:, in sentences; it says\n%s", name, head)
		}
		body := regexp.MustCompile(`'[^']*'|--.*`).ReplaceAllString(sql, "")
		if strings.Contains(body, ";") {
			t.Errorf("%s: more than one statement", name)
		}
	}
}

// Every file is run by name, and every name that is run has its file.
func TestStatementsAreUsed(t *testing.T) {
	sources, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	words, steps := map[string]bool{}, map[string]bool{}
	for _, name := range sources {
		if dir := filepath.Base(filepath.Dir(name)); strings.HasSuffix(name, "_test.go") || dir != "queue" && dir != "doctor" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, _ := strconv.Unquote(lit.Value)
				words[s] = true
			}
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				k, isName := kv.Key.(*ast.Ident)
				v, isText := kv.Value.(*ast.BasicLit)
				if isName && isText && k.Name == "name" {
					s, _ := strconv.Unquote(v.Value)
					steps[s] = true
				}
			}
			return true
		})
	}
	known := files(t)
	for name := range known {
		if !words[name] {
			t.Errorf("%s.sql is used by nothing", name)
		}
	}
	for name := range steps {
		if _, ok := known[name]; !ok {
			t.Errorf("the code runs %s, which has no file", name)
		}
	}
}

// A lease that ran out has the fingerprint of its text, so that it falls into one group with failures that say the same.
func TestFingerprintOfALapsedLease(t *testing.T) {
	if got := todo.Fingerprint(expired); got != expiredPrint {
		t.Errorf("the fingerprint of %q is %s, claims and the reaper write %s", expired, got, expiredPrint)
	}
}
