/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* An instruction as text, if capstone is there; else its bytes */
#ifndef EXAMPLES_DISASSEMBLE_H
#define EXAMPLES_DISASSEMBLE_H

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>

static inline void print_insn(unsigned int xlen, uint64_t addr, const uint8_t *code, int length)
{
	static csh handle;
	cs_insn *insn;
	int mode = (xlen == 32 ? CS_MODE_RISCV32 : CS_MODE_RISCV64) | CS_MODE_RISCVC;

	if (!handle && cs_open(CS_ARCH_RISCV, (cs_mode)mode, &handle))
		return;
	if (!cs_disasm(handle, code, length, addr, 1, &insn))
		return;
	printf("%s %s", insn->mnemonic, insn->op_str);
	cs_free(insn, 1);
}
#else
static inline void print_insn(unsigned int xlen, uint64_t addr, const uint8_t *code, int length)
{
	(void)xlen;
	(void)addr;
	while (length-- > 0)
		printf("%02x", code[length]);
}
#endif

#endif /* EXAMPLES_DISASSEMBLE_H */
