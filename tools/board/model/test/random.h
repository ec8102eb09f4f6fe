/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pseudo-random numbers for tests of the model. Each execution of a test uses the same numbers. */
#ifndef NTRACE_BOARD_TEST_RANDOM_H
#define NTRACE_BOARD_TEST_RANDOM_H

#include <stdint.h>

/* Return a number below @below, and update the state of the generator in *state. */
static inline uint32_t random_below(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

#endif
