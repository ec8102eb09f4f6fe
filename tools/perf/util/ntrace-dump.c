// SPDX-License-Identifier: GPL-2.0-only
/* List of N-Trace messages for perf script -D, with offset, bytes and text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "color.h"
#include "debug.h"
#include "ntrace-priv.h"

#define NTRACE_BYTES_PER_LINE	12

/* First bytes of a message that continues in the next record of the same buffer */
struct ntrace_dump {
	u8	*rest;
	size_t	size;
	u64	end;	/* offset in the AUX buffer of the byte after these bytes */
};

static void ntrace_dump_message(u64 offset, const u8 *data, size_t size, const char *text)
{
	size_t i, pos;

	for (pos = 0; pos == 0 || pos < size; pos += NTRACE_BYTES_PER_LINE) {
		color_fprintf(stdout, PERF_COLOR_BLUE, ".  %08" PRIx64 ": ", offset + pos);
		for (i = pos; i < pos + NTRACE_BYTES_PER_LINE; i++) {
			if (i < size)
				color_fprintf(stdout, PERF_COLOR_BLUE, " %02x", data[i]);
			else
				color_fprintf(stdout, PERF_COLOR_BLUE, "   ");
		}
		color_fprintf(stdout, PERF_COLOR_BLUE, "  %s\n", pos ? "" : text);
	}
}

/* Print the complete messages. Return the number of bytes after them, which start an incomplete message. */
static size_t ntrace_dump_messages(const struct nt_config *config, u64 offset, const u8 *data,
				   size_t size)
{
	struct nt_message msg;
	char text[512];
	size_t pos = 0;
	int ret;

	while (pos < size) {
		memset(&msg, 0, sizeof(msg));
		ret = nt_message_decode(config, data + pos, size - pos, &msg);
		if (!ret)
			break;
		if (ret > 0)
			nt_message_desc(&msg, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "Bad message: %s", nt_error_text(ret));
		if (!msg.length || msg.offset + msg.length > size - pos)
			break;
		ntrace_dump_message(offset + pos + msg.offset, data + pos + msg.offset, msg.length,
				    text);
		pos += msg.offset + msg.length;
	}
	/* Idle bytes (chapter 3.1.3) separate messages and do not start one */
	while (pos < size && data[pos] == 0xff)
		pos++;
	return size - pos;
}

static struct ntrace_dump *ntrace_dump_get(struct ntrace *nt, unsigned int idx)
{
	struct ntrace_dump *dump;

	if (idx >= 1 << 16)
		return NULL;
	if (idx >= nt->nr_dump) {
		dump = realloc(nt->dump, (idx + 1) * sizeof(*dump));
		if (!dump)
			return NULL;
		memset(dump + nt->nr_dump, 0, (idx + 1 - nt->nr_dump) * sizeof(*dump));
		nt->dump = dump;
		nt->nr_dump = idx + 1;
	}
	return &nt->dump[idx];
}

int ntrace_dump_buffer(struct ntrace *nt, union perf_event *event, const u8 *data, size_t size)
{
	struct ntrace_dump *dump = ntrace_dump_get(nt, event->auxtrace.idx);
	const struct ntrace_cpu *cpu = ntrace_info_cpu(&nt->info, (int)event->auxtrace.cpu);
	u64 offset = event->auxtrace.offset, padding;
	struct nt_config config;
	size_t rest, left;
	u8 *all;

	if (!cpu)
		cpu = &nt->info.cpus[0];
	color_fprintf(stdout, PERF_COLOR_BLUE, ". ... N-Trace data: size %zu bytes\n", size);
	if (!dump)
		return -ENOMEM;
	if (!ntrace_cpu_config(cpu, &config)) {
		printf(".  the metadata of CPU %d is not valid\n", cpu->cpu);
		return 0;
	}

	/* Remove up to 7 zero bytes with which perf pads a record. The offset of the next record excludes them. */
	padding = dump->end - offset;
	rest = padding < 8 && dump->size >= padding ? dump->size - padding : 0;
	all = malloc(rest + size + 1);
	if (!all)
		return -ENOMEM;
	if (rest)
		memcpy(all, dump->rest, rest);
	memcpy(all + rest, data, size);
	left = ntrace_dump_messages(&config, offset - rest, all, rest + size);

	memmove(all, all + rest + size - left, left);
	zfree(&dump->rest);
	dump->rest = all;
	dump->size = left;
	dump->end = offset + size;
	return 0;
}

void ntrace_dump_exit(struct ntrace *nt)
{
	unsigned int i;

	for (i = 0; i < nt->nr_dump; i++)
		zfree(&nt->dump[i].rest);
	zfree(&nt->dump);
	nt->nr_dump = 0;
}
