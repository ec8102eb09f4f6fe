// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The layouts of the messages of each dialect, and its other differences from N-Trace 1.0
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
#define REPEAT_INSN		{ .known = 1, .nr_vars = 3,				\
				  .vars = { NT_FIELD_RCNT, NT_FIELD_ICNT, NT_FIELD_HIST } }
#define REPEAT_INSN_SYNC	{ .known = 1, .sync = 4, .nr_vars = 4,			\
				  .vars = { NT_FIELD_RCNT, NT_FIELD_ICNT, NT_FIELD_FADDR,	\
					    NT_FIELD_HIST } }
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

/* Layouts of the messages that all dialects have */
#define BASE_LAYOUTS								\
	[NT_TCODE_OWNERSHIP]			= OWNERSHIP,			\
	[NT_TCODE_DIRECT_BRANCH]		= DIRECT_BRANCH,		\
	[NT_TCODE_INDIRECT_BRANCH]		= INDIRECT_BRANCH,		\
	[NT_TCODE_ERROR]			= ERROR,			\
	[NT_TCODE_PROG_TRACE_SYNC]		= SYNC,				\
	[NT_TCODE_DIRECT_BRANCH_SYNC]		= SYNC,				\
	[NT_TCODE_INDIRECT_BRANCH_SYNC]	= INDIRECT_BRANCH_SYNC,			\
	[NT_TCODE_RESOURCE_FULL]		= RESOURCE_FULL,		\
	[NT_TCODE_INDIRECT_BRANCH_HIST]	= INDIRECT_BRANCH_HIST,			\
	[NT_TCODE_INDIRECT_BRANCH_HIST_SYNC]	= INDIRECT_BRANCH_HIST_SYNC,	\
	[NT_TCODE_PROG_TRACE_CORRELATION]= CORRELATION

/* Layouts of N-Trace 1.0 (table "Fields in Messages", chapter 6.1) */
static const struct nt_layout ratified[64] = {
	BASE_LAYOUTS,
	[NT_TCODE_REPEAT_BRANCH]		= REPEAT_BRANCH,
};

/* Layouts of N-Trace 1.0, and of two more messages of IEEE-ISTO 5001 */
static const struct nt_layout accemic[64] = {
	BASE_LAYOUTS,
	[NT_TCODE_REPEAT_BRANCH]		= REPEAT_BRANCH,
	[NT_TCODE_REPEAT_INSN]		= REPEAT_INSN,
	[NT_TCODE_REPEAT_INSN_SYNC]	= REPEAT_INSN_SYNC,
};

/* Layouts of N-Trace 1.0 except RepeatBranch, and of messages of IEEE-ISTO 5001 about software and events */
static const struct nt_layout sifive0[64] = {
	BASE_LAYOUTS,
	[NT_TCODE_DATA_ACQUISITION]	= DATA_ACQUISITION,
	[NT_TCODE_AUX_ACCESS_WRITE]	= AUX_ACCESS_WRITE,
	[NT_TCODE_IN_CIRCUIT_TRACE]	= IN_CIRCUIT_TRACE,
	[NT_TCODE_IN_CIRCUIT_TRACE_SYNC] = IN_CIRCUIT_TRACE,
};

#define DATA_TRACE(text)	{ text, { "DSZ", "ELSZ" }, { 4, 3 }, { "ADDR", "DATA" } }
#define EVENT_TRACE(text)	{ text, { "EVTSRC", "EVTCNT" }, { 4, 2 }, { "EVTPC", "EVTDATA" } }

/* Messages of IEEE-ISTO 5001 that all encoders may send */
#define ISTO_5001_OTHERS							\
	[1]	= { "DeviceID", .vars = { "ID" } },			\
	[5]	= DATA_TRACE("DataWrite"),					\
	[6]	= DATA_TRACE("DataRead"),					\
	[7]	= { "DataAcquisition", .vars = { "IDTAG", "DQDATA" } },	\
	[13]	= DATA_TRACE("DataWriteSync"),					\
	[14]	= DATA_TRACE("DataReadSync"),					\
	[15]	= { "Watchpoint", .vars = { "WPHIT" } }

/* Messages of IEEE-ISTO 5001, and messages of the Event Trace draft with other TCODEs */
static const struct nt_other others[64] = {
	ISTO_5001_OTHERS,
	[16]	= { "MTIME_SYNC", .vars = { "MTIME", "TSTAMP" } },
	[31]	= { "RepeatInstruction", .vars = { "R-CNT", "I-CNT", "HIST" } },
	[32]	= { "RepeatInstructionSync", { "SYNC" }, { 4 },
		    { "R-CNT", "I-CNT", "F-ADDR", "HIST" } },
	[17]	= { "PerformanceCounters", .vars = { "PPC0", "PPC1", "PPC2", "PPC3", "PPC4" } },
	[34]	= EVENT_TRACE("EVT"),
	[35]	= EVENT_TRACE("EVT_SYNC"),
	[36]	= { "CALL_SYNC", .vars = { "F-ADDR", "U-ADDR" } },
	[37]	= { "CALL_FULL", .vars = { "U-ADDR", "U-ADDR" } },
	[38]	= { "CALL_DEST", .vars = { "U-ADDR" } },
	[39]	= { "CALL_PC", .vars = { "U-ADDR" } },
	[40]	= { "RET_FULL", .vars = { "U-ADDR", "U-ADDR" } },
	[41]	= { "RET_DEST", .vars = { "U-ADDR" } },
	[42]	= { "RET" },
};

