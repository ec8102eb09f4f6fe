// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers of the Trace Encoder, see Trace Control Interface 1.0, chapter "Trace Encoder Control
 * Interface". N-Trace 1.0, table "Trace Encoder Parameters and Controls", lists the registers of an
 * N-Trace encoder.
 */
#include <string.h>

#include "regs_common.h"

/* Settings of trTeControl that cannot change while trTeEnable is 1 */
#define CONTROL_SETTINGS	(TR_TE_INST_MODE | TR_TE_CONTEXT | TR_TE_INST_STALL_ENA | \
				 TR_TE_INHIBIT_SRC | TR_TE_INST_SYNC_MODE | TR_TE_INST_SYNC_MAX)

static struct nb_te *to_te(struct nb_dev *dev)
{
	return (struct nb_te *)dev;
}

/* ---- Output of messages, with the faults of nb_dev.faults ---- */

static uint32_t next_random(struct nb_te *te)
{
	uint32_t x = te->fault_rand ? te->fault_rand : te->dev.faults.seed | 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	te->fault_rand = x;
	return x;
}

static bool one_in(struct nb_te *te, uint32_t n)
{
	return n && next_random(te) % n == 0;
}

static bool te_out(void *opaque, const uint8_t *bytes, size_t len)
{
	struct nb_te *te = opaque;
	const struct nb_faults *faults = &te->dev.faults;
	uint8_t copy[NB_MESSAGE_MAX];
	uint32_t bit;

	if (NB_LIKELY(!(faults->corrupt | faults->drop | faults->duplicate)))
		return te->out(te->out_opaque, bytes, len);
	if (one_in(te, faults->drop))
		return true;
	if (one_in(te, faults->corrupt)) {
		bit = next_random(te) % (8 * len);
		memcpy(copy, bytes, len);
		copy[bit / 8] ^= 1 << bit % 8;
		bytes = copy;
	}
	if (one_in(te, faults->duplicate) && !te->out(te->out_opaque, bytes, len))
		return false;
	return te->out(te->out_opaque, bytes, len);
}

static bool te_drop(void *opaque, const uint8_t *bytes, size_t len)
{
	return true;
}

void nb_te_caps_full(struct nb_te_caps *caps)
{
	*caps = (struct nb_te_caps){
		.xlen = 64, .btm = true, .htm = true, .context = true, .triggers = true,
		.ext_in = 2, .ext_out = 2, .stall = true, .inhibit_src = true,
		.hypervisor = true,
		.sync_modes = 0xf, .sync_max_highest = 15,
		.sequential_jump = true, .implicit_return = 0xf, .repeated_history = true,
		.all_jumps = true, .extend_addr = true, .src_bits = 12,
		.filters = NB_MAX_FILTERS, .filter_control = 0xffff, .filter_levels = 0xff, .comps = NB_MAX_COMPS,
		.comp_modes = 0xf,
		.ts_modes = 1 << NB_TS_NONE | 1 << NB_TS_EXTERNAL | 1 << NB_TS_SYSTEM |
			    1 << NB_TS_CORE | 1 << NB_TS_SHARED,
		.ts_width = 63, .ts_prescale = true, .ver_major = 1, .protocol_major = 1,
		.btype_extended = true,
	};
}

/* Set the capabilities of chapter "Minimal Implementation". */
void nb_te_caps_minimal(struct nb_te_caps *caps)
{
	*caps = (struct nb_te_caps){
		.xlen = 64, .htm = true, .sync_modes = 1 << 1, .sync_max_lowest = 8,
		.sync_max_highest = 8, .ver_major = 1, .protocol_major = 1,
	};
}

/* ---- Legal values of registers (WARL fields) ---- */

/*
 * Return the trace mode after @mode was written. "When non-supported mode (different than 0) is set, it MUST
 * revert to supported non-0 mode"
 */
static unsigned int legal_mode(const struct nb_te_caps *caps, unsigned int mode)
{
	if (!(caps->btm && caps->htm))
		return caps->btm ? NB_MODE_BTM : NB_MODE_HTM;
	if (mode == 0)
		return 0;
	return mode <= NB_MODE_BTM ? NB_MODE_BTM : NB_MODE_HTM;
}

static unsigned int legal_sync_mode(const struct nb_te_caps *caps, unsigned int mode)
{
	unsigned int i;

	if (caps->sync_modes >> mode & 1)
		return mode;
	for (i = 1; i < 4; i++)
		if (caps->sync_modes >> i & 1)
			return i;
	return 0;
}

