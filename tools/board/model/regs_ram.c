// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Trace RAM Sink in SRAM mode and SMEM mode, see Trace Control Interface 1.0, chapter "Trace
 * RAM Sink".
 */
#include <stdlib.h>
#include <string.h>

#include "regs_common.h"

/* Settings of trRamControl that cannot change while trRamEnable is 1 */
#define CONTROL_SETTINGS	(TR_RAM_MODE | TR_RAM_STOP_ON_WRAP | TR_RAM_MEM_FORMAT | TR_RAM_ASYNC_FREQ)

#define IDLE	0xff	/* idle byte, which may be between messages or be padding */

static struct nb_ram *to_ram(struct nb_dev *dev)
{
	return (struct nb_ram *)dev;
}

void nb_ram_caps_full(struct nb_ram_caps *caps)
{
	*caps = (struct nb_ram_caps){
		.sram = true, .smem = true, .sram_size = 64 << 10, .align = 64, .burst = 512,
		.smem_highest = (1ULL << 56) - 1, .stop_on_wrap = true, .ver_major = 1,
	};
}

static bool smem(const struct nb_ram *ram)
{
	return nb_get(&ram->dev, TR_CONTROL) & TR_RAM_MODE;
}

/* Return the alignment in bytes, which the specification calls A. "For SRAM mode A must be 4" */
static uint32_t align_of(const struct nb_ram *ram)
{
	return smem(ram) ? ram->caps.align : 4;
}

static uint64_t lowest(const struct nb_ram *ram)
{
	return smem(ram) ? ram->caps.smem_lowest : 0;
}

static uint64_t highest(const struct nb_ram *ram)
{
	return smem(ram) ? ram->caps.smem_highest : ram->caps.sram_size - 1;
}

/* Update the registers of a 64-bit pointer. */
static void put_pointer(struct nb_ram *ram, unsigned int offset, uint64_t value, uint32_t flags)
{
	nb_put(&ram->dev, offset + 4, value >> 32);
	nb_put(&ram->dev, offset, (uint32_t)value | flags);
}

static void put_wp(struct nb_ram *ram)
{
	uint64_t shown = ram->dev.faults.wp_outside ? ram->limit + 4096 : ram->wp;

	put_pointer(ram, TR_RAM_WP_LOW, shown, ram->wrap ? TR_RAM_WRAP : 0);
}

static bool has_data(const struct nb_ram *ram)
{
	return !smem(ram) || ram->caps.smem_data;
}

/* Update trRamRP, and trRamData, which contains the word at trRamRP. */
static void put_data(struct nb_ram *ram)
{
	uint8_t bytes[4] = { 0 };
	uint32_t word = 0;

	put_pointer(ram, TR_RAM_RP_LOW, ram->rp, 0);
	if (!smem(ram)) {
		word = ram->sram ? ram->sram[ram->rp / 4] : 0;
	} else if (ram->caps.smem_data && ram->mem_read &&
		   ram->mem_read(ram->mem_opaque, ram->rp, bytes, sizeof(bytes))) {
		word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	}
	nb_put(&ram->dev, TR_RAM_DATA, word);
}

