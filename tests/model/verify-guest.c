// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a trace and its truth. A host and its guest execute in turns, and each has its own code. With
 * "same", the code of host and guest is at the same address, like that of two kernels.
 *
 *	verify-guest same|other TURNS TRUTH TRACE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoder.h"
#include "insn.h"
#include "truth.h"

#define HANDLER	0xffffffff80000000ULL

/*
 * The host executes addi x0, x0, 0 and sret. The guest executes c.nop three times, and then ecall,
 * which does not retire.
 */
static const uint8_t host_code[] = { 0x13, 0, 0, 0, 0x73, 0, 0x20, 0x10 };
static const uint8_t guest_code[] = { 1, 0, 1, 0, 1, 0 };

static bool write_message(void *file, const uint8_t *bytes, size_t len)
{
	return fwrite(bytes, 1, len, file) == len;
}

static void run(struct nb_encoder *enc, struct nb_truth_writer *truth, struct nb_ingress *blk,
		const uint64_t *wide)
{
	blk->wide = wide;
	blk->wide_hash = nb_code_hash(blk->code, 2 * blk->iretire);
	nb_encoder_ingress(enc, blk);
	nb_truth_block(truth, blk, &enc->state);
}

int main(int argc, char **argv)
{
	const struct nb_encoder_config cfg = { .mode = NB_MODE_HTM, .context = true };
	static const uint64_t all = 3, none;
	struct nb_ingress host = {
		.iaddr = HANDLER, .iretire = 4, .ninsn = 2, .ilastsize = 2, .itype = NB_ITYPE_TRAP_RETURN,
		.priv = NB_PRIV_S, .code = host_code,
	};
	struct nb_ingress guest = {
		.iaddr = HANDLER, .iretire = 3, .ninsn = 3, .ilastsize = 1, .itype = NB_ITYPE_EXCEPTION,
		.priv = NB_PRIV_VS, .code = guest_code,
	};
	struct nb_truth_writer *truth;
	static struct nb_encoder enc;
	FILE *trace;
	long turns;

	if (argc != 5)
		return 2;
	if (!strcmp(argv[1], "other"))
		guest.iaddr += 1 << 20;
	truth = nb_truth_create(argv[3], 0);
	trace = fopen(argv[4], "w");
	if (!truth || !trace)
		return 2;
	nb_encoder_init(&enc, &cfg, write_message, trace);
	nb_encoder_start(&enc, NB_SYNC_TRACE_ENABLE);
	for (turns = atol(argv[2]); turns; turns--) {
		run(&enc, truth, &host, &all);
		run(&enc, truth, &guest, &none);
	}
	nb_encoder_stop(&enc, NB_EVCODE_DISABLED);
	nb_truth_state(truth, &enc.state);
	return nb_truth_close(truth) || fclose(trace);
}
