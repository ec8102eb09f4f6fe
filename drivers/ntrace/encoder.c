// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace encoder, its capabilities, and how the driver sets it up.
 *
 * Nearly every field is WARL and optional. While the encoder is disabled, the driver writes each
 * field once and reads it back to find the values that the hardware accepts. So the driver can
 * refuse an event with a setting that the hardware would ignore.
 */
#include <linux/delay.h>
#include <linux/timex.h>

#include "encoder.h"

/*
 * Registers of the table "Trace Components Reset", chapter "Reset and Discovery". timestamp.c
 * handles trTsControl, because the timestamp unit has its own reset.
 */
static const u16 ntrace_encoder_reset_regs[] = {
	TR_TE_INST_FEATURES, TR_TE_INST_FILTERS, TR_TE_DATA_CONTROL, TR_TE_DATA_FILTERS,
	TR_TE_TRIG_DBG_CONTROL, TR_TE_TRIG_EXT_IN_CONTROL, TR_TE_TRIG_EXT_OUT_CONTROL,
};

/*
 * Settings of an address comparator. Range and exclude match inside and outside of a range. The
 * latch settings match from a start address to a stop address, because the comparator has a latch
 * that the start sets and the stop clears. Without a start address, writing the setting sets the
 * latch. Without a stop address, the latch stays set, because only an address below 0 clears it.
 */
#define NTRACE_COMP_RANGE							\
	ntrace_comp_control(TR_TE_COMP_FUNCTION_GE, TR_TE_COMP_FUNCTION_LE,	\
			    TR_TE_COMP_MATCH_P_AND_S)
#define NTRACE_COMP_LATCH							\
	ntrace_comp_control(TR_TE_COMP_FUNCTION_EQ, TR_TE_COMP_FUNCTION_EQ, TR_TE_COMP_MATCH_P_TO_S)
#define NTRACE_COMP_LATCH_NO_START						\
	ntrace_comp_control(TR_TE_COMP_FUNCTION_PRIME, TR_TE_COMP_FUNCTION_EQ,	\
			    TR_TE_COMP_MATCH_P_TO_S)
#define NTRACE_COMP_LATCH_NO_STOP						\
	ntrace_comp_control(TR_TE_COMP_FUNCTION_EQ, TR_TE_COMP_FUNCTION_LT, TR_TE_COMP_MATCH_P_TO_S)

#define NTRACE_COMP_EXCLUDE							\
	ntrace_comp_control(TR_TE_COMP_FUNCTION_GE, TR_TE_COMP_FUNCTION_LE,	\
			    TR_TE_COMP_MATCH_NOT_P_AND_S)
/* Single-bit fields of a config, and their positions in the registers */
struct ntrace_bit {
	u64	config;
	u32	reg;
};

static const struct ntrace_bit ntrace_control_bits[] = {
	{ NTRACE_CONFIG_CONTEXT,		TR_TE_CONTEXT },
	{ NTRACE_CONFIG_STALL,			TR_TE_INST_STALL_ENA },
	{ NTRACE_CONFIG_INHIBIT_SRC,		TR_TE_INHIBIT_SRC },
	{ }
};

static const struct ntrace_bit ntrace_feature_bits[] = {
	{ NTRACE_CONFIG_SEQUENTIAL_JUMP,	TR_TE_INST_EN_SEQUENTIAL_JUMP },
	{ NTRACE_CONFIG_IMPLICIT_RETURN,	TR_TE_INST_EN_IMPLICIT_RETURN },
	{ NTRACE_CONFIG_REPEATED_HISTORY,	TR_TE_INST_EN_REPEATED_HISTORY },
	{ NTRACE_CONFIG_ALL_JUMPS,		TR_TE_INST_EN_ALL_JUMPS },
	{ NTRACE_CONFIG_EXTEND_ADDR,		TR_TE_INST_EXTEND_ADDR_MSB },
	{ }
};

static u32 ntrace_bits_to_reg(const struct ntrace_bit *bit, u64 config)
{
	u32 reg = 0;

	for (; bit->reg; bit++)
		if (config & bit->config)
			reg |= bit->reg;
	return reg;
}

static u64 ntrace_reg_to_bits(const struct ntrace_bit *bit, u32 reg)
{
	u64 config = 0;

	for (; bit->reg; bit++)
		if (reg & bit->reg)
			config |= bit->config;
	return config;
}

static int ntrace_encoder_check_protocol(struct ntrace_encoder *enc)
{
	u32 format = FIELD_PREP(TR_TE_FORMAT, TR_TE_FORMAT_NTRACE);
	unsigned int major;

	/*
	 * Select N-Trace first, because an encoder that also supports E-Trace reports the version
	 * of the selected protocol
	 */
	ntrace_write(&enc->comp, TR_TE_CONTROL, TR_CONTROL_ACTIVE | format);
	if ((ntrace_read(&enc->comp, TR_TE_CONTROL) & TR_TE_FORMAT) != format) {
		dev_err(enc->comp.dev,
			"trace encoder at %pa: trTeFormat cannot be set to N-Trace (trTeControl 0x%08x)\n",
			&enc->comp.addr, ntrace_read(&enc->comp, TR_TE_CONTROL));
		return -ENODEV;
	}
	enc->comp.control = TR_CONTROL_ACTIVE | format;
	enc->comp.impl = ntrace_read(&enc->comp, TR_TE_IMPL);
	major = FIELD_GET(TR_TE_PROTOCOL_MAJOR, enc->comp.impl);

	/* Other major versions "must be rejected" (N-Trace, table "Trace Encoder Control") */
	if (major != 1) {
		dev_err(enc->comp.dev,
			"trace encoder at %pa: N-Trace protocol %u.%u is not 1.x (trTeImpl 0x%08x)\n",
			&enc->comp.addr, major,
			(u32)FIELD_GET(TR_TE_PROTOCOL_MINOR, enc->comp.impl), enc->comp.impl);
		return -ENODEV;
	}
	return 0;
}

