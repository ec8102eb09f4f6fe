// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The dialects: the messages of each, and its other differences.
 */
#include "dialect.h"

#define OWNERSHIP		{ .known = 1, .nr_vars = 1, .vars = { NT_FIELD_PROCESS } }
#define DIRECT_BRANCH		{ .known = 1, .nr_vars = 1, .vars = { NT_FIELD_ICNT } }
#define INDIRECT_BRANCH		{ .known = 1, .btype = 2, .nr_vars = 2,			\
				  .vars = { NT_FIELD_ICNT, NT_FIELD_UADDR } }
#define ERROR			{ .known = 1, .code = 4, .code_field = NT_FIELD_ETYPE,	\
				  .nr_vars = 1, .vars = { NT_FIELD_ECODE } }
#define SYNC			{ .known = 1, .sync = 4, .nr_vars = 2,			\
				  .vars = { NT_FIELD_ICNT, NT_FIELD_FADDR } }
#define INDIRECT_BRANCH_SYNC	{ .known = 1, .sync = 4, .btype = 2, .nr_vars = 2,	\
				  .vars = { NT_FIELD_ICNT, NT_FIELD_FADDR } }
#define RESOURCE_FULL		{ .known = 1, .code = 4, .code_field = NT_FIELD_RCODE,	\
				  .nr_vars = 1, .vars = { NT_FIELD_RDATA } }
#define INDIRECT_BRANCH_HIST	{ .known = 1, .btype = 2, .nr_vars = 3,			\
				  .vars = { NT_FIELD_ICNT, NT_FIELD_UADDR, NT_FIELD_HIST } }
#define INDIRECT_BRANCH_HIST_SYNC							\
				{ .known = 1, .sync = 4, .btype = 2, .nr_vars = 3,	\
				  .vars = { NT_FIELD_ICNT, NT_FIELD_FADDR, NT_FIELD_HIST } }
#define REPEAT_BRANCH		{ .known = 1, .nr_vars = 1, .vars = { NT_FIELD_BCNT } }
#define CORRELATION		{ .known = 1, .code = 4, .code_field = NT_FIELD_EVCODE,	\
				  .cdf = 2, .cdf_field = NT_FIELD_CDF,			\
				  .cdf_var = NT_FIELD_HIST,				\
				  .nr_vars = 1, .vars = { NT_FIELD_ICNT } }
#define DATA_ACQUISITION	{ .known = 1, .nr_vars = 2,				\
				  .vars = { NT_FIELD_IDTAG, NT_FIELD_DQDATA } }
#define AUX_ACCESS_WRITE	{ .known = 1, .nr_vars = 2,				\
				  .vars = { NT_FIELD_AUX_ADDR, NT_FIELD_AUX_DATA } }
#define IN_CIRCUIT_TRACE	{ .known = 1, .code = 4, .code_field = NT_FIELD_CKSRC,	\
				  .cdf = 2, .cdf_field = NT_FIELD_CKDF,			\
				  .cdf_var = NT_FIELD_CKDATA1,				\
				  .nr_vars = 1, .vars = { NT_FIELD_CKDATA0 } }

/* Table "Fields in Messages", chapter 6.1 */
static const struct nt_layout ratified[64] = {
	[NT_TCODE_OWNERSHIP]			= OWNERSHIP,
	[NT_TCODE_DIRECT_BRANCH]		= DIRECT_BRANCH,
	[NT_TCODE_INDIRECT_BRANCH]		= INDIRECT_BRANCH,
	[NT_TCODE_ERROR]			= ERROR,
	[NT_TCODE_PROG_TRACE_SYNC]		= SYNC,
	[NT_TCODE_DIRECT_BRANCH_SYNC]		= SYNC,
	[NT_TCODE_INDIRECT_BRANCH_SYNC]	= INDIRECT_BRANCH_SYNC,
	[NT_TCODE_RESOURCE_FULL]		= RESOURCE_FULL,
	[NT_TCODE_INDIRECT_BRANCH_HIST]	= INDIRECT_BRANCH_HIST,
	[NT_TCODE_INDIRECT_BRANCH_HIST_SYNC]	= INDIRECT_BRANCH_HIST_SYNC,
	[NT_TCODE_REPEAT_BRANCH]		= REPEAT_BRANCH,
	[NT_TCODE_PROG_TRACE_CORRELATION]	= CORRELATION,
};

/* The same, without RepeatBranch, and with IEEE-ISTO 5001's messages for software and events */
static const struct nt_layout sifive0[64] = {
	[NT_TCODE_OWNERSHIP]			= OWNERSHIP,
	[NT_TCODE_DIRECT_BRANCH]		= DIRECT_BRANCH,
	[NT_TCODE_INDIRECT_BRANCH]		= INDIRECT_BRANCH,
	[NT_TCODE_DATA_ACQUISITION]	= DATA_ACQUISITION,
	[NT_TCODE_ERROR]			= ERROR,
	[NT_TCODE_PROG_TRACE_SYNC]		= SYNC,
	[NT_TCODE_DIRECT_BRANCH_SYNC]		= SYNC,
	[NT_TCODE_INDIRECT_BRANCH_SYNC]	= INDIRECT_BRANCH_SYNC,
	[NT_TCODE_AUX_ACCESS_WRITE]	= AUX_ACCESS_WRITE,
	[NT_TCODE_RESOURCE_FULL]		= RESOURCE_FULL,
	[NT_TCODE_INDIRECT_BRANCH_HIST]	= INDIRECT_BRANCH_HIST,
	[NT_TCODE_INDIRECT_BRANCH_HIST_SYNC]	= INDIRECT_BRANCH_HIST_SYNC,
	[NT_TCODE_PROG_TRACE_CORRELATION]	= CORRELATION,
	[NT_TCODE_IN_CIRCUIT_TRACE]	= IN_CIRCUIT_TRACE,
	[NT_TCODE_IN_CIRCUIT_TRACE_SYNC] = IN_CIRCUIT_TRACE,
};

const struct nt_dialect_table nt_dialect_tables[2] = {
	[NT_DIALECT_RATIFIED] = {
		.layouts	= ratified,
		.addr_bits	= 64,
		.max_btype	= NT_BTYPE_INTERRUPT,
	},
	[NT_DIALECT_SIFIVE0] = {
		.layouts	= sifive0,
		.addr_bits	= 48,
		.xor_time	= true,
		.has_runs	= true,
		.has_events	= true,
		.opaque_owner	= true,
		.empty_cdf	= true,
		.sync_at_branch	= true,
		.swap_is_call	= true,
		.btm_all_jumps	= true,
		.counts_returns	= true,
		.has_samples	= true,
		.max_btype	= NT_BTYPE_EXCEPTION,
	},
};
