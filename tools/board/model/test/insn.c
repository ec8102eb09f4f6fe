// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests of each row of N-Trace 1.0, table "Generating itype for different instructions". */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "insn.h"

#define RV32	NB_INSN_RV32
#define ZC	(NB_INSN_ZCMP | NB_INSN_ZCMT)

static const struct row {
	uint32_t	opcode;
	unsigned int	flags;
	uint8_t		len, kind, itype;
	int32_t		offset;
	const char	*text;
} rows[] = {
	{ 0x00100073, 0, 2, NB_INSN_ECALL, 1, 0, "ebreak" },
	{ 0x00000073, 0, 2, NB_INSN_ECALL, 1, 0, "ecall" },
	{ 0x00009002, 0, 1, NB_INSN_ECALL, 1, 0, "c.ebreak" },
	{ 0x30200073, 0, 2, NB_INSN_XRET, 3, 0, "mret" },
	{ 0x10200073, 0, 2, NB_INSN_XRET, 3, 0, "sret" },
	{ 0x10500073, 0, 2, NB_INSN_LINEAR, 0, 0, "wfi" },
	{ 0xfe0008e3, 0, 2, NB_INSN_BRANCH, 5, -16, "beqz zero, .-16" },
	{ 0x7ea5dfe3, 0, 2, NB_INSN_BRANCH, 5, 4094, "bge a1, a0, .+4094" },
	{ 0x0000c211, 0, 1, NB_INSN_BRANCH, 5, 4, "c.beqz a2, .+4" },
	{ 0x0000fdfd, 0, 1, NB_INSN_BRANCH, 5, -2, "c.bnez a1, .-2" },
	{ 0x004000ef, 0, 2, NB_INSN_DIRECT, 9, 4, "jal ra, .+4" },
	{ 0x004002ef, 0, 2, NB_INSN_DIRECT, 9, 4, "jal t0, .+4" },
	{ 0xffdff06f, 0, 2, NB_INSN_DIRECT, 11, -4, "j .-4" },
	{ 0x0040056f, 0, 2, NB_INSN_DIRECT, 15, 4, "jal a0, .+4" },
	{ 0x000500e7, 0, 2, NB_INSN_INDIRECT, 8, 0, "jalr ra, a0" },
	{ 0x000080e7, 0, 2, NB_INSN_INDIRECT, 8, 0, "jalr ra, ra" },
	{ 0x000280e7, 0, 2, NB_INSN_INDIRECT, 12, 0, "jalr ra, t0" },
	{ 0x000082e7, 0, 2, NB_INSN_INDIRECT, 12, 0, "jalr t0, ra" },
	{ 0x00008067, 0, 2, NB_INSN_INDIRECT, 13, 0, "ret" },
	{ 0x00028567, 0, 2, NB_INSN_INDIRECT, 13, 0, "jalr a0, t0" },
	{ 0x00050067, 0, 2, NB_INSN_INDIRECT, 10, 0, "jr a0" },
	{ 0x00058567, 0, 2, NB_INSN_INDIRECT, 14, 0, "jalr a0, a1" },
	{ 0x00002009, RV32, 1, NB_INSN_DIRECT, 9, 2, "c.jal .+2" },
	{ 0x00002009, 0, 1, NB_INSN_LINEAR, 0, 0, "c.addiw on RV64" },
	{ 0x00009282, 0, 1, NB_INSN_INDIRECT, 12, 0, "c.jalr t0" },
	{ 0x00009082, 0, 1, NB_INSN_INDIRECT, 8, 0, "c.jalr ra" },
	{ 0x00009502, 0, 1, NB_INSN_INDIRECT, 8, 0, "c.jalr a0" },
	{ 0x00008082, 0, 1, NB_INSN_INDIRECT, 13, 0, "c.jr ra" },
	{ 0x00008282, 0, 1, NB_INSN_INDIRECT, 13, 0, "c.jr t0" },
	{ 0x00008502, 0, 1, NB_INSN_INDIRECT, 10, 0, "c.jr a0" },
	{ 0x0000a001, 0, 1, NB_INSN_DIRECT, 11, 0, "c.j ." },
	{ 0x0000bffd, 0, 1, NB_INSN_DIRECT, 11, -2, "c.j .-2" },
	{ 0x0000a002, ZC, 1, NB_INSN_TABLE, 11, 0, "cm.jt 0" },
	{ 0x0000a07e, ZC, 1, NB_INSN_TABLE, 11, 0, "cm.jt 31" },
	{ 0x0000a082, ZC, 1, NB_INSN_TABLE, 9, 0, "cm.jalt 32" },
	{ 0x0000a002, 0, 1, NB_INSN_LINEAR, 0, 0, "c.fsdsp where Zcd is" },
	{ 0x0000be42, ZC, 1, NB_INSN_INDIRECT, 13, 0, "cm.popret" },
	{ 0x0000bc42, ZC, 1, NB_INSN_INDIRECT, 13, 0, "cm.popretz" },
	{ 0x0000ba42, ZC, 1, NB_INSN_LINEAR, 0, 0, "cm.pop" },
	{ 0x0000be42, 0, 1, NB_INSN_LINEAR, 0, 0, "c.fsdsp where Zcd is" },
	{ 0x00008532, 0, 1, NB_INSN_LINEAR, 0, 0, "c.mv a0, a2" },
	{ 0x00000013, 0, 2, NB_INSN_LINEAR, 0, 0, "nop" },
	{ 0x0000001f, 0, 3, NB_INSN_LINEAR, 0, 0, "48 bits" },
	{ 0x0000003f, 0, 4, NB_INSN_LINEAR, 0, 0, "64 bits" },
	{ 0x00002063, 0, 2, NB_INSN_LINEAR, 0, 0, "reserved branch" },
};

