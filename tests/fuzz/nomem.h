/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that let allocations of the library fail */
#ifndef TESTS_FUZZ_NOMEM_H
#define TESTS_FUZZ_NOMEM_H

#include <stdbool.h>

/* After this call, the first @good allocations succeed, the next @bad fail, and all others succeed. */
void nomem_begin(unsigned int good, unsigned int bad);

/* Let all allocations succeed again. Return true if an allocation has failed since nomem_begin(). */
bool nomem_end(void);

#endif /* TESTS_FUZZ_NOMEM_H */
