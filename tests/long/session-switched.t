#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare the times for which threads ran on a CPU with the events sched_switch of the kernel, in a recording of seven
# threads on two harts. Three threads only compute, and the others wake each other or sleep. The host may run other
# programs between any two instructions of a hart, so the time between the write of a thread id and the event
# sched_switch may be milliseconds.
. "$(dirname "$0")/../harness/tap.sh"
out=$O/tests/session-switched
build_tool
rm -rf "$out" && mkdir -p "$out" || exit
cat >"$tap_tmp/turns.c" <<-'E2'
	#include <pthread.h>
	#include <stddef.h>
	#include <time.h>
	#include <unistd.h>
	static int pipes[2][2];
	static void work(int n) { for (volatile int i = 0; i < n; i++) ; }
	static void *answer(void *p)
	{
		char c;

		for (int i = 0; i < 60 && read(pipes[0][0], &c, 1) == 1; i++) {
			work(200000);
			if (write(pipes[1][1], &c, 1) != 1)
				break;
		}
		return p;
	}
	static void *computes(void *p) { work(2000000); return p; }
	static void *sleeps(void *p)
	{
		struct timespec time = { .tv_nsec = 3000000 };

		for (int i = 0; i < 30; i++) {
			work(100000);
			nanosleep(&time, NULL);
		}
		return p;
	}
	int main(void)
	{
		void *(*const starts[])(void *) = { computes, computes, computes, sleeps, sleeps, answer };
		pthread_t threads[6];
		char c = 1;

		if (pipe(pipes[0]) || pipe(pipes[1]))
			return 1;
		for (int i = 0; i < 6; i++)
			if (pthread_create(&threads[i], NULL, starts[i], NULL))
				return 1;
		for (int i = 0; i < 60; i++) {
			work(100000);
			if (write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &c, 1) != 1)
				return 1;
		}
		for (int i = 0; i < 6; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
E2
"$O/root/bin/riscv64-guest-gcc" -O1 -pthread -o "$out/turns" "$tap_tmp/turns.c" || exit
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 2 --out "$out" --timeout 900 -- '
	cp /out/turns /tmp && cd /tmp && perf record --kcore -a -m 512,16M -e ntrace// -e sched:sched_switch -o perf.data -- ./turns &&
		perf archive perf.data >/dev/null 2>&1; tar -cf /out/files.tar perf.data *.tar.bz2' >"$tap_tmp/said" 2>&1 &&
	out_files "$out" && mkdir "$out/debug" && tar -xf "$out"/perf.data.tar.bz2 -C "$out/debug" || { cat "$tap_tmp/said"; exit 1; }

plan 1
compare() {
	python3 "$top/tests/session/switched.py" "$O/bin/ntrace" "$out/perf.data" --buildid-dir "$out/debug" >"$tap_tmp/got"
	rc=$?
	cat "$tap_tmp/got"
	[ $rc -eq 0 ] && [ "$(wc -l <"$tap_tmp/got")" -ge 7 ]
}
ok "threads ran on a CPU as long as the events sched_switch say, within 0.1 %" compare
done_testing
