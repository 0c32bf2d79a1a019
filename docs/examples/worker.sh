#!/bin/sh
# worker.sh QUEUE HANDLER...: a worker in plain POSIX sh. Runs HANDLER once for each todo, with the
# payload on its standard input and TODO_* in its environment, until it is told to stop.
# Exit code of HANDLER: 0 completes, 65 is a dead letter at once, anything else is tried again later.
queue=$1
shift
stop=''
trap 'stop=1' INT TERM # the todo in hand is finished first
while [ -z "$stop" ]; do
	todo=$(todoctl claim -q "$queue" -o env)
	case $? in
	0) eval "$todo" ;;
	3) sleep 2; continue ;;  # nothing to claim
	8) sleep 10; continue ;; # the database is away
	130 | 143) break ;;      # told to stop meanwhile
	*) exit 1 ;;
	esac
	printf '%s' "$TODO_PAYLOAD" | env TODO_ID="$TODO_ID" TODO_KIND="$TODO_KIND" TODO_ATTEMPT="$TODO_ATTEMPT" "$@"
	case $? in
	0) todoctl complete "$TODO_RECEIPT" ;;
	65) todoctl fail "$TODO_RECEIPT" --dead --error "$1: bad input" ;;
	*) todoctl fail "$TODO_RECEIPT" --error "$1 failed" ;;
	esac
done
