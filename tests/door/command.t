#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Make likely mistakes of a new user of the `ntrace` command. After each mistake, the command must print a sentence
# with the remedy.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
samples=$top/samples
plan 35

# says NAME STATUS SENTENCE COMMAND...: check the status, and that COMMAND prints the sentence on standard output or
# error
says() {
	_name=$1 _status=$2 _text=$3
	shift 3
	_rc=0
	"$@" >"$tap_tmp/said" 2>&1 </dev/null || _rc=$?
	if [ $_rc -eq "$_status" ] && grep -qF -- "$_text" "$tap_tmp/said"; then pass "$_name"; else
		fail "$_name"
		echo "# status $_rc, wanted $_status: $_text"
	fi
	sed 's/^/# /' "$tap_tmp/said" | head -n 12
}

version=$(cat "$top/VERSION")
for arg in -h --help help; do says "ntrace $arg" 0 "usage: ntrace [--no-pager] COMMAND" "$ntrace" $arg; done
for arg in -V --version version; do says "ntrace $arg" 0 "ntrace $version" "$ntrace" $arg; done
for cmd in dump decode encode; do says "ntrace help $cmd" 0 "usage: ntrace $cmd" "$ntrace" help $cmd; done
says "help of an unknown command" 2 "no command 'fry'; \`ntrace help\` lists them" "$ntrace" help fry
says "an unknown command" 2 "no command 'fry'; \`ntrace help\` lists them" "$ntrace" fry
says "decode -h" 0 "usage: ntrace decode" "$ntrace" decode -h
says "an unknown option" 2 "ntrace decode: unrecognized option '--colour'" "$ntrace" decode --colour x
says "an unknown option: the message names decode --help" 2 "\`ntrace decode --help\` lists the options" "$ntrace" decode --colour x
says "an option without its value" 2 "ntrace decode: option '--elf' requires an argument" "$ntrace" decode --elf

printf 'PERFILE2%100s' '' >"$tap_tmp/perf.data"
mkdir "$tap_tmp/kcore.data"
: >"$tap_tmp/empty"
elf=$samples/primes
for cmd in dump "decode --elf $elf"; do
	says "$cmd of a perf.data that is damaged" 2 "the file is damaged: the size of its header" "$ntrace" $cmd "$tap_tmp/perf.data"
done
says "decode of a folder that is not a recording" 2 "kcore.data/data: No such file or directory" \
	"$ntrace" decode --elf "$elf" "$tap_tmp/kcore.data"
says "decode of a program instead of a trace" 2 "is an ELF file, not a trace; a program is given by --elf" \
	"$ntrace" decode --elf "$elf" "$elf"
says "decode with a trace instead of a program" 2 "not an ELF file" "$ntrace" decode --elf "$samples/primes.nt" "$samples/primes.nt"
says "an empty trace" 0 "is empty: no trace was written" "$ntrace" decode --elf "$elf" "$tap_tmp/empty"
says "an empty trace from a pipe" 0 "standard input is empty: no trace was written" "$ntrace" dump -
for option in "" --detect; do
	says "no program, $option" 2 "decode needs the code: --elf ELF" "$ntrace" decode $option "$samples/primes.nt"
done
says "no program, and standard input is a folder" 2 "standard input is a folder, not a trace. A recording with --kcore is given by its name" \
	sh -c "exec '$ntrace' decode - <'$tap_tmp'"

# ntrace-dev has the encoder of the emulated board.
make -s -C "$top/tools/board/model" O="$O" all >&2
nm --defined-only "$O/board/model/libnbmodel.a" | awk '$2 == "T" { print $3 }' | sort -u >"$tap_tmp/model"
nm "$ntrace" | awk '{ print $NF }' | grep -Fx -f "$tap_tmp/model" >"$tap_tmp/linked"
ok "ntrace contains no function of the board's model" [ -s "$tap_tmp/model" -a ! -s "$tap_tmp/linked" ]
sed 's/^/# /' "$tap_tmp/linked"
mkdir -p "$tap_tmp/usr/bin" "$tap_tmp/usr/libexec/ntrace" && cp "$ntrace" "$tap_tmp/usr/bin/"
says "ntrace encode names ntrace-dev if it is not installed" 2 "ntrace: encode needs the program ntrace-dev, but" \
	"$tap_tmp/usr/bin/ntrace" encode --help
cp "$ntrace-dev" "$tap_tmp/usr/libexec/ntrace/"
says "ntrace encode finds ntrace-dev in libexec" 0 "usage: ntrace encode" "$tap_tmp/usr/bin/ntrace" encode --help

# Print the words that bash completion offers
offers() {
	PATH=$O/bin:$PATH bash -c '. "$0"; COMP_WORDS=(ntrace "$@"); COMP_CWORD=$#; _ntrace; echo "${COMPREPLY[*]}"' \
		"$top/tools/ntrace/ntrace.bash" "$@"
}
is "completion of a command" "$(offers dec)" decode
is "completion of an option of a command" "$(offers decode --wrapp)" --wrapped-at

# For each address range with missing code, a command prints one message and counts further errors
riscv64-linux-gnu-objcopy --remove-section=.none "$elf" "$tap_tmp/start" 2>/dev/null || cp "$elf" "$tap_tmp/start"
cat >"$tap_tmp/other.S" <<-EOT
	.globl _start
	_start:	ret
EOT
riscv64-linux-gnu-gcc -nostdlib -static -Wl,--build-id=none -Wl,-Ttext=0x700000 -o "$tap_tmp/other" "$tap_tmp/other.S"
rc=0
"$ntrace" decode --stats --elf "$tap_tmp/other" "$samples/primes.nt" >"$tap_tmp/stats" 2>"$tap_tmp/err" || rc=$?
is "missing code is an error of the decode" $rc 1
gaps=$(awk '$1 == "gaps" { print $NF }' "$tap_tmp/stats")
is "missing code is not an error of the trace" "$(awk '$1 == "errors" { print $2 }' "$tap_tmp/stats")" 0
ok "a decode without the code has many errors" [ "$gaps" -gt 50 ]
ok "a decode without the code prints a few lines of errors" [ "$(wc -l <"$tap_tmp/err")" -lt 6 ]
sed 's/^/# /' "$tap_tmp/err"
is "a decode without the code prints the number of errors" "$(sed -n 's/.*no code at .*: \([0-9]*\) times.*/\1/p' "$tap_tmp/err")" "$gaps"
done_testing
