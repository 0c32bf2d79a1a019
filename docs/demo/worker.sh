#!/bin/sh
# worker.sh QUEUE: claims 20 todos at a time until there are none; reports each by its receipt.
judge() { # todos as JSON lines in; receipt, outcome and reason of each out
	jq -r --arg bank "${BANK_IS_BACK-}" '
	def red: .payload | [.. | objects | .conclusion] | any(. == "failure");
	[.receipt] + (if .queue == "github" and red then ["fail", "the build is red"]
	elif .kind == "channel_rename" and .attempt == 1 then ["fail", "chat is away"]
	elif .kind == "charge.failed" and $bank == "" then ["fail", "the bank does not answer"]
	elif .kind == "delete" then ["dead", "no handler for delete"] else ["done"] end) | @tsv'
}
while todos=$(todoctl claim -q "$1" --limit 20 -o jsonl) || exit $(($? == 3 ? 0 : $?)); do
	[ -z "${CRASH-}" ] || kill -9 $$ # as the kernel does when memory is short
	judged=$(printf '%s\n' "$todos" | judge) || exit
	printf '%s\n' "$judged" | awk '$2 == "done" { print $1 }' | todoctl complete - --quiet || exit
	printf '%s\n' "$judged" | awk '$2 != "done"' | while read -r receipt outcome reason; do
		[ "$outcome" = fail ] && set -- || set -- --dead
		todoctl fail "$receipt" --quiet --error "$reason" "$@" || exit
	done || exit
done
