package cmd

import (
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/worker"
)

func workerTopic() string {
	var variables, ends [][]string
	for _, v := range render.EnvVariables() {
		text := v.Field
		switch v.Field {
		case "lease_expires_at":
			text += ", as seconds since 1970"
		case "payload":
			text += ", as JSON"
		}
		variables = append(variables, []string{v.Variable, text})
	}
	for _, r := range worker.DefaultMap().Rules() {
		ends = append(ends, []string{r.On, string(r.Action), r.Action.Meaning()})
	}
	return `todoctl work makes a worker of any command. It claims, runs the command for each todo, renews the leases at a third
of their length, and writes down what came of it:

  todoctl work -q mail -c 4 --ttl 60s --run-timeout 10m -- ./send.sh

The payload is on the command's stdin. Its environment has the variables below, all but TODO_PAYLOAD, and lacks those
that todoctl's own connection came from; --keep-env NAME leaves one. What it writes goes on to the worker's stderr,
the last 64 KiB of its stderr are the error text. How it ends decides:

` + columns(ends) + `
--on changes that: --on 3=dead,10-19=release,signal=fail. Where two rules name a code the last one counts. On file
descriptor 3 the command can say more, a line of JSON each, of at most 1 MiB:

` + columns(said(worker.Answers())) + `
What is said there and cannot be read makes a todo fail that would be done, since its result may be lost. With
--result stdout the last line of stdout is the result: JSON as it is, other text as a string.

With --batch N a command gets up to N todos, with --stream it lives on and gets one after the other (--batch N: up to
N at a time): lines of JSON on stdin, as claim -o jsonl prints them. It answers each with a line on descriptor 3 or
stdout, which it must flush:

` + columns(said(worker.Outcomes())) + `
What a command left unanswered when it ended has what follows on its end, and failed where that is done.

A lease that is lost stops the command with all that it started (TERM, after a second KILL), and nothing is written.
The first signal to the worker stops the claiming, waits --grace, stops the commands and gives back what they had; a
second one ends it at once. While the database is away the commands go on, and the worker tries again.

A worker in plain shell claims, does, reports:

  while eval "$(todoctl claim -q mail -o env)"; do
    if printf '%s' "$TODO_PAYLOAD" | ./send.sh; then
      todoctl complete "$TODO_RECEIPT"
    else
      todoctl fail "$TODO_RECEIPT" --error "send.sh failed"
    fi
  done

claim -o env assigns these variables, without exporting them; when nothing was claimed it unsets them and the eval
fails with the exit status of the claim:

` + columns(variables) + `
Use the receipt, not the id: it names one lease, so that a worker that is late cannot touch a lease that came after
its own. Exit 4 from complete or fail means that the lease was lost; somebody else has the todo, so go on with the
next. A todo may be worked on twice, when a worker died after its work and before its report: make the work such that
twice is no harm.

A lease lasts --ttl, 5 minutes unless told otherwise. todoctl heartbeat "$TODO_RECEIPT" extends it. What a dead worker
held is claimable again when the lease is over; todoctl reap, from cron or a timer, also gives it its old place back:

  * * * * * /usr/bin/todoctl reap --quiet --timeout 50s

A job that cron enqueues needs a key made of UTC: a key of local time collapses two runs, or splits one, on the nights
when the clocks change. In a crontab write \% for %:

  0 * * * * /usr/bin/todoctl enqueue -q report --key "report-$(date -u +\%FT\%H)" --quiet
`
}

func said(list []worker.Said) [][]string {
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{s.Line, s.Meaning})
	}
	return rows
}
