// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RAM sink: trace goes to system memory (SMEM) or to a RAM of its own
 * (SRAM). Trace Control Interface, chapter "Trace RAM Sink".
 *
 * In SMEM mode a wrong register corrupts memory. trRamStart, trRamLimit and
 * trRamWP are only written while the sink is disabled and empty, and what was
 * written is read back before the sink is enabled.
 */
#include <linux/dma-mapping.h>

#include "ntrace.h"

static u64 ntrace_ramsink_read64(const struct ntrace_sink *sink, unsigned int low)
{
	return (u64)ntrace_read(&sink->comp, low + 4) << 32 | ntrace_read(&sink->comp, low);
}

static void ntrace_ramsink_write64(const struct ntrace_sink *sink, unsigned int low, u64 val)
{
	ntrace_write(&sink->comp, low + 4, upper_32_bits(val));
	ntrace_write(&sink->comp, low, lower_32_bits(val));
}

/* "writing 0 and 0xFFFFFFFF": the lowest and the highest value of a register */
static void ntrace_ramsink_probe_range(const struct ntrace_sink *sink, unsigned int low,
				       u64 *min, u64 *max)
{
	ntrace_ramsink_write64(sink, low, 0);
	*min = ntrace_ramsink_read64(sink, low);
	ntrace_ramsink_write64(sink, low, ~0ULL);
	*max = ntrace_ramsink_read64(sink, low);
}

static bool ntrace_ramsink_set_mode(struct ntrace_sink *sink, unsigned int mode)
{
	u32 control = TR_CONTROL_ACTIVE | FIELD_PREP(TR_RAM_MODE, mode);

	ntrace_write(&sink->comp, TR_RAM_CONTROL, control);
	if (FIELD_GET(TR_RAM_MODE, ntrace_read(&sink->comp, TR_RAM_CONTROL)) != mode)
		return false;
	sink->comp.control = control;
	return true;
}

static int ntrace_ramsink_setup_smem(struct ntrace_sink *sink)
{
	struct device *dev = sink->comp.dev;
	u64 start_max, limit_min;
	int ret;

	/* Start first: the range of trRamLimit may depend on it */
	ntrace_ramsink_probe_range(sink, TR_RAM_START_LOW, &sink->min, &start_max);
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, sink->min);
	ntrace_ramsink_probe_range(sink, TR_RAM_LIMIT_LOW, &limit_min, &sink->max);

	if (sink->min == start_max || !sink->max) {
		dev_err(dev, "trace RAM sink at %pa: trRamStart is fixed at 0x%llx, which is not supported\n",
			&sink->comp.addr, sink->min);
		return -EOPNOTSUPP;
	}

	/* A is the granule that WARL leaves: "trRamLimit should be 0x...FC" for 4 */
	sink->align = max(BIT(__ffs64(sink->max)), 4UL);
	sink->start_align = max_t(u32, BIT(__ffs64(start_max)), sink->align);
	if (sink->align > PAGE_SIZE || sink->start_align > SZ_1M) {
		dev_err(dev, "trace RAM sink at %pa: alignment 0x%x of trRamLimit or 0x%x of trRamStart is too coarse\n",
			&sink->comp.addr, sink->align, sink->start_align);
		return -EOPNOTSUPP;
	}

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(fls64(sink->max)));
	if (ret)
		dev_err(dev, "trace RAM sink at %pa: no memory below 0x%llx (%d)\n",
			&sink->comp.addr, sink->max, ret);
	return ret;
}

/* SRAM has addresses of its own, from trRamStart (usually 0) to trRamLimit */
static int ntrace_ramsink_setup_sram(struct ntrace_sink *sink)
{
	u64 limit_min;

	ntrace_ramsink_probe_range(sink, TR_RAM_LIMIT_LOW, &limit_min, &sink->max);
	sink->min = ntrace_ramsink_read64(sink, TR_RAM_START_LOW);
	/* "A must be 4 as access to trace via trRamData is always 32-bits wide" */
	sink->align = 4;
	sink->start_align = 4;
	if (sink->max <= sink->min || sink->max - sink->min > SZ_1G) {
		dev_err(sink->comp.dev, "trace RAM sink at %pa: no SRAM between 0x%llx and 0x%llx\n",
			&sink->comp.addr, sink->min, sink->max);
		return -ENODEV;
	}
	sink->max = ALIGN_DOWN(sink->max, 4);
	return 0;
}

