// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The part of a trace source's state that depends only on its messages
 */
#include "dialect.h"
#include "state.h"

/* Return a time that does not wrap around, although a counter of less than 64 bits does. */
uint64_t nt_time_sync(const struct nt_config *config, uint64_t tstamp, uint64_t value)
{
	unsigned int bits = config->tstamp_bits;
	uint64_t period, now;

	if (!bits || bits >= 64)
		return value;
	period = 1ULL << bits;
	now = (tstamp & ~(period - 1)) | (value & (period - 1));
	return now < tstamp ? now + period : now;
}

void nt_time_update(const struct nt_config *config, const struct nt_message *msg,
		    uint64_t *tstamp, bool *has_tstamp)
{
	if (!(msg->fields & NT_FIELD_TSTAMP) || nt_message_is_open(msg))
		return;
	if (!nt_time_is_absolute(msg) && !(msg->fields & NT_FIELD_CKSRC &&
					  msg->tcode == NT_TCODE_IN_CIRCUIT_TRACE_SYNC)) {
		/* Before the first SYNC, the reference of relative times is not known. */
		if (!*has_tstamp)
			return;
		*tstamp = nt_dialect_of(config)->xor_time ?
			nt_time_xor(config, *tstamp, msg->tstamp) : *tstamp + msg->tstamp;
		return;
	}
	*tstamp = nt_time_sync(config, *tstamp, msg->tstamp);
	*has_tstamp = true;
}

int nt_context_update(struct nt_context *context, const struct nt_message *msg)
{
	if (msg->format == 1)
		return NT_E_RESERVED;
	if (msg->priv == 2 || msg->priv > NT_PRIV_VS)
		return NT_E_PRIV;
	context->priv = msg->priv;
	context->has_priv = true;
	if (msg->format == NT_FORMAT_SCONTEXT) {
		context->scontext = msg->context;
		context->has_scontext = true;
	} else if (msg->format == NT_FORMAT_HCONTEXT) {
		context->hcontext = msg->context;
		context->has_hcontext = true;
	}
	return NT_OK;
}

/*
 * Bits of ECODE (chapter 7.4). A bit shows that messages of one type are lost. If ECODE is 0, the
 * types of the lost messages are not known.
 */
#define ECODE_OWNERSHIP	(1u << 3)
#define ECODE_VENDOR	(1u << 7)

bool nt_error_loses_flow(const struct nt_message *msg)
{
	return !msg->value || msg->value & ~(uint64_t)(ECODE_OWNERSHIP | ECODE_VENDOR);
}

bool nt_error_loses_context(const struct nt_message *msg)
{
	return nt_error_loses_flow(msg) || msg->value & ECODE_OWNERSHIP;
}

void nt_context_lose(struct nt_context *context, const struct nt_message *msg)
{
	if (nt_error_loses_context(msg))
		memset(context, 0, sizeof(*context));
}

/* DirectBranch exists only in BTM (chapter 7.2). IndirectBranch may be sent in HTM if HIST is empty. */
enum nt_mode nt_message_mode(const struct nt_message *msg)
{
	if (msg->tcode == NT_TCODE_DIRECT_BRANCH)
		return NT_MODE_BTM;
	return msg->fields & NT_FIELD_HIST ? NT_MODE_HTM : NT_MODE_AUTO;
}

bool nt_message_shows_mode(const struct nt_message *msg)
{
	switch (msg->tcode) {
	case NT_TCODE_DIRECT_BRANCH:
	case NT_TCODE_INDIRECT_BRANCH_HIST:
		return true;
	case NT_TCODE_RESOURCE_FULL:
		return msg->fields & NT_FIELD_HIST;
	}
	return false;
}
