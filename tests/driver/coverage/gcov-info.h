/* SPDX-License-Identifier: GPL-2.0-only */
extern void *ntrace_gcov_first, *ntrace_gcov_last;
void __gcov_merge_add(void *counters, unsigned int n);
