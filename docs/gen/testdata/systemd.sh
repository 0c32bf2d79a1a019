#!/bin/sh
# Boots a systemd of its own with the units in DIR/units, as the first process of namespaces and a control group of its own:
# systemd.sh DIR GROUP. What it would do to the machine (clean /tmp, set kernel parameters, start what is installed) is hidden from it.
set -eu
dir=$1 group=$2
case ${3:-} in
'')
	mount --make-rprivate /
	mount -t tmpfs tmpfs /run
	mkdir /run/groups
	mount -t cgroup2 none /run/groups
	mkdir "/run/groups/$group"
	echo $$ >"/run/groups/$group/cgroup.procs"
	umount /run/groups
	# From here on that group is the root of all.
	exec unshare --cgroup sh "$0" "$dir" "$group" inside
	;;
esac
umount -R /sys/fs/cgroup 2>/dev/null || umount -l -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs tmpfs /usr/local/bin
cp "$dir/bin/"* /usr/local/bin/
for wants in /lib/systemd/system/*.wants; do
	mount -t tmpfs tmpfs "$wants"
done
mount -t tmpfs tmpfs /etc/systemd/system
cp "$dir/units/"* /etc/systemd/system/
# Units see what is mounted for them alone, which needs mounts that are passed on.
mount --make-rshared /
export container=test
exec /lib/systemd/systemd --system --unit=test.target --log-target=console
