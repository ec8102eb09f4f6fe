# SPDX-License-Identifier: GPL-2.0-only
# These functions create an ordinary user for a test. This user owns a copy of the tree, and can read the download
# cache. Root must source this file after tap.sh.
# shellcheck shell=sh

# user_make creates the user $user with the folder $home. If the host cannot do this, user_make prints a reason and
# fails.
user_make() {
	user=ntrace-test-$$
	home=$tap_tmp/home-of-user
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/ntrace
	[ "$(id -u)" = 0 ] || { echo "only root can create a user. This run is by an ordinary user"; return 1; }
	command -v useradd >/dev/null || { echo "there is no useradd"; return 1; }
	unshare -m true 2>/dev/null || { echo "no mount namespace can be made"; return 1; }
	chmod 755 "$tap_tmp"
	useradd --create-home --home-dir "$home" --shell /bin/sh "$user" || return 1
	mkdir -p "$home/ntrace" "$home/.cache/ntrace"
	(cd "$top" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$home/ntrace"
	# Copy perf's sources and objects, so that perf is not built twice. The objects contain the paths of the
	# sources, so mount this copy for the user at root's path.
	for d in "$cache/perf/$1"-*; do
		[ ! -e "$d/good" ] || cp -a "$d" "$home/.cache/ntrace/"
	done
	# Only root may read some of the guest's files.
	guest=$(readlink -f "$O/root/guest")
	cp -a "$guest" "$home/.cache/guest"
	chown -R "$user:" "$home"
}

user_remove() {
	[ -z "${user:-}" ] || userdel "$user" 2>/dev/null
}

# user_run COMMAND...: run COMMAND as the user, in the copy of the tree. The user's cache is mounted at the path of
# root's cache, and root's downloads are read-only. If the user may not enter a parent folder of root's cache,
# the function mounts an empty folder over the parent folder, and creates the path of the cache in it.
user_run() {
	mkdir -p "$tap_tmp/roots"
	unshare -m sh -c '
		roots=$1 cache=$2 home=$3 user=$4 guest=$5
		shift 5
		mount --make-rprivate /
		mount --bind "$cache/root" "$roots" || exit
		top=${cache%/ntrace} above=$top
		while [ -n "$above" ]; do
			case $(stat -c %A "$above") in *x|*t) ;; *) top=$above ;; esac
			above=${above%/*}
		done
		mount -t tmpfs -o mode=755 tmpfs "$top" || exit
		mkdir -p "$cache/root" "$cache/perf"
		mount --bind "$roots" "$cache/root" && mount -o remount,bind,ro "$cache/root" || exit
		mount --bind "$home/.cache/ntrace" "$cache/perf" || exit
		mount --bind "$home/.cache/guest" "$cache/root/${guest##*/}" || exit
		chown "$user:" "$cache"
		cd "$home/ntrace" || exit
		exec setpriv --reuid="$user" --regid="$user" --init-groups env -i PATH=/usr/local/bin:/usr/bin:/bin \
			HOME="$home" USER="$user" XDG_CACHE_HOME="${cache%/ntrace}" "$@"
	' sh "$tap_tmp/roots" "$cache" "$home" "$user" "$guest" "$@" </dev/null
}
