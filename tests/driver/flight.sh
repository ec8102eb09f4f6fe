# SPDX-License-Identifier: GPL-2.0-only
# Functions for tests of the flight recorder on the board. The kernel crashes in a first boot, and a second boot reads
# the record of the crash. Source this file after tap.sh and guest.sh.
# shellcheck shell=sh

# crash NAME DIR BEFORE TROUBLE BOARD-OPTIONS...: run the commands BEFORE in the guest, and then the commands TROUBLE,
# which cause a reset. The next boot saves the record to DIR/flight and DIR/record, and prints its results to
# DIR/said.
crash_timeout=900
crash() {
	_name=$1 _dir=$2 _before=$3 _trouble=$4; shift 4
	mkdir -p "$_dir"
	"$top/tools/board/board" run --flight "${flight_size:-4M}" --timeout "$crash_timeout" --console "$_dir/console" --out "$_dir" "$@" -- '
		F=/sys/devices/platform/ntrace-flight
		dog=/dev/null
		for p in /sys/class/virtio-ports/*; do
			[ "$(cat $p/name)" != org.ntrace.watchdog ] || dog=/dev/${p##*/}
		done
		exec 3>$dog
		echo "state $(cat $F/state)"
		if [ ! -e /out/second ]; then
			touch /out/second
			'"$_before"'
			echo . >&3
			'"$_trouble"'
			sleep 1000; echo no reset; poweroff -f
		fi
		# Reload the modules, because `ntrace flight` reads the code of the modules from memory
		insmod /usr/lib/ntrace/ntrace-trouble.ko how=none
		insmod /usr/lib/ntrace/ntrace-locks.ko
		# `ntrace flight` reads this file several times. The kernel executes 400 million instructions for each
		# read, so replace the file by a copy of it.
		cat /proc/kallsyms >/tmp/kallsyms && mount --bind /tmp/kallsyms /proc/kallsyms
		ntrace flight
		cat $F/record >/out/record
		ntrace flight save -o /out/flight --clear
		echo "state $(cat $F/state)"
		echo V >&3' >"$_dir/said" 2>"$_dir/err"
	sed 's/^/# /' "$_dir/said"
}

# last_call DIR COMM PATTERN: print the number of calls by threads named COMM after the last line with PATTERN. If
# $interrupts is "no", do not count calls by interrupt handlers, because interrupts occur at any time. For
# example, the kernel detects a lockup in an interrupt handler, whose calls follow that line.
interrupts=no
last_call() {
	awk -v comm="$2" -v pattern="$3" -v interrupts="$interrupts" '
		$1 != comm { next }
		/trace error/ { depth = 0 }
		interrupts == "no" && / hw int / { depth++ }
		/ iret / && depth { depth-- }
		/ call / && !depth { calls++ }
		$0 ~ pattern { at = calls + 0; found = 1 }
		END { print found ? calls - at : "not found" }' "$1/script"
}

# errors DIR: print the number of decoding errors. Do not count errors because of missing code, and errors that follow
# from these. Ignore the first $errors_after seconds of the trace, because another module may be loaded at the address
# of the driver's freed initialisation code. If $errors_after is -1, count errors from the start of the trace. Use -1 if
# the record starts after this code was freed.
errors_after=1
errors() {
	awk -v after="$errors_after" '/trace error/ { for (i = 1; i < NF; i++) if ($i == "time") t = $(i + 1); begin = begin ? begin : t
		if (t > begin + after && !/code (30|40|46):/) n++ } END { print n + 0 }' "$1/script"
}

# found NAME DIR CAUSE COMM PATTERN: check that the record has the CAUSE, a shell pattern, and that PATTERN is among
# the last 100 calls of COMM. If $small is "yes", PATTERN may be older, because the record may not contain 100 calls.
small=no
found() {
	is "$1: the first boot records, and the next boot finds the record, saves it and records again" \
		"$(grep '^state' "$2/said" | xargs)" "state recording state kept state recording"
	_cause=$(sed -n 's/^cause  *//p' "$2/said")
	# shellcheck disable=SC2254
	case $_cause in $3) pass "$1: what the record says of the cause" ;;
	*) is "$1: what the record says of the cause" "$_cause" "$3" ;;
	esac
	"$O/bin/ntrace" script -i "$2/flight" >"$2/script" 2>/dev/null
	if [ "$small" = yes ]; then
		figure "$1: $(last_call "$2" "$4" "$5") calls came after it"
		is "$1: the only decoding errors are about code that was not saved" "$(errors "$2")" 0
		return
	fi
	_rank=$(last_call "$2" "$4" "$5")
	figure "$1: $(interrupts=yes last_call "$2" "$4" "$5") calls came after it, with those of interrupts"
	case $_rank in not*) _rank=1000000 ;; esac
	ok "$1: $5 is among the last 100 calls of $4 ($_rank calls are later)" [ "$_rank" -lt 100 ]
	is "$1: the only decoding errors are about code that was not saved" "$(errors "$2")" 0
}

# These guest commands let one CPU panic while another CPU, which has stopped, holds all locks of the driver
# shellcheck disable=SC2034,SC2016
hold_locks='grep -wE "ntrace_(comps|record_busy|flight_power|(flight_|pmu_|awake_|context_)?mutex)" /proc/kallsyms >/tmp/symbols
	at() { for s in "$@"; do awk -v s=$s "\$3 == s { print \"0x\" \$1 }" /tmp/symbols; done | tr "\n" , | sed "s/,$//"; }
	insmod /usr/lib/ntrace/ntrace-locks.ko comps=$(at ntrace_comps) busy=$(at ntrace_record_busy) \
		mutexes=$(at ntrace_flight_mutex ntrace_mutex ntrace_pmu_mutex ntrace_awake_mutex ntrace_context_mutex) \
		locks=$(at ntrace_flight_power)'