static unsigned int clamp(unsigned int value, unsigned int low, unsigned int high)
{
	return value < low ? low : value > high ? high : value;
}

static uint32_t legal_control(const struct nb_te_caps *caps, uint32_t value)
{
	uint32_t legal = value & (TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRACING);

	legal = nb_with(legal, TR_TE_INST_MODE, legal_mode(caps, nb_field(value, TR_TE_INST_MODE)));
	if (caps->context)
		legal |= value & TR_TE_CONTEXT;
	if (caps->triggers)
		legal |= value & TR_TE_INST_TRIG_ENABLE;
	if (caps->stall)
		legal |= value & TR_TE_INST_STALL_ENA;
	if (caps->inhibit_src)
		legal |= value & TR_TE_INHIBIT_SRC;
	legal = nb_with(legal, TR_TE_INST_SYNC_MODE,
			legal_sync_mode(caps, nb_field(value, TR_TE_INST_SYNC_MODE)));
	legal = nb_with(legal, TR_TE_INST_SYNC_MAX,
			clamp(nb_field(value, TR_TE_INST_SYNC_MAX), caps->sync_max_lowest,
			      caps->sync_max_highest));
	legal |= caps->control_fixed;
	return nb_with(legal, TR_TE_FORMAT,
		       caps->etrace_only ||
		       (caps->both_formats && !nb_field(value, TR_TE_FORMAT)) ? 0 : 1);
}

static uint32_t legal_features(const struct nb_te_caps *caps, uint32_t value)
{
	unsigned int mode = nb_field(value, TR_TE_INST_IMPLICIT_RETURN_MODE);
	uint32_t legal = caps->features_fixed;

	if (caps->sequential_jump)
		legal |= value & TR_TE_INST_EN_SEQUENTIAL_JUMP;
	if (caps->implicit_return)
		legal |= value & TR_TE_INST_EN_IMPLICIT_RETURN;
	if (caps->implicit_return >> mode & 1)
		legal = nb_with(legal, TR_TE_INST_IMPLICIT_RETURN_MODE, mode);
	else if (caps->implicit_return)	/* use the highest supported mode */
		legal = nb_with(legal, TR_TE_INST_IMPLICIT_RETURN_MODE,
				31 - __builtin_clz(caps->implicit_return));
	if (caps->repeated_history)
		legal |= value & TR_TE_INST_EN_REPEATED_HISTORY;
	if (caps->all_jumps)
		legal |= value & TR_TE_INST_EN_ALL_JUMPS;
	if (caps->extend_addr)
		legal |= value & TR_TE_INST_EXTEND_ADDR_MSB;
	if (caps->src_bits)
		legal |= value & TR_TE_SRC_ID & ((1U << caps->src_bits) - 1) << 16;
	return nb_with(legal, TR_TE_SRC_BITS,
		       clamp(nb_field(value, TR_TE_SRC_BITS), 0, caps->src_bits));
}

static uint32_t legal_ext_in(const struct nb_te_caps *caps, uint32_t value)
{
	uint32_t legal = 0;
	unsigned int i, action;

	for (i = 0; i < caps->ext_in; i++) {
		action = value >> 4 * i & 15;
		if (action >= 2 && action <= 4)
			legal |= action << 4 * i;
	}
	return legal;
}

static uint32_t legal_ext_out(const struct nb_te_caps *caps, uint32_t value)
{
	uint64_t outputs = (1ULL << 4 * caps->ext_out) - 1;

	return value & 0x33333333 & outputs;
}

/* ---- Enable and disable the encoder ---- */