static uint32_t clamp32(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

/*
 * Return the pointer @old after @value was written to its half at @offset. A half outside of the
 * range is set to the limit: "After setting 0, the lowest possible value must be set. After setting
 * 0xFFFFFFFF the highest possible value must be set."
 */
static uint64_t legal_pointer(const struct nb_ram *ram, uint64_t old, unsigned int offset,
			      uint32_t value)
{
	uint64_t low = lowest(ram), high = highest(ram);
	uint32_t a = align_of(ram);

	if (offset & 4) {
		value = clamp32(value, low >> 32, high >> 32);
		return (old & 0xffffffff) | (uint64_t)value << 32;
	}
	if (low >> 32 == high >> 32)
		value = clamp32(value, low, high);
	return (old & ~0xffffffffULL) | (value & ~(a - 1));
}

static bool in_buffer(const struct nb_ram *ram, uint64_t addr)
{
	return addr >= ram->start && addr <= ram->limit;
}

static void check_enable(struct nb_ram *ram)
{
	struct nb_dev *dev = &ram->dev;

	if (smem(ram) && !ram->caps.smem_fixed) {
		if (!nb_written(dev, TR_RAM_START_LOW))
			nb_dev_report(dev, NB_REPORT_UNSET, TR_RAM_START_LOW, 0);
		if (!nb_written(dev, TR_RAM_LIMIT_LOW))
			nb_dev_report(dev, NB_REPORT_UNSET, TR_RAM_LIMIT_LOW, 0);
	}
	if (!nb_written(dev, TR_RAM_WP_LOW))
		nb_dev_report(dev, NB_REPORT_UNSET, TR_RAM_WP_LOW, 0);
	if (ram->start > ram->limit || !in_buffer(ram, ram->wp) || ram->start < lowest(ram) ||
	    ram->limit > highest(ram))
		nb_dev_report(dev, NB_REPORT_RANGE, TR_RAM_WP_LOW, ram->wp);
}

/* ---- Store trace in the buffer ---- */

static void store(struct nb_ram *ram, uint64_t addr, const uint8_t *bytes, uint32_t len)
{
	if (!smem(ram)) {
		if (ram->sram && addr + len <= ram->caps.sram_size)
			memcpy((uint8_t *)ram->sram + addr, bytes, len);
		return;
	}
	if (ram->dev.faults.bus_error || !ram->mem_write ||
	    !ram->mem_write(ram->mem_opaque, addr, bytes, len))
		ram->bus_errors++;
}

/*
 * Wrap after the write of the last word of the buffer. "After a trace word write occurs while
 * trRamWP = trRamLimit, trRamWP is set to trRamStart"
 */
static void wrap(struct nb_ram *ram)
{
	uint32_t control = nb_get(&ram->dev, TR_CONTROL);

	ram->wp = ram->start;
	ram->wrap = true;
	if (ram->irq && !ram->dev.faults.irq_lost)
		ram->irq(ram->mem_opaque);
	if (!(control & TR_RAM_STOP_ON_WRAP))
		return;
	ram->n = 0;
	nb_put(&ram->dev, TR_CONTROL, control & ~TR_ENABLE);
	if (ram->caps.keeps_rest)
		ram->dev.jammed = true;
	nb_set_empty(&ram->dev, true);
}

/* Write the first @len bytes of ram->buf. @len is a multiple of the alignment. */
static void drain(struct nb_ram *ram, uint32_t len)
{
	uint32_t done = 0, a = align_of(ram);

	while (done < len && nb_get(&ram->dev, TR_CONTROL) & TR_ENABLE) {
		uint64_t room = ram->limit + a - ram->wp;
		uint32_t part = len - done < room ? len - done : room;

		store(ram, ram->wp, ram->buf + done, part);
		done += part;
		ram->wp += part;
		if (ram->wp > ram->limit)
			wrap(ram);
	}
	if (ram->n) {
		ram->n -= done;
		memmove(ram->buf, ram->buf + done, ram->n);
	}
	put_wp(ram);
}

static void flush(struct nb_ram *ram)
{
	uint32_t a = align_of(ram);

	/* A flush may append idle bytes "to assure memory access alignment" */
	while (ram->n % a)
		ram->buf[ram->n++] = IDLE;
	drain(ram, ram->n);
}

bool nb_ram_input(void *opaque, const uint8_t *bytes, size_t len)
{
	struct nb_ram *ram = opaque;

	if (!(nb_get(&ram->dev, TR_CONTROL) & TR_ENABLE) || ram->broken) {
		ram->refused++;
		return false;
	}
	if (!ram->n)
		nb_set_empty(&ram->dev, false);
	if (NB_UNLIKELY(ram->dev.faults.irq_spurious) && ram->irq &&
	    ++ram->spurious >= ram->dev.faults.irq_spurious) {
		ram->spurious = 0;
		ram->irq(ram->mem_opaque);
	}
	ram->bytes += len;
	while (len) {
		size_t part = ram->burst - ram->n < len ? ram->burst - ram->n : len;

		memcpy(ram->buf + ram->n, bytes, part);
		ram->n += part;
		bytes += part;
		len -= part;
		if (ram->n == ram->burst)
			drain(ram, ram->n);
		if (!(nb_get(&ram->dev, TR_CONTROL) & TR_ENABLE))
			break;	/* the sink has stopped, so "the very last message may not be complete" */
	}
	return true;
}

/* ---- Write registers ---- */

static uint32_t legal_control(const struct nb_ram *ram, uint32_t value)
{
	uint32_t legal = value & (TR_ACTIVE | TR_ENABLE);

	if (ram->caps.smem && (!ram->caps.sram || value & TR_RAM_MODE))
		legal |= TR_RAM_MODE;
	if (ram->caps.stop_on_wrap)
		legal |= value & TR_RAM_STOP_ON_WRAP;
	if (ram->caps.stop_fixed)
		legal |= TR_RAM_STOP_ON_WRAP;
	legal |= value & ram->caps.formats & (TR_RAM_MEM_FORMAT | TR_RAM_ASYNC_FREQ);
	return legal;
}

/* Set the pointers after a change of the mode. Start and Limit get undefined values if software can set them. */
static void set_mode(struct nb_ram *ram)
{
	uint32_t a = align_of(ram);

	if (!smem(ram) || ram->caps.smem_fixed) {
		ram->start = lowest(ram);
		ram->limit = (highest(ram) + 1 - a) & ~(uint64_t)(a - 1);
		ram->wp = ram->start;
		ram->rp = 0;
	} else {
		ram->start = legal_pointer(ram, 0, TR_RAM_START_HIGH, nb_undef(&ram->dev));
		ram->start = legal_pointer(ram, ram->start, 0, nb_undef(&ram->dev));
		ram->limit = legal_pointer(ram, ram->start, 0, nb_undef(&ram->dev));
		ram->wp = legal_pointer(ram, ram->start, 0, nb_undef(&ram->dev));
		ram->rp = 0;
	}
	put_pointer(ram, TR_RAM_START_LOW, ram->start, 0);
	put_pointer(ram, TR_RAM_LIMIT_LOW, ram->limit, 0);
	put_wp(ram);
	put_data(ram);
}

static void set_enable(struct nb_ram *ram, bool on)
{
	ram->broken = false;
	if (on) {
		check_enable(ram);
		ram->n = 0;
		/*
		 * If the registers describe an impossible buffer, the sink refuses all trace, so that it does
		 * not write to an unintended address
		 */
		ram->broken = ram->start > ram->limit || !in_buffer(ram, ram->wp);
		nb_set_empty(&ram->dev, true);
	}
}

static void ram_write_control(struct nb_ram *ram, uint32_t value)
{
	struct nb_dev *dev = &ram->dev;
	uint32_t old = nb_get(dev, TR_CONTROL), now = legal_control(ram, value);

	if (old & TR_ENABLE && now & TR_ENABLE && (old ^ now) & CONTROL_SETTINGS) {
		nb_dev_report(dev, NB_REPORT_ENABLED, TR_CONTROL, value);
		now = (now & ~CONTROL_SETTINGS) | (old & CONTROL_SETTINGS);
	}
	if (old & TR_ENABLE && !(now & TR_ENABLE))
		flush(ram);
	nb_put(dev, TR_CONTROL, now | (nb_get(dev, TR_CONTROL) & TR_EMPTY));
	if ((old ^ now) & TR_RAM_MODE)
		set_mode(ram);
	if (old & TR_ENABLE && !(now & TR_ENABLE)) {
		put_data(ram);
		nb_flushed(dev);
	} else if (now & TR_ENABLE && !(old & TR_ENABLE)) {
		set_enable(ram, true);
	}
}

/* Return the Limit that the sink uses after @limit was written. Some sinks accept only buffers of 2^M bytes. */
static uint64_t legal_limit(const struct nb_ram *ram, uint64_t limit)
{
	uint64_t a = align_of(ram), size = limit + a - ram->start, legal = a;

	if (!ram->caps.sizes || !smem(ram) || limit < ram->start)
		return limit;
	while (legal << 1 <= size)
		legal <<= 1;
	if (ram->caps.sizes == 2 && legal < size)
		legal <<= 1;
	return ram->start + legal - a;
}

static void write_limits(struct nb_ram *ram, unsigned int offset, uint32_t value)
{
	bool fixed = !smem(ram) || ram->caps.smem_fixed;

	switch (offset & ~4U) {
	case TR_RAM_START_LOW:
		if (!fixed)
			ram->start = legal_pointer(ram, ram->start, offset, value) &
				-(uint64_t)(ram->caps.start_align ? ram->caps.start_align : 1);
		put_pointer(ram, TR_RAM_START_LOW, ram->start, 0);
		break;
	case TR_RAM_LIMIT_LOW:	/* if trRamStart is fixed, trRamLimit "can be possibly trimmed", so it can be written */
		if (!smem(ram) && ram->caps.limit_fixed)
			break;
		ram->limit = legal_pointer(ram, ram->limit, offset, value);
		if (offset == TR_RAM_LIMIT_LOW && value != ~0U)
			ram->limit = legal_limit(ram, ram->limit);
		put_pointer(ram, TR_RAM_LIMIT_LOW, ram->limit, 0);
		break;
	case TR_RAM_WP_LOW:
		ram->wp = legal_pointer(ram, ram->wp, offset, value);
		if (offset == TR_RAM_WP_LOW)
			ram->wrap = value & TR_RAM_WRAP;
		put_wp(ram);
		break;
	}
}

static void ram_loaded(struct nb_dev *dev, unsigned int offset);

static void ram_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_ram *ram = to_ram(dev);
	uint32_t control = nb_get(dev, TR_CONTROL);

	switch (offset) {
	case TR_CONTROL:
		ram_write_control(ram, value);
		break;
	case TR_RAM_START_LOW:
	case TR_RAM_START_HIGH:
	case TR_RAM_LIMIT_LOW:
	case TR_RAM_LIMIT_HIGH:
	case TR_RAM_WP_LOW:
	case TR_RAM_WP_HIGH:
		if (control & TR_ENABLE || !(control & TR_EMPTY))
			nb_dev_report(dev, NB_REPORT_ENABLED, offset, value);
		else
			write_limits(ram, offset, value);
		break;
	case TR_RAM_RP_LOW:
	case TR_RAM_RP_HIGH:
		/* An enabled sink cannot be read, and a "write to trRamRP must be ignored" */
		if (!has_data(ram) || control & TR_ENABLE)
			break;
		if (smem(ram) && offset == TR_RAM_RP_HIGH)
			ram->rp = (uint32_t)ram->rp | (uint64_t)value << 32;
		else if (smem(ram))
			ram->rp = (ram->rp & ~0xffffffffULL) | (value & ~3U);
		else if (offset == TR_RAM_RP_LOW)
			ram->rp = clamp32(value, 0, ram->limit) & ~3U;
		put_data(ram);
		break;
	case TR_RAM_DATA:
		if (!ram->caps.data_write || smem(ram) || control & TR_ENABLE)
			break;
		ram->sram[ram->rp / 4] = value;
		ram_loaded(dev, offset);
		break;
	}
}

