// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "gcov-info.h"

void *ntrace_gcov_last __section("gcov_info");
EXPORT_SYMBOL_GPL(ntrace_gcov_last);
