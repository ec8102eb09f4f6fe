// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measure how long a hart in supervisor mode keeps its interrupts off (sstatus.SIE) while it uses trace
 * components. The result does not depend on the speed of the host, because each instruction takes a fixed
 * time, see latency_instrument() and latency_access().
 *
 * A time begins when a trap enters supervisor mode, or when an instruction clears SIE. It ends when an
 * instruction sets SIE, or when an sret restores it or returns to user mode. Only times with an access to
 * a register of a component count, because the kernel has other times with interrupts off. A time
 * includes the firmware that runs in it.
 */
#include "board.h"

#define SSTATUS		0x100
#define SSTATUS_SIE	(1ULL << 1)
#define SRET		0x10200073U

#define NS_INSN		1
#define NS_CACHE	50
#define NS_READ		200
#define NS_WRITE	50

static void begin(struct hart *h, uint64_t pc)
{
	struct latency *l = &h->latency;

	if (l->off)
		return;
	l->off = true;
	l->now = (struct interrupts_off) { .begin = pc, .ns = h->score->spent };
}

static void end(struct hart *h, uint64_t pc)
{
	struct latency *l = &h->latency;

	if (!l->off)
		return;
	l->off = false;
	l->now.ns = h->score->spent - l->now.ns;
	l->now.end = pc;
	if (l->now.reads + l->now.writes && l->now.ns > l->longest.ns)
		l->longest = l->now;
}

/*
 * Count an access to a register of a component. Subtract two instructions, the load or store and the mret after it,
 * because the plugin has counted both although they belong to the access.
 */
void latency_access(struct hart *h, bool store)
{
	h->score->spent += (store ? NS_WRITE : NS_READ) - 2 * NS_INSN;
	if (store)
		h->latency.now.writes++;
	else
		h->latency.now.reads++;
}

/* Handle a trap to @to, which turned off the interrupts of supervisor mode if it entered that mode. */
void latency_trap(struct hart *h, uint64_t to)
{
	if (board_reg_read(REG_PRIV) == NB_PRIV_S)
		begin(h, to);
}

static void latency_csr(unsigned int vcpu, void *opaque)
{
	struct hart *h = &board.harts[vcpu];
	uint64_t value;

	if (!csr_new_value((uintptr_t)opaque, h->latency.off ? 0 : SSTATUS_SIE, &value))
		return;
	if (value & SSTATUS_SIE)
		end(h, board_reg_read(REG_PC));
	else
		begin(h, board_reg_read(REG_PC));
}

static void latency_sret(unsigned int vcpu, void *opaque)
{
	uint64_t status = board_reg_read(REG_MSTATUS);

	(void)opaque;
	if (status & MSTATUS_SPIE || !(status & MSTATUS_SPP))
		end(&board.harts[vcpu], board_reg_read(REG_PC));
}

/**
 * latency_instrument() - count the time of @insn, and watch whether it turns interrupts on or off
 * @insn: Instruction of a block that is being translated
 * @opcode: Bytes of the instruction
 */
void latency_instrument(struct qemu_plugin_insn *insn, uint32_t opcode)
{
	qemu_plugin_u64 spent = { board.scores, offsetof(struct board_score, spent) };
	bool csr = (opcode & 0x7f) == 0x73 && opcode >> 12 & 3 && opcode >> 20 == SSTATUS;

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, spent,
							    cache_is_operation(opcode) ? NS_CACHE : NS_INSN);
	if (csr || opcode == SRET)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, csr ? latency_csr : latency_sret, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)opcode);
}

/* Print the longest time of each hart. */
void latency_report(FILE *f)
{
	for (unsigned int i = 0; board.latency && i < board.n_harts; i++) {
		const struct interrupts_off *o = &board.harts[i].latency.longest;

		fprintf(f, "hart%u interrupts_off_ns=%llu with_reads=%llu with_writes=%llu from=%#llx until=%#llx\n", i,
			(unsigned long long)o->ns, (unsigned long long)o->reads, (unsigned long long)o->writes,
			(unsigned long long)o->begin, (unsigned long long)o->end);
	}
}
