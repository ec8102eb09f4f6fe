// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RAM sink writes trace to system memory (SMEM) or to its own RAM (SRAM). Trace Control
 * Interface, chapter "Trace RAM Sink".
 *
 * In SMEM mode a wrong register corrupts memory. So trRamStart, trRamLimit and trRamWP are only
 * written while the sink is disabled and empty, and the values are read back before the sink is
 * enabled.
 */
#include <linux/dma-mapping.h>
#include <linux/libnvdimm.h>
#include <linux/log2.h>

#include "sink.h"

static u64 ntrace_ramsink_read64(const struct ntrace_sink *sink, unsigned int low)
{
	return (u64)ntrace_read(&sink->comp, low + 4) << 32 | ntrace_read(&sink->comp, low);
}

static void ntrace_ramsink_write64(const struct ntrace_sink *sink, unsigned int low, u64 val)
{
	ntrace_write(&sink->comp, low + 4, upper_32_bits(val));
	ntrace_write(&sink->comp, low, lower_32_bits(val));
}

/* Find the lowest and the highest value of a register by "writing 0 and 0xFFFFFFFF" */
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

/**
 * ntrace_ramsink_cap - limit a sink's memory so that it can be copied with interrupts off
 * @sink: The sink
 * @area: Its memory; @area->max is lowered as needed
 * @limit_min: Lowest value that trRamLimit accepts
 * @most: Limit in bytes, NTRACE_SRAM_MAX or NTRACE_RESERVED_MAX
 *
 * Return: 0, or -EOPNOTSUPP if the memory is too large and trRamLimit cannot be lowered
 */
int ntrace_ramsink_cap(const struct ntrace_sink *sink, struct ntrace_ram_area *area,
		       u64 limit_min, u64 most)
{
	u64 size = area->max + area->align - area->min;

	area->copied = true;
	area->trims = limit_min < area->max;
	if (size <= most)
		return 0;
	if (area->trims) {
		area->max = area->min + most - area->align;
		return 0;
	}
	dev_err(sink->comp.dev, "%s at %pa: its buffer has %llu KiB, the driver copies at most %llu KiB, and trRamLimit cannot be lowered\n",
		sink->comp.ops->name, &sink->comp.addr, size >> 10, most >> 10);
	return -EOPNOTSUPP;
}

/*
 * Limit the size of memory that the driver copies, and round it down to 2^M bytes if the sink only
 * accepts windows of this size ("Not every value may be settable"). In a snapshot, the sink wraps
 * around in all of this memory.
 */
static int ntrace_ramsink_setup_copied(struct ntrace_sink *sink, struct ntrace_ram_area *area,
				       u64 limit_min, u64 most)
{
	int ret = ntrace_ramsink_cap(sink, area, limit_min, most);

	if (ret || !area->trims)
		return ret;
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, area->min);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, area->max);
	if (ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW) != area->max)
		area->max = area->min + rounddown_pow_of_two(area->max + area->align - area->min) -
			    area->align;
	return 0;
}

/*
 * If the memory of the sink is fixed, or the device tree reserves some for it, the driver uses that
 * memory and copies the trace from it.
 */
static int ntrace_ramsink_setup_reserved(struct ntrace_sink *sink, struct ntrace_ram_area *area,
					 u64 limit_min, bool fixed)
{
	struct device *dev = sink->comp.dev;

	if (!sink->mem) {
		dev_err(dev, "trace RAM sink at %pa: trRamStart is fixed at 0x%llx; the device tree has to name that memory as \"memory-region\"\n",
			&sink->comp.addr, area->min);
		return -EOPNOTSUPP;
	}
	if (!fixed) {
		area->min = max(area->min, ALIGN(sink->mem_start, area->start_align));
		area->max = min(area->max, ALIGN_DOWN(sink->mem_end, area->align) - area->align);
	}
	if (area->min < sink->mem_start || area->max + area->align > sink->mem_end ||
	    area->max <= area->min) {
		dev_err(dev, "trace RAM sink at %pa: it writes from 0x%llx to 0x%llx, which is not in its memory-region\n",
			&sink->comp.addr, area->min, area->max + area->align);
		return -EINVAL;
	}
	return ntrace_ramsink_setup_copied(sink, area, limit_min, NTRACE_RESERVED_MAX);
}

