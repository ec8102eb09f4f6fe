// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file has the names that the specification gives to numbers, and writes messages as text.
 */
#include <inttypes.h>

#include "dialect.h"

#define NT_TEXT_OF(x)	#x
#define NT_TEXT(x)	NT_TEXT_OF(x)

const char *nt_version(void)
{
	return NT_TEXT(NT_VERSION_MAJOR) "." NT_TEXT(NT_VERSION_MINOR);
}

struct name {
	int		number;
	const char	*text;
};

static const char *name_find(const struct name *names, size_t nr, int number, const char *otherwise)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (names[i].number == number)
			return names[i].text;
	}
	return otherwise;
}

/* The name of @number, or @otherwise if @number has no name */
#define NAME(names, number, otherwise)	name_find(names, ARRAY_SIZE(names), number, otherwise)

#define ERROR_NAME(name, number, text, hint)	{ number, #name },
#define ERROR_TEXT(name, number, text, hint)	{ number, text },
#define ERROR_HINT(name, number, text, hint)	{ number, hint },

static const struct name error_names[] = { { 0, "NT_OK" }, NT_ERRORS(ERROR_NAME) };
static const struct name error_texts[] = { { 0, "no error" }, NT_ERRORS(ERROR_TEXT) };
static const struct name error_hints[] = { NT_ERRORS(ERROR_HINT) };

const char *nt_error_name(int error)
{
	return NAME(error_names, error, "NT_E_UNKNOWN");
}

const char *nt_error_text(int error)
{
	return NAME(error_texts, error, "unknown error");
}

const char *nt_error_hint(int error)
{
	return NAME(error_hints, error, "");
}

static const struct name tcodes[] = {
	{ NT_TCODE_OWNERSHIP,			"Ownership" },
	{ NT_TCODE_DIRECT_BRANCH,		"DirectBranch" },
	{ NT_TCODE_INDIRECT_BRANCH,		"IndirectBranch" },
	{ NT_TCODE_ERROR,			"Error" },
	{ NT_TCODE_PROG_TRACE_SYNC,		"ProgTraceSync" },
	{ NT_TCODE_DIRECT_BRANCH_SYNC,	"DirectBranchSync" },
	{ NT_TCODE_INDIRECT_BRANCH_SYNC,	"IndirectBranchSync" },
	{ NT_TCODE_RESOURCE_FULL,		"ResourceFull" },
	{ NT_TCODE_INDIRECT_BRANCH_HIST,	"IndirectBranchHist" },
	{ NT_TCODE_INDIRECT_BRANCH_HIST_SYNC,	"IndirectBranchHistSync" },
	{ NT_TCODE_REPEAT_BRANCH,		"RepeatBranch" },
	{ NT_TCODE_PROG_TRACE_CORRELATION,	"ProgTraceCorrelation" },
};

/* Messages that only NT_DIALECT_SIFIVE0 has */
static const struct name sifive0_tcodes[] = {
	{ NT_TCODE_DATA_ACQUISITION,		"DataAcquisition" },
	{ NT_TCODE_AUX_ACCESS_WRITE,		"AuxAccessWrite" },
	{ NT_TCODE_IN_CIRCUIT_TRACE,		"InCircuitTrace" },
	{ NT_TCODE_IN_CIRCUIT_TRACE_SYNC,	"InCircuitTraceSync" },
};

/* Messages that only NT_DIALECT_ACCEMIC has */
static const struct name accemic_tcodes[] = {
	{ NT_TCODE_REPEAT_INSN,			"RepeatInstruction" },
	{ NT_TCODE_REPEAT_INSN_SYNC,		"RepeatInstructionSync" },
};

static const struct name sifive0_syncs[] = {
	{ 11,	"Access Contention" },
	{ NT_SYNC_PC_SAMPLE,	"PC Sample" },
};

static const struct name sifive0_rcodes[] = {
	{ NT_RCODE_NOT_TAKEN,	"branches not taken" },
	{ NT_RCODE_TAKEN,	"branches taken" },
};

static const struct name sifive0_evcodes[] = { { 8, "Entry into Reset" } };

static const struct name cksrcs[] = {
	{ NT_CKSRC_CONTROL,	"Control" },
	{ NT_CKSRC_EXT_TRIGGER,	"External Trigger" },
	{ NT_CKSRC_CALL,	"Call" },
	{ NT_CKSRC_EXCEPTION,	"Exception" },
	{ NT_CKSRC_INTERRUPT,	"Interrupt" },
	{ NT_CKSRC_CONTEXT,	"Context" },
	{ NT_CKSRC_WATCHPOINT,	"Watchpoint" },
	{ NT_CKSRC_PC_SAMPLE,	"PC Sample" },
};

