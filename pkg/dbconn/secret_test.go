package dbconn_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgnet"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Case C084: a password with special characters connects exactly where it connects in psql, or is
// refused in one way for every command, with the way to write it and without a piece of it.
func TestC084PasswordWithSpecialCharacters(t *testing.T) {
	s := pgnet.NewServer(t)
	admin := pgtest.Connect(t, s.SocketURL("postgres"))
	run(t, admin, "CREATE ROLE todoctl LOGIN")
	bin, err := localpg.Find(t.Context(), localpg.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dsn, password string }{ // no password: refused
		{"postgres://todoctl:s3cr#tX@127.0.0.1:5432/postgres", "s3cr#tX"},
		{"postgres://todoctl:s3cr%23tX@127.0.0.1:5432/postgres", "s3cr#tX"},
		{"postgres://todoctl:s3/crtX@127.0.0.1:5432/postgres", ""},
		{"postgres://todoctl:s3%SrtX@127.0.0.1:5432/postgres", ""},
		{"postgres://todoctl:s3[r]tX^@127.0.0.1:5432/postgres", "s3[r]tX^"},
		{"postgres://todoctl:s3@rtX@127.0.0.1:5432/postgres", ""},
		{"postgres://todoctl:s3?rtX@127.0.0.1:5432/postgres", "s3?rtX"},
		{`host=127.0.0.1 port=5432 user=todoctl password='s3 r\'tX' dbname=postgres`, "s3 r'tX"},
		{"postgres://todoctl:s3%40r%2FtX%25@127.0.0.1:5432/postgres", "s3@r/tX%"},
		{"postgres://todoctl:12/3?a=s3rtX@127.0.0.1:5432/postgres", ""},
		{"postgres://todoctl:s3 rtX@127.0.0.1:5432/postgres", ""},
		{"postgres://todoctl:s3rtX%@127.0.0.1:5432/postgres", ""},
		{"postgresql://todoctl:s3:r:tX@127.0.0.1:5432/postgres", "s3:r:tX"},
	} {
		t.Run(c.dsn, func(t *testing.T) {
			dsn := strings.Replace(strings.Replace(c.dsn, "127.0.0.1:5432", "127.0.0.1:"+s.Port, 1), "port=5432", "port="+s.Port, 1)
			psql := exec.CommandContext(t.Context(), filepath.Join(bin.Dir, "psql"), "-X", "-w", "-Atc", "SELECT session_user || '@' || current_database()", "-d", dsn)
			if c.password == "" {
				_, err := dbconn.Connect(t.Context(), dbconn.Options{URL: dsn, Source: "TODOCTL_DATABASE_URL"})
				refused(t, err, todo.CodeUsage, "TODOCTL_DATABASE_URL", "percent-encode", "127.0.0.1:"+s.Port)
				for _, piece := range []string{"s3", "rtX", "tX", "crt"} {
					if strings.Contains(err.Error(), piece) {
						t.Errorf("the message holds a piece of the password: %s", err)
					}
				}
				if out, err := psql.CombinedOutput(); err == nil {
					t.Errorf("psql connects: %s", out)
				}
				return
			}
			run(t, admin, "ALTER ROLE todoctl PASSWORD "+literal(c.password))
			conn := connect(t, dbconn.Options{URL: dsn})
			ours := text(t, conn, "SELECT session_user || '@' || current_database()")
			out, err := psql.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != ours {
				t.Errorf("we are %s, psql is %s (%v)", ours, out, err)
			}
			if red := dbconn.Redact(dsn); strings.Contains(red, "tX") || !strings.Contains(red, "127.0.0.1") {
				t.Errorf("redacted: %s", red)
			}
		})
	}
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Case C085: no error holds a secret, and each still names host and database.
func TestC085PasswordInErrorOutput(t *testing.T) {
	for _, c := range []struct {
		dsn  string
		code todo.Code
		says []string
	}{
		{"postgres://u:TOPSEC@h:abc/db", todo.CodeUsage, []string{"h:abc/db", "port"}},
		{"postgres://u:TOPSEC@[::1/db", todo.CodeUsage, []string{"[::1/db"}},
		{"postgres://u@h/db?password=TOPSEC&sslmode=bogus", todo.CodeUsage, []string{"h/db", "sslmode"}},
		{"postgres://u@h/db?pass%77ord=TOPSEC&sslmode=bogus", todo.CodeUsage, []string{"h/db", "sslmode"}},
		{"host=h password=TOPSEC port=x dbname=db", todo.CodeUsage, []string{"host=h", "dbname=db", "port"}},
		{"host=h password = 'TOP SEC' port=x", todo.CodeUsage, []string{"host=h"}},
		{"host=h password TOPSEC dbname=db", todo.CodeUsage, []string{"host=h", "dbname=db"}},
		{"host=h password='TOPSEC dbname=db", todo.CodeUsage, []string{"host=h"}},
		{"postgres://u:TOPSEC/h@h:5432/db", todo.CodeUsage, []string{"h:5432/db"}},
		{"postgres://u:x@TOPSEC@h/db", todo.CodeUsage, []string{"h/db"}},
		{"postgres://u:TOPSEC", todo.CodeUsage, nil},
		{"postgress://u:TOPSEC@h/db", todo.CodeUsage, nil},
		{"dbname=postgres://u:TOPSEC@h/db", todo.CodeUsage, nil},
		{"TOPSEC", todo.CodeUsage, nil},
		{"postgres://u:TOPSEC@h/db\nx", todo.CodeUsage, nil},
		{"postgres://u:TOPSEC@h/db?sslrootcert=/nonexistent/ca.pem&sslmode=verify-full", todo.CodeUnavailable, []string{"h/db", "/nonexistent/ca.pem"}},
		{"postgres://u:TOPSEC@h/db?service=nowhere&servicefile=/nonexistent/svc", todo.CodeUsage, []string{"/nonexistent/svc"}},
		{"postgres://u:TOPSEC@h/db?connect_timeout=soon", todo.CodeUsage, []string{"h/db"}},
		{"postgres://u:TOPSEC@h,i:1,2:3/db?port=1,2", todo.CodeUsage, []string{"h"}},
		{"postgres://u:TOPSEC@127.0.0.1:1/db", todo.CodeUnavailable, []string{"127.0.0.1:1"}},
		{"host=/nonexistent user=u password=TOPSEC dbname=db", todo.CodeUnavailable, []string{"/nonexistent"}},
	} {
		t.Run(c.dsn, func(t *testing.T) {
			_, err := dbconn.Connect(t.Context(), dbconn.Options{URL: c.dsn, Source: "--database-url"})
			refused(t, err, c.code, c.says...)
			var e *todo.Error
			if !asError(err, &e) {
				t.Fatal(err)
			}
			details, jerr := json.Marshal(e.Details)
			if jerr != nil {
				t.Fatal(jerr)
			}
			all := fmt.Sprintf("%v %+v %s %s %s", err, err, e.Hint, details, dbconn.Redact(c.dsn))
			for u := err; u != nil; {
				all += " " + u.Error()
				w, ok := u.(interface{ Unwrap() error })
				if !ok {
					break
				}
				u = w.Unwrap()
			}
			for _, piece := range []string{"TOPSEC", "TOP ", " SEC"} {
				if strings.Contains(all, piece) {
					t.Errorf("a secret is told: %s", all)
				}
			}
		})
	}
}

func asError(err error, target **todo.Error) bool {
	e, ok := err.(*todo.Error)
	*target = e
	return ok
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"":                                         "",
		"postgres://h/db":                          "postgres://h/db",
		"postgres://u@h:5432,i:5433/db":            "postgres://u@h:5432,i:5433/db",
		"postgres://u:pw@h/db?sslmode=require":     "postgres://u:****@h/db?sslmode=require",
		"postgres://u:p:w?#@[::1]:5432/db":         "postgres://u:****@[::1]:5432/db",
		"postgres://u@h/db?a=b&sslpassword=pw&c=d": "postgres://u@h/db?a=b&sslpassword=****&c=d",
		"postgres:///db?host=/run/pg&passfile=/p":  "postgres:///db?host=/run/pg&passfile=/p",
		"postgres://u:p/w@h/db?password=pw":        "postgres://u:****@h/db",
		"host=h password=pw user=u":                "host=h password=**** user=u",
		`password='p\'w x' host=h`:                 "password=**** host=h",
		`password=p\ w host=h`:                     "password=**** host=h",
		"service=s passfile=/p":                    "service=s passfile=/p",
		"mysql://u:pw@h/db":                        "****",
	} {
		if got := dbconn.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// Case C087: the ways that show nothing in the process list are silent, the flag warns.
func TestC087PasswordOnTheCommandLine(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		o    dbconn.Options
		warn bool
	}{
		{dbconn.Options{URL: "postgres://u:TOPSEC@h/db", Source: "--database-url"}, true},
		{dbconn.Options{URL: "postgres://u@h/db?password=TOPSEC", Source: "--database-url"}, true},
		{dbconn.Options{URL: "host=h password=TOPSEC", Source: "--database-url"}, true},
		{dbconn.Options{URL: "postgres://u@h/db", Source: "--database-url"}, false},
		{dbconn.Options{URL: "postgres://u:TOPSEC@h/db", Source: "--database-url-file /etc/u"}, false},
		{dbconn.Options{URL: "postgres://u:TOPSEC@h/db", Source: "TODOCTL_DATABASE_URL"}, false},
	} {
		w := strings.Join(dbconn.Warnings(c.o), "\n")
		if c.warn != strings.Contains(w, "process list") || strings.Contains(w, "TOPSEC") {
			t.Errorf("%v: warnings %q", c.o, w)
		}
	}
}

// Case C089: PGSERVICE, PGHOST and the passfile lead every command to one database, since all of
// them take the config that is made here; a passfile that others can read is ignored, and said so.
func TestC089ServiceFileAndPassfile(t *testing.T) {
	s := pgnet.NewServer(t)
	admin := pgtest.Connect(t, s.SocketURL("postgres"))
	run(t, admin, "CREATE ROLE todoctl LOGIN PASSWORD 'open sesame'")
	t.Setenv("HOME", t.TempDir())
	passfile := file(t, "pp", []byte("127.0.0.1:*:postgres:todoctl:open sesame\n"), 0o600)
	t.Setenv("PGSERVICEFILE", file(t, "svc", []byte("[t]\nhost=127.0.0.1\nport="+s.Port+"\ndbname=postgres\nuser=todoctl\n"), 0o644))

	t.Setenv("PGSERVICE", "t")
	t.Setenv("PGPASSFILE", passfile)
	byService := connect(t, dbconn.Options{})
	if got := text(t, byService, "SELECT session_user || '@' || current_database()"); got != "todoctl@postgres" {
		t.Errorf("by PGSERVICE: %s", got)
	}
	t.Setenv("PGSERVICE", "")
	connect(t, dbconn.Options{URL: "service=t"})
	connect(t, dbconn.Options{URL: "postgres://?service=t"})
	t.Setenv("PGHOST", "127.0.0.1")
	t.Setenv("PGPORT", s.Port)
	t.Setenv("PGDATABASE", "postgres")
	t.Setenv("PGUSER", "todoctl")
	connect(t, dbconn.Options{})
	t.Setenv("PGPASSFILE", "")
	url := "postgres://todoctl@127.0.0.1:" + s.Port + "/postgres?passfile=" + passfile
	connect(t, dbconn.Options{URL: url})

	if err := os.Chmod(passfile, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", passfile)
	for _, o := range []dbconn.Options{{}, {URL: url}, {URL: "host=127.0.0.1 passfile = '" + passfile + "'"}, {URL: strings.ReplaceAll(url, "/pp", "%2Fpp")}, {URL: "postgres://?service=t"}} {
		_, err := dbconn.Connect(t.Context(), o)
		refused(t, err, todo.CodeDenied, "todoctl", "127.0.0.1:"+s.Port)
		if w := strings.Join(dbconn.Warnings(o), "\n"); !strings.Contains(w, passfile) || !strings.Contains(w, "chmod 600") {
			t.Errorf("warnings: %q", w)
		}
	}
	// A password that was said in another way does not go with the passfile.
	t.Setenv("PGPASSWORD", "open sesame")
	connect(t, dbconn.Options{})
}
