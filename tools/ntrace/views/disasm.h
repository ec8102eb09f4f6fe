/* SPDX-License-Identifier: GPL-2.0-only */
/* Disassemble instructions with the library capstone, if the build includes it. */
#ifndef NTRACE_TOOL_DISASM_H
#define NTRACE_TOOL_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool disasm_available(void);

/*
 * disasm() - disassemble one instruction. Return false if the instruction is unknown. Several
 * threads may call this function at the same time.
 */
bool disasm(uint64_t addr, const uint8_t *code, size_t size, char *text, size_t room);

#endif /* NTRACE_TOOL_DISASM_H */
