// SPDX-License-Identifier: GPL-2.0-only
/* The pointers to gcov's data of each file are between the two markers: the linker keeps the order */
#include <linux/module.h>

#include "gcov-info.h"

void *ntrace_gcov_first __section("gcov_info");
EXPORT_SYMBOL_GPL(ntrace_gcov_first);

/* gcov's own library would add counters to those of a file; nobody calls this here */
void __gcov_merge_add(void *counters, unsigned int n)
{
}
