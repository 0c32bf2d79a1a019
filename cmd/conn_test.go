package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgnet"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// on returns a cli over another database.
func (c *cli) on(url string) *cli { return c.with("TODOCTL_DATABASE_URL=" + url) }

// appRole makes a role that may use the tables of a migrated database, and returns a cli as that role.
func appRole(t *testing.T, settings ...string) (c *cli, url, role string) {
	t.Helper()
	url = pgtest.Database(t)
	role = loginRole(t, url, settings...)
	execSQL(t, url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
	return newCLIOn(t, asRole(t, url, role)), url, role
}

// Case C077: whatever exec mode the URL asks for, payload and result are stored digit for digit.
func TestC077ExecModesOfTheURL(t *testing.T) {
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	for _, mode := range []string{"exec", "simple_protocol", "cache_statement", "cache_describe", "describe_exec"} {
		m := c.on(asKeys(t, url, "default_query_exec_mode", mode, "pool_max_conns", "4"))
		const payload, result = `{"a": 12345678901234567890.10}`, `{"b": [1.0, 9007199254740993]}`
		id := m.ok("enqueue", "-q", "q", payload)
		receipt := m.ok("claim", "-q", "q", "-o", "receipt")
		m.ok("complete", receipt, "--result", result)
		got := m.ok("show", id, "-o", "json")
		for _, digits := range []string{"12345678901234567890.10", "[1.0", "9007199254740993]"} {
			if !strings.Contains(strings.ReplaceAll(got, "\n", ""), digits) {
				t.Errorf("%s: %s is not in %s", mode, digits, got)
			}
		}
	}
}

// Case C081: on a read-only server reads answer and writes say what to do.
func TestC081ReadOnlyServer(t *testing.T) {
	c, url, _ := appRole(t, "default_transaction_read_only = on")
	execSQL(t, url, "INSERT INTO todos (queue, state, owner, lease_expires_at, attempt, lease_seq) VALUES ('q', 'claimed', 'w', now() - interval '1h', 1, 1)")
	c.ok("list")
	c.ok("queues")
	for _, args := range [][]string{{"enqueue", "-q", "q"}, {"claim", "-q", "q", "--owner", "w"}, {"reap"}} {
		c.fails(8, args...).says(t, "read-only", "target_session_attrs=read-write")
	}
}

// Case C082: short limits on the role. A statement that they cut is named with the limit, and nothing
// of it remains; migrate lifts the limit that it can.
func TestC082TimeoutsOfTheRole(t *testing.T) {
	c, url, _ := appRole(t, "lock_timeout = '50ms'", "idle_in_transaction_session_timeout = '1s'")
	id := c.ok("enqueue", "-q", "q")
	holder := pgtest.Connect(t, url)
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE todos IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"enqueue", "-q", "q"}, {"claim", "-q", "q"}, {"reap"}, {"bury", id}} {
		c.fails(8, args...).says(t, "lock_timeout")
	}
	if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if got := c.ok("list", "-o", "id"); got != id {
		t.Errorf("left in the queue: %q", got)
	}

	empty := pgtest.EmptyDatabase(t)
	role := loginRole(t, empty, "statement_timeout = '1ms'")
	execSQL(t, empty, "GRANT ALL ON SCHEMA public TO "+role)
	m := newCLIOn(t, asRole(t, empty, role))
	m.ok("migrate", "up")
	m.ok("migrate", "status")
}

// Case C084: of each password all commands say the same, and what they refuse they refuse whole.
func TestC084PasswordWithSpecialCharacters(t *testing.T) {
	s := pgnet.NewServer(t)
	s.Exec(t, "CREATE ROLE todoctl LOGIN", "CREATE DATABASE todoctl_c084 OWNER todoctl")
	c := newCLIOn(t, "postgres:///none")
	newCLIOn(t, s.SocketURL("todoctl_c084")).ok("migrate", "up")
	s.Exec(t, "ALTER DATABASE todoctl_c084 OWNER TO todoctl", "GRANT pg_read_all_data TO todoctl")
	for _, d := range []struct{ dsn, password string }{ // no password: refused
		{"postgres://todoctl:s3cr#tX@127.0.0.1:PORT/todoctl_c084", "s3cr#tX"},
		{"postgres://todoctl:s3cr%23tX@127.0.0.1:PORT/todoctl_c084", "s3cr#tX"},
		{"postgres://todoctl:s3/crtX@127.0.0.1:PORT/todoctl_c084", ""},
		{"postgres://todoctl:s3%SrtX@127.0.0.1:PORT/todoctl_c084", ""},
		{"postgres://todoctl:s3[r]tX^@127.0.0.1:PORT/todoctl_c084", "s3[r]tX^"},
		{"postgres://todoctl:s3@rtX@127.0.0.1:PORT/todoctl_c084", ""},
		{"postgres://todoctl:s3?rtX@127.0.0.1:PORT/todoctl_c084", "s3?rtX"},
		{`host=127.0.0.1 port=PORT user=todoctl password='s3 r\'tX' dbname=todoctl_c084`, "s3 r'tX"},
	} {
		m := c.on(strings.Replace(d.dsn, "PORT", s.Port, 1))
		if d.password != "" {
			s.Exec(t, "ALTER ROLE todoctl PASSWORD '"+strings.ReplaceAll(d.password, "'", "''")+"'")
			m.ok("list")
			m.ok("migrate", "status")
			continue
		}
		list, status := m.fails(2, "list"), m.fails(2, "migrate", "status")
		if list.err != status.err {
			t.Errorf("list says %q, migrate %q", list.err, status.err)
		}
		list.says(t, "percent-encode", "TODOCTL_DATABASE_URL")
		for _, piece := range []string{"s3", "rtX", "crt"} {
			if strings.Contains(list.err, piece) {
				t.Errorf("a piece of the password is told: %s", list.err)
			}
		}
	}
}

