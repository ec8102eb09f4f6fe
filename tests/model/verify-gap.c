// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a trace with a gap, and its truth. The program is a loop whose iterations are all the same, so
 * that the trace after the gap also matches iterations before the gap. Only the number of iterations
 * until the end of the loop shows the right position. Print the number of instructions in the truth,
 * and the offset in the trace at which a session is missing.
 *
 *	verify-gap full|short|middle|twice|session|soon|end|wrong TRUTH TRACE
 *
 * The first argument selects the gap:
 *
 * full: the sink gets full in the loop, so that the end of a session is missing. The next session also
 *	begins in the loop.
 * short: like full, but the next session ends before the loop ends. A third session continues.
 * middle: bytes are missing in the loop. The trace continues with a periodic synchronisation.
 * session: a whole session is missing. The trace itself does not show this.
 * soon: bytes are missing, and soon after them a whole session is missing.
 * end: the sink is full from the middle of a session to the end of the trace. Two more sessions are missing.
 * twice: like middle, but bytes are missing a second time before the loop ends.
 * wrong: like middle, but after the gap the truth has one iteration more than the trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoder.h"
#include "insn.h"
#include "truth.h"

#define LOOP	0xffffffff80000000ULL

struct run {
	struct nb_encoder	enc;
	struct nb_truth_writer	*truth;
	FILE			*trace;
	bool			full;		/* true while the sink is full, and drops all bytes */
	long			missing;	/* offset in the trace at which a whole trace session is missing */
};

/* the loop consists of addi x10, x10, -1 and bnez x10, -4; c.j -8 follows it */
static const uint8_t loop_code[] = { 0x13, 0x05, 0xf5, 0xff, 0xe3, 0x1e, 0x05, 0xfe };
static const uint8_t jump_code[] = { 0xe5, 0xbf };

static bool write_message(void *opaque, const uint8_t *bytes, size_t len)
{
	struct run *r = opaque;

	return r->full || fwrite(bytes, 1, len, r->trace) == len;
}

static void block(struct run *r, uint64_t addr, const uint8_t *code, uint32_t ninsn, uint32_t halfwords,
		  uint8_t itype, bool traced)
{
	static const uint64_t all = 3, none;
	struct nb_ingress blk = {
		.iaddr = addr, .iretire = halfwords, .ninsn = ninsn, .ilastsize = halfwords / ninsn,
		.itype = itype, .priv = NB_PRIV_S, .code = code, .wide = ninsn == 1 ? &none : &all,
	};

	blk.wide_hash = nb_code_hash(blk.code, 2 * blk.iretire);
	if (traced)
		nb_encoder_ingress(&r->enc, &blk);
	nb_truth_block(r->truth, &blk, &r->enc.state);
}

static void turns(struct run *r, unsigned int n)
{
	while (n--)
		block(r, LOOP, loop_code, 2, 4, NB_ITYPE_TAKEN, true);
}

static void end_of_pass(struct run *r)
{
	block(r, LOOP, loop_code, 2, 4, NB_ITYPE_NOT_TAKEN, true);
	block(r, LOOP + 8, jump_code, 1, 1, NB_ITYPE_DIRECT_JUMP, true);
}

static void start(struct run *r)
{
	nb_encoder_start(&r->enc, NB_SYNC_TRACE_ENABLE);
}

static void stop(struct run *r)
{
	nb_encoder_stop(&r->enc, NB_EVCODE_DISABLED);
	nb_truth_state(r->truth, &r->enc.state);
}

/* Lose the end of a session, which contains several periodic synchronisations, and start another session. */
static void lose_end(struct run *r)
{
	r->full = true;
	turns(r, 4000);
	stop(r);
	r->full = false;
	start(r);
}

/* Lose bytes in the middle of a session. A byte with a reserved MSEO reports the loss. */
static void lose_middle(struct run *r)
{
	r->full = true;
	turns(r, 4000);
	r->full = false;
	fputc(2, r->trace);
}

static void lose_from_stop(struct run *r)
{
	turns(r, 500);
	stop(r);
	r->missing = ftell(r->trace);
	r->full = true;
	start(r);
	turns(r, 4000);
	stop(r);
}

static void lose_session(struct run *r)
{
	lose_from_stop(r);
	r->full = false;
	start(r);
}

static void lose_to_end(struct run *r)
{
	lose_from_stop(r);
	start(r);
	turns(r, 300);
	stop(r);
	start(r);
}

static bool lose(struct run *r, const char *how)
{
	if (!strcmp(how, "full")) {
		lose_end(r);
	} else if (!strcmp(how, "short")) {
		lose_end(r);
		turns(r, 300);
		stop(r);
		start(r);
	} else if (!strcmp(how, "middle") || !strcmp(how, "wrong")) {
		lose_middle(r);
	} else if (!strcmp(how, "session")) {
		lose_session(r);
	} else if (!strcmp(how, "soon")) {
		lose_middle(r);
		turns(r, 2000);
		lose_session(r);
	} else if (!strcmp(how, "end")) {
		lose_to_end(r);
	} else if (!strcmp(how, "twice")) {
		lose_middle(r);
		turns(r, 2000);
		lose_middle(r);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	/* send a sync every 16 messages, which is about every 500 iterations */
	const struct nb_encoder_config cfg = { .mode = NB_MODE_HTM, .sync_mode = 1, .sync_max = 0 };
	static struct run r;
	unsigned int pass;

	if (argc != 4)
		return 2;
	r.truth = nb_truth_create(argv[2], 0);
	r.trace = fopen(argv[3], "w");
	if (!r.truth || !r.trace)
		return 2;
	nb_encoder_init(&r.enc, &cfg, write_message, &r);
	start(&r);
	turns(&r, 3000);
	if (!lose(&r, argv[1]))
		return 2;
	turns(&r, 1500);
	block(&r, LOOP, loop_code, 2, 4, NB_ITYPE_TAKEN, strcmp(argv[1], "wrong"));
	for (pass = 0; pass < 3; pass++) {
		end_of_pass(&r);
		turns(&r, 2500 + pass);
	}
	stop(&r);
	printf("%llu %ld\n", (unsigned long long)nb_truth_insns(r.truth), r.missing);
	return nb_truth_close(r.truth) || fclose(r.trace);
}
