// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encode the execution of a real program in SiFive's pre-ratified messages, flip single bits, and
 * check whether the library detects them.
 *
 *   flips ELF PCS FLIPS SEED htm|btm [implicit-return] [times] [flow-only]
 *
 * PCS is a file with the executed addresses of the program ELF. The program flips FLIPS random bits, one
 * at a time. The words after SEED select the mode and features of the encoder.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/elf.h>

#include "encoder.h"
#include "judge.h"

#define MAX_INSNS	400000

static uint64_t pcs[MAX_INSNS];

static size_t read_pcs(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t nr = 0;

	while (file && nr < MAX_INSNS && fscanf(file, "%" SCNx64, &pcs[nr]) == 1)
		nr++;
	if (file)
		fclose(file);
	return nr;
}

/*
 * Encode that the instruction at @pc has retired. The encoder and the library have the same numbers
 * for the kinds of instructions.
 */
static void retire(struct encoder *encoder, const struct nt_image *image, uint64_t pc,
		   uint64_t next)
{
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;

	if (nt_insn_read(NULL, image, 0, pc, code, &insn) <= 0)
		exit(2);
	encoder_retire(encoder, pc, (enum kind)insn.klass, insn.length / 2,
		       next != pc + insn.length, next);
}

static void encode(const struct setup *setup, const struct nt_image *image, size_t nr,
		   struct stream *stream)
{
	struct encoder encoder = { .setup = setup, .stream = stream, .random = 77777 };
	size_t i;

	encoder_start(&encoder, pcs[0]);
	for (i = 0; i + 1 < nr; i++)
		retire(&encoder, image, pcs[i], pcs[i + 1]);
	encoder_stop(&encoder);
	free(encoder.extra);
}

static void flip(struct nt_image *image, const struct setup *setup, bool flow_only,
		 struct stream *stream, unsigned long nr, uint64_t random, const char *name)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct verdicts verdicts = { 0 };
	struct result good;

	config.dialect = NT_DIALECT_SIFIVE0;
	config.timestamp = setup->timestamp;
	config.tstamp_bits = setup->tstamp_bits;
	config.return_depth = NT_RETURN_DEPTH_SIFIVE0;
	config.flow_only = flow_only;
	good = judge_decode(&config, image, stream->data, stream->size);
	if (good.problems || good.restarts != 1)
		exit(1);
	while (nr--) {
		struct flip flip = {
			.config = &config, .data = stream->data, .size = stream->size,
			.at = next_random(&random) % stream->size,
			.bit = 1 << next_random(&random) % 8,
		};

		judge_flip(&verdicts, &flip, image, &good);
	}
	judge_print(name, stream->size, &verdicts);
}

static bool has(char **argv, const char *word)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct setup setup = {
		.tstamp_bits = 40, .icnt_max = 20, .hist_max = 31, .run_min = 31,
		.sync_period = 256, .addr_bits = 49,
	};
	struct nt_image *image = nt_image_new();
	struct stream stream = { 0 };
	struct nt_elf *elf;
	size_t nr;

	if (argc < 6 || nt_elf_open(argv[1], &elf) || nt_elf_add(elf, image, 0, 0))
		return 2;
	nr = read_pcs(argv[2]);
	setup.btm = has(argv + 5, "btm");
	setup.implicit_return = has(argv + 5, "implicit-return");
	setup.timestamp = has(argv + 5, "times");
	encode(&setup, image, nr, &stream);
	flip(image, &setup, has(argv + 5, "flow-only"), &stream, strtoul(argv[3], NULL, 0),
	     strtoull(argv[4], NULL, 0), argv[5]);
	free(stream.data);
	free(stream.sent);
	nt_image_free(image);
	nt_elf_close(elf);
	return 0;
}
