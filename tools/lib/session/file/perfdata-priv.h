/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Declarations that only the files that read perf.data share. */
#ifndef NTRACE_SESSION_PERFDATA_PRIV_H
#define NTRACE_SESSION_PERFDATA_PRIV_H

#include "perfdata.h"

/* pd_fail() - write a sentence that describes an error to @pd->error. Return -1. */
int pd_fail(struct perfdata *pd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int pd_add_attr(struct perfdata *pd, const void *attr, size_t attr_size, const void *ids,
		size_t nr_ids);
/* Add the build id that the record at @at contains. @at need not be aligned. Return 0, or -1 if out of memory. */
int pd_add_build_id(struct perfdata *pd, const void *at);

#endif /* NTRACE_SESSION_PERFDATA_PRIV_H */