static void ntrace_encoder_probe_control(struct ntrace_encoder *enc)
{
	struct ntrace_caps *caps = &enc->caps;
	struct ntrace_comp *comp = &enc->comp;
	u32 keep = enc->comp.control, sync = 0, all;
	unsigned int mode;

	caps->modes = ntrace_try_values(comp, TR_TE_CONTROL, keep, TR_TE_INST_MODE);
	caps->modes &= BIT(TR_TE_INST_MODE_BTM) | BIT(TR_TE_INST_MODE_HTM);

	caps->sync_modes = ntrace_try_values(comp, TR_TE_CONTROL, keep, TR_TE_INST_SYNC_MODE);
	for (mode = 3; mode && !sync; mode--)
		if (caps->sync_modes & BIT(mode))
			sync = FIELD_PREP(TR_TE_INST_SYNC_MODE, mode);
	caps->sync_max = ntrace_try_values(comp, TR_TE_CONTROL, keep | sync, TR_TE_INST_SYNC_MAX);

	all = ntrace_bits_to_reg(ntrace_control_bits, ~0ULL);
	caps->config |= ntrace_reg_to_bits(ntrace_control_bits,
					   ntrace_try(comp, TR_TE_CONTROL, keep, all));
	caps->fixed |= ntrace_reg_to_bits(ntrace_control_bits, ntrace_read(comp, TR_TE_CONTROL));
}

static void ntrace_encoder_probe_features(struct ntrace_encoder *enc)
{
	struct ntrace_caps *caps = &enc->caps;
	struct ntrace_comp *comp = &enc->comp;
	u32 mask = TR_TE_INST_EN_IMPLICIT_RETURN | TR_TE_INST_IMPLICIT_RETURN_MODE, all, got;
	int mode;

	all = ntrace_bits_to_reg(ntrace_feature_bits, ~0ULL);
	got = ntrace_try(comp, TR_TE_INST_FEATURES, 0, all);
	caps->fixed |= ntrace_reg_to_bits(ntrace_feature_bits,
					  ntrace_read(comp, TR_TE_INST_FEATURES));

	/*
	 * The higher trTeInstImplicitReturnMode, the more bits of the return address the encoder
	 * compares. If the mode is always 0, the driver cannot know how many bits it compares, so
	 * implicit returns are used only for events that request them.
	 */
	for (mode = 3; mode > 0; mode--) {
		u32 field = FIELD_PREP(TR_TE_INST_IMPLICIT_RETURN_MODE, mode);

		field |= TR_TE_INST_EN_IMPLICIT_RETURN;
		ntrace_write(&enc->comp, TR_TE_INST_FEATURES, field);
		if ((ntrace_read(&enc->comp, TR_TE_INST_FEATURES) & mask) == field)
			break;
	}
	caps->ir_mode = mode;
	if (!mode) {
		/*
		 * A mode that is above 0 and cannot be changed enables implicit returns even if
		 * their enable bit is 0
		 * (N-Trace, "Implicit Return Optimization")
		 */
		ntrace_write(&enc->comp, TR_TE_INST_FEATURES, 0);
		if (ntrace_read(&enc->comp, TR_TE_INST_FEATURES) & TR_TE_INST_IMPLICIT_RETURN_MODE)
			caps->fixed |= NTRACE_CONFIG_IMPLICIT_RETURN;
	}
	caps->config |= ntrace_reg_to_bits(ntrace_feature_bits, got);

	got = ntrace_try_values(comp, TR_TE_INST_FEATURES, 0, TR_TE_SRC_BITS);
	got &= GENMASK(TR_TE_SRC_BITS_MAX, 0);
	caps->src_bits = got ? __fls(got) : 0;
}

static void ntrace_encoder_probe_timestamp(struct ntrace_encoder *enc)
{
	struct ntrace_caps *caps = &enc->caps;
	struct ntrace_comp *comp = &enc->comp;
	struct ntrace_ts ts;
	u32 mode;

	ntrace_ts_probe(&enc->comp, &ts);
	caps->ts_width = ts.width;
	if (!ts.modes)
		return;
	mode = FIELD_PREP(TR_TS_MODE, __ffs(ts.modes));
	if (!ntrace_try(comp, TR_TS_CONTROL, TR_TS_ACTIVE | mode, TR_TS_ENABLE))
		return;
	caps->ts_modes = ts.modes;
	caps->ts_prescale = ts.prescale;
	caps->config |= NTRACE_CONFIG_TIMESTAMP;
}

static u32 ntrace_comp_control(u32 p_function, u32 s_function, u32 match)
{
	return FIELD_PREP(TR_TE_COMP_P_FUNCTION, p_function) |
	       FIELD_PREP(TR_TE_COMP_S_FUNCTION, s_function) |
	       FIELD_PREP(TR_TE_COMP_MATCH_MODE, match);
}

static bool ntrace_encoder_comp_takes(const struct ntrace_encoder *enc, unsigned int j, u32 control)
{
	return ntrace_try(&enc->comp, TR_TE_COMP_CONTROL(j), 0, control) == control;
}

/* Return the number of comparators that one filter can combine */
static unsigned int ntrace_encoder_probe_comps(const struct ntrace_encoder *enc)
{
	unsigned int k;

	for (k = 0; k < TR_TE_FILTER_COMPS; k++)
		if (!ntrace_try(&enc->comp, TR_TE_FILTER_CONTROL(0), 0, TR_TE_FILTER_MATCH_COMP(k)))
			break;
	return k;
}

