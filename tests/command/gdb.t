#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# With `ntrace gdb`, gdb steps forwards and backwards through a recording. Each step, each execution of a function and
# all callers must be those of `ntrace script --insns`. The stub must refuse a gdb that would step to wrong
# instructions, and must not send files that do not belong to the recording.
. "$(dirname "$0")/../harness/tap.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
. "$(dirname "$0")/gdb.sh"
riscv64-linux-gnu-gcc -g -O1 -static -o requests "$top/tests/session/requests.c" &&
	"$top/tests/harness/pcs" pcs ./requests >/dev/null &&
	"$ntrace" encode --elf requests --pcs pcs -o nt --timestamp --sync-mode 1 --sync-max 2 &&
	python3 "$top/tests/session/mkrecording.py" --timestamp requests nt requests.data || exit 1
insns truth -i requests.data
export STEPS PLACES
STEPS=$(by_size 400 10000) PLACES=$(by_size 200 10000)
in_gdb gdb.py 36 -i requests.data

# Make two threads on two CPUs. The second thread starts at a later instruction of the same program
tail -n +20001 pcs >later && "$ntrace" encode --elf requests --pcs later -o nt.1 --timestamp --sync-mode 1 --sync-max 2 &&
	python3 "$top/tests/pictures/threads.py" --timestamp requests threads.data nt nt.1 || exit 1
for tid in 1234 1235; do insns truth.$tid -i threads.data --tid $tid; done
STEPS=200 in_gdb gdb-threads.py 9 -i threads.data

# The debug adapter of gdb exists since gdb 14
adapters=0
client=@vscode/debugadapter-testsupport
export NODE_PATH="${NODE_PATH:-$(npm root -g 2>/dev/null)}"
has_client() { node -e "require('$client')" 2>/dev/null; }
stub="| $ntrace gdb --stdio -i threads.data"
for gdb in gdb-multiarch gdb-multiarch-new; do
	command -v $gdb >/dev/null && $gdb -nx -batch -ex 'python import gdb.dap' 2>/dev/null || continue
	adapters=$((adapters + 1))
	timeout 300 python3 "$top/tests/command/gdb-adapter.py" "$stub" $gdb -nx -i=dap -ix "$O/share/ntrace/ntrace-gdb.py" |
		sed "s/^\(ok\|not ok\) - /&$gdb: /" >>results
	! has_client || timeout 300 node "$top/tests/command/gdb-client.js" "$stub" $gdb -nx -i=dap -ix "$O/share/ntrace/ntrace-gdb.py" 2>&1 |
		sed "s/^\(ok\|not ok\) - /&$gdb: /" >>results
done

plan $(($(wc -l <results) + 27))
results $((45 + 6 * adapters))

what="another client of the debug adapter steps back in each gdb"
if [ $adapters = 0 ]; then
	skip "$what" "no gdb of this host has the debug adapter: install gdb 14 or later"
elif has_client; then
	is "$what" "$(grep -c '^ok .*the client of VS Code steps back' results)" $adapters
else
	skip "$what" "this host has no $client; npm install -g $client"
fi

# Without ntrace-gdb.py, gdb does not name the thread that steps backwards
gdb-multiarch -nx -batch -iex 'set osabi none' -ex "target remote $stub" -ex 'thread 2' -ex 'reverse-stepi' -ex 'p $trace_insn' >unnamed 2>&1
ok "a gdb that does not name the thread is not moved backwards, and a message names the remedy" \
	eval 'said "gdb does not name the thread" unnamed && said "\$1 = 0" unnamed'
printf '$qSupported:swbreak+#d8$QThreadSuffixSupported#e4$?#3f' | "$ntrace" gdb --stdio -i threads.data >lldb 2>lldb.err
ok "LLDB gets no state, and a message names gdb" eval 'said "Use gdb" lldb.err && ! grep -q T05 lldb && grep -q "E01" lldb'
if command -v lldb >/dev/null; then
	"$ntrace" gdb --listen lldb.socket -i threads.data 2>lldb.err &
	while ! [ -S lldb.socket ] && kill -0 $!; do sleep 0.1; done
	timeout 60 lldb -x -b -o "process connect -p gdb-remote unix-connect://$tap_tmp/lldb.socket" </dev/null >lldb 2>&1
	ok "LLDB reports that it cannot connect" eval 'said "error: " lldb && said "Use gdb" lldb.err'
else
	skip "LLDB reports that it cannot connect" "this host has no lldb; on Debian: apt-get install lldb"
fi

