// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Compare the parser of the fast path, which reads only short messages (plain.h), with the parser
 * of all messages. The input is random bytes that resemble messages. If the fast parser accepts a
 * message, the other parser must return the same fields. The test compares them with and without the
 * instruction pext. plain.t also builds this program without SSE2, so that one machine can test each
 * variant of plain.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "plain.h"

#define ROUNDS	2000000

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

static void make_config(struct nt_config *config)
{
	nt_config_init(config, sizeof(*config));
	config->xlen = rnd(4) ? 64 : 32;
	config->src_bits = rnd(2) ? 0 : rnd(13);
	config->timestamp = rnd(2);
	config->extend_addr = rnd(2);
}

/*
 * Write a TCODE and random bytes. On average, one of four bytes ends a field, and one of twelve ends
 * the message.
 */
static void make_message(uint8_t *p, unsigned int size)
{
	static const uint8_t tcodes[] = {
		NT_TCODE_DIRECT_BRANCH, NT_TCODE_INDIRECT_BRANCH, NT_TCODE_INDIRECT_BRANCH_HIST,
		NT_TCODE_RESOURCE_FULL,
	};
	static const uint8_t ends[12] = { 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	unsigned int i;

	for (i = 0; i < size; i++)
		p[i] = (rnd(3) ? rnd(64) : rnd(2)) << 2 | ends[rnd(12)];
	p[0] = tcodes[rnd(4)] << 2;
	if (!rnd(30))
		p[rnd(10)] ^= 1 << rnd(2);
}

static bool same(const struct plain *plain, const struct nt_message *msg, uint16_t src)
{
	bool has_addr = plain->tcode == NT_TCODE_INDIRECT_BRANCH ||
		plain->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;

	return msg->tcode == plain->tcode && msg->length == plain->length && msg->src == src &&
	       !!(msg->fields & NT_FIELD_TSTAMP) == plain->has_tstamp &&
	       (!plain->has_tstamp || msg->tstamp == plain->tstamp) &&
	       (!(msg->fields & NT_FIELD_ICNT) || msg->icnt == plain->icnt) &&
	       (!(msg->fields & NT_FIELD_HIST) || msg->hist == plain->hist) &&
	       (!has_addr || msg->addr == plain->addr);
}

static void report(const struct nt_config *config, const uint8_t *p, const struct plain *plain,
		   struct nt_message *msg, unsigned int round)
{
	int ret = nt_message_parse(config, p, 48, msg);
	unsigned int i;

	printf("round %u: the parsers read TCODE %u of %u bytes differently (RV%u, SRC of %u bits, timestamp %d, extended %d):",
	       round, plain->tcode, plain->length, config->xlen, config->src_bits, config->timestamp,
	       config->extend_addr);
	for (i = 0; i < plain->length; i++)
		printf(" %02x", p[i]);
	printf("\nfast: I-CNT %#llx U-ADDR %#llx HIST %#llx TSTAMP %#llx\n", (unsigned long long)plain->icnt,
	       (unsigned long long)plain->addr, (unsigned long long)plain->hist, (unsigned long long)plain->tstamp);
	printf("slow: %s I-CNT %#llx U-ADDR %#llx HIST %#llx TSTAMP %#llx\n", ret > 0 ? "" : nt_error_name(ret),
	       (unsigned long long)msg->icnt, (unsigned long long)msg->addr, (unsigned long long)msg->hist,
	       (unsigned long long)msg->tstamp);
}

int main(void)
{
	unsigned int round, taken = 0, pext, with_pext = 0;
	struct nt_config config;
	struct nt_message msg;
	uint8_t p[48];

#if defined(__x86_64__)
	with_pext = !!__builtin_cpu_supports("bmi2");
#endif
	for (round = 0; round < ROUNDS; round++) {
		struct plain plain[2] = { { .addr = 0 }, { .addr = 0 } };
		bool ok[2] = { false, false };
		uint16_t src;

		if (!(round % 16))
			make_config(&config);
		make_message(p, sizeof(p));
		src = config.src_bits ? (p[1] >> 2 | p[2] >> 2 << 6) & ((1u << config.src_bits) - 1) : 0;
		if (config.src_bits && !rnd(20))
			src ^= 1;
		for (pext = 0; pext <= with_pext; pext++) {
			ok[pext] = plain_parse(&config, p, plain_find_ends(p), src, pext, &plain[pext]);
			if (!ok[pext])
				continue;
			taken++;
			if (nt_message_parse(&config, p, sizeof(p), &msg) == 1 && same(&plain[pext], &msg, src))
				continue;
			report(&config, p, &plain[pext], &msg, round);
			return 1;
		}
		if (with_pext && ok[0] != ok[1]) {
			printf("round %u: the result with pext differs from that without\n", round);
			return 1;
		}
	}
	printf("%u messages of %u\n", taken, ROUNDS);
	return taken < ROUNDS / 20;
}
