// SPDX-License-Identifier: GPL-2.0-only
/*
 * SiFive's trace components of version 0, which are older than the Trace Control Interface. These
 * are the encoders of P550 cores, and their funnel, which writes to memory by itself. For the rest
 * of the driver, these encoders have their own operations, and the funnel is a sink of several
 * encoders.
 *
 * The registers are documented in the EIC7700X TRM, part 1, chapter 3.4.1.19. Active, Enable,
 * Tracing, Empty and StallOrOverflow have the same positions as in the Trace Control Interface, and
 * so has most of tsControl. No register identifies the type of a component, so its compatible
 * string does.
 */
#include <linux/dma-mapping.h>

#include "fabric.h"

/*
 *  teControl, tfControl
 *   31   28 27  26    24 23     20 19     16 15  14   13  12    8  7 6    4 3  2  1  0
 *  +-------+---+--------+---------+---------+---+----+---+---+-----+------+--+--+--+--+
 *  | sink  |err| format | MaxInst | MaxBTM  |src|stop|sta|ovf| ITC | mode |em|tr|en|ac|
 *  +-------+---+--------+---------+---------+---+----+---+---+-----+------+--+--+--+--+
 */
#define SF_STOP_ON_WRAP		BIT(14)
#define SF_SYNC_MAX_BTM		GENMASK(19, 16)
#define  SF_SYNC_MAX_BTM_LAST	11
#define  SF_SYNC_MAX_BTM_OFF	15
#define SF_SYNC_MAX_INST	GENMASK(23, 20)
#define  SF_SYNC_MAX_INST_RESET	10
#define SF_SINK_ERROR		BIT(27)		/* write 1 to clear this bit */
#define SF_SINK			GENMASK(31, 28)
#define  SF_SINK_SBA		7U
#define  SF_SINK_FUNNEL		8U
/* Fields of the registers teImpl of an encoder and tfImpl of a funnel */
#define  SF_HAS_SBA_SINK	BIT(7)
#define  SF_HAS_FUNNEL_SINK	BIT(8)
#define  SF_SRC_ID		GENMASK(23, 20)
#define  SF_SRC_BITS		GENMASK(26, 24)
/* Registers of the sink; SF_SINK_BASE_HIGH is the upper half of the addresses in all of them */
#define SF_SINK_BASE		0x010
#define SF_SINK_BASE_HIGH	0x014
#define SF_SINK_LIMIT		0x018
#define SF_SINK_WP		0x01c
#define  SF_WRAPPED		BIT(0)
#define  SF_WP_MASK		GENMASK(31, 2)
#define SF_SINK_RP		0x020
/*
 * Fields that tsControl has and trTsControl lacks. SF_TS_BRANCH selects the messages that have
 * timestamps, and SF_TS_WIDTH reports the number of bits of a timestamp.
 */
#define  SF_TS_BRANCH		GENMASK(17, 16)
#define   SF_TS_BRANCH_ALL	3
#define  SF_TS_WIDTH		GENMASK(31, 24)
#define SF_TS_LOWER		0x044
#define SF_TS_UPPER		0x048

/* Check the version. Missing registers also read as version 0, but have no bit of @has set. */
static int ntrace_sifive_identify(struct ntrace_comp *comp, u32 has)
{
	comp->type = comp->ops->type;
	comp->impl = ntrace_read(comp, TR_IMPL);
	if (!FIELD_GET(TR_IMPL_VER_MAJOR, comp->impl) && comp->impl & has)
		return 0;
	dev_err(comp->dev, "no SiFive %s of version 0 at %pa (Impl 0x%08x)\n",
		comp->ops->name, &comp->addr, comp->impl);
	return -ENODEV;
}

/* Registers that encoders and funnels have, because both can contain the sink */
static const struct ntrace_reg ntrace_sifive_regs[] = {
	{ SF_SINK_BASE,	"SinkBase" },
	{ SF_SINK_BASE_HIGH,	"SinkBaseHigh" },
	{ SF_SINK_LIMIT,	"SinkLimit" },
	{ SF_SINK_WP,	"SinkWP" },
	{ SF_SINK_RP,	"SinkRP" },
	{ TR_TS_CONTROL,	"tsControl" },
	{ SF_TS_LOWER,	"tsLower" },
	{ SF_TS_UPPER,	"tsUpper" },
	{ }
};