static void ntrace_encoder_probe_comparators(struct ntrace_encoder *enc)
{
	struct ntrace_caps *caps = &enc->caps;
	unsigned int j;

	caps->comps = ntrace_encoder_probe_comps(enc);
	for (j = 0; j < TR_TE_COMP_MAX; j++) {
		u32 first = TR_TE_FILTER_MATCH_COMP(0) | TR_TE_FILTER_COMP(0, j);

		if (ntrace_try(&enc->comp, TR_TE_FILTER_CONTROL(0), 0, first) != first)
			continue;
		if (!ntrace_encoder_comp_takes(enc, j, NTRACE_COMP_RANGE))
			continue;
		caps->comparators |= BIT(j);
		if (ntrace_encoder_comp_takes(enc, j, NTRACE_COMP_EXCLUDE))
			caps->excludes |= BIT(j);
		if (ntrace_encoder_comp_takes(enc, j, NTRACE_COMP_LATCH) &&
		    ntrace_encoder_comp_takes(enc, j, NTRACE_COMP_LATCH_NO_START) &&
		    ntrace_encoder_comp_takes(enc, j, NTRACE_COMP_LATCH_NO_STOP))
			caps->latches |= BIT(j);
	}
	if (ntrace_caps_excludes(caps))
		caps->config |= NTRACE_CONFIG_EXCLUDE;
}

/* Return the privileges that a filter can choose, or 0 if it cannot exclude some of them */
static u32 ntrace_filter_privileges(const struct ntrace_comp *comp, unsigned int i)
{
	u32 match = TR_TE_FILTER_MATCH_PRIVILEGE, priv;

	if (!ntrace_try(comp, TR_TE_FILTER_CONTROL(i), 0, match))
		return 0;
	priv = ntrace_try(comp, TR_TE_FILTER_MATCH_INST(i), 0, TR_TE_FILTER_CHOICE_PRIVILEGE);
	if (ntrace_read(comp, TR_TE_FILTER_MATCH_INST(i)) & TR_TE_FILTER_CHOICE_PRIVILEGE)
		return 0;
	return priv;
}

/*
 * Find the filters that can choose the same privileges as the first filter. The driver does not use
 * other filters.
 */
static void ntrace_encoder_probe_filters(struct ntrace_encoder *enc)
{
	struct ntrace_caps *caps = &enc->caps;
	struct ntrace_comp *comp = &enc->comp;
	u32 enable = TR_TE_FILTER_ENABLE;
	unsigned int i;

	caps->filters = ntrace_try(comp, TR_TE_INST_FILTERS, 0, TR_TE_INST_FILTERS_MASK);
	caps->priv = caps->filters & BIT(0) ? ntrace_filter_privileges(comp, 0) : 0;
	for (i = 0; i < TR_TE_FILTER_MAX; i++) {
		if (!(caps->filters & BIT(i)))
			continue;
		if (!ntrace_try(comp, TR_TE_FILTER_CONTROL(i), 0, enable) ||
		    ntrace_filter_privileges(comp, i) != caps->priv)
			caps->filters &= ~BIT(i);
	}
	if (caps->filters & BIT(0))
		ntrace_encoder_probe_comparators(enc);
	else
		caps->priv = 0;
}

/* Return the current timestamp, or 0 if the encoder has none */
u64 ntrace_encoder_counter(const struct ntrace_encoder *enc)
{
	return !enc->caps.ts_modes ? 0 :
	       ntrace_ts_counter(&enc->comp, enc->ops ? enc->ops->counter : TR_TS_COUNTER_LOW);
}

/*
 * Return true if the timestamp counts like the time CSR, so that perf can convert it. The counter
 * is read between two reads of the time CSR, and all of this twice at different times, so that
 * equality by chance is unlikely.
 */
