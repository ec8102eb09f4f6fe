#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Make the most likely mistakes of users. After each mistake, the message must name the remedy, and the table in
# Documentation/troubleshooting.rst must contain this message.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
page=$top/Documentation/troubleshooting.rst
make -s -C "$top" O="$O" tool plugin >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
"$top/tools/perf/build.sh" 6.12 x86_64 >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
perf=$O/perf/6.12/x86_64/perf
ntrace=$O/bin/ntrace
samples=$top/samples

# Print each cell in the right column of the table on its own line, without the list of messages below the table.
awk '/^   \* - / { cell = 1; if (text != "") print text; text = ""; next }
	/^     - / { cell = 2; text = substr($0, 8); next }
	/^       / && cell == 2 { sub(/^ */, " "); text = text $0; next }
	/^By message/ { if (text != "") print text; exit }' "$page" | grep -v '^What is printed$' >"$tap_tmp/table"

# said NAME SENTENCE FILE: check that the sentence is in FILE, and in the table
said() {
	tr '\n' ' ' <"$3" >"$3.line"
	if ! grep -qF -- "$2" "$3.line"; then
		fail "$1"
		echo "# wanted: $2"
	elif ! grep -qxF -- "$2" "$tap_tmp/table"; then
		fail "$1"
		echo "# troubleshooting.rst does not say: $2"
	else
		pass "$1"
		grep -vxF -- "$2" "$tap_tmp/table" >"$tap_tmp/rest" || :
		mv "$tap_tmp/rest" "$tap_tmp/table"
	fi
	sed 's/^/# /' "$3" | cut -c1-200 | head -n 6
}
# mistake NAME SENTENCE COMMAND...: make the mistake on this host
mistake() {
	_what=$1 _sentence=$2
	shift 2
	"$@" >"$tap_tmp/out" 2>&1 </dev/null || :
	said "$_what" "$_sentence" "$tap_tmp/out"
}

plan 32
is "the table has 27 rows" "$(wc -l <"$tap_tmp/table")" 27

# ---- mistakes on the host, in set-up and in builds
mkdir -p "$tap_tmp/bin" "$tap_tmp/no-tools" "$tap_tmp/home" "$tap_tmp/empty" "$tap_tmp/kernel"
for f in make sh sed cat echo mkdir; do ln -sf "$(unset -f make; command -v $f)" "$tap_tmp/bin/"; done
mistake "make without a compiler" "no C compiler; on Debian: apt-get install gcc make libdw-dev libzstd-dev" \
	env -i PATH="$tap_tmp/bin" make -C "$top" O="$tap_tmp/empty"