static const struct name syncs[] = {
	{ NT_SYNC_EXT_TRIGGER,	"External Trace Trigger" },
	{ NT_SYNC_EXIT_RESET,	"Exit from Reset" },
	{ NT_SYNC_PERIODIC,	"Periodic Synchronization" },
	{ NT_SYNC_EXIT_DEBUG,	"Exit from Debug Mode" },
	{ NT_SYNC_SEQ_ICNT,	"Sequential Instruction Counter" },
	{ NT_SYNC_TRACE_ENABLE,	"Trace Enable" },
	{ NT_SYNC_TRACE_EVENT,	"Trace Event" },
	{ NT_SYNC_FIFO_OVERRUN,	"Restart from FIFO overrun" },
	{ NT_SYNC_POWER_DOWN,	"Exit from Power-down" },
	{ 14,			"Vendor Defined" },
	{ 15,			"Vendor Defined" },
};

static const struct name btypes[] = {
	{ NT_BTYPE_INDIRECT,	"Indirect" },
	{ NT_BTYPE_TRAP,	"Exception or interrupt" },
	{ NT_BTYPE_EXCEPTION,	"Exception" },
	{ NT_BTYPE_INTERRUPT,	"Interrupt" },
};

static const struct name etypes[] = { { 0, "FIFO overrun" } };

static const struct name rcodes[] = {
	{ NT_RCODE_ICNT,	"I-CNT full" },
	{ NT_RCODE_HIST,	"HIST full" },
	{ NT_RCODE_HIST_REPEAT,	"HIST repeated" },
};

static const struct name evcodes[] = {
	{ NT_EVCODE_DEBUG,	"Entry into Debug Mode" },
	{ NT_EVCODE_LOW_POWER,	"Entry into Low-power Mode" },
	{ NT_EVCODE_DISABLED,	"Program Trace Disabled" },
};

static const struct name privs[] = {
	{ NT_PRIV_U, "U" }, { NT_PRIV_S, "S" }, { NT_PRIV_M, "M" },
	{ NT_PRIV_VU, "VU" }, { NT_PRIV_VS, "VS" },
};

static const struct name classes[] = {
	{ NT_CLASS_LINEAR,		"linear" },
	{ NT_CLASS_BRANCH,		"branch" },
	{ NT_CLASS_JUMP,		"jump" },
	{ NT_CLASS_CALL,		"call" },
	{ NT_CLASS_INDIRECT_JUMP,	"indirect jump" },
	{ NT_CLASS_INDIRECT_CALL,	"indirect call" },
	{ NT_CLASS_RETURN,		"return" },
	{ NT_CLASS_SWAP,		"co-routine swap" },
	{ NT_CLASS_TRAP_RETURN,		"trap return" },
	{ NT_CLASS_INVALID,		"invalid" },
	{ NT_END_TRAP,			"trap" },
	{ NT_END_EXCEPTION,		"exception" },
	{ NT_END_INTERRUPT,		"interrupt" },
};

const char *nt_tcode_name(unsigned int tcode)
{
	return NAME(tcodes, (int)tcode, tcode >= NT_TCODE_VENDOR_FIRST && tcode <= NT_TCODE_VENDOR_LAST ?
					"Vendor Defined" : "Reserved");
}

const char *nt_dialect_tcode_name(unsigned int dialect, unsigned int tcode)
{
	const char *name = nt_tcode_name(tcode);

	if (dialect == NT_DIALECT_SIFIVE0)
		return NAME(sifive0_tcodes, (int)tcode, name);
	return dialect == NT_DIALECT_ACCEMIC ? NAME(accemic_tcodes, (int)tcode, name) : name;
}

const char *nt_cksrc_name(unsigned int cksrc)
{
	return NAME(cksrcs, (int)cksrc, "Reserved");
}

const char *nt_sync_name(unsigned int sync)
{
	return NAME(syncs, (int)sync, "Reserved");
}

const char *nt_btype_name(unsigned int btype)
{
	return NAME(btypes, (int)btype, "Reserved");
}

/* The vendor defines the values 8 to 15 of ETYPE, RCODE and EVCODE. */
#define NAME_OF_CODE(names, code)							\
	NAME(names, (int)(code), (code) >= 8 && (code) <= 15 ? "Vendor Defined" : "Reserved")

const char *nt_etype_name(unsigned int etype)
{
	return NAME_OF_CODE(etypes, etype);
}

