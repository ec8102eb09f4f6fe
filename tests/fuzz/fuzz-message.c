// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read any bytes as messages, once as a whole, once in pieces, and once as samples of the pins of a trace
 * port. The pieces must give the same messages as the whole.
 *
 * The input is two bytes that choose the options, and then the stream.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t read_all(const struct nt_config *config, const uint8_t *data, size_t size,
			 size_t piece, int middle)
{
	struct nt_reader *reader = nt_reader_new(config);
	uint64_t hash = 0;
	struct nt_message msg;
	char text[512];
	size_t at, n;
	int ret;

	nt_reader_seek(reader, 0, middle);
	for (at = 0; at < size; at += n) {
		n = size - at < piece ? size - at : piece;
		nt_reader_feed(reader, data + at, n);
		while ((ret = nt_reader_next(reader, &msg)) != 0) {
			hash = (hash ^ msg.offset ^ (uint64_t)ret << 32) * 31;
			if (ret < 0)
				continue;
			hash = (hash ^ msg.icnt ^ msg.addr ^ msg.hist ^ msg.tstamp) * 31;
			if (nt_message_desc(&msg, text, sizeof(text)) < 0)
				abort();
		}
	}
	ret = nt_reader_end(reader, &msg);
	nt_reader_free(reader);
	return hash ^ (uint64_t)(ret < 0);
}

static void convert(unsigned int width, const uint8_t *data, size_t size)
{
	struct nt_pins *pins = nt_pins_new(width);
	uint8_t out[64];
	size_t used;

	while (size) {
		if (nt_pins_convert(pins, data, size, &used, out, sizeof(out)) > sizeof(out))
			abort();
		if (!used)
			abort();
		data += used;
		size -= used;
	}
	nt_pins_free(pins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_config config = NT_CONFIG_INIT;
	int middle;

	if (size < 2)
		return 0;
	config.src_bits = data[0] % 13;
	config.timestamp = data[0] >> 7;
	config.xlen = data[0] & 64 ? 32 : 64;
	config.extend_addr = data[0] >> 5 & 1;
	config.dialect = data[1] >> 5 == 7 ? NT_DIALECT_SIFIVE0 : NT_DIALECT_RATIFIED;
	middle = data[1] & 1;
	if (read_all(&config, data + 2, size - 2, SIZE_MAX, middle) !=
	    read_all(&config, data + 2, size - 2, 1 + (data[1] >> 1), middle))
		abort();
	convert(1 << (data[1] & 3), data + 2, size - 2);
	return 0;
}