# If gdb has loaded the program's own file, gdb assumes GNU/Linux. In this case, gdb would step forwards to wrong
# instructions.
stub="target remote | $ntrace gdb --stdio -i requests.data"
gdb-multiarch -nx -batch -iex 'set auto-load no' -ex "$stub" -ex 'stepi' -ex 'p $pc' requests >linux 2>&1
ok "a gdb with the OS ABI of GNU/Linux is refused, and a message names the remedy" said "set osabi none" linux
ok "the refused gdb stays at the first instruction" said "_start" linux
gdb-multiarch -nx -batch -ex "$stub" -ex 'stepi' -ex 'p $pc' -ex 'p $trace_insn' >bare 2>&1
ok "a gdb that reads the program from the stub steps" said '$2 = 1' bare
# The kernel first maps a whole program, including its data. To imitate this, make the map in the recording longer than
# the code.
python3 - requests.data >whole.data <<'E'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
at, size = struct.unpack_from('<QQ', data, 40)
end = at + size
while at < end:
    kind, _, size = struct.unpack_from('<IHH', data, at)
    if kind == 10:      # PERF_RECORD_MMAP2
        struct.pack_into('<Q', data, at + 24, 0x1000000)
    at += size + (struct.unpack_from('<Q', data, at + 8)[0] if kind == 71 else 0)
sys.stdout.buffer.write(data)
E
"$ntrace" gdb -i whole.data -- -nx -batch -ex 'print sink' -ex 'x/i $pc' >data 2>&1
ok "data in the file of a program is not shown as memory" eval 'said "Cannot access memory" data && said "=> 0x" data'
"$ntrace" gdb --listen socket -i requests.data 2>listening &
listener=$!
while ! [ -S socket ] && kill -0 $listener; do sleep 0.1; done
mode=$(stat -c %a socket)
gdb-multiarch -nx -batch -iex 'set osabi none' -ex 'target remote socket' -ex 'p $trace_insn' -ex stepi -ex 'p $trace_insn' >listened 2>&1
wait $listener
ok "--listen serves one client" said '$2 = 1' listened
is "only the user may access the socket of --listen" "$mode" 700
# kill -9 leaves the socket
"$ntrace" gdb --listen killed -i requests.data 2>/dev/null &
listener=$!
while ! [ -S killed ] && kill -0 $listener; do sleep 0.1; done
{ kill -KILL $listener; wait $listener; } 2>/dev/null
"$ntrace" gdb --listen killed -i requests.data 2>/dev/null &
listener=$!
while kill -0 $listener && ! grep -q " killed$" /proc/net/unix; do sleep 0.1; done
"$ntrace" gdb --listen killed -i requests.data 2>busy
gdb-multiarch -nx -batch -iex 'set osabi none' -ex 'target remote killed' -ex stepi -ex 'p $trace_insn' >listened 2>&1
ok "--listen replaces the socket of a killed process, but not that of a running one" \
	eval "said '\$1 = 1' listened && said 'cannot listen at killed: Address already in use' busy"
wait $listener
ok "--at starts at the given time" eval '"$ntrace" gdb -i requests.data --at 0.001 -- -nx -batch -ex "p \$trace_time" >at 2>&1; grep -qE "= 100[0-9]{4}\$" at'
"$ntrace" gdb --raw nt --elf requests --timestamp -- -nx -batch -ex 'break request' -ex continue -ex 'p $trace_insn' >raw 2>&1
is "raw trace is shown" "$(grep '^\$' raw)" "\$1 = $(grep -n -m 1 "$(riscv64-linux-gnu-nm requests | awk '$3 == "request" { sub("^0*", "", $1); print $1 }')" truth | awk -F: '{ print $1 - 1 }')"
# In this program of 32 bits, each instruction has 4 bytes
printf '%s\n' '.globl _start, outer, inner' '.type _start, @function' '.type outer, @function' '.type inner, @function' \
	'_start: jal outer' nop ebreak 'outer: nop' 'jal inner' ret 'inner: nop' ret >bare.S
riscv64-linux-gnu-gcc -march=rv32g -mabi=ilp32d -nostdlib -static -Wl,-melf32lriscv -Wl,-Ttext=0x80000000 -o bare32 bare.S &&
	printf '0x800000%s\n' 00 0c 10 18 1c 14 04 08 >bare.pcs && "$ntrace" encode --elf bare32 --pcs bare.pcs -o bare.nt --timestamp --priv m