static bool ntrace_encoder_ts_is_time(struct ntrace_encoder *enc)
{
	u64 mask = enc->caps.ts_width < 64 ? BIT_ULL(enc->caps.ts_width) - 1 : ~0ULL;
	/*
	 * A timestamp is older than the time CSR by up to this lag, because the counter's value
	 * crosses clock domains
	 */
	u64 lag = max(riscv_timebase / (10 * 1000 * 1000), 2UL);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		u64 before = get_cycles64() - lag;
		u64 counter = ntrace_encoder_counter(enc);
		u64 after = get_cycles64();

		if (((counter - before) & mask) > after - before)
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/* Return the best trTsMode of the hardware */
static unsigned int ntrace_encoder_best_ts_mode(const struct ntrace_encoder *enc)
{
	/*
	 * Prefer modes with a counter that the whole system shares, so that times of different
	 * harts can be compared
	 */
	static const u8 order[] = { TR_TS_MODE_EXTERNAL, TR_TS_MODE_SHARED,
				    TR_TS_MODE_INTERNAL_SYSTEM, TR_TS_MODE_INTERNAL_CORE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (enc->caps.ts_modes & BIT(order[i]))
			return order[i];
	return TR_TS_MODE_NONE;
}

/* Return the trTsMode of an event if @config has the default settings of the encoder */
unsigned int ntrace_encoder_ts_mode(const struct ntrace_encoder *enc, u64 config)
{
	return FIELD_GET(NTRACE_CONFIG_TS_MODE, config) ?: ntrace_encoder_best_ts_mode(enc);
}

/* Return the trTsMode of an event that does not choose one */
unsigned int ntrace_encoder_usual_ts_mode(const struct ntrace_encoder *enc)
{
	return ntrace_encoder_ts_mode(enc, enc->default_config);
}

/*
 * Return true if timestamps with @config, if any, are those of the counter that
 * ntrace_encoder_count() starts
 */
bool ntrace_encoder_has_usual_clock(const struct ntrace_encoder *enc, u64 config)
{
	unsigned int mode = FIELD_GET(NTRACE_CONFIG_TS_MODE, config);

	if (!(config & NTRACE_CONFIG_TIMESTAMP))
		return true;
	return !((config ^ enc->default_config) & NTRACE_CONFIG_TS_PRESCALE) &&
	       (!mode || mode == ntrace_encoder_usual_ts_mode(enc));
}

/* Return the trTsPrescale of the counter while nothing is traced */
static unsigned int ntrace_encoder_usual_prescale(const struct ntrace_encoder *enc)
{
	return FIELD_GET(NTRACE_CONFIG_TS_PRESCALE, enc->default_config);
}

/* Return the trTsMode and trTsPrescale that ntrace_encoder_count() sets */
static u32 ntrace_encoder_usual_clock(const struct ntrace_encoder *enc)
{
	return FIELD_PREP(TR_TS_MODE, ntrace_encoder_usual_ts_mode(enc)) |
	       FIELD_PREP(TR_TS_PRESCALE, ntrace_encoder_usual_prescale(enc));
}

/*
 * Start the counter. It also runs while nothing is traced, so that the timestamps of successive
 * events can be compared.
 */
void ntrace_encoder_count(struct ntrace_encoder *enc)
{
	u32 mode = ntrace_encoder_usual_ts_mode(enc);

	ntrace_encoder_forget(enc);
	if (mode)
		ntrace_ts_count(&enc->comp, mode, ntrace_encoder_usual_prescale(enc));
	else
		ntrace_write(&enc->comp, TR_TS_CONTROL, 0);
}

/*
 * Maximum number of tries to read the timestamp and the time CSR together. Firmware or a hypervisor
 * may delay this hart between the two reads, but rarely in each try.
 */
#define NTRACE_BASE_TRIES	8

/* Return true if the counter runs with the settings of ntrace_encoder_count() */
static bool ntrace_encoder_counts_as_usual(const struct ntrace_encoder *enc)
{
	u32 mask = TR_TS_MODE | TR_TS_PRESCALE;

	return enc->ops || (ntrace_read(&enc->comp, TR_TS_CONTROL) & mask) ==
			   ntrace_encoder_usual_clock(enc);
}

/*
 * Read the timestamp and the time CSR together several times, and store the pair whose reads took
 * the least time as the base. If an event has set another ts_mode or ts_prescale, first restore the
 * usual settings of the counter. If this event still traces, keep the previous base.
 *
 * Context: On the CPU of the encoder, interrupts off; the registers can be accessed.
 */
void ntrace_encoder_take_base(struct ntrace_encoder *enc)
{
	u64 before, counter, took, least = U64_MAX;
	unsigned int i;

	if (!enc->caps.ts_modes || enc->ts_is_time)
		return;
	if (!ntrace_encoder_counts_as_usual(enc)) {
		if (enc->on)
			return;
		ntrace_encoder_count(enc);
	}
	for (i = 0; i < NTRACE_BASE_TRIES; i++) {
		before = get_cycles64();
		counter = ntrace_encoder_counter(enc);
		took = get_cycles64() - before;
		if (took >= least)
			continue;
		least = took;
		/*
		 * Convert to ticks of the clock, because the prescaler divides the clock by 4, 16
		 * or 64 before it is counted
		 */
		enc->ts_base = counter << 2 * ntrace_encoder_usual_prescale(enc);
		enc->ts_base_time = before + took / 2;
	}
}

/*
 * Return true if the timestamp counter counts the cycles of the clock that the device tree gives
 * for it, and therefore has the frequency of that clock. The device tree describes only the
 * counter that ntrace_encoder_best_ts_mode() selects. An internal counter that may restart has no
 * known frequency.
 */
static bool ntrace_encoder_has_clock(const struct ntrace_encoder *enc)
{
	unsigned int mode = ntrace_encoder_usual_ts_mode(enc);

	return mode == ntrace_encoder_best_ts_mode(enc) &&
	       !(ntrace_ts_is_internal(mode) && enc->ts_restarts);
}

/* Forget the properties of the previous counter, until the new one is measured */
void ntrace_encoder_forget_clock(struct ntrace_encoder *enc)
{
	enc->ts_is_time = false;
	enc->ts_freq = 0;
	enc->ts_base_time = 0;
	enc->ts_read = 0;
}

/*
 * Forget the properties of an internal counter, which has restarted if the encoder lost its power
 */
void ntrace_encoder_begins_anew(struct ntrace_encoder *enc)
{
	if (ntrace_ts_is_internal(ntrace_encoder_usual_ts_mode(enc)))
		ntrace_encoder_forget_clock(enc);
}

/*
 * Determine the frequency of the counter, if that is possible. Keep the previous result if an event
 * uses another ts_mode now. May sleep.
 */
void ntrace_encoder_measure(struct ntrace_encoder *enc)
{
	bool is_time;

	if (!enc->caps.ts_modes || !ntrace_encoder_counts_as_usual(enc))
		return;
	is_time = ntrace_encoder_ts_is_time(enc);
	if (!ntrace_encoder_counts_as_usual(enc))
		return;
	enc->ts_is_time = is_time;
	enc->ts_freq = 0;
	if (is_time)
		enc->ts_freq = riscv_timebase;
	else if (ntrace_encoder_has_clock(enc))
		enc->ts_freq = enc->ts_clock;
}

/*
 * Start the counter while nothing is traced. Also called when the path becomes complete, because
 * the encoder may use the timestamp of a funnel that was found later. May sleep.
 */
void ntrace_encoder_start_counter(struct ntrace_encoder *enc)
{
	if (!enc->ops)
		ntrace_encoder_count(enc);
	ntrace_encoder_measure(enc);
}

/* Return the value of @values that is closest to @want. Prefer a longer period to a shorter one. */
static unsigned int ntrace_nearest(u32 values, unsigned int want)
{
	u32 longer = values & GENMASK(31, want);

	if (longer)
		return __ffs(longer);
	return values ? __fls(values) : 0;
}

/*
 * Return the default settings of events. They make the trace as small as possible without losing
 * information. The encoder synchronises so often that a snapshot of about 64 KiB can be decoded
 * nearly from its start.
 */
static u64 ntrace_encoder_defaults(const struct ntrace_encoder *enc)
{
	const struct ntrace_caps *caps = &enc->caps;
	u64 config = caps->config & (NTRACE_CONFIG_CONTEXT | NTRACE_CONFIG_TIMESTAMP |
				     NTRACE_CONFIG_SEQUENTIAL_JUMP |
				     NTRACE_CONFIG_REPEATED_HISTORY | NTRACE_CONFIG_EXTEND_ADDR);
	unsigned int mode, want;

	/*
	 * An encoder that only counts calls does not check that a return goes to the address after
	 * its call. Not all returns of a kernel do, and the decoder would then follow wrong code.
	 */
	if (caps->ir_mode > 1)
		config |= caps->config & NTRACE_CONFIG_IMPLICIT_RETURN;
	config |= caps->fixed;
	/* If privileges cannot be filtered, machine mode is always traced */
	if (!caps->priv)
		config |= NTRACE_CONFIG_FIRMWARE;

	for (mode = 1; mode <= 3; mode++)
		if (caps->sync_modes & BIT(mode))
			break;
	if (mode <= 3) {
		/* Synchronise every 4096 messages, or every 65536 cycles or half-words of code */
		want = mode == 1 ? 8 : 12;
		config |= (u64)mode << NTRACE_CONFIG_SYNC_MODE_SHIFT;
		config |= (u64)ntrace_nearest(caps->sync_max, want) << NTRACE_CONFIG_SYNC_MAX_SHIFT;
	}
	return ntrace_encoder_resolve_default(enc, config);
}

static void ntrace_encoder_write_reset(struct ntrace_encoder *enc)
{
	unsigned int i;

	ntrace_encoder_forget(enc);
	for (i = 0; i < ARRAY_SIZE(ntrace_encoder_reset_regs); i++)
		ntrace_write(&enc->comp, ntrace_encoder_reset_regs[i], 0);
	/*
	 * Clear the comparators, because a comparator can report its matches (trTeCompPNotify) even
	 * if no filter uses it
	 */
	for (i = 0; i < TR_TE_COMP_MAX; i++)
		ntrace_write(&enc->comp, TR_TE_COMP_CONTROL(i), 0);
}

/* Read the capabilities from the registers of the Trace Control Interface. May sleep. */
static int ntrace_encoder_probe(struct ntrace_encoder *enc)
{
	int ret;

	ntrace_encoder_write_reset(enc);
	ret = ntrace_encoder_check_protocol(enc);
	if (ret)
		return ret;

	memset(&enc->caps, 0, sizeof(enc->caps));
	ntrace_encoder_probe_control(enc);
	if (!enc->caps.modes) {
		dev_err(enc->comp.dev, "trace encoder at %pa: trTeInstMode can be set neither to 3 nor to 6\n",
			&enc->comp.addr);
		return -ENODEV;
	}
	ntrace_encoder_probe_features(enc);
	ntrace_encoder_probe_timestamp(enc);
	ntrace_encoder_probe_filters(enc);
	return 0;
}

/* Determine the capabilities and defaults after a reset. May sleep. */
int ntrace_encoder_setup(struct ntrace_encoder *enc)
{
	int ret;

	ret = enc->ops ? enc->ops->setup(enc) : ntrace_encoder_probe(enc);
	if (ret)
		return ret;
	ntrace_encoder_start_counter(enc);
	enc->default_config = ntrace_encoder_defaults(enc);
	return ntrace_encoder_set_src(enc, 0, 0);
}

/* Write all registers, which are undefined after a reset or a loss of power */
void ntrace_encoder_revive(struct ntrace_encoder *enc)
{
	if (enc->ops) {
		enc->ops->revive(enc);
	} else {
		ntrace_encoder_write_reset(enc);
		ntrace_encoder_set_src(enc, enc->src_bits, enc->src_id);
		ntrace_encoder_count(enc);
	}
	ntrace_encoder_begins_anew(enc);
}

/* Drop trace that had no room in the window, so that the next window does not begin with it */
int ntrace_encoder_drop(struct ntrace_encoder *enc)
{
	int ret = ntrace_comp_drop(&enc->comp);

	if (!ret)
		ntrace_encoder_revive(enc);
	return ret;
}

/*
 * Assign the encoder its number in the stream. All encoders of one stream must use the same
 * trTeSrcBits (N-Trace, chapter "Rules of Generating Messages"). Read the register back, because
 * the number may be fixed in hardware.
 */
int ntrace_encoder_set_src(struct ntrace_encoder *enc, unsigned int bits, unsigned int id)
{
	u32 val;

	if (enc->ops)
		return enc->ops->set_src(enc, bits, id);
	ntrace_write(&enc->comp, TR_TE_INST_FEATURES,
		     FIELD_PREP(TR_TE_SRC_BITS, bits) | FIELD_PREP(TR_TE_SRC_ID, id));
	val = ntrace_read(&enc->comp, TR_TE_INST_FEATURES) & (TR_TE_SRC_BITS | TR_TE_SRC_ID);
	enc->features = val;
	enc->src_bits = FIELD_GET(TR_TE_SRC_BITS, val);
	enc->src_id = FIELD_GET(TR_TE_SRC_ID, val);
	ntrace_encoder_forget(enc);
	return enc->src_bits < bits || (bits && enc->src_id != id) ? -EOPNOTSUPP : 0;
}

static bool ntrace_one_of(u32 values, u64 config, u64 mask)
{
	return values & BIT((config & mask) >> __ffs64(mask));
}

/*
 * Return the number of address filters that can be active at the same time. A filter is a pair of a
 * start and a stop if @latch, else a range.
 */
unsigned int ntrace_caps_ranges(const struct ntrace_caps *caps, bool latch)
{
	return min(hweight16(caps->filters), hweight8(latch ? caps->latches : caps->comparators));
}

/*
 * Return the number of ranges that an event can exclude. One filter combines their comparators. The
 * result is at most the number of ranges that an event can trace, because perf allocates the same
 * number of filters for each event.
 */
unsigned int ntrace_caps_excludes(const struct ntrace_caps *caps)
{
	return min_t(unsigned int, min(hweight8(caps->excludes), ntrace_caps_ranges(caps, false)),
		     caps->comps);
}

/* Return true if the existing comparators can implement @filter */
static bool ntrace_caps_filter(const struct ntrace_caps *caps, const struct ntrace_filter *filter)
{
	if (filter->priv & ~caps->priv)
		return false;
	if (filter->exclude)
		return !filter->latch && filter->nr_ranges <= ntrace_caps_excludes(caps);
	return filter->nr_ranges <= ntrace_caps_ranges(caps, filter->latch);
}

/* Return -EOPNOTSUPP if the hardware does not support @config and @filter */
int ntrace_encoder_supports(const struct ntrace_encoder *enc, u64 config,
			    const struct ntrace_filter *filter)
{
	const struct ntrace_caps *caps = &enc->caps;
	u64 single = NTRACE_CONFIG_CONTEXT | NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_STALL |
		     NTRACE_CONFIG_INHIBIT_SRC | NTRACE_CONFIG_SEQUENTIAL_JUMP |
		     NTRACE_CONFIG_IMPLICIT_RETURN | NTRACE_CONFIG_REPEATED_HISTORY |
		     NTRACE_CONFIG_ALL_JUMPS | NTRACE_CONFIG_EXTEND_ADDR |
		     NTRACE_CONFIG_EXCLUDE;

	if ((config & single & ~caps->config) || (caps->fixed & ~config))
		return -EOPNOTSUPP;
	if (!ntrace_one_of(caps->modes | BIT(0), config, NTRACE_CONFIG_MODE))
		return -EOPNOTSUPP;
	if (!ntrace_one_of(caps->sync_modes, config, NTRACE_CONFIG_SYNC_MODE))
		return -EOPNOTSUPP;
	if ((config & NTRACE_CONFIG_SYNC_MODE) &&
	    !ntrace_one_of(caps->sync_max, config, NTRACE_CONFIG_SYNC_MAX))
		return -EOPNOTSUPP;
	if ((config & NTRACE_CONFIG_TIMESTAMP) &&
	    (!ntrace_one_of(caps->ts_modes | BIT(0), config, NTRACE_CONFIG_TS_MODE) ||
	     !ntrace_one_of(caps->ts_prescale, config, NTRACE_CONFIG_TS_PRESCALE) ||
	     ((config & NTRACE_CONFIG_TS_PRESCALE) &&
	      !ntrace_ts_is_internal(FIELD_GET(NTRACE_CONFIG_TS_MODE, config) ?:
				     ntrace_encoder_usual_ts_mode(enc)))))
		return -EOPNOTSUPP;
	return ntrace_caps_filter(caps, filter) ? 0 : -EOPNOTSUPP;
}

/*
 * Check like ntrace_encoder_supports(), but also return -EOPNOTSUPP if @config would change an
 * internal timestamp counter. This is the case if the usual counter of the encoder is internal, and
 * the ts_mode or ts_prescale of @config differs. The times of other events would then be wrong. A
 * shared or external counter runs outside of the encoder, so @config does not change it.
 */
int ntrace_encoder_check(const struct ntrace_encoder *enc, u64 config,
			 const struct ntrace_filter *filter)
{
	int ret = ntrace_encoder_supports(enc, config, filter);

	if (!ret && ntrace_ts_is_internal(ntrace_encoder_usual_ts_mode(enc)) &&
	    !ntrace_encoder_has_usual_clock(enc, config))
		ret = -EOPNOTSUPP;
	return ret;
}

/* Replace each field of @config that is 0 by the best value that this encoder supports */
u64 ntrace_encoder_resolve_default(const struct ntrace_encoder *enc, u64 config)
{
	if (!(config & NTRACE_CONFIG_MODE))
		config |= (u64)__fls(enc->caps.modes) << NTRACE_CONFIG_MODE_SHIFT;
	if ((config & NTRACE_CONFIG_TIMESTAMP) && !(config & NTRACE_CONFIG_TS_MODE))
		config |= (u64)ntrace_encoder_best_ts_mode(enc) << NTRACE_CONFIG_TS_MODE_SHIFT;
	return config;
}

/*
 * Complete the config of an event. If the event does not choose a ts_mode, its timestamps are those
 * of the running counter.
 */
u64 ntrace_encoder_resolve(const struct ntrace_encoder *enc, u64 config)
{
	if ((config & NTRACE_CONFIG_TIMESTAMP) && !(config & NTRACE_CONFIG_TS_MODE))
		config |= (u64)ntrace_encoder_usual_ts_mode(enc) << NTRACE_CONFIG_TS_MODE_SHIFT;
	return ntrace_encoder_resolve_default(enc, config);
}

/*
 * Return the value of trTeCompControl for @filter. Writing this value clears the latch of the
 * comparator, or sets it if the filter has no start address.
 */
static u32 ntrace_filter_comp_control(const struct ntrace_filter *filter)
{
	if (!filter->latch)
		return filter->exclude ? NTRACE_COMP_EXCLUDE : NTRACE_COMP_RANGE;
	if (filter->no_start)
		return NTRACE_COMP_LATCH_NO_START;
	return filter->no_stop ? NTRACE_COMP_LATCH_NO_STOP : NTRACE_COMP_LATCH;
}

/*
 * Write a range. The comparator gets the address of the last byte, because the address after it may
 * be 2^64.
 */
static int ntrace_encoder_write_range(struct ntrace_encoder *enc, unsigned int j,
				      const struct ntrace_filter *filter, unsigned int n)
{
	const struct ntrace_range *range = &filter->ranges[n];
	u64 first = range->start, second = filter->latch ? range->end : range->end - 1;
	struct ntrace_comp *comp = &enc->comp;

	return ntrace_comp_set(comp, "trTeCompPMatchLow", TR_TE_COMP_P_MATCH_LOW(j),
			       lower_32_bits(first), ~0U) ?:
	       ntrace_comp_set(comp, "trTeCompPMatchHigh", TR_TE_COMP_P_MATCH_HIGH(j),
			       upper_32_bits(first), ~0U) ?:
	       ntrace_comp_set(comp, "trTeCompSMatchLow", TR_TE_COMP_S_MATCH_LOW(j),
			       lower_32_bits(second), ~0U) ?:
	       ntrace_comp_set(comp, "trTeCompSMatchHigh", TR_TE_COMP_S_MATCH_HIGH(j),
			       upper_32_bits(second), ~0U) ?:
	       ntrace_comp_set(comp, "trTeCompControl", TR_TE_COMP_CONTROL(j),
			       ntrace_filter_comp_control(filter), ~0U);
}

static int ntrace_encoder_write_filter(struct ntrace_encoder *enc, unsigned int i, u8 priv,
				       u32 control)
{
	u32 match = FIELD_PREP(TR_TE_FILTER_CHOICE_PRIVILEGE, priv);

	ntrace_write(&enc->comp, TR_TE_FILTER_MATCH_INST(i), match);
	if (priv && (ntrace_read(&enc->comp, TR_TE_FILTER_MATCH_INST(i)) &
		     TR_TE_FILTER_CHOICE_PRIVILEGE) != match)
		return -EIO;
	ntrace_write(&enc->comp, TR_TE_FILTER_CONTROL(i), control);
	return ntrace_read(&enc->comp, TR_TE_FILTER_CONTROL(i)) == control ? 0 : -EIO;
}

/*
 * Filters are ORed, and the conditions of one filter are ANDed. So there is one filter for each
 * range that is traced, or one filter for all ranges that are excluded.
 */
static int ntrace_encoder_write_filters(struct ntrace_encoder *enc,
					const struct ntrace_filter *filter)
{
	unsigned long comps = filter->latch ? enc->caps.latches :
			      filter->exclude ? enc->caps.excludes : enc->caps.comparators;
	/* All filters have the same privileges */
	u32 common = TR_TE_FILTER_ENABLE | (filter->priv ? TR_TE_FILTER_MATCH_PRIVILEGE : 0);
	unsigned long filters = enc->caps.filters;
	u32 control = common, used = 0;
	unsigned int n, j, k = 0;

	for (n = 0; !n || n < filter->nr_ranges; n++) {
		if (n < filter->nr_ranges) {
			j = __ffs(comps);
			comps &= ~BIT(j);
			if (ntrace_encoder_write_range(enc, j, filter, n))
				return -EIO;
			control |= TR_TE_FILTER_MATCH_COMP(k) | TR_TE_FILTER_COMP(k, j);
			k++;
		}
		if (filter->exclude && n + 1 < filter->nr_ranges)
			continue;
		j = __ffs(filters);
		filters &= ~BIT(j);
		if (ntrace_encoder_write_filter(enc, j, filter->priv, control))
			return -EIO;
		used |= BIT(j);
		control = common;
		k = 0;
	}
	return ntrace_comp_set(&enc->comp, "trTeInstFilters", TR_TE_INST_FILTERS, used, ~0U);
}

/*
 * Select the clock of timestamps, and whether messages have timestamps. Without them, the usual
 * counter continues, because it may be read when the next event is opened.
 */
static int ntrace_encoder_write_ts(struct ntrace_encoder *enc, u64 config)
{
	u32 ts = TR_TS_ACTIVE | TR_TS_COUNT, mask = TR_TS_ENABLE;

	if (!enc->caps.ts_modes)
		return 0;
	if (config & NTRACE_CONFIG_TIMESTAMP) {
		ts |= TR_TS_ENABLE |
		      FIELD_PREP(TR_TS_MODE, FIELD_GET(NTRACE_CONFIG_TS_MODE, config)) |
		      FIELD_PREP(TR_TS_PRESCALE, FIELD_GET(NTRACE_CONFIG_TS_PRESCALE, config));
		mask |= TR_TS_MODE;
		/* Other modes do not have a prescaler */
		if (ntrace_ts_is_internal(FIELD_GET(NTRACE_CONFIG_TS_MODE, config)))
			mask |= TR_TS_PRESCALE;
	} else {
		ts |= ntrace_encoder_usual_clock(enc);
	}
	return ntrace_comp_set(&enc->comp, "trTsControl", TR_TS_CONTROL, ts, mask);
}

static int ntrace_encoder_write_control(struct ntrace_encoder *enc, u64 config)
{
	u64 bits = config | (enc->caps.config & ~enc->caps.fixed);
	u32 mask = TR_TE_INST_MODE | TR_TE_INST_SYNC_MODE |
		   ntrace_bits_to_reg(ntrace_control_bits, bits);

	/* The period of synchronisation is unused if synchronisation is off */
	if (config & NTRACE_CONFIG_SYNC_MODE)
		mask |= TR_TE_INST_SYNC_MAX;
	enc->comp.control = TR_CONTROL_ACTIVE | FIELD_PREP(TR_TE_FORMAT, TR_TE_FORMAT_NTRACE) |
		FIELD_PREP(TR_TE_INST_MODE, FIELD_GET(NTRACE_CONFIG_MODE, config)) |
		FIELD_PREP(TR_TE_INST_SYNC_MODE, FIELD_GET(NTRACE_CONFIG_SYNC_MODE, config)) |
		FIELD_PREP(TR_TE_INST_SYNC_MAX, FIELD_GET(NTRACE_CONFIG_SYNC_MAX, config)) |
		ntrace_bits_to_reg(ntrace_control_bits, config);
	/*
	 * If SRC has no bits, inhibit it, because some encoders otherwise end each message after
	 * its field TCODE
	 */
	if (!enc->src_bits && (enc->caps.config & NTRACE_CONFIG_INHIBIT_SRC))
		enc->comp.control |= TR_TE_INHIBIT_SRC;
	return ntrace_comp_set(&enc->comp, "trTeControl", TR_TE_CONTROL, enc->comp.control, mask);
}

/*
 * Write all registers of @config, whose fields are all chosen. Return -EIO if a register refuses a
 * value that it accepted when it was probed.
 */
static int ntrace_encoder_write_config(struct ntrace_encoder *enc, u64 config)
{
	struct ntrace_comp *comp = &enc->comp;
	u32 features, fixed = 0;

	if (ntrace_encoder_write_control(enc, config))
		return -EIO;

	features = enc->features | ntrace_bits_to_reg(ntrace_feature_bits, config);
	if (config & NTRACE_CONFIG_IMPLICIT_RETURN)
		features |= FIELD_PREP(TR_TE_INST_IMPLICIT_RETURN_MODE, enc->caps.ir_mode);
	else
		fixed = TR_TE_INST_IMPLICIT_RETURN_MODE;
	if (ntrace_comp_set(comp, "trTeInstFeatures", TR_TE_INST_FEATURES, features, ~fixed) ||
	    ntrace_encoder_write_ts(enc, config))
		return -EIO;
	ntrace_write(comp, TR_TE_INST_FILTERS, 0);
	/* Enable no filter if the event traces everything */
	if (!enc->filter.priv && !enc->filter.nr_ranges)
		return 0;
	return ntrace_encoder_write_filters(enc, &enc->filter);
}

/*
 * Write a config that ntrace_encoder_supports() accepted, while the encoder is disabled. Return
 * -EIO if a register refuses a value that it accepted when it was probed.
 */
int ntrace_encoder_program(struct ntrace_encoder *enc, u64 config,
			   const struct ntrace_filter *filter)
{
	int ret;

	/*
	 * Check the filters again, because user space may have added filters after the event was
	 * checked
	 */
	if (!ntrace_caps_filter(&enc->caps, filter))
		return -EOPNOTSUPP;

	ntrace_encoder_forget(enc);
	enc->config = config;
	enc->filter = *filter;
	config = ntrace_encoder_resolve(enc, config);
	ret = enc->ops ? enc->ops->program(enc, config) : ntrace_encoder_write_config(enc, config);
	enc->programmed = !ret;
	return ret;
}

int ntrace_encoder_comp_setup(struct ntrace_comp *comp)
{
	return ntrace_encoder_setup(to_ntrace_encoder(comp));
}

int ntrace_encoder_comp_revive(struct ntrace_comp *comp)
{
	ntrace_encoder_revive(to_ntrace_encoder(comp));
	return 0;
}

static const struct ntrace_reg ntrace_encoder_regs[] = {
	{ TR_TE_INST_FEATURES,		"trTeInstFeatures" },
	{ TR_TE_INST_FILTERS,		"trTeInstFilters" },
	{ TR_TE_DATA_CONTROL,		"trTeDataControl" },
	{ TR_TE_DATA_FILTERS,		"trTeDataFilters" },
	{ TR_TS_CONTROL,		"trTsControl" },
	{ TR_TS_COUNTER_LOW,		"trTsCounterLow" },
	{ TR_TS_COUNTER_HIGH,		"trTsCounterHigh" },
	{ TR_TE_TRIG_DBG_CONTROL,	"trTeTrigDbgControl" },
	{ TR_TE_TRIG_EXT_IN_CONTROL,	"trTeTrigExtInControl" },
	{ TR_TE_TRIG_EXT_OUT_CONTROL,	"trTeTrigExtOutControl" },
	{ }
};

const struct ntrace_comp_ops ntrace_encoder_comp_ops = {
	.type		= TR_COMP_ENCODER,
	.name		= "trace encoder",
	.prefix		= "trTe",
	.regs		= ntrace_encoder_regs,
	.setup		= ntrace_encoder_comp_setup,
	.revive		= ntrace_encoder_comp_revive,
	.quiesce	= ntrace_comp_quiesce,
};
