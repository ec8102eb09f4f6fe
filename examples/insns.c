// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Print each instruction that a trace says was executed, with its time and thread.
 *
 *   insns [-t] ELF TRACE		-t: the trace has timestamps
 *
 * It is C and C++, and needs the installed libraries alone: see the Makefile here.
 */
#include <inttypes.h>
#include <ntrace/elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "disassemble.h"

static void print_range(const struct nt_config *config, const struct nt_image *image,
			const struct nt_item *item)
{
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;
	uint64_t addr;
	int length;

	for (addr = item->range.start; addr < item->range.end_addr; addr += length) {
		length = nt_insn_read(config, image, item->space, addr, code, &insn);
		if (length <= 0)
			break;
		printf("%12" PRIu64 " thread %" PRIu64 " 0x%" PRIx64 ": ", item->tstamp,
		       item->context.scontext, addr);
		print_insn(config->xlen, addr, code, length);
		printf("	%s\n", nt_class_name(insn.klass));
	}
}

static int print_trace(const struct nt_config *config, struct nt_image *image, FILE *trace)
{
	struct nt_flow *flow = nt_flow_new(config, image);
	char text[NT_ITEM_DESC_MAX];
	struct nt_item item;
	uint8_t bytes[4096];
	int errors = flow ? 0 : 1;
	size_t n;

	while (flow && (n = fread(bytes, 1, sizeof(bytes), trace)) > 0) {
		nt_flow_feed(flow, bytes, n);
		while (nt_flow_next(flow, &item) > 0) {
			if (item.type == NT_ITEM_RANGE)
				print_range(config, image, &item);
			else if (nt_item_desc(&item, text, sizeof(text)) > 0)
				printf("-- %s\n", text);
			errors += item.type == NT_ITEM_ERROR;
		}
	}
	nt_flow_free(flow);
	return errors > 0;
}

int main(int argc, char **argv)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	FILE *trace = argc > 2 ? fopen(argv[argc - 1], "rb") : NULL;
	struct nt_elf *elf = NULL;
	struct nt_elf_info info;
	int status = 2, err = trace && image ? nt_elf_open(argv[argc - 2], &elf) : NT_E_INVALID;

	if (!err)
		err = nt_elf_add(elf, image, 0, 0);
	if (err) {
		fprintf(stderr, "usage: insns [-t] ELF TRACE: %s\n", nt_elf_error_text(err));
	} else {
		nt_elf_info(elf, &info, sizeof(info));
		config.xlen = info.xlen;
		config.isa = info.isa;
		config.timestamp = !strcmp(argv[1], "-t");
		status = print_trace(&config, image, trace);
	}
	nt_image_free(image);
	nt_elf_close(elf);
	if (trace)
		fclose(trace);
	return status;
}
