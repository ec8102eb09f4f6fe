// SPDX-License-Identifier: GPL-2.0-or-later
/* Data that sinks write to the guest's memory or to the files of a boot trace. */
#include <string.h>

#include "board.h"

#define RAM_START	0x80000000ULL
#define RAM_END		0x400000000ULL

static bool sink_store(uint64_t addr, const uint8_t *bytes, size_t len)
{
	return board.incoherent || board.cached_size ? cache_write(addr, bytes, len) : board_mem_write(addr, bytes, len);
}

/*
 * Write the collected data of a sink to memory. Data are collected because the main cost of a write is the call
 * into QEMU.
 */
static void stage_flush(struct board_dev *dev)
{
	if (dev->stage_len && !sink_store(dev->stage_addr, dev->stage, dev->stage_len))
		dev->bus_errors++;
	dev->stage_len = 0;
}

/* Write all data up to the write pointers of the sinks to memory, before software can read a write pointer. */
void memory_sync(void)
{
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (board.devs[i].stage && !board.devs[i].boot_trace)
			stage_flush(&board.devs[i]);
}

/*
 * Return true if the range is memory. A write to a device or to an unused address must be a bus
 * error. In the virt machine, only memory is between 2 GiB and the PCI window at 16 GiB.
 */
static bool is_ram(struct board_dev *dev, uint64_t addr, size_t len)
{
	uint8_t byte;

	for (uint64_t page = addr >> 12; page <= (addr + len - 1) >> 12; page++) {
		if (page == dev->ram_page)
			continue;
		if (page < RAM_START >> 12 || page >= RAM_END >> 12 || !board_mem_read(page << 12, &byte, 1))
			return false;
		dev->ram_page = page;
	}
	return true;
}

bool memory_sink_write(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;

	if (dev->stage_len && (addr != dev->stage_addr + dev->stage_len || dev->stage_len + len > BOARD_STAGE_SIZE))
		stage_flush(dev);
	if (!is_ram(dev, addr, len))
		return false;
	if (!dev->stage_len)
		dev->stage_addr = addr;
	if (len > BOARD_STAGE_SIZE)
		return sink_store(addr, bytes, len);
	memcpy(dev->stage + dev->stage_len, bytes, len);
	dev->stage_len += len;
	return true;
}

void memory_boot_trace_flush(struct board_dev *dev)
{
	fwrite(dev->stage, 1, dev->stage_len, dev->boot_trace);
	dev->stage_len = 0;
}

/* Add bytes to the file of a boot trace. They are collected, because a stdio call for a few bytes is slow. */
bool memory_boot_trace_out(void *opaque, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;

	if (dev->stage_len + len > BOARD_STAGE_SIZE)
		memory_boot_trace_flush(dev);
	memcpy(dev->stage + dev->stage_len, bytes, len);
	dev->stage_len += len;
	return true;
}

bool memory_sink_read(void *opaque, uint64_t addr, uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;

	return is_ram(dev, addr, len) && board_mem_read(addr, bytes, len);
}

bool memory_boot_trace_frame(void *opaque, const uint8_t frame[16])
{
	return memory_boot_trace_out(opaque, frame, 16);
}

/* Format a transfer on ATB, which consists of the trace ID and a message, for the file of a boot trace. */
bool memory_boot_trace_atb(void *opaque, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;

	for (size_t i = 1; i < len; i++)
		nb_formatter_put(dev->formatter, bytes[0], bytes[i]);
	return true;
}