/* Messages of IEEE-ISTO 5001, and messages that only NT_DIALECT_ACCEMIC has */
static const struct nt_other accemic_others[64] = {
	ISTO_5001_OTHERS,
	[56]	= { "BranchPredict", .vars = { "B-CNT" } },
	[57]	= { "JumpTargetCache", { "B-TYPE" }, { 2 }, { "I-CNT", "INDEX", "HIST" } },
	[58]	= { "Config", { "CFGVER" }, { 4 },
		    { "CAPS", "ENAB", "PARAM0", "PARAM1", "PARAM2", "PARAM3" } },
};

/* Members of nt_dialect_tables that are equal for all encoders with the messages of N-Trace 1.0 */
#define RATIFIED									\
	.layouts	= ratified,							\
	.others		= others,							\
	.addr_bits	= 64,								\
	.max_btype	= NT_BTYPE_INTERRUPT

const struct nt_dialect_table nt_dialect_tables[NT_DIALECT_MICROBLAZE_V + 1] = {
	[NT_DIALECT_RATIFIED] = { .name = "ratified", .return_depth = NT_RETURN_DEPTH, RATIFIED },
	[NT_DIALECT_SIFIVE0] = {
		.name		= "sifive0",
		.layouts	= sifive0,
		.others		= others,
		.deviations	= NT_DEV_BIT(NT_DEV_SYNC_LACKS_BIT),
		.return_depth	= NT_RETURN_DEPTH_SIFIVE0,
		.addr_bits	= 48,
		.is_odd		= true,
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
	[NT_DIALECT_SPACEMIT_K3] = {
		.name		= "spacemit-k3",
		.deviations	= NT_DEV_BIT(NT_DEV_ADDR_BITS),
		.return_depth	= NT_RETURN_DEPTH,
		RATIFIED,
	},
	[NT_DIALECT_ACCEMIC] = {
		.name		= "accemic",
		.layouts	= accemic,
		.others		= accemic_others,
		.deviations	= NT_DEV_BIT(NT_DEV_DIRECT_SYNC) | NT_DEV_BIT(NT_DEV_HIST_IN_BTM) |
				  NT_DEV_BIT(NT_DEV_SYNC_LACKS_BIT) |
				  NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC) |
				  NT_DEV_BIT(NT_DEV_XRET_INTERRUPT) |
				  NT_DEV_BIT(NT_DEV_REPEAT_INSN) |
				  NT_DEV_BIT(NT_DEV_ECODE_BITS) | NT_DEV_BIT(NT_DEV_TRAP_IN_GAP),
		.moves_pc	= 1ULL << 56 | 1ULL << 57,
		.return_depth	= 16,
		.drops_newest	= true,
		.addr_bits	= 64,
		.max_btype	= NT_BTYPE_INTERRUPT,
	},
	[NT_DIALECT_MICROBLAZE_V] = { .name = "microblaze-v", RATIFIED },
};

static const struct {
	const char *name, *text, *chapter;
} deviations[] = {
#define DEVIATION(name, number, option, text, chapter)	[number] = { option, text, chapter },
	NT_DEVIATIONS(DEVIATION)
};

const char *nt_deviation_name(unsigned int deviation)
{
	return deviation < ARRAY_SIZE(deviations) ? deviations[deviation].name : NULL;
}

const char *nt_deviation_text(unsigned int deviation)
{
	return deviation < ARRAY_SIZE(deviations) ? deviations[deviation].text : NULL;
}

const char *nt_deviation_chapter(unsigned int deviation)
{
	return deviation < ARRAY_SIZE(deviations) ? deviations[deviation].chapter : NULL;
}

const char *nt_encoder_name(unsigned int dialect)
{
	return dialect < ARRAY_SIZE(nt_dialect_tables) ? nt_dialect_tables[dialect].name : NULL;
}

int nt_encoder_find(const char *name, uint32_t *dialect)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(nt_dialect_tables); i++) {
		if (strcmp(name, nt_dialect_tables[i].name))
			continue;
		*dialect = i;
		return NT_OK;
	}
	return NT_E_NOT_FOUND;
}

uint32_t nt_encoder_return_depth(unsigned int dialect)
{
	return dialect < ARRAY_SIZE(nt_dialect_tables) ? nt_dialect_tables[dialect].return_depth :
		NT_RETURN_DEPTH;
}
