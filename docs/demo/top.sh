#!/bin/sh
# Draws docs/guide/top.svg: lets workers work for a while, and takes a picture of todoctl top in a terminal.
# Usage: docs/demo/top.sh [FILE [SECONDS]]
# Needs tmux, todoctl on the PATH, and TODOCTL_DATABASE_URL of a migrated database that nobody else uses.
set -eu
file=${1:-$(dirname "$0")/../guide/top.svg}
seconds=${2:-25}
: "${TODOCTL_DATABASE_URL:?names a migrated, empty database}"

tmp=$(mktemp -d)
socket=todoctl-picture-$$
pids=''
finish() {
	status=$?
	trap - EXIT INT TERM HUP
	tmux -L "$socket" kill-server 2>/dev/null || :
	for pid in $pids; do
		kill "$pid" 2>/dev/null || :
	done
	wait
	rm -rf "$tmp"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# fill QUEUE KIND COUNT: todos of one kind.
fill() {
	seq "$3" | jq -c --arg q "$1" --arg k "$2" '{queue: $q, kind: $k, title: "\($k) \(.)", payload: {n: .}}' |
		todoctl enqueue --from - >/dev/null
}

# worker QUEUE COUNT COMMAND: so many at once, in the background.
worker() {
	TODOCTL_OWNER="worker@$1-1" todoctl work -q "$1" -c "$2" --quiet -- sh -c "$3" 2>/dev/null &
	pids="$pids $!"
}

fill mail welcome 300
fill billing invoice 120
fill webhooks delivery 80
fill reports nightly 6
fill thumbnails image 40
todoctl pause thumbnails --reason 'disk is full' --quiet
seq 5 | jq -c '{queue: "mail", delay: "1h", payload: .}' | todoctl enqueue --from - >/dev/null
# shellcheck disable=SC2016 # the worker's own shell expands it
worker mail 4 'n=$(jq .n); sleep 0.1; [ $((n % 20)) -ne 0 ] || { echo "smtp: 550 no such user $n" >&2; exit 65; }'
# shellcheck disable=SC2016
worker billing 2 'n=$(jq .n); sleep 0.2; [ $((n % 9)) -ne 0 ] || { echo "timeout after 30 s" >&2; exit 65; }'
worker webhooks 2 'sleep 0.3'
worker reports 3 'sleep 600'
(
	while sleep 1; do
		fill mail welcome 20
		fill webhooks delivery 4
	done
) &
pids="$pids $!"

tmux -u -L "$socket" -f /dev/null new-session -d -x 80 -y 24 "LC_ALL=C.UTF-8 todoctl top"
sleep "$seconds"
tmux -u -L "$socket" capture-pane -p >"$tmp/screen"
grep -q '^todoctl top' "$tmp/screen" || {
	cat "$tmp/screen" >&2
	exit 1
}

awk '
BEGIN {
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 424\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">"
	print "<title>todoctl top</title>"
	print "<rect width=\"700\" height=\"424\" rx=\"6\" fill=\"#15181e\"/>"
}
{
	gsub(/&/, "\\&amp;"); gsub(/</, "\\&lt;"); gsub(/>/, "\\&gt;")
	if (NR == 1) sub(/  [^ ]+ *$/, "") # the database is that of whoever draws
	sub(/ +$/, "")
	fill = NR == 1 ? "#ffffff" : NR == 2 || NR == 24 ? "#8a93a3" : "#d4d9e1"
	if (NR == 3) { print "<rect x=\"10\" y=\"45\" width=\"680\" height=\"17\" fill=\"#d4d9e1\"/>"; fill = "#15181e" }
	if ($0 != "") printf "<text x=\"12\" y=\"%d\" xml:space=\"preserve\" textLength=\"%.1f\" fill=\"%s\">%s</text>\n", 24 + 17 * (NR - 1), 8.45 * chars($0), fill, $0
}
END { print "</svg>" }
# chars counts characters, not bytes, in any awk: bytes that go on a character begin with 10.
function chars(s,   t) {
	gsub(/&amp;|&lt;|&gt;/, "x", s)
	t = s
	return length(t) > 0 && length("▁") == 1 ? length(t) : length(t) - 2 * gsub(/▁|▂|▃|▄|▅|▆|▇|█|‖|…/, "", s)
}
' "$tmp/screen" >"$tmp/svg"
mv "$tmp/svg" "$file"