static void configure(struct nb_te *te, uint32_t control)
{
	uint32_t features = nb_get(&te->dev, TR_TE_INST_FEATURES);
	const struct nb_te_caps *caps = &te->caps;
	struct nb_encoder_config cfg = {
		.mode = nb_field(control, TR_TE_INST_MODE), .xlen = caps->xlen,
		.context = control & TR_TE_CONTEXT, .hcontext = caps->hcontext,
		.timestamp = te->ts.control & TR_TS_ENABLE, .ts_width = caps->ts_width,
		.sync_mode = nb_field(control, TR_TE_INST_SYNC_MODE),
		.sync_max = nb_field(control, TR_TE_INST_SYNC_MAX),
		.src_bits = control & TR_TE_INHIBIT_SRC ? 0 : nb_field(features, TR_TE_SRC_BITS),
		.src_id = nb_field(features, TR_TE_SRC_ID),
		.sequential_jump = features & TR_TE_INST_EN_SEQUENTIAL_JUMP,
		.repeated_history = features & TR_TE_INST_EN_REPEATED_HISTORY,
		.all_jumps = features & TR_TE_INST_EN_ALL_JUMPS,
		.extend_addr = features & TR_TE_INST_EXTEND_ADDR_MSB,
		.stall = control & TR_TE_INST_STALL_ENA,
		.sync_delayed = caps->sync_delayed, .repeat_branch = caps->repeat_branch,
		.btype_extended = caps->btype_extended, .hist_always = caps->hist_always,
		.icnt_sync = caps->icnt_sync, .icnt_bits = caps->icnt_bits,
		.hist_bits = caps->hist_bits, .stack_depth = caps->stack_depth,
		.stack_bits = caps->stack_bits,
		.fifo_depth = caps->fifo_depth, .fifo_rate = caps->fifo_rate,
		.variant = caps->variant,
	};

	/*
	 * According to N-Trace, a mode "different than 0" enables implicit returns. The control
	 * interface has a separate enable bit. If this bit is set, mode 0 means that the hardware is
	 * "not reporting how it is implemented".
	 */
	cfg.implicit_return = nb_field(features, TR_TE_INST_IMPLICIT_RETURN_MODE);
	if (!caps->return_by_mode && !(features & TR_TE_INST_EN_IMPLICIT_RETURN))
		cfg.implicit_return = 0;
	else if (!caps->return_by_mode && !cfg.implicit_return)
		cfg.implicit_return = 3;
	cfg.priv_mask = nb_te_set_filters(te);
	nb_encoder_configure(&te->enc, &cfg);
}

static void check_set(struct nb_te *te)
{
	struct nb_dev *dev = &te->dev;

	if (!nb_written(dev, TR_TE_INST_FEATURES))
		nb_dev_report(dev, NB_REPORT_UNSET, TR_TE_INST_FEATURES, 0);
	if (te->caps.filters && !nb_written(dev, TR_TE_INST_FILTERS))
		nb_dev_report(dev, NB_REPORT_UNSET, TR_TE_INST_FILTERS, 0);
	if (te->caps.ts_modes && !nb_written(dev, TR_TS_CONTROL))
		nb_dev_report(dev, NB_REPORT_UNSET, TR_TS_CONTROL, 0);
}

static void fire_out(struct nb_te *te, unsigned int event)
{
	uint32_t control = nb_get(&te->dev, TR_TE_TRIG_EXT_OUT);
	unsigned int i;

	for (i = 0; i < te->caps.ext_out; i++)
		if (te->ext_out && control >> (4 * i + event) & 1)
			te->ext_out(te->gate_opaque, te, i);
}

/* Start the trace with the configuration of the last nb_encoder_configure(), or stop it. */
void nb_te_trace(struct nb_te *te, bool on)
{
	if (on) {
		nb_encoder_start(&te->enc, NB_SYNC_TRACE_ENABLE);
		nb_set_empty(&te->dev, false);
	} else {
		nb_encoder_stop(&te->enc, NB_EVCODE_DISABLED);
		te->split = false;
	}
	if (te->gate)
		te->gate(te->gate_opaque, te, on);
}

/* Start or stop the trace, depending on trTeEnable, trTeInstTracing and trTeInstMode. */
static void set_tracing(struct nb_te *te, uint32_t control)
{
	bool on = control & TR_ENABLE && control & TR_TE_INST_TRACING &&
		  control & TR_TE_INST_MODE;

	if (on == te->enc.enabled)
		return;
	if (on)
		configure(te, control);
	nb_te_trace(te, on);
	fire_out(te, on ? 0 : 1);
}

/* Update trTeImpl. The protocol version in it depends on trTeFormat. */
static void put_impl(struct nb_te *te, uint32_t control)
{
	const struct nb_te_caps *caps = &te->caps;
	unsigned int major = nb_field(control, TR_TE_FORMAT) ? caps->protocol_major : 2;

	nb_put(&te->dev, TR_IMPL, nb_impl(TRCOMP_ENCODER, caps->ver_major, caps->ver_minor,
					  caps->vendor) |
				  (major & 15U) << 16 | (caps->protocol_minor & 15U) << 20);
}