/* Return true if trRamLimit accepts a window of @size bytes. */
static bool ntrace_ramsink_takes(const struct ntrace_sink *sink, const struct ntrace_ram_area *area,
				 u64 size)
{
	u64 start = ALIGN(max_t(u64, area->min, 4 * SZ_1M), 4 * SZ_1M);
	u64 limit = start + size - area->align;

	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, start);
	ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, limit);
	return ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW) == limit;
}

static int ntrace_ramsink_setup_smem(struct ntrace_sink *sink, struct ntrace_ram_area *area)
{
	struct device *dev = sink->comp.dev;
	u64 start_max, limit_min;
	bool fixed;
	int ret;

	/* Write trRamStart first, because the range of trRamLimit may depend on it */
	ntrace_ramsink_probe_range(sink, TR_RAM_START_LOW, &area->min, &start_max);
	ntrace_ramsink_write64(sink, TR_RAM_START_LOW, area->min);
	ntrace_ramsink_probe_range(sink, TR_RAM_LIMIT_LOW, &limit_min, &area->max);
	fixed = area->min == start_max || !area->max;

	/*
	 * trRamLimit ignores writes to the bits below the alignment that the sink needs, so the
	 * lowest bit that can be set is this alignment. The specification calls it A, and gives the
	 * example "trRamLimit should be 0x...FC" for A = 4.
	 */
	area->align = area->max ? clamp_t(u64, BIT_ULL(__ffs64(area->max)), 4, SZ_1G) : 4;
	area->start_align = fixed ? area->align :
			    clamp_t(u64, BIT_ULL(__ffs64(start_max)), area->align, SZ_1G);
	if (area->align > PAGE_SIZE || area->start_align > SZ_1M) {
		dev_err(dev, "trace RAM sink at %pa: alignment 0x%x of trRamLimit or 0x%x of trRamStart is too coarse\n",
			&sink->comp.addr, area->align, area->start_align);
		return -EOPNOTSUPP;
	}
	if (fixed || sink->mem)
		return ntrace_ramsink_setup_reserved(sink, area, limit_min, fixed);
	area->any_size = ntrace_ramsink_takes(sink, area, 3 * SZ_1M);

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(fls64(area->max)));
	if (ret)
		dev_err(dev, "trace RAM sink at %pa: the kernel cannot allocate memory up to 0x%llx, the highest address of the sink (%d)\n",
			&sink->comp.addr, area->max, ret);
	return ret;
}

/* Set up SRAM, which has its own addresses from trRamStart (usually 0) to trRamLimit */
static int ntrace_ramsink_setup_sram(struct ntrace_sink *sink, struct ntrace_ram_area *area)
{
	u64 limit_min;

	ntrace_ramsink_probe_range(sink, TR_RAM_LIMIT_LOW, &limit_min, &area->max);
	area->min = ntrace_ramsink_read64(sink, TR_RAM_START_LOW);
	/* The alignment "must be 4 as access to trace via trRamData is always 32-bits wide" */
	area->align = 4;
	area->start_align = 4;
	if (area->max <= area->min) {
		dev_err(sink->comp.dev, "trace RAM sink at %pa: no SRAM between 0x%llx and 0x%llx\n",
			&sink->comp.addr, area->min, area->max);
		return -ENODEV;
	}
	area->max = ALIGN_DOWN(area->max, 4);
	return ntrace_ramsink_setup_copied(sink, area, limit_min, NTRACE_SRAM_MAX);
}

/* Find out the properties of a mode. Return 0 even if the sink does not have it. */
static int ntrace_ramsink_setup_mode(struct ntrace_sink *sink, unsigned int mode)
{
	struct ntrace_ram_area *area = &sink->areas[mode];
	u32 has = mode == TR_RAM_MODE_SMEM ? TR_RAM_HAS_SMEM : TR_RAM_HAS_SRAM;
	int ret;

	memset(area, 0, sizeof(*area));
	/* Set trRamMode first, because "other registers may behave differently" in another mode */
	if (!(sink->comp.impl & has) || !ntrace_ramsink_set_mode(sink, mode))
		return 0;
	ret = mode == TR_RAM_MODE_SMEM ? ntrace_ramsink_setup_smem(sink, area) :
					 ntrace_ramsink_setup_sram(sink, area);
	area->there = !ret;
	return ret;
}

