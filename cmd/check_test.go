package cmd_test

import (
	"strings"
	"testing"
)

// TestCheckJudgesWhatHasAThreshold goes through the limits of one queue with known counts.
func TestCheckJudgesWhatHasAThreshold(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	pgExec(t, conn, `INSERT INTO todos (queue, state, run_at, completed_at, owner, lease_expires_at, attempt, lease_seq)
		SELECT 'mail', 'pending', now() - interval '10 min', NULL::timestamptz, NULL, NULL::timestamptz, 0, 0 FROM generate_series(1, 3)
		UNION ALL SELECT 'mail', 'failed', now(), now(), NULL, NULL, 5, 5 FROM generate_series(1, 2)
		UNION ALL SELECT 'mail', 'claimed', now(), NULL, 'w', now() - interval '1 min', 1, 1`)
	for _, x := range []struct {
		code int
		args string
		says string
	}{
		{0, "", "TODOCTL OK: 1 queues | 'mail_depth'=3;;;0"},
		{0, "--max-depth 3 --max-dead 2 --max-expired 1 --max-age 1h", "'mail_dead'=2;;2;0"},
		{2, "--max-depth 2", "mail depth 3 is over 2"},
		{2, "--max-dead 0 --warn-depth 0", "TODOCTL CRITICAL"},
		{1, "--warn-dead 1 --max-dead 2", "TODOCTL WARNING: mail dead 2 is over 1"},
		{2, "--max-expired 0", "mail expired 1 is over 0"},
		{2, "--max-age 5m", "is over 300s"},
		{1, "--warn-age 5m --max-age 1h", "WARNING"},
		{3, "-q other --max-depth 0", ""},
		{3, "-q mail,other", ""},
		{0, "-q mail --max-dead 2", "1 queues"},
		{2, "--exact --max-dead 1", "mail dead 2 is over 1"},
		{3, "--max-age 5", ""},
		{3, "--bogus", ""},
		{3, "--max-dead -1", ""},
		{3, "--warn-depth -5", ""},
		{1, "--warn-expired 0 --max-expired 1", "WARNING: mail expired 1 is over 0 | 'mail_depth'=3;;;0"},
	} {
		r := c.run(append([]string{"check"}, strings.Fields(x.args)...)...)
		if r.code != x.code || !strings.Contains(r.out, x.says) || strings.Count(r.out, "\n") > 1 {
			t.Errorf("check %s: exit %d\n%s%s", x.args, r.code, r.out, r.err)
		}
	}
	r := c.run("check", "--max-dead", "1", "-o", "json", "--jq", ".problems[0].measure")
	if r.code != 2 || r.out != "dead\n" {
		t.Errorf("json: exit %d %s%s", r.code, r.out, r.err)
	}
	// What monitoring shows is on standard output, also where nothing could be judged; JSON is the verdict or nothing.
	away := c.with("TODOCTL_DATABASE_URL=postgres://x:secret@127.0.0.1:1/x")
	for _, x := range []struct {
		c    *cli
		code int
		args string
		says string
	}{
		{away, 2, "check", "TODOCTL CRITICAL: "},
		{c, 3, "check -q other", "TODOCTL UNKNOWN: --queue: other is not known\n"},
		{c, 3, "check --max-dead -1", "TODOCTL UNKNOWN: --max-dead: -1 is negative\n"},
		{away, 2, "check -o json", ""},
	} {
		r := x.c.fails(x.code, strings.Fields(x.args)...)
		if !strings.HasPrefix(r.out, x.says) || (r.out == "") != (x.says == "") || strings.Count(r.out, "\n") > 1 || r.err == "" || strings.Contains(r.out+r.err, "secret") {
			t.Errorf("%s: %q, %q", x.args, r.out, r.err)
		}
	}
}

// TestCheckIsOneLine judges a queue whose name, made by hand, holds what the line is made of.
func TestCheckIsOneLine(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	pgExec(t, conn, `INSERT INTO todos (queue) VALUES (E'a\nb|c''d')`)
	r := c.fails(2, "check", "--max-depth", "0")
	text, data, _ := strings.Cut(r.out, " | ")
	if strings.Count(r.out, "\n") != 1 || strings.Contains(text, "|") || !strings.Contains(data, "c''d_depth'=1;;0;0") {
		t.Errorf("%q", r.out)
	}
}
