// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Print the calls of a program, indented, from its raw N-Trace:
 *
 *	cc calls.c -o calls $(pkg-config --cflags --libs libntrace)
 *	./calls TRACE CODE ADDRESS
 *
 * CODE is the content of the program's memory from ADDRESS on, such as the output of
 * `objcopy -O binary`.
 */
#include <inttypes.h>
#include <ntrace/ntrace.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(1 << 20);

	if (!file || !data) {
		perror(path);
		exit(2);
	}
	*size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	struct nt_config config = NT_CONFIG_INIT;	/* options of the encoder go here */
	struct nt_image *image = nt_image_new();
	size_t trace_size, code_size, depth = 0;
	uint8_t *trace, *code;
	struct nt_flow *flow;
	char text[NT_ITEM_DESC_MAX];
	struct nt_item item;
	int status = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: calls TRACE CODE ADDRESS\n");
		return 2;
	}
	trace = read_file(argv[1], &trace_size);
	code = read_file(argv[2], &code_size);
	nt_image_add(image, 0, strtoull(argv[3], NULL, 0), code, code_size);
	flow = nt_flow_new(&config, image);
	nt_flow_feed(flow, trace, trace_size);
	while (nt_flow_next(flow, &item) > 0) {
		if (item.type == NT_ITEM_ERROR || item.type == NT_ITEM_GAP) {
			nt_item_desc(&item, text, sizeof(text));
			fprintf(stderr, "%s\n", text);
			status = 1;
		}
		if (item.type != NT_ITEM_RANGE)
			continue;
		if (item.range.how == NT_END_CALL || item.range.how == NT_END_INDIRECT_CALL)
			printf("%*s0x%" PRIx64 "\n", (int)(2 * depth++), "", item.range.dest);
		else if (item.range.how == NT_END_RETURN && depth)
			depth--;
	}
	nt_flow_free(flow);
	nt_image_free(image);
	free(trace);
	free(code);
	return status;
}