ln -s /usr/bin/* "$tap_tmp/no-tools/"
rm -f "$tap_tmp/no-tools/dtc" "$tap_tmp/no-tools/sudo"
as=
[ "$(id -u)" != 0 ] || { chmod 755 "$tap_tmp"; chown 65534 "$tap_tmp/home"; as='setpriv --reuid=65534 --regid=65534 --clear-groups'; }
mkdir -p "$tap_tmp/tree/tools"; cp -r "$top/tools/setup" "$tap_tmp/tree/tools/"
# shellcheck disable=SC2086
mistake "a package is missing, and there is no sudo" "these packages are needed; as root: apt-get install" \
	$as env -i PATH="$tap_tmp/no-tools" HOME="$tap_tmp/home" O="$tap_tmp/home/o" "$tap_tmp/tree/tools/setup/setup" host
mistake "the board without set-up" "QEMU is not there; run: make setup" \
	env O="$tap_tmp/empty" "$top/tools/board/board" run -- true
mistake "make perf of no kernel source" \
	"is no kernel source: it has no tools/perf/MANIFEST. KSRC= names the folder that has Makefile and tools/" \
	make -C "$top" perf KSRC=/wrong
mistake "make modules for no kernel" "it has no Makefile. KDIR= names a kernel's build folder, as /lib/modules/VERSION/build" \
	make -C "$top" O="$tap_tmp/empty" modules KDIR=/wrong
touch "$tap_tmp/kernel/Makefile"
mistake "make modules by a compiler for the PC" "does not compile for RISC-V; set CROSS_COMPILE=, as riscv64-linux-gnu-" \
	make -C "$top" O="$tap_tmp/empty" modules KDIR="$tap_tmp/kernel" CROSS_COMPILE=

# ---- recording and decoding on the host
if [ "$(uname -m)" = x86_64 ]; then
	mistake "perf record on a PC" \
		"Only a RISC-V machine with a trace encoder can record N-Trace. This machine can only decode such recordings" \
		"$perf" record -o "$tap_tmp/x" -e ntrace// -- true
	recording_as calls good && rm "$tap_tmp/calls"
	mistake "perf script without the program" "cannot read the code of" "$perf" script -i "$tap_tmp/calls.data" --itrace=be
else
	for n in 1 2; do skip "perf on a PC, $n" "this is none"; done
	sed -i '/^Only a RISC-V machine/d; /^cannot read the code of$/d' "$tap_tmp/table"
fi
printf 'PERFILE2%100s' '' >"$tap_tmp/perf.data"
mistake "ntrace report without a recording" "this command reads what \"perf record -e ntrace//\" wrote: perf.data, or -i FILE" \
	"$ntrace" report -i "$tap_tmp/nosuch"
mistake "ntrace decode of a recording in a pipe" "is a recording of perf: give its file name, because a recording cannot be read from a pipe here" \
	sh -c "'$ntrace' decode - <'$tap_tmp/perf.data'"
mistake "ntrace decode without a program" "decode needs the code: --elf ELF" "$ntrace" decode "$samples/primes.nt"
mistake "ntrace decode with a program of the PC" "not a RISC-V program" "$ntrace" decode --elf /bin/ls "$samples/primes.nt"
printf '.globl _start\n_start: ret\n' >"$tap_tmp/other.S"
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x700000 -o "$tap_tmp/other" "$tap_tmp/other.S"
mistake "ntrace decode with another program" "there is no code at" "$ntrace" decode --elf "$tap_tmp/other" "$samples/primes.nt"

# ---- Make mistakes on the board, in one boot. N is the number of a mistake, and /out/N contains the output of
# mistake N
cat >"$tap_tmp/guest" <<'EOT'
mkdir -m 777 /tmp/m; cd /tmp/m
# perf reads /proc/kallsyms several times for a recording, which takes the guest 400 million instructions each time.
# Replace the file by a copy with the few symbols from which perf finds the kernel's code.
grep -wE '_text|_stext|_etext|_edata|_end' /proc/kallsyms >/tmp/kallsyms && mount --bind /tmp/kallsyms /proc/kallsyms
try() { n=$1; shift; timeout 1000 "$@" >/out/$n 2>&1 </dev/null || :; }
user() { n=$1; shift; timeout 1000 su user -c "cd /tmp/m; $*" >/out/$n 2>&1 </dev/null || :; }
try freq perf record -F 99 -o a -e ntrace// -- true
try mode perf record -o a -e ntrace/mode=4/ -- true
try memory perf record -m,4G -o a -e ntrace// -- true
try clock perf record -k mono -o a -e ntrace// -- true
try size perf record -S4X -o a -e ntrace// -- true
try sample perf record --aux-sample -o a -e '{ntrace//u,page-faults:u}' -- true
try two perf record -o a -e ntrace// -e ntrace//u -- true
try named perf record --no-bpf-event -o named -e ntrace -- true
# The guest takes minutes to print all instructions, so print only the first ones
try disasm sh -c "perf script -i named --insn-trace=disasm -F ip,disasm | head -n 2000"
try per-thread perf record --no-bpf-event --per-thread -o thread -e ntrace// -- true
mkfifo ready
perf record --no-bpf-event -o first -a -e ntrace//u -- sh -c 'echo >ready; exec sleep 10000' >/dev/null 2>&1 &
first=$!
timeout 1000 head -n 1 ready
try busy perf record -o a -a -e ntrace// -- true
kill -INT $first; wait
# The kernel patches its code when perf opens events, and again one second after perf has closed the last one. perf script
# has to read the code after that.
perf record --no-bpf-event -o patched -a -e ntrace// -- ls / >/dev/null 2>&1
sleep 3
try kcore perf script -i patched --itrace=e
perf record --no-bpf-event -m,8K -o small -e ntrace// -- ls -lR /usr/lib >/dev/null 2>&1
try lost perf script -i small --itrace=e
echo 2 >/proc/sys/kernel/perf_event_paranoid
user own perf record --no-bpf-event -o own -e ntrace//u -- true
user user-kcore perf record --kcore -o b -e ntrace//u -- true
user firmware perf record -o b -e ntrace/firmware/ -- true
echo 3 >/proc/sys/kernel/perf_event_paranoid
user paranoid perf record -o c -e ntrace//u -- true
rmmod ntrace
try driver perf record -o a -e ntrace// -- true
# The command that the message names must load the driver, by modprobe of busybox and by modprobe of kmod
for modprobe in modprobe /usr/sbin/modprobe; do $modprobe ntrace && rmmod ntrace && echo loaded || echo "$modprobe failed"; done >/out/modprobe 2>&1
for f in kcore lost; do (head -n 20 /out/$f; tail -n 20 /out/$f) >/tmp/part; cp /tmp/part /out/$f; done
EOT
mkdir "$tap_tmp/guest.out"
"$top/tools/board/board" run --harts 2 --out "$tap_tmp/guest.out" -- "$(cat "$tap_tmp/guest")" >"$tap_tmp/board" 2>&1 ||
	sed 's/^/# board: /' "$tap_tmp/board"
g() { said "$1" "$3" "$tap_tmp/guest.out/$2"; }
g "perf record -F" freq "A trace has no frequency (-F option), because all executed instructions are traced."
g "a value that the hardware lacks" mode "The trace encoders of this system do not support mode=4. They support"
g "a buffer larger than memory" memory "The trace buffers do not fit into memory"
g "perf record -k" clock "Cannot use clockid (-k option) with ntrace, because trace has the times of perf's default clock"
g "a size with a wrong letter" size "the size of a snapshot must be a number with an optional B, K, M or G, such as -S4M"
g "perf record --aux-sample" sample \
	"This kernel does not support AUX area sampling (--aux-sample); the file caps/aux_sampling contains the reason. Take snapshots instead (-S option)"
g "perf record with two ntrace events" two "There may be only one ntrace event"
g "a second perf record" busy "Another program uses a trace encoder that ntrace// needs. It is a process whose /proc/PID/fd has a perf_event"
g "no --kcore" kcore "record with --kcore, or only user code (ntrace//u)"
g "a buffer that is too small" lost "full: trace was lost (try perf record -m,SIZE)"
g "--kcore as a user" user-kcore "--kcore copies /proc/kcore, which only root may read: leave --kcore out."
g "machine mode as a user" firmware "Only users with CAP_PERFMON may trace machine mode ('firmware'): run perf as root."
g "a user who may not trace" paranoid "Consider adjusting /proc/sys/kernel/perf_event_paranoid setting"
g "the driver is not loaded" driver \
	"The driver is not loaded, or found no trace encoder. Try 'modprobe ntrace'; then 'dmesg | grep ntrace' shows the encoders that it found"
is "modprobe ntrace loads the driver on the board" "$(xargs <"$tap_tmp/guest.out/modprobe")" "loaded loaded"
# Users may think that these three commands are mistakes, but perf must record a trace with each of them.
is "-e ntrace, --per-thread, and a user's own program are recorded" \
	"$(grep -l 'Captured and wrote' "$tap_tmp/guest.out/named" "$tap_tmp/guest.out/per-thread" "$tap_tmp/guest.out/own" | wc -l)" 3
sed 's/^/# /' "$tap_tmp/guest.out/named" "$tap_tmp/guest.out/per-thread" "$tap_tmp/guest.out/own"
ok "perf script --insn-trace=disasm disassembles instructions" grep -m 3 -E '\s(c\.)?(addi|jalr|auipc|ld|sd) ' "$tap_tmp/guest.out/disasm"
is "the test has made the mistake of each row of the table" "$(cat "$tap_tmp/table")" ""
done_testing
