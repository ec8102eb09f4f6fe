/* SPDX-License-Identifier: GPL-2.0-only */
/* Disassemble instructions with capstone, if the build has it. */
#ifndef NTRACE_TOOL_DISASM_H
#define NTRACE_TOOL_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool disasm_available(void);

/* disasm() - disassemble one instruction. Return false if it is unknown. Any thread may call it. */
bool disasm(uint64_t addr, const uint8_t *code, size_t size, char *text, size_t room);

#endif /* NTRACE_TOOL_DISASM_H */