/* ---- The encoder ---- */

static u32 ntrace_sifive_control(const struct ntrace_encoder *enc, u64 config)
{
	u32 btm = SF_SYNC_MAX_BTM_OFF;

	/*
	 * The value n of the field means a period of 2^(n + 5) messages; in trTeInstSyncMax, it
	 * means 2^(n + 4)
	 */
	if (config & NTRACE_CONFIG_SYNC_MODE)
		btm = FIELD_GET(NTRACE_CONFIG_SYNC_MAX, config) - 1;
	return TR_CONTROL_ACTIVE | enc->features |
	       FIELD_PREP(TR_TE_INST_MODE, FIELD_GET(NTRACE_CONFIG_MODE, config)) |
	       FIELD_PREP(TR_TE_FORMAT, TR_TE_FORMAT_NTRACE) | FIELD_PREP(SF_SYNC_MAX_BTM, btm) |
	       FIELD_PREP(SF_SINK, SF_SINK_FUNNEL) |
	       (config & NTRACE_CONFIG_STALL ? TR_TE_INST_STALL_ENA : 0) |
	       (config & NTRACE_CONFIG_INHIBIT_SRC ? TR_TE_INHIBIT_SRC : 0);
}

/*
 * Ignore mode 7. It counts calls, and does not report a return while the count is above 0. When
 * Linux switches tasks, it returns to the caller of another task, so that the count is wrong. The
 * encoder does not have a filter to exclude the kernel.
 */
static void ntrace_sifive_probe_modes(struct ntrace_encoder *enc)
{
	u32 modes = ntrace_try_values(&enc->comp, TR_TE_CONTROL, enc->comp.control,
				      TR_TE_INST_MODE);

	enc->caps.modes = modes & BIT(TR_TE_INST_MODE_HTM);
	if (modes & BIT(7))
		dev_info(enc->comp.dev, "mode 7 of teInstruction is not used, because it counts calls to leave out returns, and miscounts at task switches and traps; use mode 6\n");
}

static void ntrace_sifive_probe_control(struct ntrace_encoder *enc)
{
	struct ntrace_comp *comp = &enc->comp;
	struct ntrace_caps *caps = &enc->caps;
	u32 keep = comp->control, btm, inst;

	btm = ntrace_try_values(comp, TR_TE_CONTROL, keep, SF_SYNC_MAX_BTM);
	caps->sync_max = (btm & GENMASK(SF_SYNC_MAX_BTM_LAST, 0)) << 1;
	caps->sync_modes = (caps->sync_max ? BIT(1) : 0) |
			   (btm & BIT(SF_SYNC_MAX_BTM_OFF) ? BIT(0) : 0);
	/*
	 * Use the period that the silicon has after reset, or the longest shorter period that the
	 * encoder accepts
	 */
	inst = ntrace_try_values(comp, TR_TE_CONTROL, keep, SF_SYNC_MAX_INST);
	inst &= GENMASK(SF_SYNC_MAX_INST_RESET, 0);
	enc->features = FIELD_PREP(SF_SYNC_MAX_INST, inst ? __fls(inst) : 0);
	if (ntrace_try(comp, TR_TE_CONTROL, keep, TR_TE_INST_STALL_ENA))
		caps->config |= NTRACE_CONFIG_STALL;
	if (ntrace_try(comp, TR_TE_CONTROL, keep, TR_TE_INHIBIT_SRC))
		caps->config |= NTRACE_CONFIG_INHIBIT_SRC;
	caps->src_bits = FIELD_GET(SF_SRC_BITS, comp->impl);
	caps->src_fixed = true;
}