const char *nt_rcode_name(unsigned int rcode)
{
	return NAME_OF_CODE(rcodes, rcode);
}

const char *nt_evcode_name(unsigned int evcode)
{
	return NAME_OF_CODE(evcodes, evcode);
}

/* Return the name of @number. NT_DIALECT_SIFIVE0 has its own names, and other dialects use N-Trace 1.0. */
#define NAME_OF(dialect, names, number, name)						\
	((dialect) == NT_DIALECT_SIFIVE0 ? NAME(names, (int)(number), (name)(number)) : (name)(number))

const char *nt_dialect_sync_name(unsigned int dialect, unsigned int sync)
{
	return NAME_OF(dialect, sifive0_syncs, sync, nt_sync_name);
}

const char *nt_dialect_evcode_name(unsigned int dialect, unsigned int evcode)
{
	return NAME_OF(dialect, sifive0_evcodes, evcode, nt_evcode_name);
}

const char *nt_priv_name(unsigned int priv)
{
	return NAME(privs, (int)priv, "?");
}

const char *nt_class_name(unsigned int klass)
{
	return klass <= NT_CLASS_INVALID ? NAME(classes, (int)klass, "?") : "?";
}

const char *nt_end_name(unsigned int end)
{
	return end != NT_CLASS_INVALID ? NAME(classes, (int)end, "?") : "?";
}

const char *nt_ecode_name(unsigned int bit)
{
	switch (bit) {
	case 2:
		return "Program Trace";
	case 3:
		return "Ownership Trace";
	case 7:
		return "Vendor Defined";
	}
	return "Reserved";
}

/* Print the names of the set bits of ECODE. If several bits have the same name, print it once. */
void nt_text_add_ecode(struct text *text, uint64_t ecode)
{
	const char *separator = " (", *before = NULL;
	unsigned int bit;

	nt_text_add(text, "ECODE=0x%" PRIx64, ecode);
	if (!ecode)
		nt_text_add(text, " (Unknown");
	for (bit = 0; bit < 64; bit++) {
		if (!(ecode >> bit & 1) || nt_ecode_name(bit) == before)
			continue;
		before = nt_ecode_name(bit);
		nt_text_add(text, "%s%s", separator, before);
		separator = ", ";
	}
	nt_text_add(text, ")");
}

static void message_add_process(struct text *text, const struct nt_message *msg)
{
	nt_text_add(text, " PROCESS=0x%" PRIx64 " FORMAT=%u PRV=%s", msg->value, msg->format,
		    nt_priv_name(msg->priv));
	if (msg->format == NT_FORMAT_SCONTEXT)
		nt_text_add(text, " scontext=0x%" PRIx64, msg->context);
	if (msg->format == NT_FORMAT_HCONTEXT)
		nt_text_add(text, " hcontext=0x%" PRIx64, msg->context);
}

static void message_add_fixed(struct text *text, const struct nt_message *msg)
{
	if (msg->fields & NT_FIELD_SRC)
		nt_text_add(text, " SRC=%u", msg->src);
	if (msg->fields & NT_FIELD_SYNC)
		nt_text_add(text, " SYNC=%u (%s)", msg->sync,
			    nt_dialect_sync_name(msg->dialect, msg->sync));
	if (msg->fields & NT_FIELD_BTYPE)
		nt_text_add(text, " B-TYPE=%u (%s)", msg->btype, nt_btype_name(msg->btype));
	if (msg->fields & NT_FIELD_ETYPE)
		nt_text_add(text, " ETYPE=%u (%s)", msg->code, nt_etype_name(msg->code));
	if (msg->fields & NT_FIELD_RCODE)
		nt_text_add(text, " RCODE=%u (%s)", msg->code,
			    NAME_OF(msg->dialect, sifive0_rcodes, msg->code, nt_rcode_name));
	if (msg->fields & NT_FIELD_EVCODE)
		nt_text_add(text, " EVCODE=%u (%s)", msg->code,
			    nt_dialect_evcode_name(msg->dialect, msg->code));
	if (msg->fields & NT_FIELD_CDF)
		nt_text_add(text, " CDF=%u", msg->cdf);
	if (msg->fields & NT_FIELD_CKSRC)
		nt_text_add(text, " CKSRC=%u (%s)", msg->code, nt_cksrc_name(msg->code));
	if (msg->fields & NT_FIELD_CKDF)
		nt_text_add(text, " CKDF=%u", msg->cdf);
}