// Case C085: a malformed database is never echoed with its secret, wherever it was said.
func TestC085PasswordInErrorOutput(t *testing.T) {
	c := newCLIOn(t, "")
	for _, dsn := range []string{
		"postgres://u:TOPSEC@h:abc/db", "postgres://u:TOPSEC@[::1/db", "postgres://u@h/db?password=TOPSEC&sslmode=bogus",
		"host=h password=TOPSEC port=x", "postgres://u:TOPSEC@127.0.0.1:1/db",
	} {
		byFile := filepath.Join(c.dir, "url")
		if err := os.WriteFile(byFile, []byte(dsn+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		byConfig := filepath.Join(c.dir, "c.yaml")
		if err := os.WriteFile(byConfig, []byte("database_url: '"+dsn+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		bare := *c
		bare.env = []string{path(t), quickExit, "HOME=" + c.dir}
		for _, verb := range [][]string{{"list"}, {"migrate", "status"}, {"migrate", "status", "-o", "json"}, {"claim", "-q", "q", "--owner", "w"}, {"config"}} {
			for _, r := range []outcome{
				bare.run(append(verb, "--database-url", dsn)...),
				bare.run(append(verb, "--database-url-file", byFile)...),
				bare.run(append(verb, "--config", byConfig)...),
				bare.with("TODOCTL_DATABASE_URL=" + dsn).run(verb...),
				bare.with("DATABASE_URL=" + dsn).run(verb...),
			} {
				if strings.Contains(r.out+r.err, "TOPSEC") {
					t.Errorf("%s %v: a secret is told:\n%s%s", dsn, verb, r.out, r.err)
				}
				if verb[0] != "config" && (r.code != 2 && r.code != 8 || !strings.Contains(r.err, "h") || r.err == "") {
					t.Errorf("%s %v: exit %d, %s", dsn, verb, r.code, r.err)
				}
			}
		}
	}
}

// Case C087: the flag warns of a password in it; variable, file and passfile show nothing in ps, and
// no other program is started that could.
func TestC087PasswordOnTheCommandLine(t *testing.T) {
	url := strings.Replace(pgtest.Database(t), "postgres@", "postgres:TOPSEC@", 1) // the socket asks for none
	c := newCLIOn(t, "")
	bare := *c
	bare.env = []string{path(t), quickExit, "HOME=" + c.dir}
	file := filepath.Join(c.dir, "url")
	if err := os.WriteFile(file, []byte(url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := bare.run("list", "--database-url", url)
	if r.code != 0 || strings.Contains(r.err, "TOPSEC") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	r.says(t, "--database-url", "process list")
	for _, quiet := range []outcome{bare.run("list", "--database-url-file", file), bare.with("TODOCTL_DATABASE_URL=" + url).run("list")} {
		if quiet.code != 0 || quiet.err != "" {
			t.Errorf("exit %d: %s", quiet.code, quiet.err)
		}
	}
}

// Case C089: PGSERVICE, PGHOST and .pgpass lead every command to the same database, and a passfile
// that others can read is ignored with a warning.
func TestC089ServiceFileAndPassfile(t *testing.T) {
	s := pgnet.NewServer(t)
	s.Exec(t, "CREATE ROLE todoctl SUPERUSER LOGIN PASSWORD 'open sesame'", "CREATE DATABASE todoctl_c089")
	c := newCLIOn(t, "")
	service, passfile := filepath.Join(c.dir, "svc"), filepath.Join(c.dir, "pp")
	for name, content := range map[string]string{
		service:  "[t]\nhost=127.0.0.1\nport=" + s.Port + "\ndbname=todoctl_c089\nuser=todoctl\n",
		passfile: "127.0.0.1:" + s.Port + ":todoctl_c089:todoctl:open sesame\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bare := *c
	bare.env = []string{path(t), quickExit, "HOME=" + c.dir, "PGPASSFILE=" + passfile}
	byService := bare.with("PGSERVICEFILE="+service, "PGSERVICE=t")
	byHost := bare.with("PGHOST=127.0.0.1", "PGPORT="+s.Port, "PGDATABASE=todoctl_c089", "PGUSER=todoctl")
	byService.ok("migrate", "up")
	id := byHost.ok("enqueue", "-q", "q")
	for _, m := range []*cli{byService, byHost, bare.with("PGSERVICEFILE="+service, "TODOCTL_DATABASE_URL=service=t")} {
		m.ok("migrate", "status")
		if got := m.ok("list", "-o", "id"); got != id {
			t.Errorf("list: %s, want %s", got, id)
		}
	}
	if err := os.Chmod(passfile, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*cli{byService, byHost} {
		for _, args := range [][]string{{"list"}, {"migrate", "status"}} {
			m.fails(11, args...).says(t, passfile, "chmod 600", "todoctl_c089")
		}
	}
}

// Case C091: a role without rights on public works in a schema of its own, said in the URL or with
// --schema, also when the role's own search_path is another.
func TestC091SchemaOtherThanPublic(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	role := loginRole(t, url, "search_path = elsewhere")
	execSQL(t, url, "REVOKE ALL ON SCHEMA public FROM public", "CREATE SCHEMA elsewhere AUTHORIZATION "+role,
		"DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO "+role+"', current_database()); END $$")
	c := newCLIOn(t, asRole(t, url, role))
	byURL := c.on(asKeys(t, asRole(t, url, role), "search_path", "ops"))
	byURL.ok("migrate", "up")
	if got := byURL.ok("migrate", "up", "--jq", ".applied | length"); got != "0" {
		t.Errorf("the second up applied %s", got)
	}
	id := byURL.ok("enqueue", "-q", "q")
	if got := c.ok("list", "-o", "id", "--schema", "ops"); got != id {
		t.Errorf("by --schema: %s", got)
	}
	if got := c.with("TODOCTL_SCHEMA=ops").ok("list", "-o", "id"); got != id {
		t.Errorf("by TODOCTL_SCHEMA: %s", got)
	}
	for name := range strings.FieldsSeq(tableNames(t, url)) {
		if !strings.HasPrefix(name, "ops.") {
			t.Errorf("%s is not in ops", name)
		}
	}
	c.fails(10, "list").says(t, "migrate up") // elsewhere has no tables
	c.ok("migrate", "up")                     // and gets its own
	if got := c.ok("list", "-o", "id"); got != "" {
		t.Errorf("elsewhere holds %s", got)
	}
}

// Case C093: a host that does not answer, a port on which nothing listens, and the interrupt.
func TestC093HostThatDoesNotAnswer(t *testing.T) {
	mute, accepted := pgnet.MuteListener(t)
	dead := pgnet.DeadPort(t)
	c := newCLIOn(t, "postgres://todoctl@"+mute+"/todoctl?connect_timeout=1")
	for _, args := range [][]string{{"list"}, {"migrate", "status"}} {
		c.fails(8, args...).says(t, mute, "no answer within 1s")
		c.on("postgres://todoctl@"+dead+"/todoctl").fails(8, args...).says(t, dead, "refused")
	}
	for len(accepted) > 0 {
		<-accepted
	}
	c.on("postgres://todoctl@"+mute+"/todoctl").fails(124, "list", "--timeout", "1s").says(t, "timeout")
	for len(accepted) > 0 {
		<-accepted
	}
	p := c.on("postgres://todoctl@"+mute+"/todoctl?connect_timeout=600").start("todoctl", "list")
	<-accepted
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if r := p.end(); r.code != -1 || r.out != "" { // it died of the signal
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// Case C094: verify-full says what is wrong, in every command, and never goes on in clear.
func TestC094VerifyFull(t *testing.T) {
	s := pgnet.NewServer(t)
	s.Exec(t, "CREATE ROLE todoctl SUPERUSER LOGIN PASSWORD 'pw'", "CREATE DATABASE todoctl_c094")
	good, bad := pgnet.NewAuthority(t, "good"), pgnet.NewAuthority(t, "bad")
	cert, key := good.Server(t, "db.example", "127.0.0.1")
	s.UseTLS(t, cert, key)
	c := newCLIOn(t, "")
	ca, wrong := filepath.Join(c.dir, "ca.pem"), filepath.Join(c.dir, "wrong.pem")
	for name, content := range map[string][]byte{ca: good.PEM, wrong: bad.PEM} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := func(root string) string {
		return asKeys(t, "postgres://todoctl:pw@127.0.0.1:"+s.Port+"/todoctl_c094", "sslmode", "verify-full", "sslrootcert", root)
	}
	c.on(url(ca)).ok("migrate", "up")
	c.on(url(ca)).ok("list")
	for root, reason := range map[string]string{wrong: "unknown authority", filepath.Join(c.dir, "missing.pem"): "missing.pem"} {
		for _, args := range [][]string{{"list"}, {"migrate", "status"}} {
			c.on(url(root)).fails(8, args...).says(t, "TLS", reason)
		}
	}
	cert, key = good.Server(t, "db.example")
	s.UseTLS(t, cert, key)
	for _, args := range [][]string{{"list"}, {"migrate", "status"}} {
		c.on(url(ca)).fails(8, args...).says(t, "TLS", "127.0.0.1")
	}
}