static void ntrace_sifive_probe_timestamp(struct ntrace_encoder *enc)
{
	u32 ts;

	ntrace_write(&enc->comp, TR_TS_CONTROL, TR_TS_ACTIVE);
	ntrace_write(&enc->comp, TR_TS_CONTROL, TR_TS_ACTIVE | TR_TS_ENABLE);
	ts = ntrace_read(&enc->comp, TR_TS_CONTROL);
	ntrace_write(&enc->comp, TR_TS_CONTROL, TR_TS_ACTIVE);
	enc->caps.ts_width = FIELD_GET(SF_TS_WIDTH, ts);
	/* tsType has the values of trTsMode, and is fixed */
	if (!(ts & TR_TS_ENABLE) || !FIELD_GET(TR_TS_MODE, ts))
		return;
	enc->caps.ts_modes = BIT(FIELD_GET(TR_TS_MODE, ts));
	enc->caps.ts_prescale = BIT(0);
	enc->caps.config |= NTRACE_CONFIG_TIMESTAMP;
}

static void ntrace_sifive_revive(struct ntrace_encoder *enc)
{
	ntrace_encoder_forget(enc);
	ntrace_write(&enc->comp, TR_TS_CONTROL, TR_TS_ACTIVE);
}

static int ntrace_sifive_setup(struct ntrace_encoder *enc)
{
	memset(&enc->caps, 0, sizeof(enc->caps));
	enc->features = 0;
	ntrace_sifive_probe_modes(enc);
	if (!enc->caps.modes) {
		dev_err(enc->comp.dev, "trace encoder at %pa: teInstruction cannot be set to 6\n",
			&enc->comp.addr);
		return -ENODEV;
	}
	ntrace_sifive_probe_control(enc);
	ntrace_sifive_probe_timestamp(enc);
	ntrace_sifive_revive(enc);
	return 0;
}

/*
 * Read the encoder's source number (SRC) and its width, which cannot be set. Return -EOPNOTSUPP if
 * it has fewer bits than the driver needs (@bits).
 */
static int ntrace_sifive_set_src(struct ntrace_encoder *enc, unsigned int bits, unsigned int id)
{
	enc->src_bits = FIELD_GET(SF_SRC_BITS, enc->comp.impl);
	enc->src_id = FIELD_GET(SF_SRC_ID, enc->comp.impl);
	ntrace_encoder_forget(enc);
	return enc->src_bits < bits ? -EOPNOTSUPP : 0;
}

static int ntrace_sifive_program(struct ntrace_encoder *enc, u64 config)
{
	u32 control = ntrace_sifive_control(enc, config), ts = TR_TS_ACTIVE;
	u32 mask = TR_TE_INST_MODE | SF_SYNC_MAX_BTM | SF_SYNC_MAX_INST;

	ntrace_write(&enc->comp, TR_TE_CONTROL, control | SF_SINK_ERROR);
	enc->comp.control = control;
	if ((ntrace_read(&enc->comp, TR_TE_CONTROL) ^ control) & mask)
		return -EIO;
	if (config & NTRACE_CONFIG_TIMESTAMP)
		ts |= TR_TS_ENABLE | FIELD_PREP(SF_TS_BRANCH, SF_TS_BRANCH_ALL);
	ntrace_write(&enc->comp, TR_TS_CONTROL, ts);
	return (ntrace_read(&enc->comp, TR_TS_CONTROL) ^ ts) & (TR_TS_ENABLE | SF_TS_BRANCH) ?
	       -EIO : 0;
}

static const struct ntrace_encoder_ops ntrace_sifive_encoder_ops = {
	.dialect	= NTRACE_DIALECT_SIFIVE0,
	.addr_bits	= 48,
	.setup		= ntrace_sifive_setup,
	.revive		= ntrace_sifive_revive,
	.set_src	= ntrace_sifive_set_src,
	.program	= ntrace_sifive_program,
	.counter	= SF_TS_LOWER,
};

static int ntrace_sifive_encoder_identify(struct ntrace_comp *comp)
{
	to_ntrace_encoder(comp)->ops = &ntrace_sifive_encoder_ops;
	return ntrace_sifive_identify(comp, SF_HAS_FUNNEL_SINK);
}