static void te_write_control(struct nb_te *te, uint32_t value)
{
	uint32_t old = nb_get(&te->dev, TR_CONTROL), now = legal_control(&te->caps, value);
	uint32_t overflow = old & TR_TE_INST_STALL_OR_OVERFLOW & ~value;	/* writing 1 clears the bit */
	bool was = old & TR_ENABLE, is = now & TR_ENABLE;

	if (was && is && (old ^ now) & CONTROL_SETTINGS) {
		nb_dev_report(&te->dev, NB_REPORT_ENABLED, TR_CONTROL, value);
		now = (now & ~CONTROL_SETTINGS) | (old & CONTROL_SETTINGS);
	}
	if (!was && is) {
		check_set(te);
		overflow = 0;
	}
	if (te->dev.faults.enable_stuck)
		now &= ~TR_ENABLE;
	nb_put(&te->dev, TR_CONTROL, now | overflow | (old & TR_EMPTY));
	put_impl(te, now);
	set_tracing(te, now);
	if (was && !is)
		nb_flushed(&te->dev);
}

/* Handle a trigger, which may set or clear trTeInstTracing. */
static void trigger(struct nb_te *te, unsigned int action)
{
	uint32_t control = nb_get(&te->dev, TR_CONTROL);

	if (!(control & TR_ACTIVE))
		return;
	if (action == 4) {
		nb_encoder_notify(&te->enc, NB_SYNC_TRACE_EVENT);
		return;
	}
	if (!(control & TR_TE_INST_TRIG_ENABLE) || (action != 2 && action != 3))
		return;
	control = action == 2 ? control | TR_TE_INST_TRACING : control & ~TR_TE_INST_TRACING;
	nb_put(&te->dev, TR_CONTROL, control);
	set_tracing(te, control);
}

void nb_te_debug_trigger(struct nb_te *te, unsigned int action)
{
	trigger(te, action);
}

void nb_te_ext_trigger(struct nb_te *te, unsigned int input)
{
	unsigned int action = input < 8 ? nb_get(&te->dev, TR_TE_TRIG_EXT_IN) >> 4 * input & 15 : 0;

	if (action == 4)
		nb_encoder_notify(&te->enc, NB_SYNC_EXT_TRIGGER);
	else
		trigger(te, action);
}

/* ---- Registers and callbacks of the Trace Encoder ---- */

static uint32_t legal(struct nb_te *te, unsigned int offset, uint32_t value)
{
	switch (offset) {
	case TR_TE_INST_FEATURES:
		return legal_features(&te->caps, value);
	case TR_TE_INST_FILTERS:
		return value & ((1U << te->caps.filters) - 1);
	case TR_TE_TRIG_EXT_IN:
		return legal_ext_in(&te->caps, value);
	case TR_TE_TRIG_EXT_OUT:
		return legal_ext_out(&te->caps, value);
	}
	if (offset >= TR_TE_FILTER(0) && offset < TR_TE_FILTER(NB_MAX_FILTERS))
		return nb_te_legal_filter(&te->caps, offset, value);
	if (offset >= TR_TE_COMP(0) && offset < TR_TE_COMP(NB_MAX_COMPS))
		return nb_te_legal_comp(&te->caps, offset, value);
	return 0;
}

/*
 * Messages use the timestamp settings at the time when trace was enabled. While the encoder is enabled,
 * software may only start, stop and reset the counter.
 */
static void te_write_ts(struct nb_te *te, uint32_t value)
{
	const uint32_t locked = TR_TS_ACTIVE | TR_TS_MODE | TR_TS_PRESCALE | TR_TS_ENABLE;
	uint32_t old = te->ts.control, now = nb_ts_legal(&te->ts, value);

	if (nb_get(&te->dev, TR_CONTROL) & TR_ENABLE && (old ^ now) & locked) {
		nb_dev_report(&te->dev, NB_REPORT_ENABLED, TR_TS_CONTROL, value);
		return;
	}
	nb_ts_store(&te->dev, &te->ts, value);
}

static void te_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_te *te = to_te(dev);
	uint32_t now;

	if (offset == TR_CONTROL) {
		te_write_control(te, value);
		return;
	}
	if (offset == TR_TS_CONTROL) {
		te_write_ts(te, value);
		return;
	}
	if (offset == TR_IMPL || offset == TR_TS_COUNTER_LOW || offset == TR_TS_COUNTER_HIGH)
		return;		/* these registers are read-only */
	now = legal(te, offset, value);
	if (nb_get(dev, TR_CONTROL) & TR_ENABLE && now != nb_get(dev, offset) &&
	    offset != TR_TE_TRIG_EXT_IN && offset != TR_TE_TRIG_EXT_OUT) {
		nb_dev_report(dev, NB_REPORT_ENABLED, offset, value);
		return;
	}
	nb_put(dev, offset, now);
	nb_te_prime(te, offset, now);
}