/* Set up the sink after a reset. May sleep. */
int ntrace_ramsink_setup(struct ntrace_sink *sink)
{
	u32 control, mode;
	int ret;

	if (!(ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_CONTROL_EMPTY)) {
		dev_err(sink->comp.dev, "trace RAM sink at %pa: it is not used, because it is not empty after a reset (trRamEmpty is 0)\n",
			&sink->comp.addr);
		return -EIO;
	}
	ret = ntrace_ramsink_setup_mode(sink, TR_RAM_MODE_SRAM) ?:
	      ntrace_ramsink_setup_mode(sink, TR_RAM_MODE_SMEM);
	if (ret)
		return ret;
	/*
	 * All writes of the driver to trRamControl have selected plain bytes (trRamMemFormat 0), so
	 * another value means that the sink cannot write plain bytes
	 */
	control = FIELD_GET(TR_RAM_MEM_FORMAT, ntrace_read(&sink->comp, TR_RAM_CONTROL));
	if (control) {
		dev_err(sink->comp.dev, "trace RAM sink at %pa: trRamMemFormat is %u, and the driver supports only 0\n",
			&sink->comp.addr, control);
		return -EOPNOTSUPP;
	}
	if (!sink->areas[TR_RAM_MODE_SMEM].there && !sink->areas[TR_RAM_MODE_SRAM].there) {
		dev_err(sink->comp.dev,
			"trace RAM sink at %pa: neither SMEM nor SRAM mode can be set (trRamImpl 0x%08x)\n",
			&sink->comp.addr, sink->comp.impl);
		return -ENODEV;
	}
	/* If a sink has both modes, the driver uses system memory, which it need not copy */
	sink->area = &sink->areas[sink->areas[TR_RAM_MODE_SMEM].there ? TR_RAM_MODE_SMEM :
								      TR_RAM_MODE_SRAM];
	mode = sink->area - sink->areas;
	if (!ntrace_ramsink_set_mode(sink, mode)) {
		dev_err(sink->comp.dev, "trace RAM sink at %pa: trRamMode cannot be set to %u\n",
			&sink->comp.addr, mode);
		return -EIO;
	}
	control = sink->comp.control | TR_RAM_STOP_ON_WRAP;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, control);
	sink->stop_on_wrap = ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_RAM_STOP_ON_WRAP;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, sink->comp.control);
	sink->stop_fixed = ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_RAM_STOP_ON_WRAP;
	return 0;
}

/*
 * Set the mode, which is undefined after a reset or a loss of power. Each start writes all other
 * registers.
 */
void ntrace_ramsink_revive(struct ntrace_sink *sink)
{
	sink->holds = NULL;
	sink->loose = false;
	ntrace_ramsink_set_mode(sink, sink->area - sink->areas);
}

/*
 * Set the end of a window. Some sinks only accept windows of 2^M bytes ("Not every value may be
 * settable"). The new end is at or below the end of @win. Fail if this is not possible. A circular
 * window must use all of its memory.
 */
static bool ntrace_ramsink_set_limit(const struct ntrace_sink *sink, struct ntrace_window *win)
{
	u64 align = sink->area->align, size = win->end - win->start, limit;
	u64 least = win->wp - win->start + align;

	while (size > least) {
		ntrace_ramsink_write64(sink, TR_RAM_LIMIT_LOW, win->start + size - align);
		limit = ntrace_ramsink_read64(sink, TR_RAM_LIMIT_LOW) + align - win->start;
		if (win->circular)
			return limit == size;
		if (limit <= size && limit > least) {
			win->end = win->start + limit;
			return true;
		}
		size = is_power_of_2(size) ? size / 2 : rounddown_pow_of_two(size);
	}
	return false;
}

/*
 * Verify the mode, because a sink that does not stop at the end of its window would overwrite trace
 * that perf already has. "Configure RAM Sink in appropriate mode. Verify if a particular mode is
 * set. Set main enable".
 */
static int ntrace_ramsink_set_stop(struct ntrace_sink *sink, bool stop)
{
	u32 control = sink->comp.control & ~(TR_CONTROL_ENABLE | TR_RAM_STOP_ON_WRAP), got;

	if (stop)
		control |= TR_RAM_STOP_ON_WRAP;
	sink->comp.control = control;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, control);
	got = ntrace_read(&sink->comp, TR_RAM_CONTROL);
	if (likely(!((got ^ control) & TR_RAM_STOP_ON_WRAP)))
		return 0;
	ntrace_comp_err(&sink->comp, "trace RAM sink at %pa: trRamStopOnWrap cannot be set to %u",
			&sink->comp.addr, stop);
	return -EIO;
}

