// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * insns [-t] ELF TRACE
 *
 * Print the executed instructions with their threads, and with -t also the times, if the trace has
 * timestamps.
 */
#include <inttypes.h>
#include <ntrace/elf.h>
#include <stdio.h>
#include <string.h>
#include "disassemble.h"

static void print_range(const struct nt_config *config, const struct nt_image *image,
			const struct nt_item *item)
{
	uint64_t addr = item->range.start;
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;
	int length;

	for (; addr < item->range.end_addr; addr += length) {
		length = nt_insn_read(config, image, item->space, addr, code, &insn);
		printf("%12" PRIu64 " thread %" PRIu64 " 0x%" PRIx64 ": ", item->tstamp,
		       item->context.scontext, addr);
		print_insn(config->xlen, addr, code, length);
		printf("	%s\n", nt_class_name(insn.klass));
	}
}

int main(int argc, char **argv)
{
	FILE *trace = argc > 2 ? fopen(argv[argc - 1], "rb") : NULL;
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	char text[NT_ITEM_DESC_MAX];
	uint8_t bytes[4096];
	struct nt_elf_info info;
	struct nt_flow *flow;
	struct nt_item item;
	struct nt_elf *elf;
	size_t n, problems = 0;

	if (!trace || nt_elf_open(argv[argc - 2], &elf) || nt_elf_add(elf, image, 0, 0))
		return fprintf(stderr, "usage: insns [-t] ELF TRACE\n"), 2;
	nt_elf_info(elf, &info, sizeof(info));
	config.xlen = info.xlen;
	config.isa = info.isa;
	config.timestamp = !strcmp(argv[1], "-t");
	flow = nt_flow_new(&config, image);
	do {
		n = fread(bytes, 1, sizeof(bytes), trace);
		if (!n || nt_flow_feed(flow, bytes, n))
			nt_flow_end(flow);
		while (nt_flow_next(flow, &item) > 0) {
			if (item.type == NT_ITEM_RANGE)
				print_range(&config, image, &item);
			else if (nt_item_desc(&item, text, sizeof(text)) > 0)
				printf("-- %s\n", text);
			problems += item.type == NT_ITEM_ERROR || item.type == NT_ITEM_GAP;
		}
	} while (n);
	nt_flow_free(flow);
	return problems > 0;
}