const struct ntrace_comp_ops ntrace_sifive_encoder_comp_ops = {
	.type		= TR_COMP_ENCODER,
	.name		= "trace encoder",
	.prefix		= "trTe",
	.regs		= ntrace_sifive_regs,
	.identify	= ntrace_sifive_encoder_identify,
	.setup		= ntrace_encoder_comp_setup,
	.revive		= ntrace_encoder_comp_revive,
	.quiesce	= ntrace_comp_quiesce,
};

/* ---- The funnel, which is also a sink that writes to memory ---- */

/*
 * Enable the funnel before its encoders, and disable it after them, because a disabled funnel drops
 * trace
 */
static int ntrace_sifive_funnel_program(struct ntrace_sink *sink, struct ntrace_window *win)
{
	struct ntrace_comp *comp = &sink->comp;
	u32 limit = lower_32_bits(win->end - sink->area->align);

	sink->holds = NULL;
	/* Writes of the CPU to the window must reach memory before those of the sink */
	wmb();
	comp->control &= ~SF_STOP_ON_WRAP;
	if (win->stop)
		comp->control |= SF_STOP_ON_WRAP;
	ntrace_write(comp, TR_CONTROL, comp->control | SF_SINK_ERROR);
	ntrace_write(comp, SF_SINK_BASE, lower_32_bits(win->start));
	ntrace_write(comp, SF_SINK_BASE_HIGH, upper_32_bits(win->start));
	ntrace_write(comp, SF_SINK_LIMIT, limit);
	ntrace_write(comp, SF_SINK_WP, lower_32_bits(win->wp));
	if (likely(upper_32_bits(win->start) == upper_32_bits(win->end - 1) &&
		   ntrace_read(comp, SF_SINK_BASE) == lower_32_bits(win->start) &&
		   ntrace_read(comp, SF_SINK_BASE_HIGH) == upper_32_bits(win->start) &&
		   ntrace_read(comp, SF_SINK_LIMIT) == limit &&
		   ntrace_read(comp, SF_SINK_WP) == lower_32_bits(win->wp)))
		return 0;
	ntrace_comp_err(comp, "%s at %pa: its registers cannot be set to a buffer from %pad to %pad",
			comp->ops->name, &comp->addr, &win->start, &win->end);
	return -EIO;
}

static int ntrace_sifive_funnel_enable(struct ntrace_sink *sink)
{
	return ntrace_comp_enable(&sink->comp);
}

static int ntrace_sifive_funnel_disable(struct ntrace_sink *sink)
{
	struct ntrace_comp *comp = &sink->comp;
	int ret = ntrace_comp_disable(comp);

	/* Mark the funnel as loose, because it may still write to its memory */
	if (unlikely(ret)) {
		sink->loose = true;
		sink->holds = NULL;
		return ret;
	}
	if (likely(!(ntrace_read(comp, TR_CONTROL) & SF_SINK_ERROR)))
		return 0;
	ntrace_write(comp, TR_CONTROL, comp->control | SF_SINK_ERROR);
	ntrace_comp_err(comp, "%s at %pa: a write to memory caused a bus error (tfSinkError)",
			comp->ops->name, &comp->addr);
	return -EIO;
}

static u32 ntrace_sifive_funnel_written(const struct ntrace_sink *sink,
					const struct ntrace_window *win, bool *wrapped)
{
	u32 wp = ntrace_read(&sink->comp, SF_SINK_WP);
	u32 offset = (wp & SF_WP_MASK) - lower_32_bits(win->start);

	*wrapped = wp & SF_WRAPPED;
	if (likely(offset < win->end - win->start))
		return offset;
	*wrapped = true;
	return 0;
}

static const struct ntrace_sink_ops ntrace_sifive_funnel_ops = {
	.program	= ntrace_sifive_funnel_program,
	.enable		= ntrace_sifive_funnel_enable,
	.disable	= ntrace_sifive_funnel_disable,
	.written	= ntrace_sifive_funnel_written,
};

