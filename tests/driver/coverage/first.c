// SPDX-License-Identifier: GPL-2.0-only
/*
 * The linker keeps the order of the object files. Therefore the pointers to gcov's data are between the marker in
 * this file and the marker in last.c
 */
#include <linux/module.h>

#include "gcov-info.h"

void *ntrace_gcov_first __section("gcov_info");
EXPORT_SYMBOL_GPL(ntrace_gcov_first);

/*
 * gcov's own library uses this function to add a file's counters. The module never calls it, but the linker needs it.
 */
void __gcov_merge_add(void *counters, unsigned int n)
{
}