/*
 * Point a disabled and empty sink to a window, whose end may be lowered. Writing trRamWPLow clears
 * trRamWrap. Return -EIO, and set no window, if the registers refuse it.
 */
int ntrace_ramsink_program(struct ntrace_sink *sink, struct ntrace_window *win)
{
	u64 limit = win->end - sink->area->align;
	bool taken;
	int ret;

	sink->holds = NULL;
	sink->full = false;
	/* Writes of the CPU to the window must reach memory before those of the sink */
	wmb();
	ret = ntrace_ramsink_set_stop(sink, win->stop);
	if (ret)
		return ret;

	if (sink->area == &sink->areas[TR_RAM_MODE_SMEM])
		ntrace_ramsink_write64(sink, TR_RAM_START_LOW, win->start);
	taken = ntrace_ramsink_set_limit(sink, win);
	ntrace_ramsink_write64(sink, TR_RAM_WP_LOW, win->wp);

	if (unlikely(!taken || ntrace_ramsink_read64(sink, TR_RAM_START_LOW) != win->start ||
		     ntrace_ramsink_read64(sink, TR_RAM_WP_LOW) != win->wp)) {
		ntrace_comp_err(&sink->comp,
				"trace RAM sink at %pa: trRamStart, trRamLimit and trRamWP cannot be set to %pad, 0x%llx, %pad",
				&sink->comp.addr, &win->start, limit, &win->wp);
		return -EIO;
	}
	return 0;
}

/*
 * Reset a sink that stopped at the end of its window. This loses the trace that it still holds, for
 * which the window had no room.
 */
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
 * ntrace_ramsink_disable - disable a sink, and wait until all trace is in its memory
 * @sink: The sink
 *
 * Return: 0, or -ETIMEDOUT if the sink may still write its memory, in which case sink->loose and
 * sink->comp.stuck are set
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
	sink->holds = NULL;
	return ntrace_comp_wait(&sink->comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY,
				TR_CONTROL_EMPTY);
}

/* Copy from the sink's own memory, starting at the byte offset @from, not beyond the end */
void ntrace_ramsink_read(struct ntrace_sink *sink, u32 from, void *buf, unsigned int len)
{
	u64 start = sink->area->min + from;
	void *mem;

	if (sink->area == &sink->areas[TR_RAM_MODE_SMEM]) {
		mem = sink->mem + (start - sink->mem_start);
		if (sink->mem_cached)
			arch_invalidate_pmem(mem, len);
		memcpy(buf, mem, len);
		return;
	}
	ntrace_write(&sink->comp, TR_RAM_RP_LOW, lower_32_bits(start));
	for (; len; len -= 4, buf += 4) {
		__le32 word = cpu_to_le32(ntrace_read(&sink->comp, TR_RAM_DATA));

		memcpy(buf, &word, sizeof(word));
	}
}

static int ntrace_ramsink_comp_setup(struct ntrace_comp *comp)
{
	return ntrace_ramsink_setup(to_ntrace_sink(comp));
}

static int ntrace_ramsink_comp_revive(struct ntrace_comp *comp)
{
	ntrace_ramsink_revive(to_ntrace_sink(comp));
	return 0;
}

static const struct ntrace_reg ntrace_ramsink_regs[] = {
	{ TR_RAM_START_LOW,	"trRamStartLow" },
	{ TR_RAM_START_HIGH,	"trRamStartHigh" },
	{ TR_RAM_LIMIT_LOW,	"trRamLimitLow" },
	{ TR_RAM_LIMIT_HIGH,	"trRamLimitHigh" },
	{ TR_RAM_WP_LOW,	"trRamWPLow" },
	{ TR_RAM_WP_HIGH,	"trRamWPHigh" },
	{ TR_RAM_RP_LOW,	"trRamRPLow" },
	{ TR_RAM_RP_HIGH,	"trRamRPHigh" },
	{ }
};

const struct ntrace_comp_ops ntrace_ramsink_comp_ops = {
	.type		= TR_COMP_RAMSINK,
	.name		= "trace RAM sink",
	.prefix		= "trRam",
	.is_sink	= true,
	.regs		= ntrace_ramsink_regs,
	.setup		= ntrace_ramsink_comp_setup,
	.revive		= ntrace_ramsink_comp_revive,
	.quiesce	= ntrace_comp_quiesce,
};
