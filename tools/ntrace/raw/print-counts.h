/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print how often each block, branch and edge was executed.
 */
#ifndef NTRACE_PRINT_COUNTS_H
#define NTRACE_PRINT_COUNTS_H

#include <ntrace/ntrace.h>

/*
 * Print blocks, branches, then edges, the most frequent of each first. Return false if out of
 * memory.
 */
bool print_counts(const struct nt_counts *counts);

#endif /* NTRACE_PRINT_COUNTS_H */
