#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the page that `ntrace html` writes. The page must have each call at each level of detail, and a browser must show
# the call. Test zoom, search, click and keyboard. axe-core must find no obstacle for readers with disabilities.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
gcc=${CROSS_COMPILE:-riscv64-linux-gnu-}gcc
cd "$tap_tmp" || exit 1
html() { python3 "$top/tests/pictures/checks.py" "$@"; }

"$gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 -o calls "$top/tests/perf/calls.S" &&
	python3 "$top/tests/perf/mkcalls.py" calls perf.data two-sources &&
	html many calls many.data 40000 &&
	html lossy calls lossy.data &&
	"$ntrace" script --calls --json -i many.data >wanted || exit 1
page() { "$ntrace" html -i "$1" -o "$2" && [ -s "$2" ]; }

# Use names of symbols, files, sources and threads that would break the page if they were not escaped
mkdir 'src<img src=x onerror=alert(4)>'
cp "$top/tests/perf/calls.S" 'src<img src=x onerror=alert(4)>/</style><b>.S' 2>/dev/null ||
	cp "$top/tests/perf/calls.S" 'src<img src=x onerror=alert(4)>/<b>.S'
evil=$(printf 'a<b>"&\001\377.elf')
"$gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 -o evil 'src<img src=x onerror=alert(4)>/<b>.S' &&
	"${gcc%gcc}objcopy" --redefine-sym "inner=$(printf 'A%.0s' $(seq 64))" --redefine-sym "outer=$(printf 'B%.0s' $(seq 64))" evil &&
	html evil evil "$evil" evil.data || exit 1

plan 63
ok "a page" page many.data many.html
ok "a page has the calls that script prints" html same_calls many.html wanted
ok "each level shows each call" html levels many.html
ok "a page of two CPUs in one buffer" page perf.data small.html
ok "each level of a page of two CPUs shows each call" html levels small.html
ok "a page has one script, and fetches nothing" html safe many.html
ok "a page with HTML in names has the right calls" page evil.data evil.html
ok "a page with HTML in names has one script, and fetches nothing" html safe evil.html
"$ntrace" html -i lossy.data -o lossy.html >said 2>&1
is "a page of trace with losses" "$? $(cat said)" "0 ntrace: wrote 118 calls to lossy.html
ntrace: missing trace: 7.7 % of the time, an estimated 8.3 % of the instructions and 8.3 % of the bytes
ntrace: trace of 7.7 % of the time is missing, because perf emptied its buffer too slowly (2 times): record with a larger buffer (-m 16M), or trace less"
ok "losses are between the stretches of trace" html losses lossy.html
ok "one thread writes the same page" sh -c "'$ntrace' html --threads 1 -i many.data -o one.html && cmp many.html one.html"
ok "the page is written to the standard output" sh -c "'$ntrace' html -i many.data -o - | cmp - many.html"
ok "a page without the source" sh -c "'$ntrace' html --no-source -i many.data -o none.html && ! grep -q 'jal' none.html"
ok "a page of a part of the recording" sh -c "'$ntrace' html --time 0.1001,0.1002 -i many.data -o part.html && grep -o 'ntrace.*' part.html >/dev/null"
"$ntrace" html -i many.data -o /dev/full >said 2>&1
is "a full disk is reported" "$? $(cat said)" "2 ntrace: writing /dev/full failed: No space left on device"
"$ntrace" html x >said 2>&1
is "an argument is refused" "$? $(cat said)" "2 ntrace: html does not take the argument 'x'; -i names the recording"

# browser_results NAME COUNT: print the COUNT results of a browser, or skip them for the reason $why
browser_results() {
	for n in $(seq "$2"); do
		if [ -n "$why" ]; then
			skip "$1 $n" "$why"
			continue
		fi
		sed -n "${n}p" results >line
		is "$(cut -f2 line) ($(cut -f3 line | cut -c1-200))" "$(cut -f1 line)" ok
	done
}

why=$(python3 -c "
import sys; sys.path[:0] = ['$top/tests/pictures']
import browser
print('' if browser.executable() else 'no Chromium (chromium of Debian)')")
if [ -z "$why" ]; then
	html many calls million.data "${PICTURES_CALLS:-$(by_size 200000 1000000)}" && "$ntrace" html -i million.data -o million.html 2>/dev/null || exit 1
	html browse lossy.html many.html inner 20000 evil.html million.html "${PICTURES_LIMIT:-2000}" "$O/tests/pictures.png" >results 2>errors
	cat errors
fi
browser_results "in a browser" 36

# Test the page for readers who use only the keyboard or a screen reader, at two widths
axe=$O/root/axe/node_modules/axe-core/axe.min.js
[ -n "$why" ] || [ -f "$axe" ] || why="no axe-core; run make setup with npm"
[ -n "$why" ] || html accessible many.html "$axe" "$O/tests" >results 2>errors
browser_results "for all readers" 11
done_testing
