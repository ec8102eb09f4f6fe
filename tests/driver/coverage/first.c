// SPDX-License-Identifier: GPL-2.0-only
/*
 * The linker keeps the order of the object files, so that the pointers to gcov's data are between
 * this marker and the one in last.c
 */
#include <linux/module.h>

#include "gcov-info.h"

void *ntrace_gcov_first __section("gcov_info");
EXPORT_SYMBOL_GPL(ntrace_gcov_first);

/*
 * gcov's own library would add counters to those of a file. The module never calls this function.
 */
void __gcov_merge_add(void *counters, unsigned int n)
{
}
