#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the properties that all subcommands of `ntrace` share. After wrong arguments, a command prints a sentence and
# exits with status 2. Bash completes exactly the options that exist. A command reports a full disk. Neither a full
# disk nor a closed pipe causes a crash.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
recording_as perf good || exit 1
elf=$top/samples/primes
nt=$top/samples/primes.nt
commands=$("$ntrace" help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
words=$(sed -nE 's/.*\{ "([a-z][a-z0-9-]+)",[ \t]*(no|required|optional)_argument.*/\1/p' "$top"/tools/ntrace/*/*.[ch] "$top"/tools/board/dev/*.[ch] | sort -u)
cd "$tap_tmp" || exit
# Limit the processor time of each command.
ulimit -t 400

# Print the arguments without which a command fails before it checks its options
needs() {
	case $1 in
	dump | stat) echo "$nt" ;;
	decode | bench) echo "--elf $elf $nt" ;;
	encode) echo "--elf $elf --pcs list -o $tap_tmp/encoded" ;;
	verify) echo "--elf $elf $nt" ;;
	slow | query | annotate) echo "-i $tap_tmp/perf.data outer" ;;
	diff) echo "$tap_tmp/perf.data $tap_tmp/perf.data" ;;
	record) echo "-- true" ;;
	doctor) ;;
	setup) echo "--gdb" "encoder" ;;
	gdb) echo "--stdio -i $tap_tmp/perf.data" ;;
	*) echo "-i $tap_tmp/perf.data" ;;
	esac
}

# Expect a sentence that begins with "ntrace", exit status 2, and no crash
refused() {
	"$@" >"$tap_tmp/printed" 2>"$tap_tmp/err" </dev/null
	rc=$? said=
	read -r said <"$tap_tmp/err"
	case "$rc $said" in "2 ntrace"*) [ -s "$tap_tmp/printed" ] || return 0 ;; esac
	echo "$*: status $rc"
	head -n 3 "$tap_tmp/err" "$tap_tmp/printed"
	return 1
}

# Print the long options of a command from its help. getopt_long() reports if an option needs a value
options_of() { "$ntrace" help "$1" | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u; }
takes_value() { case $("$ntrace" "$1" "$2" 2>&1 </dev/null) in *"requires an argument"*) return 0 ;; esac; return 1; }

# Every option rejects a number that is too large or negative, a word in place of a number, and an empty
# value.
wrong_values() {
	bad=0 nr=0
	for option in $(options_of "$1"); do
		case $option in
		--help) continue ;;
		# The values of these options are names, which may be any text.
		--symfs | --buildid-dir | --root | --function | --callers | --callees | --output | --elf | --pcs | --input | --truth | --report | --title | \
			--event | --pid | --gdb | --listen | --raw | --comm | --object) continue ;;
		esac
		takes_value "$1" "$option" || continue
		# Options share the functions that parse numbers, so make test tries only one of the values for each
		# option.
		for value in "" x -1 99999999999999999999999; do
			nr=$((nr + 1))
			# shellcheck disable=SC2046
			[ $(((nr + nr / 4) % every)) -ne 0 ] ||
				refused "$ntrace" "$1" "$option=$value" $(needs "$1") || bad=$((bad + 1))
		done
	done
	return $bad
}
wrong() {
	# shellcheck disable=SC2046
	refused "$ntrace" "$1" --no-such-option $(needs "$1") &&
		refused "$ntrace" "$1" -Y $(needs "$1") && case $1 in
		# The arguments after -- belong to another program.
		record) ;;
		encode) refused "$ntrace" "$1" ;;
		*) refused "$ntrace" "$1" $(needs "$1") one-more and-more ;;
		esac
}
no_file() {
	case $1 in
	dump | stat) refused "$ntrace" "$1" none ;;
	decode | bench | verify) refused "$ntrace" "$1" --elf "$elf" none && refused "$ntrace" "$1" --elf none "$nt" ;;
	encode) refused "$ntrace" encode --elf none --pcs none -o out && refused "$ntrace" encode --elf "$elf" --pcs none -o out ;;
	slow | query | annotate) refused "$ntrace" "$1" -i none outer ;;
	diff) refused "$ntrace" diff none none && refused "$ntrace" diff "$tap_tmp/perf.data" none ;;
	record) refused "$ntrace" record -- true ;;
	doctor) refused "$ntrace" doctor --root none ;;
	*) refused "$ntrace" "$1" -i none ;;
	esac
}

# Check that bash completes exactly the options that the command accepts.
completes() {
	PATH=$O/bin:$PATH bash -c '. "$0"; COMP_WORDS=(ntrace "$1" --); COMP_CWORD=2; _ntrace; printf "%s\n" "${COMPREPLY[@]}"' \
		"$top/tools/ntrace/ntrace.bash" "$1" | sort >"$tap_tmp/offered"
	# getopt_long() prints "unrecognized" for an option that does not exist. All of these options exist.
	while read -r option; do
		case $("$ntrace" "$1" "$option" 2>&1 </dev/null) in *unrecognized*) echo "$1 has no $option"; return 1 ;; esac
	done <"$tap_tmp/offered"
	# A command must not accept an option that bash completion does not offer for this command.
	offered="
$(cat "$tap_tmp/offered")"
	# In make test, each command gets a quarter of these options.
	nr_command=$((nr_command + 1)) nr=$nr_command
	for word in $words; do
		nr=$((nr + 1))
		[ $((nr % every)) -eq 0 ] || continue
		case "$offered" in *"
--$word"*) continue ;; esac
		case $("$ntrace" "$1" "--$word=" --no-such-option 2>&1 </dev/null) in
		*"unrecognized option '--$word="* | *ambiguous*) ;;
		*) echo "--$word" ;;
		esac
	done >"$tap_tmp/missing"
	cat "$tap_tmp/missing"
	[ ! -s "$tap_tmp/missing" ] && [ -s "$tap_tmp/offered" ]
}

prints() { # commands that print so much that the output can fill a disk
	case $1 in
	dump | stat) "$ntrace" "$1" "$nt" ;;
	decode) "$ntrace" decode --pcs --elf "$elf" "$nt" ;;
	script) "$ntrace" script -i "$tap_tmp/perf.data" ;;
	calls) "$ntrace" script --calls -i "$tap_tmp/perf.data" ;;
	insns) "$ntrace" script --insns --json -i "$tap_tmp/perf.data" ;;
	report) "$ntrace" report -i "$tap_tmp/perf.data" ;;
	functions) "$ntrace" report --functions -i "$tap_tmp/perf.data" ;;
	query) "$ntrace" query -i "$tap_tmp/perf.data" "*" ;;
	diff) "$ntrace" diff "$tap_tmp/perf.data" "$tap_tmp/perf.data" ;;
	slow | annotate) "$ntrace" "$1" -i "$tap_tmp/perf.data" outer ;;
	doctor) "$ntrace" doctor ;;
	esac
}
full() {
	prints "$1" >/dev/full 2>"$tap_tmp/err"
	rc=$?
	echo "status $rc: $(head -n 1 "$tap_tmp/err")"
	[ $rc -eq 2 ] && grep -q 'No space left on device' "$tap_tmp/err"
}
# A reader such as head may close the pipe early. The program must end by SIGPIPE without a message.
closed() {
	{ prints "$1" 2>"$tap_tmp/err"; echo $? >"$tap_tmp/rc"; } | true
	echo "status $(cat "$tap_tmp/rc"): $(head -n 1 "$tap_tmp/err")"
	[ ! -s "$tap_tmp/err" ] && case $(cat "$tap_tmp/rc") in 0 | 1 | 141) ;; *) return 1 ;; esac
}

nr_command=0 every=$(by_size 4 1)
outputs="dump stat decode script calls insns report functions slow query diff annotate doctor"
# on_terminal COMMAND...: run the command with a terminal as its standard output and error, and print the text on this
# terminal and the exit status
on_terminal() {
	TERM=xterm python3 - "$@" <<-'E2'
		import os, pty, signal, sys
		pid, terminal = pty.fork()
		if not pid:
		    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
		    os.execvp(sys.argv[1], sys.argv[1:])
		said = b''
		try:
		    while got := os.read(terminal, 4096):
		        said += got
		except OSError:
		    pass
		print(said.decode().replace('\r', '').rstrip(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	E2
}
pages() {
	# The pager ends last, although it sleeps, and shows the messages of the command
	is "a terminal shows the output in NTRACE_PAGER" "$(NTRACE_PAGER='sleep 0.2; tail -n 1 | tr a-z A-Z' PAGER=false on_terminal "$ntrace" report)" \
		"$("$ntrace" report | tail -n 1 | tr a-z A-Z) 0"
	is "a terminal shows messages in PAGER" "$(PAGER='tr a-z A-Z' on_terminal "$ntrace" slow --nth x outer)" "NTRACE: --NTH IS A NUMBER FROM 1 ON, NOT 'X' 2"
	# The output is larger than a pipe
	for _nth in $(seq 50); do cat "$nt"; done >long.nt
	is "a pager that ends early ends the command" "$(PAGER='read line; echo first' on_terminal "$ntrace" dump long.nt | tail -n 1)" "first -13"
	for off in NTRACE_PAGER= NTRACE_PAGER=cat TERM=dumb; do
		is "$off: no pager" "$(PAGER=false on_terminal env "$off" "$ntrace" report | tail -n 1)" "$("$ntrace" report | tail -n 1) 0"
	done
	mkdir -p cat-only && ln -sf "$(command -v cat)" cat-only/
	is "no pager on a machine without less" "$(unset PAGER; on_terminal env PATH="$PWD/cat-only" "$ntrace" report | tail -n 1)" "$("$ntrace" report | tail -n 1) 0"
	# The shell of the pager ends before all the output of dump is written, and before or after that of report
	for output in report "dump long.nt"; do
		is "$output: a pager that is not installed: exit status 2" "$(PAGER=no-such-pager on_terminal "$ntrace" $output | grep -o 'not found 2$')" "not found 2"
	done
	is "--no-pager: no pager" "$(PAGER=false on_terminal "$ntrace" --no-pager report | tail -n 1)" "$("$ntrace" report | tail -n 1) 0"
	is "no pager without a terminal" "$(PAGER=false "$ntrace" report | tail -n 1)" "$("$ntrace" report | tail -n 1)"
	is "no pager for a command that writes files" "$(PAGER=false on_terminal "$ntrace" html -o page | tail -n 1)" "$("$ntrace" html -o page 2>&1 | tail -n 1) 0"
}

plan $((12 + $(echo "$commands" | wc -w) * 4 + $(echo "$outputs" | wc -w) * 2))
for command in $commands; do
	ok "$command: wrong options and arguments are refused" wrong "$command"
	ok "$command: wrong values of options are refused" wrong_values "$command"
	ok "$command: a file that does not exist is reported" no_file "$command"
	ok "$command: bash completes exactly the options that exist" completes "$command"
done
for output in $outputs; do
	ok "$output: a full disk is reported" full "$output"
	ok "$output: a closed pipe ends the command without a message" closed "$output"
done
pages
done_testing
