// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of the plugin, which select the features and faults of the emulated hardware. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

enum option_type { OPT_U8, OPT_U32, OPT_U64, OPT_BOOL, OPT_STRING };

struct option {
	const char *name;
	enum option_type type;
	void *to;
	const char *text;
};

#define TE(field, type, text)		{ "te." #field, type, &board.te_caps.field, text }
#define RAM(field, type, text)		{ "ram." #field, type, &board.ram_caps.field, text }
#define FUNNEL(field, type, text)	{ "funnel." #field, type, &board.funnel_caps.field, text }
#define FAULT(field, type, text)	{ "fault." #field, type, &board.faults.field, text }

static const struct option options[] = {
	{ "topology", OPT_STRING, &board.topology, "list of components" },
	{ "truth", OPT_STRING, &board.truth, "folder for hartN.truth: every block that a hart retired" },
	{ "truth-stacks", OPT_BOOL, &board.truth_stacks, "also write the stack pointer and thread pointer to the truth" },
	{ "truth-traced", OPT_BOOL, &board.truth_traced, "write only the traced blocks to the truth" },
	{ "boot-trace", OPT_STRING, &board.boot_trace, "folder for NAME.ntrace of each sink: trace from reset on, without a driver" },
	{ "boot-control", OPT_U32, &board.boot_control, "trTeControl of the boot trace" },
	{ "boot-sifive", OPT_U32, &board.boot_sifive, "teControl of the boot trace" },
	{ "boot-features", OPT_U32, &board.boot_features, "trTeInstFeatures of the boot trace" },
	{ "boot-timestamp", OPT_BOOL, &board.boot_timestamp, "timestamps in the boot trace" },
	{ "boot-privileges", OPT_U32, &board.boot_privileges, "trTeFilterMatchChoicePrivilege of the boot trace; 0: all" },
	{ "stats", OPT_STRING, &board.stats, "file for counts at the end of the run" },
	{ "check-minstret", OPT_U32, &board.check_minstret, "compare with QEMU's count of instructions every N of them (with -icount)" },
	{ "icount", OPT_BOOL, &board.icount, "set if QEMU runs with -icount, where interrupts wait for the next trap" },
	{ "limit", OPT_U64, &board.limit, "end the run at the first trap after N instructions of a hart" },
	{ "stall-limit", OPT_U32, &board.stall_limit, "milliseconds that an encoder may stall its hart before the run ends" },
	{ "pace", OPT_U32, &board.pace, "maximum number of instructions of a traced hart in a millisecond" },
	{ "scontext", OPT_BOOL, &board.has_scontext, "the harts have scontext" },
	{ "hcontext", OPT_BOOL, &board.has_hcontext, "the harts have hcontext" },
	{ "strict-access", OPT_BOOL, &board.strict_access, "an access that does not have 32 aligned bits faults" },
	{ "incoherent", OPT_BOOL, &board.incoherent, "harts see what sinks write after cbo.inval or cbo.flush" },
	{ "cached-from", OPT_U64, &board.cached_from, "start of memory that loses data at a reset, unless a hart has cleaned it (cbo.clean, cbo.flush)" },
	{ "cached-size", OPT_U64, &board.cached_size, "size of that memory in bytes, a multiple of the page size" },
	{ "latency", OPT_BOOL, &board.latency, "measure for --stats how long harts keep interrupts off while they use trace components" },
	{ "deep-idle", OPT_BOOL, &board.deep_idle, "a hart that waits in machine mode, and its encoder, lose their state" },
	{ "reset-lost", OPT_BOOL, &board.reset_lost, "a reset of the machine powers off the trace components" },
	{ "debugger", OPT_BOOL, &board.debugger, "emulate a debugger that traces into SRAM from reset on" },
	{ "active-delay", OPT_U32, &board.active_delay, "number of reads until Active follows" },
	{ "enable-delay", OPT_U32, &board.enable_delay, "number of reads until Enable follows" },
	{ "ts-active-delay", OPT_U32, &board.ts_active_delay, "number of reads of trTsControl until trTsActive follows" },
	{ "empty-delay", OPT_U32, &board.empty_delay, "number of reads until Empty follows" },
	{ "undef", OPT_U32, &board.undef, "seed of values that are undefined after reset" },
	TE(btm, OPT_BOOL, "trTeInstMode 3"),
	TE(htm, OPT_BOOL, "trTeInstMode 6"),
	TE(context, OPT_BOOL, "trTeContext"),
	TE(hypervisor, OPT_BOOL, "the harts have VU and VS"),
	TE(triggers, OPT_BOOL, "trTeInstTrigEnable"),
	TE(ext_in, OPT_U8, "external trigger inputs"),
	TE(ext_out, OPT_U8, "external trigger outputs"),
	TE(stall, OPT_BOOL, "trTeInstStallEna"),
	TE(inhibit_src, OPT_BOOL, "trTeInhibitSrc"),
	TE(sync_modes, OPT_U8, "bit N: trTeInstSyncMode N"),
	TE(sync_max_lowest, OPT_U8, "trTeInstSyncMax"),
	TE(sync_max_highest, OPT_U8, "trTeInstSyncMax"),
	TE(sequential_jump, OPT_BOOL, "trTeInstEnSequentialJump"),
	TE(implicit_return, OPT_U8, "bit N: trTeInstImplicitReturnMode N"),
	TE(repeated_history, OPT_BOOL, "trTeInstEnRepeatedHistory"),
	TE(all_jumps, OPT_BOOL, "trTeInstEnAllJumps"),
	TE(extend_addr, OPT_BOOL, "trTeInstExtendAddrMSB"),
	TE(features_fixed, OPT_U32, "bits of trTeInstFeatures that are always 1"),
	TE(control_fixed, OPT_U32, "bits of trTeControl that are always 1"),
	TE(both_formats, OPT_BOOL, "the encoder has E-Trace as well, by another trTeProtocolMajor"),
	TE(src_bits, OPT_U8, "widest trTeSrcBits"),
	TE(filters, OPT_U8, "filters"),
	TE(filter_control, OPT_U32, "writable bits of trTeFilterControl"),
	TE(filter_levels, OPT_U8, "writable bits of trTeFilterMatchChoicePrivilege"),
	TE(other_levels, OPT_U8, "bits of it that are always 1, except in filter 0"),
	TE(comps, OPT_U8, "comparators"),
	TE(comp_modes, OPT_U8, "bitmap of trTeCompMatchMode"),
	TE(ts_modes, OPT_U8, "bit N: trTsMode N; 0: no timestamps"),
	TE(ts_width, OPT_U8, "trTsWidth"),
	TE(ts_prescale, OPT_BOOL, "trTsPrescale"),
	TE(vendor, OPT_U8, "trTeImpl 31:24"),
	TE(ver_major, OPT_U8, "trTeVerMajor"),
	TE(ver_minor, OPT_U8, "trTeVerMinor"),
	TE(protocol_major, OPT_U8, "trTeProtocolMajor"),
	TE(protocol_minor, OPT_U8, "trTeProtocolMinor"),
	TE(sync_delayed, OPT_BOOL, "periodic sync waits for a branch"),
	TE(repeat_branch, OPT_BOOL, "RepeatBranch messages"),
	TE(btype_extended, OPT_BOOL, "B-TYPE 2 and 3"),
	TE(hist_always, OPT_BOOL, "no message without HIST in HTM"),
	TE(icnt_sync, OPT_BOOL, "SYNC 4 where I-CNT is full in BTM"),
	TE(icnt_bits, OPT_U8, "width of I-CNT"),
	TE(hist_bits, OPT_U8, "width of HIST"),
	TE(stack_depth, OPT_U8, "return stack"),
	TE(stack_bits, OPT_U8, "bits of an address that mode 2 of implicit return compares"),
	TE(return_by_mode, OPT_BOOL, "trTeInstImplicitReturnMode alone enables implicit return"),
	TE(notify_after, OPT_BOOL, "a watchpoint message has the address after the one that matched"),
	TE(fifo_depth, OPT_U32, "size of the FIFO between encoder and sink in bytes; 0: never full"),
	TE(fifo_rate, OPT_U32, "bytes that leave this FIFO in 256 cycles"),
	RAM(sram_size, OPT_U32, "bytes of SRAM"),
	RAM(align, OPT_U32, "alignment of Start, Limit and WP"),
	RAM(burst, OPT_U32, "bytes of a write"),
	RAM(smem_lowest, OPT_U64, "lowest address"),
	RAM(smem_highest, OPT_U64, "highest address"),
	RAM(sizes, OPT_U8, "sizes of a buffer: 0 any, 1 rounded down to a power of two, 2 rounded up"),
	RAM(smem_fixed, OPT_BOOL, "the buffer is fixed"),
	RAM(stop_on_wrap, OPT_BOOL, "trRamStopOnWrap"),
	RAM(stop_fixed, OPT_BOOL, "trRamStopOnWrap is always 1"),
	RAM(limit_fixed, OPT_BOOL, "trRamLimit of the SRAM cannot be set"),
	RAM(keeps_rest, OPT_BOOL, "a sink that stopped on wrap is not empty"),
	RAM(formats, OPT_U32, "bits of trRamMemFormat and trRamAsyncFreq that can be set"),
	RAM(data_write, OPT_BOOL, "trRamData can be written"),
	RAM(smem_data, OPT_BOOL, "trRamRP and trRamData in SMEM mode"),
	RAM(vendor, OPT_U8, "trRamImpl 31:24"),
	RAM(ver_major, OPT_U8, "trRamVerMajor"),
	RAM(ver_minor, OPT_U8, "trRamVerMinor"),
	FUNNEL(dis_input, OPT_BOOL, "trFunnelDisInput"),
	FUNNEL(fifo, OPT_U32, "bytes that a funnel can hold back"),
	FUNNEL(reorder, OPT_BOOL, "the inputs of a funnel take turns"),
	FUNNEL(ts_modes, OPT_U8, "bit N: trTsMode N"),
	FUNNEL(ver_major, OPT_U8, "trFunnelVerMajor"),
	FUNNEL(ver_minor, OPT_U8, "trFunnelVerMinor"),
	FAULT(active_stuck, OPT_BOOL, "Active never follows"),
	FAULT(not_empty, OPT_BOOL, "Empty stays 0"),
	FAULT(enable_stuck, OPT_BOOL, "Enable of encoders stays 0"),
	FAULT(stuck, OPT_U32, "one in N flushes and changes of Active does not end"),
	FAULT(clock_stopped, OPT_BOOL, "the timestamp does not advance"),
	FAULT(bus_error, OPT_BOOL, "writes to memory fail"),
	FAULT(wp_outside, OPT_BOOL, "the write pointer is outside the buffer"),
	FAULT(corrupt, OPT_U32, "one in N messages has a bit flipped"),
	FAULT(drop, OPT_U32, "one in N messages is dropped"),
	FAULT(duplicate, OPT_U32, "one in N messages is sent twice"),
	FAULT(seed, OPT_U32, "seed for the random faults"),
	FAULT(irq_lost, OPT_BOOL, "a sink does not raise its interrupt"),
	FAULT(irq_spurious, OPT_U32, "one in N messages raises the interrupt without a reason"),
};

