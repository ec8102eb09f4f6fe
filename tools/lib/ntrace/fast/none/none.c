// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Stubs for the library without its fast path (make FAST=0). This file replaces fast/ and
 * counts/tally.c, so that engine.c decodes each message, and flow.c counts each range.
 */
#include <stdlib.h>

#include "../../counts/tally.h"
#include "../fast.h"

bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single)
{
	return false;
}

uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n)
{
	return 0;
}

bool nt_fast_count(struct nt_flow *flow, struct nt_source *src)
{
	return false;
}

void nt_fast_last(const struct nt_flow *flow, struct nt_source *src)
{
}

void nt_memo_clear(struct nt_memo *memo)
{
}

void nt_memo_free(struct nt_memo *memo)
{
}

struct nt_tally *nt_tally_new(void)
{
	return calloc(1, sizeof(struct nt_tally));
}

void nt_tally_free(struct nt_tally *tally)
{
	if (!tally)
		return;
	free(tally->counts.entries);
	free(tally->counts.slots);
	free(tally);
}

int nt_tally_flush(struct nt_tally *tally, const struct nt_code *code)
{
	return NT_OK;
}

void nt_tally_clear(struct nt_tally *tally)
{
}
