# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# These functions run Slurm on this machine for tests. Debian's packages of Slurm are unpacked into a folder with a
# separate configuration. slurmctld and slurmd run as the user who submits the jobs.

slurm_root=$O/tests/slurm

# slurm_unpack - unpack the packages of Slurm that the host lacks, or print why this is impossible
slurm_unpack() {
	[ -x "$slurm_root/root/usr/sbin/slurmd-wlm" ] && return
	command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no apt"; return 1; }
	rm -rf "$slurm_root" && mkdir -p "$slurm_root/debs" "$slurm_root/root" || return 1
	_packages=$(apt-get install -s --no-install-recommends slurmd slurmctld slurm-client 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p')
	[ -n "$_packages" ] || { echo "apt knows no slurmd, or the host has one"; return 1; }
	# shellcheck disable=SC2086
	(cd "$slurm_root/debs" && apt-get -q download $_packages >log 2>&1) || { echo "downloading $_packages failed"; return 1; }
	for _deb in "$slurm_root"/debs/*.deb; do
		dpkg -x "$_deb" "$slurm_root/root" || return 1
	done
}

# slurm_port - print a free port
slurm_port() {
	python3 -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
}

slurm_config() {
	_host=$(hostname -s)
	cat <<-E2
	ClusterName=shards
	SlurmctldHost=$_host(127.0.0.1)
	SlurmUser=$(id -un)
	SlurmdUser=$(id -un)
	AuthType=auth/none
	CredType=cred/none
	PluginDir=$slurm_lib/slurm-wlm
	StateSaveLocation=$slurm_run
	SlurmdSpoolDir=$slurm_run
	SlurmctldPidFile=$slurm_run/slurmctld.pid
	SlurmdPidFile=$slurm_run/slurmd.pid
	SlurmctldPort=$(slurm_port)
	SlurmdPort=$(slurm_port)
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	ReturnToService=2
	NodeName=$_host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
	PartitionName=all Nodes=$_host Default=YES State=UP MaxTime=INFINITE
	E2
}

# slurm_start - start Slurm, and wait until a node accepts jobs. slurm_stop stops all processes of Slurm.
slurm_start() {
	slurm_unpack || return 1
	slurm_run=$tap_tmp/slurm
	slurm_lib=$(dirname "$(find "$slurm_root/root/usr/lib" -name slurm-wlm -type d | head -n 1)")
	mkdir -p "$slurm_run"
	export SLURM_CONF="$slurm_run/slurm.conf" PATH="$slurm_root/root/usr/bin:$PATH"
	export LD_LIBRARY_PATH="$slurm_lib:$slurm_lib/slurm-wlm"
	slurm_config >"$SLURM_CONF"
	"$slurm_root/root/usr/sbin/slurmctld-wlm" -D -c >"$slurm_run/slurmctld.log" 2>&1 &
	slurm_pids=$!
	"$slurm_root/root/usr/sbin/slurmd-wlm" -D -N "$(hostname -s)" -d "$slurm_root/root/usr/sbin/slurmstepd-wlm" \
		>"$slurm_run/slurmd.log" 2>&1 &
	slurm_pids="$slurm_pids $!"
	for _ in 1 2 3 4 5 6 7 8 9; do
		sleep 20
		sinfo -h -t idle -o %n 2>/dev/null | grep -q . && return
	done
	echo "no node is there: $(tail -n 1 "$slurm_run/slurmd.log") $(tail -n 1 "$slurm_run/slurmctld.log")"
	slurm_stop
	return 1
}

slurm_stop() {
	# shellcheck disable=SC2086
	[ -z "$slurm_pids" ] || kill $slurm_pids 2>/dev/null
	slurm_pids=
	wait
}