static void te_activate(struct nb_dev *dev)
{
	struct nb_te *te = to_te(dev);
	unsigned int offset;

	put_impl(te, legal_control(&te->caps, 0));
	for (offset = 8; offset < 0x800; offset += 4)
		if (offset != TR_TS_CONTROL)
			nb_put(dev, offset, legal(te, offset, nb_undef(dev)));
	nb_put(dev, TR_TS_CONTROL, nb_ts_write(&te->ts, nb_undef(dev)));
	nb_ts_refresh(dev, &te->ts);
}

/* Reset the encoder, which drops the messages that were not sent. */
void nb_te_reset(struct nb_dev *dev)
{
	struct nb_te *te = to_te(dev);
	bool was = te->enc.enabled;

	te->enc.out = te_drop;
	nb_encoder_stop(&te->enc, NB_EVCODE_DISABLED);
	nb_encoder_drop(&te->enc);
	te->enc.out = te_out;
	te->split = false;
	if (was && te->gate)
		te->gate(te->gate_opaque, te, false);
	nb_ts_write(&te->ts, 0);
}

static void te_loaded(struct nb_dev *dev, unsigned int offset)
{
	if (offset == TR_TS_CONTROL)
		nb_ts_loaded(dev, &to_te(dev)->ts);
}

bool nb_te_holds(struct nb_dev *dev)
{
	return !nb_encoder_is_empty(&to_te(dev)->enc);
}

void nb_te_drain(struct nb_te *te)
{
	if (NB_LIKELY(nb_encoder_is_empty(&te->enc)))
		return;
	nb_encoder_drain(&te->enc);
	if (!(nb_get(&te->dev, TR_CONTROL) & TR_ENABLE))
		nb_set_empty(&te->dev, true);
}

static void te_refresh(struct nb_dev *dev)
{
	nb_te_drain(to_te(dev));
	nb_ts_refresh(dev, &to_te(dev)->ts);
}

static const struct nb_dev_ops te_ops = {
	.write = te_write,
	.loaded = te_loaded,
	.refresh = te_refresh,
	.holds = nb_te_holds,
	.activate = te_activate,
	.reset = nb_te_reset,
};

static uint64_t te_now(void *opaque)
{
	return nb_ts_now(opaque);
}

static void te_stalled(void *opaque, bool lost)
{
	struct nb_te *te = opaque;

	nb_put(&te->dev, TR_CONTROL,
	       nb_get(&te->dev, TR_CONTROL) | TR_TE_INST_STALL_OR_OVERFLOW);
	if (!lost && te->stall && nb_te_stalls(te))
		te->stall(te->gate_opaque, te);
}

void nb_te_init(struct nb_te *te, const struct nb_te_caps *caps, nb_out_fn out, void *opaque)
{
	nb_te_init_map(te, &te_ops, caps, out, opaque);
}

/* Initialise an encoder whose register map @ops implements. */
void nb_te_init_map(struct nb_te *te, const struct nb_dev_ops *ops, const struct nb_te_caps *caps,
		    nb_out_fn out, void *opaque)
{
	struct nb_encoder_config cfg = { .mode = NB_MODE_HTM };

	memset(te, 0, sizeof(*te));
	nb_dev_init(&te->dev, ops, "encoder");
	te->caps = *caps;
	te->out = out;
	te->out_opaque = opaque;
	nb_encoder_init(&te->enc, &cfg, te_out, te);
	te->enc.now = te_now;
	te->enc.now_opaque = &te->ts;
	te->enc.stalled = te_stalled;
	te->enc.stalled_opaque = te;
	te->ts.modes = caps->ts_modes;
	te->ts.width = caps->ts_width;
	te->ts.prescaler = caps->ts_prescale;
	te->ts.encoder = true;
	te->ts.core_cycles = &te->enc.cycles;
	te->ts.faults = &te->dev.faults;
}

void nb_te_context(struct nb_te *te, uint64_t scontext, uint64_t hcontext)
{
	te->context = scontext;
	nb_encoder_context(&te->enc, scontext, hcontext);
}

void nb_te_trap(struct nb_te *te, uint64_t cause, bool interrupt)
{
	te->trap_cause = cause;
	te->trap_interrupt = interrupt;
}