static void test_table(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct nb_insn insn;

		nb_insn_classify(r->opcode, r->flags, &insn);
		if (insn.len != r->len || insn.kind != r->kind || insn.itype != r->itype ||
		    insn.offset != r->offset)
			fail_msg("%s: len %u kind %u itype %u offset %d", r->text, insn.len, insn.kind,
				 insn.itype, insn.offset);
	}
}

/* A jump is sequentially inferable if its target is "supplied via an LUI or C.LUI or an AUIPC". */
static void test_constants(void **state)
{
	static const struct { uint32_t opcode; uint8_t sets, uses; } cases[] = {
		{ 0x00001537, 10, 0 },		/* lui a0, 1 sets a0 */
		{ 0x00000317, 6, 0 },		/* auipc t1, 0 sets t1 */
		{ 0x00006505, 10, 0 },		/* c.lui a0, 1 sets a0 */
		{ 0x00006501, 0, 0 },		/* c.lui a0, 0 is a reserved encoding */
		{ 0x00006141, 0, 0 },		/* c.addi16sp sp, 16 does not set sp to a constant */
		{ 0x00000037, 0, 0 },		/* lui zero, 0 sets no register */
		{ 0x00050067, 0, 10 },		/* jr a0 uses a0 */
		{ 0x00008082, 0, 1 },		/* c.jr ra uses ra */
		{ 0x0000be42, 0, 0 },		/* cm.popret, which loads its target from memory */
	};
	struct nb_insn insn;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		nb_insn_classify(cases[i].opcode, NB_INSN_ZCMP, &insn);
		assert_int_equal(insn.sets, cases[i].sets);
		assert_int_equal(insn.uses, cases[i].uses);
	}
}

static void test_wide_hash(void **state)
{
	uint64_t a[2] = { 5, ~0ULL }, b[2] = { 5, 1 };

	(void)state;
	assert_int_equal(nb_wide_hash(a, 65), nb_wide_hash(b, 65));	/* @a and @b differ only above bit 64 */
	assert_int_not_equal(nb_wide_hash(a, 66), nb_wide_hash(b, 66));
	assert_int_not_equal(nb_wide_hash(a, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_constants),
		cmocka_unit_test(test_wide_hash),
	};

	return cmocka_run_group_tests_name("insn", tests, NULL, NULL);
}