/*
 * Set up the funnel after a reset or a loss of power. Its counter always runs, because it is the
 * time of all encoders.
 */
static int ntrace_sifive_funnel_revive(struct ntrace_comp *comp)
{
	struct ntrace_sink *sink = to_ntrace_sink(comp);

	sink->holds = NULL;
	sink->loose = false;
	comp->control = TR_CONTROL_ACTIVE | FIELD_PREP(SF_SINK, SF_SINK_SBA);
	ntrace_write(comp, TR_CONTROL, comp->control);
	ntrace_write(comp, TR_TS_CONTROL, TR_TS_ACTIVE);
	ntrace_write(comp, TR_TS_CONTROL, TR_TS_ACTIVE | TR_TS_COUNT);
	return 0;
}

/* Use the memory that the device tree reserves, if any. Trace is copied from it. */
static int ntrace_sifive_funnel_reserve(struct ntrace_sink *sink, struct ntrace_ram_area *area)
{
	if (!sink->mem)
		return 0;
	area->min = ALIGN(sink->mem_start, area->start_align);
	area->max = min(area->max, ALIGN_DOWN(sink->mem_end, area->align) - area->align);
	if (area->max > area->min && !ntrace_ramsink_cap(sink, area, 0, NTRACE_RESERVED_MAX) &&
	    upper_32_bits(area->min) == upper_32_bits(area->max))
		return 0;
	dev_err(sink->comp.dev, "%s at %pa: it cannot write to its memory-region, whose address is too high, or which crosses a 4 GiB boundary\n",
		sink->comp.ops->name, &sink->comp.addr);
	return -EINVAL;
}

/* Set up the funnel after a reset. May sleep. */
static int ntrace_sifive_funnel_setup(struct ntrace_comp *comp)
{
	struct ntrace_sink *sink = to_ntrace_sink(comp);
	struct ntrace_ram_area *area = &sink->areas[TR_RAM_MODE_SMEM];
	u32 base, high, limit;
	int ret;

	base = ntrace_try(comp, SF_SINK_BASE, 0, ~0U);
	limit = ntrace_try(comp, SF_SINK_LIMIT, 0, ~0U);
	high = ntrace_try(comp, SF_SINK_BASE_HIGH, 0, ~0U);
	if (!base || !limit || base & ~SF_WP_MASK) {
		dev_err(comp->dev, "%s at %pa: teSinkBase reads 0x%08x and teSinkLimit 0x%08x after ones were written, so they cannot hold a buffer\n",
			comp->ops->name, &comp->addr, base, limit);
		return -ENODEV;
	}
	sink->stop_on_wrap = ntrace_try(comp, TR_CONTROL, TR_CONTROL_ACTIVE, SF_STOP_ON_WRAP);
	sink->ops = &ntrace_sifive_funnel_ops;
	memset(area, 0, sizeof(*area));
	area->there = true;
	area->align = BIT(__ffs(limit));
	area->start_align = BIT(__ffs(base));
	area->max = (u64)high << 32 | limit;
	area->one_line = true;
	sink->area = area;
	ntrace_sifive_funnel_revive(comp);
	ret = ntrace_sifive_funnel_reserve(sink, area);
	return ret ?: dma_set_mask_and_coherent(comp->dev, DMA_BIT_MASK(fls64(area->max)));
}

static int ntrace_sifive_funnel_identify(struct ntrace_comp *comp)
{
	return ntrace_sifive_identify(comp, SF_HAS_SBA_SINK);
}

const struct ntrace_comp_ops ntrace_sifive_funnel_comp_ops = {
	.type		= NTRACE_COMP_SBA_FUNNEL,
	.name		= "trace funnel with a sink",
	.prefix		= "tf",
	.is_sink	= true,
	.regs		= ntrace_sifive_regs,
	.identify	= ntrace_sifive_funnel_identify,
	.setup		= ntrace_sifive_funnel_setup,
	.revive		= ntrace_sifive_funnel_revive,
	.quiesce	= ntrace_comp_quiesce,
};
