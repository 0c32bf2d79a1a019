#!/bin/sh
# The demo: real deliveries, delivered twice, through a private PostgreSQL; see README.md beside it.
# Everything lives in one temporary folder, which goes at the end together with the server.
set -eu
cd "$(dirname "$0")"
inputs=$PWD/inputs
here=$PWD

# Nothing of the user's own settings may name another database.
for name in $(env | sed -n 's/^\(TODOCTL_[A-Z_]*\|PG[A-Z]*\|DATABASE_URL\)=.*/\1/p'); do
	[ "$name" = TODOCTL_PG_BIN ] || unset "$name"
done

tmp=$(mktemp -d "${TMPDIR:-/tmp}/todoctl-demo.XXXXXX")
chmod 755 "$tmp" # started by root, the server runs as another user, who must get in
drain=''
finish() {
	status=$?
	trap - EXIT INT TERM HUP
	[ -z "$drain" ] || kill "$drain" 2>/dev/null || :
	todoctl local stop --quiet 2>/dev/null || :
	rm -rf "$tmp"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }

# show COMMAND...: the line as one would type it, then what it answers.
show() {
	line='$'
	for word in "$@"; do
		case $word in *[!A-Za-z0-9_./:,=@-]*) word="'$word'" ;; esac
		line="$line $word"
	done
	printf '%s\n' "$line"
	"$@"
}

say 'Building todoctl (slow the first time)'
(cd ../.. && go build -o "$tmp/bin/todoctl" .)
PATH=$tmp/bin:$PATH
: >"$tmp/config.yaml"
export PATH TODOCTL_CONFIG="$tmp/config.yaml" TODOCTL_RETRY_BASE=1s # a demo does not wait 30 s
export XDG_STATE_HOME="$tmp/state" XDG_RUNTIME_DIR="$tmp/run"
mkdir -m 700 "$tmp/run"

say 'A private PostgreSQL, reached by a socket alone; start also migrates'
show todoctl local start
TODOCTL_DATABASE_URL=$(todoctl local url)
export TODOCTL_DATABASE_URL
show todoctl migrate status

say 'Deliveries of GitHub, Stripe, Slack and a registry, each file delivered twice'
deliver() {
	for set in github-deliveries stripe-events slack-events registry-notifications; do
		jq -c -f "$inputs/envelope/${set%%-*}.jq" <"$inputs/$set.ndjson" |
			todoctl enqueue --from - --max-attempts 2 -o json |
			jq -r --arg set "$set" '[$set, .created, .duplicates] | @tsv' |
			awk -F '\t' '{ printf "  %-24s created %4d   duplicates %4d\n", $1, $2, $3 }'
	done
}
printf '%s\n' "\$ jq -c -f envelope/github.jq < github-deliveries.ndjson | todoctl enqueue --from - --max-attempts 2"
deliver
echo 'and again:'
deliver
show todoctl queues -o table

say 'A worker claims 20 todos and is killed: nothing is lost, its leases run out'
CRASH=1 TODOCTL_TTL=2s sh "$here/worker.sh" github || echo "(the worker is dead, exit $?)"
counts='queue,pending,claimed,expired,retrying,dead'
show todoctl queues -q github --fields "$counts" -o table
while [ -z "$(todoctl list --state expired --limit 1 -o id)" ]; do sleep 0.2; done
show todoctl queues -q github --fields "$counts" -o table
lapsed=$(todoctl list --state expired --limit 1 -o id)
show todoctl reap -o table
show todoctl show "$lapsed" --fields id,condition,attempt,history -o table

say 'Workers of 20 lines of shell drain the queues; what fails waits out its backoff'
drain() {
	while [ -n "$(todoctl list --limit 1 -o id)" ]; do
		todoctl reap --quiet
		workers=''
		for queue in "$@"; do
			sh "$here/worker.sh" "$queue" 2>"$tmp/$queue.log" &
			workers="$workers $!"
		done
		for worker in $workers; do
			wait "$worker" || { cat "$tmp"/*.log >&2 && return 1; }
		done
		sleep 0.3
	done
}
drain github billing slack registry &
drain=$!
while sleep 3 && kill -0 "$drain" 2>/dev/null; do
	show todoctl queues --fields "$counts" -o table
done
wait "$drain"
drain=''
show todoctl queues --fields "$counts" -o table

say 'The queues are empty. Dead letters by reason'
by_reason() {
	echo "\$ todoctl dead-letters --fields queue,kind,error -o tsv | sort | uniq -c | sort -rn"
	todoctl dead-letters --fields queue,kind,error -o tsv | sort | uniq -c | sort -rn
}
by_reason
show todoctl dead-letters --limit 3 -o table

say 'The bank answers again: what failed for that reason gets a fresh budget'
show todoctl retry --kind charge.failed --error 'the bank' --dry-run -o table
show todoctl retry --kind charge.failed --error 'the bank' --yes -o table
export BANK_IS_BACK=1
drain billing
by_reason
show todoctl queues --fields "$counts" -o table
printf '%s todos are done\n' "$(todoctl list --state 'done' -o id | wc -l)"

say 'Done: the server is stopped and its folder removed'