"$ntrace" gdb --raw bare.nt --elf bare32 --rv32 --timestamp -- -nx -batch -ex 'tbreak *0x8000001c' -ex continue -ex bt -ex reverse-finish -ex finish >bare32.out 2>&1
is "raw trace of a 32-bit program without an operating system has all callers" \
	"$(sed -n 's/.*0x0*\(800000..\) in \([a-z_]*\) ().*/\1 \2/p' bare32.out | tail -n 6 | xargs)" \
	"8000001c inner 8000001c inner 80000014 outer 80000004 _start 80000010 outer 80000004 _start"
"$ntrace" gdb -i requests.data --pid 77 -- -batch >pid 2>&1
is "--pid of a process without instructions is refused" "$?: $(sed 's/ The recording .*//' pid)" "1: ntrace: nothing matched with --pid 77."
"$ntrace" gdb -i threads.data --pid 1235 -- -batch >pid 2>&1
is "--pid of a thread names its process" "$?: $(tail -n 1 pid)" "1: ntrace: 1235 is a thread of process 1234, which --pid 1234 shows"
mv requests moved
"$ntrace" gdb -i requests.data -- -batch >missing 2>&1
is "without the program's file, the only message names the file and the option that helps" "$?: $(cat missing)" \
	"1: ntrace: cannot read the code of $tap_tmp/requests: No such file or directory. Copy it here (perf archive), or use --symfs"
"$ntrace" gdb -i requests.data --pid 77 -- -batch >missing 2>&1
ok "without the program's file, --pid of a process that the recording lacks is still named" said "nothing matched with --pid 77" missing
"$ntrace" report -i requests.data >missing 2>/dev/null
ok "without the program's file, trace is missing for the time in which the program ran" \
	eval "sed -n 's/.*trace of \(.*\) ms is missing.*/\1/p; s/.* = \(.*\) ms user + .* not running$/\1/p' missing | xargs |
		awk '{ exit !(\$2 > 1 && (\$1 - \$2) ^ 2 < 0.1) }'"
mv moved requests
printf '$qSupported#37$vFile:open:%s,0,0#00+$zzz' "$(printf /etc/passwd | od -An -tx1 | tr -d ' \n')" |
	"$ntrace" gdb --stdio -i requests.data >packets 2>/dev/null
ok "a packet with a wrong checksum gets no answer" eval 'grep -q "PacketSize=" packets && ! grep -q "F-1" packets && grep -q -- - packets'

# gdb can send an interrupt between two of many steps, when the stub runs no command
# The end of its input also interrupts the stub, so keep the pipe open, as file 3, until it has sent both replies
mkfifo stepped
{
	printf '$QStartNoAckMode#b0$qC#b4\003$vCont;s#b8$vCont;s#b8'
	timeout 100 python3 -c 'import os, re
got, more = b"", b"+"
while more and len(re.findall(rb"T..thread", got)) < 2:
    more = os.read(0, 4096)
    got += more
print(*(stop.decode() for stop in re.findall(rb"T..thread", got)))' 3>&1 <stepped >interrupted
} | "$ntrace" gdb --stdio -i requests.data 2>/dev/null >stepped
is "an interrupt between two packets ends the next step" "$(xargs <interrupted)" "T02thread T05thread"

# The recording lacks code after 16 instructions
recording missing || exit 1
"$ntrace" gdb -i missing.data -- -nx -batch -ex continue -ex 'p $trace_insn' -ex reverse-continue -ex 'p $trace_insn' \
	-ex 'handle SIGLOST nostop' -ex continue -ex 'p $trace_insn' >gap 2>&1
ok "gdb stops at missing trace, with a message and SIGLOST" eval 'said "[trace is missing before this instruction]" gap && said "SIGLOST" gap && said "\$1 = 16" gap'
ok "backwards, gdb stops at the instruction before the missing trace" eval 'said "[trace is missing after this instruction]" gap && said "\$2 = 15" gap'
ok "with handle SIGLOST nostop, gdb continues over missing trace" said '$3 = 32' gap

# The stub must send only code of the recording, even after damaged packets
build_sanitized || { for what in "" " to a machine"; do skip "random packets$what" "this host's compiler has no sanitizers"; done; done_testing; exit; }
ok "random packets neither crash the stub nor read other files" \
	python3 "$top/tests/command/packets.py" "${PACKETS:-3}" 1 "$O/sanitized/bin/ntrace" gdb --stdio -i requests.data
ok "random packets to a machine neither crash the stub nor read other files" \
	python3 "$top/tests/command/packets.py" "${PACKETS:-1}" 1 "$O/sanitized/bin/ntrace" gdb --stdio --machine -i requests.data
done_testing
