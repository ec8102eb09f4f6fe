// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "disasm.h"

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>

bool disasm_available(void)
{
	return true;
}

bool disasm(uint64_t addr, const uint8_t *code, size_t size, char *text, size_t room)
{
	static __thread csh handle;
	static __thread bool opened;
	cs_insn *insn;

	if (!opened && cs_open(CS_ARCH_RISCV, CS_MODE_RISCV64 | CS_MODE_RISCVC, &handle))
		return false;
	opened = true;
	if (!cs_disasm(handle, code, size, addr, 1, &insn))
		return false;
	snprintf(text, room, "%s%s%s", insn->mnemonic, insn->op_str[0] ? " " : "", insn->op_str);
	cs_free(insn, 1);
	return true;
}
#else
bool disasm_available(void)
{
	return false;
}

bool disasm(uint64_t addr, const uint8_t *code, size_t size, char *text, size_t room)
{
	return false;
}
#endif