/* Handle an access to trRamData. "trRamRP auto-increments following an access to trRamData" */
static void ram_loaded(struct nb_dev *dev, unsigned int offset)
{
	struct nb_ram *ram = to_ram(dev);

	if (offset != TR_RAM_DATA || !has_data(ram) || nb_get(dev, TR_CONTROL) & TR_ENABLE)
		return;
	ram->rp = ram->rp >= ram->limit ? ram->start : ram->rp + 4;
	put_data(ram);
}

static void ram_activate(struct nb_dev *dev)
{
	struct nb_ram *ram = to_ram(dev);

	nb_put(dev, TR_IMPL, nb_impl(TRCOMP_RAMSINK, ram->caps.ver_major, ram->caps.ver_minor,
				     ram->caps.vendor) |
			     (ram->caps.sram ? TR_RAM_HAS_SRAM : 0) |
			     (ram->caps.smem ? TR_RAM_HAS_SMEM : 0));
	nb_put(dev, TR_CONTROL, legal_control(ram, 0) | TR_ACTIVE | TR_EMPTY);
	ram->wrap = nb_undef(dev) & 1;
	set_mode(ram);
}

static void ram_reset(struct nb_dev *dev)
{
	struct nb_ram *ram = to_ram(dev);

	ram->n = 0;
	ram->wrap = false;
}