/* Maximum values of options, if they are lower than the maximum of the type */
static const struct { const char *name; uint64_t most; } limits[] = {
	{ "te.filters", NB_MAX_FILTERS }, { "te.comps", NB_MAX_COMPS },
	{ "ram.burst", 1 << 20 }, { "ram.align", 1 << 20 }, { "ram.sram_size", 1 << 28 },
	{ "active-delay", 1 << 20 }, { "enable-delay", 1 << 20 }, { "empty-delay", 1 << 20 },
	{ "ts-active-delay", 1 << 20 },
};

static uint64_t most_of(const struct option *opt)
{
	static const uint64_t most[] = { [OPT_U8] = UINT8_MAX, [OPT_U32] = UINT32_MAX, [OPT_U64] = UINT64_MAX };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (!strcmp(limits[i].name, opt->name))
			return limits[i].most;
	return most[opt->type];
}

static void set_bool(const struct option *opt, const char *value)
{
	if (!strcmp(value, "on") || !strcmp(value, "1"))
		*(bool *)opt->to = true;
	else if (!strcmp(value, "off") || !strcmp(value, "0"))
		*(bool *)opt->to = false;
	else
		board_fatal("option %s expects on or off, not '%s'", opt->name, value);
}

static void set_number(const struct option *opt, const char *value)
{
	uint64_t n, most = most_of(opt);
	char *end;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (!*value || *end || *value == '-' || errno || n > most)
		board_fatal("option %s: '%s' is not a number up to %#llx", opt->name, value,
			    (unsigned long long)most);
	if (opt->type == OPT_U8)
		*(uint8_t *)opt->to = n;
	else if (opt->type == OPT_U32)
		*(uint32_t *)opt->to = n;
	else
		*(uint64_t *)opt->to = n;
}

