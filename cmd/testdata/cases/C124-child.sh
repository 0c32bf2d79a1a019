#!/bin/sh
# test children for todoctl work: child.sh MODE
case "$1" in
 ignore-term) trap '' TERM INT; sleep 300;;
 grandchild)  (trap '' TERM; sleep 300) & wait;;                       # grandchild holds stdout/stderr
 wrapper)     (sleep 300) & exit 0;;                                   # wrapper leaves at once
 setsid)      setsid sleep 300 & exit 0;;                              # escapes the group
 flood-err)   head -c 50000000 /dev/zero | tr '\0' 'e' >&2; echo '{"ok":true}';;
 flood-out)   head -c 300000000 /dev/zero | tr '\0' 'o';;
 binary)      head -c 4096 /dev/urandom;;
 nul)         printf 'a\0b';;
 exit)        exit "$2";;
 killself)    kill -KILL $$;;
 slow)        sleep "$2";;
 noread)      exec 0<&-; sleep 1; exit 0;;                             # never reads stdin
 echo)        cat;;
 *) echo "unknown mode" >&2; exit 64;;
esac
