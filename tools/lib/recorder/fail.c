// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Store the sentence that explains why recording failed. */
#include <stdarg.h>
#include <stdio.h>

#include "recorder-priv.h"

int rec_fail(struct nt_recorder *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	return -1;
}