static void add_variant(const char *name)
{
	uint64_t bit = nb_variant_find(name);

	if (!bit)
		board_fatal("unknown variant '%s'; see Documentation/trace/ntrace-board.rst", name);
	board.te_caps.variant |= bit;
}

static void set_option(const char *name, size_t len, const char *value)
{
	if (len == 7 && !memcmp(name, "variant", 7)) {
		add_variant(value);
		return;
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct option *opt = &options[i];

		if (strncmp(opt->name, name, len) || opt->name[len])
			continue;
		if (opt->type == OPT_STRING)
			*(const char **)opt->to = strdup(value);
		else if (opt->type == OPT_BOOL)
			set_bool(opt, value);
		else
			set_number(opt, value);
		return;
	}
	board_fatal("unknown option '%.*s'; see Documentation/trace/ntrace-board.rst", (int)len, name);
}

void options_parse(int argc, char **argv)
{
	nb_te_caps_full(&board.te_caps);
	nb_ram_caps_full(&board.ram_caps);
	board.funnel_caps = (struct nb_funnel_caps) {
		.dis_input = true, .ts_modes = board.te_caps.ts_modes, .ts_width = board.te_caps.ts_width,
		.ts_prescale = true, .ver_major = 1,
	};
	board.has_scontext = true;
	board.stall_limit = 5000;
	board.bus_ratio = 1;
	/* HTM with Ownership and a synchronising message every 2^14 messages */
	board.boot_control = NB_MODE_HTM << 4 | TR_TE_CONTEXT | 1 << 16 | 10 << 20 | 1 << 24;
	board.boot_sifive = SF_MODE_HTM << 4 | 11 << 16 | SF_TE_SYNC_MAX_INST;
	for (int i = 0; i < argc; i++) {
		const char *eq = strchr(argv[i], '=');

		if (!strcmp(argv[i], "caps=minimal"))
			nb_te_caps_minimal(&board.te_caps);
		else if (!eq)
			board_fatal("option '%s' has no value", argv[i]);
		else if (strcmp(argv[i], "caps=full"))
			set_option(argv[i], eq - argv[i], eq + 1);
	}
	board.te_caps.hcontext = board.has_hcontext;
	if (!board.topology)
		board_fatal("option topology is missing: start the board with tools/board/board");
}
