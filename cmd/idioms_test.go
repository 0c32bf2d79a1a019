package cmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// bench is one idiom at work: a shell, a database of its own, and a connection to look at it.
type bench struct {
	*cli
	*testing.T
	shell string
	conn  *pgx.Conn
}

// inEachShell runs an idiom as users type it, in dash and in bash.
func inEachShell(t *testing.T, idiom func(b *bench)) {
	t.Helper()
	t.Parallel()
	for _, shell := range []string{"dash", "bash"} {
		t.Run(shell, func(t *testing.T) {
			c, conn, _ := withDB(t)
			idiom(&bench{c.with("SHELL=/bin/" + shell), t, shell, conn})
		})
	}
}

// fill enqueues todos with the payloads 1 to n into the queue mail.
func (b *bench) fill(n int) {
	b.Helper()
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "{\"payload\":%d}\n", i+1)
	}
	if r := b.pipe(in.String(), "enqueue", "-q", "mail", "--from", "-"); r.code != 0 {
		b.Fatalf("enqueue: exit %d, %s", r.code, r.err)
	}
}

// wants runs the script and requires its exit status and what it prints.
func (b *bench) wants(script string, code int, out, errs string) {
	b.Helper()
	if r := b.sh(b.shell, script); r.code != code || r.out != out || r.err != errs {
		b.Errorf("%s\nexit %d, stdout %q, stderr %q\nwant %d, %q, %q", script, r.code, r.out, r.err, code, out, errs)
	}
}

// count requires that so many todos are in the condition, by the words of list.
func (b *bench) count(condition string, want int) {
	b.Helper()
	if got := b.ok("list", "--state", condition, "--jq", "length"); got != fmt.Sprint(want) {
		b.Errorf("%s todos are %s, want %d", got, condition, want)
	}
}

// TestIdiomWorkerLoop takes the status of the claim from an assignment; the loop ends with it.
func TestIdiomWorkerLoop(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(3)
		b.wants(`while receipt=$(todoctl claim -q mail -o receipt); rc=$?; [ $rc -eq 0 ]; do
			todoctl complete "$receipt" --quiet
			printf 'done\n'
		done
		exit $rc`, 3, "done\ndone\ndone\n", "")
		b.count("done", 3)
	})
}

// TestIdiomEvalLoop evaluates -o env: the eval fails when there is nothing, and leaves no variable behind.
// Text that means something to a shell arrives as it was.
func TestIdiomEvalLoop(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(2)
		b.ok("enqueue", "-q", "mail", "--title", "it's $(id) `id` \\n", `{"a":"x' ; exit 9 #"}`)
		b.wants(`TODO_ID=old
		while eval "$(todoctl claim -q mail -o env)"; do
			printf '%s|%s\n' "$TODO_PAYLOAD" "$TODO_TITLE"
			todoctl complete "$TODO_RECEIPT" --quiet || exit
		done
		printf '%s\n' "${TODO_ID-unset}${TODO_RECEIPT-unset}${TODO_PAYLOAD-unset}"
		eval "$(todoctl claim -q mail -o env)"`, 3,
			"1|\n2|\n"+`{"a":"x' ; exit 9 #"}|it's $(id) `+"`id` \\n\nunsetunsetunset\n", "")
		b.wants(`eval "$(todoctl claim -q mail -o env --ttl 5)"`, 2, "",
			b.fails(2, "claim", "-q", "mail", "--ttl", "5").err)
		b.count("done", 3)
	})
}

// TestIdiomXargs runs a claim for each line, four at a time: xargs ends with 123 when one found nothing.
func TestIdiomXargs(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(8)
		script := `seq %d | xargs -P 4 -I{} ` + b.shell + ` -c 'r=$(todoctl claim -q mail -o receipt) && todoctl complete "$r" --quiet'`
		b.wants(fmt.Sprintf(script, 8), 0, "", "")
		b.count("done", 8)
		b.fill(1)
		b.wants(fmt.Sprintf(script, 2), 123, "", "")
		b.count("done", 9)
		b.fill(3)
		b.wants(`todoctl list -q mail -o id | xargs todoctl bury --quiet`, 0, "", "")
		b.count("dead", 3)
	})
}

