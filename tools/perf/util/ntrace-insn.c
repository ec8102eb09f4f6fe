// SPDX-License-Identifier: GPL-2.0-only
/*
 * RISC-V instructions for perf script -F +brstackinsn. perf itself decodes the code of any machine
 * as x86 code.
 */
#include <stdio.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/types.h>

#include "dump-insn.h"
#include "env.h"
#include "machine.h"
#include "ntrace.h"
#include <ntrace/ntrace.h>

static bool ntrace_is_riscv(const struct perf_insn *x)
{
	const char *arch = x->machine ? perf_env__arch(x->machine->env) : NULL;

	return arch && !strncmp(arch, "riscv", 5);
}

const char *ntrace_dump_insn(struct perf_insn *x, u64 ip, u8 *inbuf, int inlen, int *lenp)
{
	struct nt_insn insn;
	int i, n;

	if (!ntrace_is_riscv(x))
		return dump_insn(x, ip, inbuf, inlen, lenp);
	if (inlen <= 0 || !nt_insn_decode(NULL, inbuf, inlen, &insn))
		return "<bad>";
	*lenp = insn.length;
	n = scnprintf(x->out, sizeof(x->out), "insn:");
	for (i = 0; i < insn.length; i++)
		n += scnprintf(x->out + n, sizeof(x->out) - n, " %02x", inbuf[i]);
	return x->out;
}

bool ntrace_is_uncond_branch(const struct perf_insn *x, const u8 *buf, size_t len)
{
	struct nt_insn insn;

	if (!ntrace_is_riscv(x))
		return arch_is_uncond_branch(buf, len, x->is64bit);
	return nt_insn_decode(NULL, buf, len, &insn) && insn.klass != NT_CLASS_LINEAR &&
	       insn.klass != NT_CLASS_BRANCH && insn.klass != NT_CLASS_INVALID;
}