/* Add the fields that only messages of NT_DIALECT_SIFIVE0 have. */
static void message_add_pairs(struct text *text, const struct nt_message *msg)
{
	static const struct { uint32_t field; const char *name; bool second; } names[] = {
		{ NT_FIELD_IDTAG,	"IDTAG", false },
		{ NT_FIELD_DQDATA,	"DQDATA", true },
		{ NT_FIELD_AUX_ADDR,	"ADDR", false },
		{ NT_FIELD_AUX_DATA,	"DATA", true },
		{ NT_FIELD_CKDATA0,	"CKDATA0", false },
		{ NT_FIELD_CKDATA1,	"CKDATA1", true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (msg->fields & names[i].field)
			nt_text_add(text, " %s=0x%" PRIx64, names[i].name,
				    names[i].second ? msg->data : msg->value);
	}
}

static void message_add_vars(struct text *text, const struct nt_message *msg)
{
	if (msg->fields & NT_FIELD_PROCESS)
		message_add_process(text, msg);
	if (msg->fields & NT_FIELD_ECODE) {
		nt_text_add(text, " ");
		nt_text_add_ecode(text, msg->value);
	}
	if (msg->fields & NT_FIELD_RDATA)
		nt_text_add(text, " RDATA=0x%" PRIx64, msg->value);
	if (msg->fields & NT_FIELD_RCNT)
		nt_text_add(text, " R-CNT=%" PRIu64, msg->value);
	if (msg->fields & NT_FIELD_BCNT)
		nt_text_add(text, " B-CNT=%" PRIu64, msg->value);
	if (msg->fields & NT_FIELD_ICNT)
		nt_text_add(text, " I-CNT=%" PRIu64, msg->icnt);
	if (msg->fields & NT_FIELD_UADDR)
		nt_text_add(text, " U-ADDR=0x%" PRIx64, msg->addr >> 1);
	if (msg->fields & NT_FIELD_FADDR)
		nt_text_add(text, " F-ADDR=0x%" PRIx64 " (0x%" PRIx64 ")", msg->addr >> 1,
			    msg->addr);
	if (msg->fields & NT_FIELD_HIST)
		nt_text_add(text, " HIST=0x%" PRIx64, msg->hist);
	if (msg->fields & NT_FIELD_HREPEAT)
		nt_text_add(text, " HREPEAT=%" PRIu64, msg->value);
	message_add_pairs(text, msg);
	if (msg->fields & NT_FIELD_TSTAMP)
		nt_text_add(text, " TSTAMP=%" PRIu64, msg->tstamp);
}

/* Write a message that is not about the flow, with its name in other specifications, if known. */
static void message_add_others(struct text *text, const struct nt_message *msg)
{
	const struct nt_other *other = &nt_dialect_tables[msg->dialect].others[msg->tcode];
	uint64_t values[NT_MESSAGE_OTHERS];
	unsigned int fixed = msg->other_fixed, i;
	bool last = false;

	memcpy(values, (const uint8_t *)msg + offsetof(struct nt_message, icnt), sizeof(values));
	if (other->name)
		nt_text_add(text, " (%s)", other->name);
	message_add_fixed(text, msg);
	for (i = 0; i < 2 && other->fixed[i]; i++) {
		nt_text_add(text, " %s=%u", other->fixed[i], fixed & ((1u << other->bits[i]) - 1));
		fixed >>= other->bits[i];
	}
	for (i = 0; i < msg->nr_others && i < NT_MESSAGE_OTHERS; i++) {
		bool known = !last && other->vars[i];

		if (known)
			nt_text_add(text, " %s=0x%" PRIx64, other->vars[i], values[i]);
		else if (other->name && !last && i + 1 == msg->nr_others)
			nt_text_add(text, " TSTAMP=%" PRIu64, values[i]);
		else
			nt_text_add(text, " V%u=0x%" PRIx64, i, values[i]);
		last = !known;
	}
}

int nt_message_write(const struct nt_message *msg, char *buf, size_t size)
{
	struct text text;

	nt_text_init(&text, buf, size);
	nt_text_add(&text, "%s", nt_dialect_tcode_name(msg->dialect, msg->tcode));
	if (!strcmp(nt_dialect_tcode_name(msg->dialect, msg->tcode), "Reserved") ||
	    (msg->tcode >= NT_TCODE_VENDOR_FIRST && msg->tcode <= NT_TCODE_VENDOR_LAST))
		nt_text_add(&text, " TCODE=%u", msg->tcode);
	if (nt_message_has_others(msg)) {
		message_add_others(&text, msg);
		return nt_text_end(&text);
	}
	message_add_fixed(&text, msg);
	message_add_vars(&text, msg);
	return nt_text_end(&text);
}
