/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that are the same in each run, for tests of the model */
#ifndef NTRACE_BOARD_TEST_RANDOM_H
#define NTRACE_BOARD_TEST_RANDOM_H

#include <stdint.h>

/* A number below @below; *state is where the sequence is */
static inline uint32_t random_below(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

#endif
