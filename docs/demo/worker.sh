#!/bin/sh
# worker.sh QUEUE: claims until nothing is claimable, handles each todo, reports by its receipt.
handle() {
	case "$TODO_QUEUE/$TODO_KIND $TODO_ATTEMPT $TODO_PAYLOAD" in
	github/*'"conclusion":"failure"'*) echo "the build is red" && return 1 ;;
	slack/channel_rename\ 1\ *) echo "chat is away" && return 1 ;; # the second attempt finds it
	billing/charge.failed*) [ -n "${BANK_IS_BACK-}" ] || { echo "the bank does not answer" && return 1; } ;;
	registry/delete*) echo "no handler for delete" && return 65 ;; # no attempt will ever help
	esac
}
while todo=$(todoctl claim -q "$1" -o env) || exit $(($? == 3 ? 0 : $?)); do # 3: nothing to claim
	eval "$todo"
	[ -z "${CRASH-}" ] || kill -9 $$ # as the kernel does when memory is short
	reason=$(handle)
	case $? in
	0) todoctl complete "$TODO_RECEIPT" --quiet ;;
	65) todoctl fail "$TODO_RECEIPT" --quiet --dead --error "$reason" ;;
	*) todoctl fail "$TODO_RECEIPT" --quiet --error "$reason" ;;
	esac || exit
done
