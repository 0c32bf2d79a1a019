package cmd_test

import "testing"

// What an operator or cron does, whoever holds the lease. A verb by filter asks: without --yes it is refused off a terminal.

func TestTransitionsOfReap(t *testing.T) {
	says := func(answer string, list []transition) []transition {
		for i := range list {
			list[i].says = answer
		}
		return list
	}
	walk(t, "reap", join(
		says("1\t0\t0", each("reap -q QUEUE", 0, "pending 1 1 - expired", "expired")),
		says("0\t0\t1", each("reap -q QUEUE", 0, "dead 1 1 w expired", "capped")),
		says("0\t1\t0", each("reap -q QUEUE", 0, "pending 1 1 - -", "due")),
		says("0\t0\t0", each("reap -q QUEUE", 0, "", "pending", "delayed", "assigned", "paused", "claimed", "last", "retrying", "dead", "done", "twin")),
		says("1\t0\t0", each("reap -q QUEUE --dry-run", 0, "", "expired")),
		says("0\t0\t0", each("reap -q nowhere", 0, "", "expired")),
		each("reap -q=", 2, "", "expired"),
		each("reap ID", 2, "", "expired")))
}

func TestTransitionsOfRetry(t *testing.T) {
	walk(t, "retry", join(
		each("retry ID", 0, "pending 0 6 - -", "dead"),
		each("retry RECEIPT", 0, "pending 0 1 - -", "retrying", "due"),
		each("retry ID --delay 1h --max-attempts 2", 0, "delayed 0 6 - -", "dead"),
		each("retry ID", 4, "", "pending", "delayed", "assigned", "paused", "claimed", "expired", "capped", "done", "twin"),
		each("retry td_none", 5, "", "dead"),
		each("retry td_none td_nil", 5, "", "dead"),
		each("retry ID td_none", 7, "pending 0 6 - -", "dead"),
		each("retry ID td_none", 4, "", "done"),
		each("retry ID --max-attempts 0", 2, "", "dead"),
		each("retry ID --delay -1s", 2, "", "dead"),
		each("retry EMPTY", 2, "", "dead"),
		each("retry ID --dry-run", 0, "", "dead")))
	walk(t, "retry by filter", join(
		each("retry -q QUEUE --yes", 0, "pending 0 6 - -", "dead"),
		each("retry -q QUEUE --state retrying --yes", 0, "pending 0 1 - -", "retrying", "due"),
		each("retry -q QUEUE --yes", 0, "", "pending", "claimed", "expired", "retrying", "due", "done", "twin"),
		each("retry -q QUEUE --state retrying --yes", 0, "", "dead", "twin"),
		each("retry -q QUEUE --dry-run", 0, "", "dead"),
		each("retry -q QUEUE", 2, "", "dead"),
		each("retry --all", 2, "", "dead"),
		each("retry --yes", 2, "", "dead"),
		each("retry ID -q QUEUE --yes", 2, "", "dead"),
		each("retry -q QUEUE --state done --yes", 2, "", "done"),
		each("retry -q= --yes", 2, "", "dead"),
		each("retry --key= --yes", 2, "", "dead")))
}

func TestTransitionsOfBump(t *testing.T) {
	walk(t, "bump", join(
		each("bump ID --by 1h", 0, "pending 0 0 - -", "pending", "assigned", "paused"),
		each("bump ID --by 1m", 0, "delayed 0 0 - -", "delayed"),
		each("bump ID --by 2h", 0, "pending 0 0 - -", "delayed"),
		each("bump ID --front", 0, "pending 0 0 - -", "pending", "delayed"),
		each("bump ID --front", 4, "", "claimed", "expired", "capped", "retrying", "due", "dead", "done"),
		each("bump td_none --front", 5, "", "pending"),
		each("bump ID td_none --front", 7, "pending 0 0 - -", "delayed"),
		each("bump ID td_none --front", 4, "", "done"),
		each("bump ID", 2, "", "pending"),
		each("bump ID --by 0s", 2, "", "pending"),
		each("bump ID --by 1h --front", 2, "", "pending"),
		each("bump EMPTY --front", 2, "", "pending"),
		each("bump -q QUEUE --front --yes", 0, "pending 0 0 - -", "delayed"),
		each("bump -q QUEUE --front --yes", 0, "", "claimed", "retrying", "dead"),
		each("bump -q QUEUE --front --dry-run", 0, "", "delayed"),
		each("bump -q QUEUE --front", 2, "", "delayed"),
		each("bump --front --yes", 2, "", "delayed")))
}

func TestTransitionsOfBury(t *testing.T) {
	walk(t, "bury", join(
		each("bury ID", 0, "dead 0 0 - -", "pending", "delayed", "assigned", "paused"),
		each("bury ID --reason spam", 0, "dead 1 1 - -", "retrying", "due"),
		each("bury RECEIPT", 0, "dead 1 1 w buried", "expired", "capped"),
		each("bury ID --force", 0, "dead 1 1 w buried", "claimed", "last"),
		each("bury ID", 4, "", "claimed", "last", "dead", "done", "twin"),
		each("bury ID --force", 4, "", "dead", "done"),
		each("bury td_none", 5, "", "pending"),
		each("bury ID td_none", 7, "dead 0 0 - -", "pending"),
		each("bury ID td_none", 4, "", "claimed"),
		each("bury EMPTY", 2, "", "pending"),
		each("bury ID --dry-run", 0, "", "pending")))
	walk(t, "bury by filter", join(
		each("bury -q QUEUE --yes", 0, "dead 0 0 - -", "pending", "delayed"),
		each("bury -q QUEUE --yes", 0, "dead 1 1 w buried", "expired"),
		each("bury -q QUEUE --yes", 0, "", "claimed", "dead", "done"),
		each("bury -q QUEUE --force --yes", 0, "dead 1 1 w buried", "claimed"),
		each("bury -q QUEUE", 2, "", "pending"),
		each("bury --yes", 2, "", "pending")))
}
