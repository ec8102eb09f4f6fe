# SPDX-License-Identifier: GPL-2.0-only
# These functions make a fresh Debian with mmdebstrap, and run commands in it like on a new machine. Root must source
# this file after tap.sh.
# shellcheck shell=sh

# fresh_make SUITE DIR: unpack a minimal Debian with apt and sudo. If the host cannot do this, print a reason and
# fail. The packages are downloaded from the archive that the host's apt uses.
fresh_make() {
	[ "$(id -u)" = 0 ] || { echo "only root can make a root file system"; return 1; }
	command -v mmdebstrap >/dev/null || { echo "there is no mmdebstrap"; return 1; }
	unshare -m true 2>/dev/null || { echo "no mount namespace can be made"; return 1; }
	archive=${NTRACE_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
		awk '$2 == "Debian" && $3 == "Debian" { print $1; exit }')}
	[ -n "$archive" ] || { echo "the host's apt knows no Debian archive"; return 1; }
	mmdebstrap --quiet --variant=apt --include=sudo,passwd,mount,make "$1" "$2" "$archive" 2>"$2.log" ||
		{ tail -n 1 "$2.log"; return 1; }
	echo "127.0.0.1 localhost $(uname -n)" >"$2/etc/hosts"
	cp /etc/resolv.conf "$2/etc/resolv.conf"
}

# fresh_run DIR USER COMMAND...: run COMMAND as USER in the home folder of USER. The command sees the devices and the
# network of the host, but no other parts of the host. fresh_run does not use chroot, because a chroot cannot contain
# user namespaces.
fresh_run() {
	unshare -m --pid --fork --kill-child sh -c '
		root=$1 user=$2
		shift 2
		mount --make-rprivate / && mount --bind "$root" "$root" && mount --rbind /dev "$root/dev" &&
			mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" &&
			mkdir -p "$root/.host" && cd "$root" && pivot_root . .host && umount -l /.host || exit 125
		home=$(sed -n "s/^$user:.*:\([^:]*\):[^:]*$/\1/p" /etc/passwd)
		cd "$home" || exit 125
		exec setpriv --reuid="$user" --regid="$user" --init-groups \
			env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" USER="$user" \
			LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
	' sh "$@" </dev/null
}