static const struct nb_dev_ops ram_ops = {
	.write = ram_write,
	.loaded = ram_loaded,
	.activate = ram_activate,
	.reset = ram_reset,
};

int nb_ram_init(struct nb_ram *ram, const struct nb_ram_caps *caps)
{
	memset(ram, 0, sizeof(*ram));
	nb_dev_init(&ram->dev, &ram_ops, "sink");
	ram->caps = *caps;
	if (ram->caps.align < 4 || ram->caps.align & (ram->caps.align - 1))
		ram->caps.align = 4;
	ram->burst = ram->caps.burst - ram->caps.burst % ram->caps.align;
	if (ram->burst < ram->caps.align)
		ram->burst = ram->caps.align;
	ram->buf = malloc(ram->burst + ram->caps.align);
	if (ram->caps.sram)
		ram->sram = calloc(1, ram->caps.sram_size);
	if (ram->buf && (ram->sram || !ram->caps.sram))
		return 0;
	nb_ram_fini(ram);
	return -1;
}

void nb_ram_end(struct nb_ram *ram)
{
	uint32_t control = nb_get(&ram->dev, TR_CONTROL);

	if (smem(ram) && control & TR_ENABLE)
		nb_dev_report(&ram->dev, NB_REPORT_LEFT, TR_CONTROL, control);
}

void nb_ram_fini(struct nb_ram *ram)
{
	free(ram->buf);
	free(ram->sram);
	ram->buf = NULL;
	ram->sram = NULL;
}
