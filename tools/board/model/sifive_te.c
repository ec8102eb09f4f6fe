// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace encoder of SiFive's version 0, see sifive.h.
 *
 *  teControl
 *   31   28 27  26    24 23     20 19     16 15  13  12    8  7 6    4 3  2  1  0
 *  +-------+---+--------+---------+---------+---+---+---+-----+------+--+--+--+--+
 *  | sink  |err| format | MaxInst | MaxBTM  |src|sta|ovf| ITC | mode |em|tr|en|ac|
 *  +-------+---+--------+---------+---------+---+---+---+-----+------+--+--+--+--+
 */

#include "regs_common.h"
#include "sifive.h"

/* Settings of teControl that cannot change while teEnable is 1 */
#define CONTROL_SETTINGS	(SF_TE_INSTRUCTION | SF_TE_STALL_ENABLE | SF_TE_INHIBIT_SRC | \
				 SF_TE_SYNC_MAX_BTM | SF_TE_SYNC_MAX_INST)
#define SYNC_MAX_BTM_RESET	3
#define SYNC_MAX_INST_RESET	10
#define IMPL_HAS_FUNNEL_SINK	(1U << 8)

static struct nb_te *to_te(struct nb_dev *dev)
{
	return (struct nb_te *)dev;
}

/* ---- Legal values of registers (WARL fields) ---- */

static bool is_mode(unsigned int mode)
{
	return mode == SF_MODE_OFF || mode == SF_MODE_EVENTS || mode == SF_MODE_HTM ||
	       mode == SF_MODE_HTM_OPTIMIZED;
}

/*
 * Return the sync fields of teControl after @value was written. According to the TRM, teSyncMaxInst is 0 to 5
 * or 15, but its reset value is 10. Silicon accepts a write of 10.
 */
static uint32_t legal_syncs(uint32_t value)
{
	unsigned int btm = nb_field(value, SF_TE_SYNC_MAX_BTM);
	unsigned int inst = nb_field(value, SF_TE_SYNC_MAX_INST);

	if (btm > 11 && btm < 15)
		btm = SYNC_MAX_BTM_RESET;
	if (inst > 5 && inst < 15)
		inst = SYNC_MAX_INST_RESET;
	return nb_with(nb_with(0, SF_TE_SYNC_MAX_BTM, btm), SF_TE_SYNC_MAX_INST, inst);
}

/*
 * Return teControl after @value was written. teStopOnWrap is 0, because it is "present only in systems with
 * SRAM or System Memory sinks", and this encoder has neither.
 */
static uint32_t legal_control(uint32_t value)
{
	uint32_t legal = value & (TR_ACTIVE | TR_ENABLE | SF_TE_TRACING | SF_TE_INSTRUMENTATION |
				  SF_TE_STALL_OR_OVERFLOW | SF_TE_STALL_ENABLE | SF_TE_INHIBIT_SRC);

	if (is_mode(nb_field(value, SF_TE_INSTRUCTION)))
		legal |= value & SF_TE_INSTRUCTION;
	legal = nb_with(legal, SF_TE_FORMAT, 1);
	return nb_with(legal, SF_SINK, SF_SINK_FUNNEL) | legal_syncs(value);
}

/*
 * Write tsControl. tsType is fixed, and means that the encoder uses the timestamp of the funnel. The value 2
 * of tsBranch is reserved.
 */
static uint32_t put_ts(struct nb_te *te, uint32_t value)
{
	uint32_t own = value & (TR_TS_ACTIVE | TR_TS_ENABLE);
	uint32_t more = value & (SF_TS_BRANCH | SF_TS_INSTRUMENTATION | SF_TS_OWNERSHIP);

	nb_ts_write(&te->ts, nb_with(own, TR_TS_MODE, NB_TS_SHARED));
	if (!(value & TR_TS_ACTIVE))
		more = 0;
	if (nb_field(more, SF_TS_BRANCH) == 2)
		more &= ~SF_TS_BRANCH;
	value = nb_with(te->ts.control | more, TR_TS_MODE, NB_TS_SHARED);
	nb_put(&te->dev, TR_TS_CONTROL, value);
	return value;
}

/* ---- Enabling and disabling ---- */

/* Return a mask of the TCODEs of messages without SYNC that have a timestamp. @ts is the value of tsControl. */
static uint64_t stamped(uint32_t ts)
{
	static const uint64_t indirect = 1ULL << NB_TCODE_INDIRECT_BRANCH |
					 1ULL << NB_TCODE_INDIRECT_BRANCH_HIST;
	static const uint64_t others = 1ULL << NB_TCODE_DIRECT_BRANCH | 1ULL << NB_TCODE_ERROR |
				       1ULL << NB_TCODE_PROG_TRACE_CORRELATION;
	unsigned int branch = nb_field(ts, SF_TS_BRANCH);

	return (branch ? indirect : 0) | (branch == 3 ? others : 0) |
	       (ts & SF_TS_OWNERSHIP ? 1ULL << NB_TCODE_OWNERSHIP : 0);
}