/* After a reset. May sleep. */
int ntrace_ramsink_setup(struct ntrace_sink *sink)
{
	u32 control;
	int ret;

	if (!(ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_CONTROL_EMPTY)) {
		dev_err(sink->comp.dev, "trace RAM sink at %pa: trRamEmpty is 0 after reset\n",
			&sink->comp.addr);
		return -EIO;
	}

	/* "Important to set this field first as other registers may behave differently" */
	if ((sink->comp.impl & TR_RAM_HAS_SMEM) &&
	    ntrace_ramsink_set_mode(sink, TR_RAM_MODE_SMEM)) {
		sink->smem = true;
		ret = ntrace_ramsink_setup_smem(sink);
	} else if ((sink->comp.impl & TR_RAM_HAS_SRAM) &&
		   ntrace_ramsink_set_mode(sink, TR_RAM_MODE_SRAM)) {
		sink->smem = false;
		ret = ntrace_ramsink_setup_sram(sink);
	} else {
		dev_err(sink->comp.dev,
			"trace RAM sink at %pa: neither SMEM nor SRAM mode can be set (trRamImpl 0x%08x)\n",
			&sink->comp.addr, sink->comp.impl);
		ret = -ENODEV;
	}
	if (ret)
		return ret;

	control = sink->comp.control | TR_RAM_STOP_ON_WRAP;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, control);
	sink->stop_on_wrap = ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_RAM_STOP_ON_WRAP;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, sink->comp.control);
	return 0;
}

/* The mode is undefined, after a reset or a loss of power; the rest is written at each start */
void ntrace_ramsink_revive(struct ntrace_sink *sink)
{
	sink->holds = NULL;
	sink->loose = false;
	sink->comp.control = TR_CONTROL_ACTIVE |
			     FIELD_PREP(TR_RAM_MODE, sink->smem ? TR_RAM_MODE_SMEM :
								  TR_RAM_MODE_SRAM);
	ntrace_write(&sink->comp, TR_RAM_CONTROL, sink->comp.control);
}

/*
 * Point a disabled and empty sink to a window. Writing trRamWPLow clears
 * trRamWrap. -EIO, and no window, if the registers hold anything else than was
 * written.
 */
int ntrace_ramsink_program(struct ntrace_sink *sink, const struct ntrace_window *win)
{
	u64 limit = win->end - sink->align;

	sink->holds = NULL;
	sink->full = false;
	/* What the CPU wrote there comes before what the sink will write */
	wmb();
	sink->comp.control &= ~TR_RAM_STOP_ON_WRAP;
	if (win->stop)
		sink->comp.control |= TR_RAM_STOP_ON_WRAP;

	if (sink->smem)
		ntrace_ramsink_write64(sink, TR_RAM_START_LOW, win->start);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, limit);
	ntrace_ramsink_write64(sink, TR_RAM_WP_LOW, win->wp);

	if (unlikely(ntrace_ramsink_read64(sink, TR_RAM_START_LOW) != win->start ||
		     ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW) != limit ||
		     ntrace_ramsink_read64(sink, TR_RAM_WP_LOW) != win->wp)) {
		ntrace_comp_err(&sink->comp,
				"trace RAM sink at %pa: trRamStart, trRamLimit and trRamWP do not take %pad, 0x%llx, %pad",
				&sink->comp.addr, &win->start, limit, &win->wp);
		return -EIO;
	}
	return 0;
}

/* It stopped by itself, and cannot write what it still holds: there is no room. That is lost. */
static int ntrace_ramsink_drop(struct ntrace_sink *sink)
{
	if (!(sink->comp.control & TR_RAM_STOP_ON_WRAP) ||
	    !(ntrace_read(&sink->comp, TR_RAM_WP_LOW) & TR_RAM_WRAP))
		return -EBUSY;
	if (ntrace_comp_drop(&sink->comp))
		return -ETIMEDOUT;
	ntrace_ramsink_revive(sink);
	sink->full = true;
	return 0;
}

/**
 * ntrace_ramsink_disable - disable a sink, and wait until all is in its memory
 * @sink: the sink
 *
 * Return: 0, or -ETIMEDOUT: it may still write its memory; sink->loose and sink->comp.stuck are set
 */
int ntrace_ramsink_disable(struct ntrace_sink *sink)
{
	int ret;

	if (ntrace_comp_disable_fast(&sink->comp))
		return 0;
	ret = ntrace_comp_poll(&sink->comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY);
	if (!ret || !ntrace_ramsink_drop(sink))
		return 0;
	sink->loose = true;
	return ntrace_comp_wait(&sink->comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY,
				TR_CONTROL_EMPTY);
}

/* Copy from SRAM, from the byte offset @from on, around its end */
void ntrace_ramsink_read(struct ntrace_sink *sink, u32 from, void *buf, unsigned int len)
{
	ntrace_write(&sink->comp, TR_RAM_RP_LOW, lower_32_bits(sink->min) + from);
	for (; len; len -= 4, buf += 4) {
		__le32 word = cpu_to_le32(ntrace_read(&sink->comp, TR_RAM_DATA));

		memcpy(buf, &word, sizeof(word));
	}
}