// TestIdiomParallel does the same by GNU parallel, which ends with the number of jobs that failed.
func TestIdiomParallel(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(6)
		script := `seq %d | parallel -j 4 'r=$(todoctl claim -q mail -o receipt) && todoctl complete "$r" --quiet # {}'`
		b.wants(fmt.Sprintf(script, 6), 0, "", "")
		b.count("done", 6)
		b.fill(1)
		b.wants(fmt.Sprintf(script, 3), 2, "", "")
		b.count("done", 7)
		b.fill(4)
		b.wants(`todoctl claim -q mail --limit 4 -o receipt | parallel -j 4 -n 2 todoctl complete --quiet`, 0, "", "")
		b.count("done", 11)
	})
}

// TestIdiomSetE stops a script at the first command that does not succeed, with its status.
func TestIdiomSetE(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(1)
		script := `set -eu
		receipt=$(todoctl claim -q mail -o receipt)
		todoctl complete "$receipt" --quiet
		todoctl list >/dev/null
		todoctl reap --quiet
		echo all done`
		b.wants(script, 0, "all done\n", "")
		b.wants(script, 3, "", "")
		b.wants(`set -e
		todoctl claim -q mail || [ $? -eq 3 ]
		echo nothing is no fault`, 0, "nothing is no fault\n", "")
	})
}

// TestIdiomHead cuts a list short: the list dies of the closed pipe, without a word.
func TestIdiomHead(t *testing.T) {
	inEachShell(t, func(b *bench) {
		pgExec(b.T, b.conn, "INSERT INTO todos (id, queue) SELECT 'td_' || i, 'mail' FROM generate_series(10000, 29999) i")
		for _, form := range []string{"id", "tsv", "csv --fields id", "jsonl --fields id"} {
			r := b.sh(b.shell, `{ todoctl list -o `+form+`; echo $? >code; } | head -n 2; cat code`)
			lines := strings.Split(strings.TrimSpace(r.out), "\n")
			if r.code != 0 || r.err != "" || len(lines) != 3 || lines[2] != "141" {
				b.Errorf("-o %s: exit %d, %q, %q", form, r.code, r.out, r.err)
			}
		}
		if b.shell == "bash" {
			b.wants(`set -o pipefail; todoctl list -o id | head -n 1`, 141, "td_10000\n", "")
		}
	})
}

// TestIdiomWhileRead works through lines with commands that leave the loop's standard input alone.
func TestIdiomWhileRead(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(3)
		b.wants(`todoctl list -q mail -o id | while read -r id; do
			todoctl show "$id" --jq .payload
			todoctl claim "$id" -o receipt >receipt
			read -r receipt <receipt
			todoctl complete "$receipt" --quiet
		done`, 0, "1\n2\n3\n", "")
		b.count("done", 3)
		b.wants(`printf '%s\n' a b | while read -r what; do
			todoctl enqueue -q mail --title "$what" >/dev/null
		done; todoctl list -q mail --fields title,payload -o tsv | while IFS="	" read -r title payload; do
			echo "$title is ${payload:-null}"
		done`, 0, "a is null\nb is null\n", "")
	})
}

// TestIdiomDash pipes receipts from claim into the verbs that end a lease.
func TestIdiomDash(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(12)
		b.wants(`todoctl claim -q mail --limit 3 -o receipt | todoctl complete - --jq length`, 0, "3\n", "")
		b.wants(`todoctl claim -q mail -o receipt | todoctl complete - --quiet`, 0, "", "")
		b.wants(`todoctl claim -q mail --limit 2 -o receipt | todoctl heartbeat - --ttl 1h -o id | todoctl fail - --dead --quiet`, 0, "", "")
		b.wants(`todoctl claim -q mail --limit 2 -o receipt | todoctl release - --jq '.[0].attempt'`, 0, "0\n", "")
		b.wants(`todoctl dead-letters -o id | todoctl retry - --quiet`, 0, "", "")
		b.wants(`todoctl list -q mail -o id | todoctl bury - --jq length`, 0, "8\n", "")
		b.wants(`todoctl claim -q mail --limit 5 -o receipt | todoctl complete - -o json`, 0, "[]\n", "")
		b.count("done", 4)
		b.count("dead", 8)
	})
}