/*
 * Return the width of I-CNT. According to the TRM, teSyncMaxInst means "Generate Sync when running I-CNT
 * reaches 2^(teSyncMaxInst+5) bytes". Traces of silicon contain ResourceFull with RCODE 0 at this count.
 */
static unsigned int icnt_bits(uint32_t control)
{
	unsigned int inst = nb_field(control, SF_TE_SYNC_MAX_INST);

	return inst == 15 ? 22 : inst + 5;
}

static void configure(struct nb_te *te, uint32_t control)
{
	bool optimized = nb_field(control, SF_TE_INSTRUCTION) == SF_MODE_HTM_OPTIMIZED;
	unsigned int btm = nb_field(control, SF_TE_SYNC_MAX_BTM);
	uint32_t impl = nb_get(&te->dev, TR_IMPL), ts = nb_get(&te->dev, TR_TS_CONTROL);
	struct nb_encoder_config cfg = {
		.mode = NB_MODE_HTM, .xlen = te->caps.xlen, .dialect = &nb_dialect_sifive0,
		.timestamp = ts & TR_TS_ENABLE, .ts_width = SF_TS_WIDTH, .no_tstamp = ~stamped(ts),
		/* The period of synchronisation is 2^(teSyncMaxBTM + 5) messages, or none for 15 */
		.sync_mode = btm == 15 ? 0 : 1, .sync_max = btm + 1,
		.src_bits = control & SF_TE_INHIBIT_SRC ? 0 : impl >> 24 & 7,
		.src_id = impl >> 20 & 15,
		.implicit_return = optimized, .runs = optimized, .icnt_bits = icnt_bits(control),
		.stall = control & SF_TE_STALL_ENABLE,
		.fifo_depth = te->caps.fifo_depth, .fifo_rate = te->caps.fifo_rate,
		.variant = te->caps.variant,
	};

	te->enc.qualify = NULL;
	nb_encoder_configure(&te->enc, &cfg);
}

static void set_tracing(struct nb_te *te, uint32_t control)
{
	bool on = control & TR_ENABLE && control & SF_TE_TRACING &&
		  nb_field(control, SF_TE_INSTRUCTION) >= SF_MODE_HTM;

	if (on == te->enc.enabled)
		return;
	if (on)
		configure(te, control);
	nb_te_trace(te, on);
}

static void write_control(struct nb_te *te, uint32_t value)
{
	uint32_t old = nb_get(&te->dev, TR_CONTROL), now = legal_control(value);
	bool was = old & TR_ENABLE, is = now & TR_ENABLE;

	if (was && is && (old ^ now) & CONTROL_SETTINGS) {
		nb_dev_report(&te->dev, NB_REPORT_ENABLED, TR_CONTROL, value);
		now = (now & ~CONTROL_SETTINGS) | (old & CONTROL_SETTINGS);
	}
	if (te->dev.faults.enable_stuck)
		now &= ~TR_ENABLE;
	/* teSinkError is cleared by writing 1 */
	nb_put(&te->dev, TR_CONTROL, now | (old & SF_SINK_ERROR & ~value) | (old & TR_EMPTY));
	set_tracing(te, now);
	if (was && !is)
		nb_flushed(&te->dev);
}

/* ---- The component ---- */

static void te_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_te *te = to_te(dev);

	if (offset == TR_CONTROL) {
		write_control(te, value);
	} else if (offset == TR_TS_CONTROL) {
		if (nb_get(dev, TR_CONTROL) & TR_ENABLE && value != nb_get(dev, offset))
			nb_dev_report(dev, NB_REPORT_ENABLED, offset, value);
		else
			put_ts(te, value);
	}
}

static void te_activate(struct nb_dev *dev)
{
	struct nb_te *te = to_te(dev);

	nb_put(dev, TR_IMPL, te->impl);
	put_ts(te, 0);
}

static void te_refresh(struct nb_dev *dev)
{
	struct nb_te *te = to_te(dev);
	uint64_t now;

	nb_te_drain(te);
	if (!(nb_get(dev, TR_CONTROL) & TR_ACTIVE))
		return;
	now = nb_ts_now(&te->ts);
	nb_put(dev, SF_TS_LOWER, now);
	nb_put(dev, SF_TS_UPPER, now >> 32);
}

static const struct nb_dev_ops te_ops = {
	.control_reset = SF_SINK_FUNNEL << 28 | SYNC_MAX_INST_RESET << 20 | SYNC_MAX_BTM_RESET << 16 |
			 1 << 24,
	.write = te_write,
	.refresh = te_refresh,
	.holds = nb_te_holds,
	.activate = te_activate,
	.reset = nb_te_reset,
};

void nb_sf_te_init(struct nb_te *te, const struct nb_te_caps *caps, const struct nb_sf_te_caps *sf,
		   nb_out_fn out, void *opaque)
{
	nb_te_init_map(te, &te_ops, caps, out, opaque);
	te->impl = IMPL_HAS_FUNNEL_SINK | (sf->hart & 15U) << 28 | (sf->src_bits & 7U) << 24 |
		   (sf->src_id & 15U) << 20 | 1U << 18;
	te->ts.modes = 1 << NB_TS_SHARED;
	te->ts.width = SF_TS_WIDTH;
	te->ts.prescaler = false;
}
