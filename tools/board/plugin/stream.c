// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report exactly the instructions that a hart retires to its encoder and truth file.
 *
 * QEMU executes translation blocks (TB). It calls stream_tb_exec() when a hart
 * enters a TB, and sets a flag (board_score.reached) when the last instruction of
 * the TB starts. The plugin determines the end of a TB when the hart enters the
 * next TB or takes a trap.
 *
 *	last instruction started	The whole TB has retired. The next pc shows whether
 *					a branch was taken, or is the target of a jump.
 *	not started			The hart has left the TB in the middle (a trap,
 *					or a device access that QEMU executes in
 *					another TB). The number of retired instructions
 *					follows from the next pc, or from the pc of the
 *					instruction that trapped.
 *
 * QEMU translates a TB for one address, but the TB may also run at other addresses
 * with the same offset in the page, if the same code is mapped more than once.
 * After linear code, branches and direct jumps, the address at which a TB runs
 * follows from the address of the previous TB. The plugin reads the pc register
 * only after an indirect jump, a trap or a return. It never reads the pc register
 * for TBs at addresses of the kernel.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board.h"

#define PAGE_OFFSET_MASK	0xfffULL
#define ARENA_SIZE		(4 << 20)
/* Addresses of the virt machine, for its test device, reset vector and firmware */
#define POWER_OFF		0x100000
#define RESET_VECTOR		0x1000ULL
#define FIRMWARE		0x80000000ULL
#define FIRMWARE_SIZE		0x200000
/* Value of tb_info.target if the TB has no fixed target. It is odd, so that no pc is equal to the base plus 1. */
#define NO_TARGET		1
/*
 * Value that is used instead of an itype if the code does not lead to the next pc. The ingress port does not use
 * this value.
 */
#define UNEXPLAINED		7

struct arena {
	struct arena *next;
	size_t used;
	uint64_t mem[] __attribute__((aligned(64)));
};

/*
 * @infos contains each struct tb_info, which is read often. @codes contains each struct tb_code, which is read
 * rarely.
 */
static struct arena *infos, *codes;
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;

static void *arena_alloc(struct arena **arenas, size_t size)
{
	struct arena *a = *arenas;
	void *p;

	if (!a || a->used + size > ARENA_SIZE) {
		a = aligned_alloc(64, sizeof(*a) + ARENA_SIZE);
		if (!a)
			board_fatal("out of memory for translated blocks");
		a->used = 0;
		a->next = *arenas;
		*arenas = a;
	}
	p = (char *)a->mem + a->used;
	a->used += size;
	return p;
}

static void arena_free(struct arena **arenas)
{
	struct arena *a, *next;

	for (a = *arenas; a; a = next) {
		next = a->next;
		free(a);
	}
	*arenas = NULL;
}

static size_t code_size(unsigned int ninsn, unsigned int half_words)
{
	return (sizeof(struct tb_code) + (ninsn + 63) / 64 * 8 + 2 * half_words + 7) & ~(size_t)7;
}

/* Return the address of the code of a TB, which is stored after tb_code.wide. */
static uint8_t *code_bytes(struct tb_code *code, unsigned int ninsn)
{
	return (uint8_t *)(code->wide + (ninsn + 63) / 64);
}

/*
 * Free all TBs, because QEMU drops its translations. Copy the TBs whose end was not reported. No hart executes code at
 * this time.
 */
void stream_flush(void *opaque)
{
	for (unsigned int i = 0; i < board.n_harts; i++) {
		struct hart *h = &board.harts[i];
		struct tb_code *code = (struct tb_code *)h->kept_code;

		if (!h->cur || h->cur == &h->kept)
			continue;
		h->kept = *h->cur;
		memcpy(code, h->cur->code, code_size(h->cur->ninsn, h->cur->half_words));
		code->bytes = code_bytes(code, h->cur->ninsn);
		h->kept.code = code;
		h->cur = &h->kept;
	}
	arena_free(&infos);
	arena_free(&codes);
}

static inline void retire(struct hart *h, const struct nb_ingress *blk)
{
	static const struct nb_trace_state untraced;

	h->stats.retired += blk->ninsn;
	if (h->te)
		nb_te_ingress(h->te, blk, h->truth);
	else if (h->truth)
		nb_truth_block(h->truth, blk, &untraced);
}

/* Report a block that consists of one instruction, which the caller has executed. */
void stream_emit(struct hart *h, uint64_t addr, uint32_t half_words, uint32_t opcode)
{
	static const uint64_t wide[2] = { 0, 1 };
	const uint64_t *bits = &wide[half_words == 2];
	const uint8_t *code = (const uint8_t *)&opcode;
	struct nb_ingress blk = {
		.iaddr = addr, .iretire = half_words, .ninsn = 1, .ilastsize = half_words,
		.itype = NB_ITYPE_NONE, .priv = h->priv, .wide = bits, .code = code,
		.wide_hash = nb_code_hash(code, 2 * half_words),
	};

	h->sets = 0;
	retire(h, &blk);
}

static void edge(struct hart *h, uint64_t next)
{
	if (h->stats.edges++ < 8)
		board_warn("hart %u: unexpected jump from %#llx to %#llx", h->index,
			   (unsigned long long)h->base, (unsigned long long)next);
}

/* Return a block with all instructions of h->cur, whose itype is that of the last instruction. */
static inline struct nb_ingress whole_block(const struct hart *h)
{
	const struct tb_info *t = h->cur;

	return (struct nb_ingress) {
		.iaddr = h->base, .iretire = t->half_words, .ninsn = t->ninsn, .ilastsize = t->last,
		.itype = t->itype, .priv = h->priv, .sijump = t->sijump,
		.wide_hash = t->code->hash, .wide = t->code->wide, .code = t->code->bytes,
	};
}

/* Retire the start of h->cur, up to but excluding the instruction at @next. */
static void retire_head(struct hart *h, uint64_t next)
{
	const struct tb_info *t = h->cur;
	struct nb_ingress blk = whole_block(h);
	uint64_t len = next - h->base, off = 0;
	uint32_t n, size = 0;

	for (n = 0; n < t->ninsn && off < len; n++) {
		size = 1 + (t->code->wide[n / 64] >> n % 64 & 1);
		off += 2 * size;
	}
	if (off != len) {
		edge(h, next);
		return;
	}
	h->stats.partial++;
	h->sets = 0;
	if (!n)
		return;
	/* If the hart leaves a TB after a wfi, QEMU's count includes the instructions after the wfi */
	if (size == 2 && !memcmp(t->code->bytes + off - 4, &(uint32_t){ WFI }, 4))
		h->uncounted += t->ninsn - n;
	blk.iretire = len / 2;
	blk.ninsn = n;
	blk.ilastsize = size;
	blk.itype = NB_ITYPE_NONE;
	blk.sijump = false;
	retire(h, &blk);
}

/* Return true if the last instruction jumps to a target that the instruction itself does not contain. */
static inline bool leads_anywhere(const struct tb_info *t)
{
	return t->kind >= NB_INSN_TABLE && t->kind <= NB_INSN_XRET;
}

/*
 * Return the itype of @t, which ran completely at @base, if the hart continues at @next. Return UNEXPLAINED if
 * @t does not lead to @next. If the target of a branch is the next instruction, it is reported as not taken.
 */
static inline unsigned int outcome(const struct tb_info *t, uint64_t base, uint64_t next)
{
	if (next == base + 2 * t->half_words)
		return t->itype_fall;
	return next == base + t->target || leads_anywhere(t) ? t->itype : UNEXPLAINED;
}

/*
 * Return true if a branch is reported as taken although its target is the next instruction. The plugin does not
 * know whether such branches are taken, and either report is valid.
 */
static bool next_is_taken(const struct hart *h)
{
	return board.te_caps.variant & NB_VARIANT_BRANCH_NEXT && h->stats.retired & 1;
}

/* Report the instructions of h->cur that the hart has executed. After them, it continues at @next. */
static NB_NOINLINE void finish(struct hart *h, uint64_t next)
{
	const struct tb_info *t = h->cur;
	struct nb_ingress blk = whole_block(h);
	unsigned int itype = outcome(t, h->base, next);

	if (NB_UNLIKELY(!h->score->reached)) {
		retire_head(h, next);
		h->cur = NULL;
		return;
	}
	h->cur = NULL;
	if (NB_UNLIKELY(itype == UNEXPLAINED))
		edge(h, next);
	else if (itype != NB_ITYPE_NOT_TAKEN || t->target != 2 * t->half_words || !next_is_taken(h))
		blk.itype = itype;
	if (t->kind == NB_INSN_XRET)
		h->have_priv = false;
	if (NB_UNLIKELY(t->first_uses && t->first_uses == h->sets))
		blk.sijump = true;
	h->sets = t->sets;
	retire(h, &blk);
}

static uint64_t read_pc(struct hart *h)
{
	h->stats.pc_reads++;
	return board_reg_read(REG_PC);
}

static inline bool may_be(uint64_t pc, const struct tb_info *t)
{
	return !((pc ^ t->pc0) & PAGE_OFFSET_MASK);
}

/* Return the address at which @t is about to run. */
static inline uint64_t tb_pc(struct hart *h, const struct tb_info *t)
{
	const struct tb_info *cur = h->cur;
	uint64_t fall, target;

	if (t->exact)
		return t->pc0;
	if (!cur)
		return h->have_expect && may_be(h->expect, t) ? h->expect : read_pc(h);
	if (!h->score->reached)
		return read_pc(h);
	fall = h->base + 2 * cur->half_words;
	target = h->base + cur->target;
	switch (cur->kind) {
	case NB_INSN_LINEAR:
		return may_be(fall, t) ? fall : read_pc(h);
	case NB_INSN_DIRECT:
		return may_be(target, t) ? target : read_pc(h);
	case NB_INSN_BRANCH:
		if (may_be(fall, t) != may_be(target, t))
			return may_be(fall, t) ? fall : target;
		return read_pc(h);
	default:
		return read_pc(h);
	}
}

static inline void begin(struct hart *h, const struct tb_info *t, uint64_t pc)
{
	h->cur = t;
	h->base = pc;
	h->score->reached = 0;
}

/*
 * Delay the hart if it has executed more instructions per millisecond than option pace allows. A hart that was
 * slower for some time must not be faster later.
 */
static NB_NOINLINE void pace(struct hart *h)
{
	uint64_t now, due;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000000ULL + t.tv_nsec;
	due = h->pace_ns + (h->stats.retired - h->pace_retired) * 1000000 / board.pace;
	/* Without tracing, do not delay the hart */
	if (!h->te || !h->te->enc.enabled)
		due = now;
	if (due > now) {
		t.tv_sec = due / 1000000000;
		t.tv_nsec = due % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	} else {
		due = now;
	}
	h->pace_ns = due;
	h->pace_retired = h->stats.retired;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

static bool stalls(struct hart *h)
{
	if (!h->te)
		return false;
	nb_te_drain(h->te);
	return nb_te_stalls(h->te);
}

/*
 * Stall the hart. "If TE cannot send a message, the hart is stalled until it can." If the encoder still cannot
 * send its messages, wait a short time, and let QEMU enter @t again, which calls this function again. Between
 * two calls, QEMU can stop all harts safely. If no component accepts the messages for board.stall_limit, the
 * board ends the run.
 */
static NB_NOINLINE void stand_still(struct hart *h, const struct tb_info *t)
{
	uint64_t pc, now = now_ms();

	if (!stalls(h)) {
		h->score->gate &= ~(uint64_t)GATE_STALL;
		h->stall_since = 0;
		return;
	}
	if (!h->stall_since) {
		h->stats.stalls++;
		h->stall_since = now;
	}
	if (now - h->stall_since > board.stall_limit)
		board_fatal("hart %u stalls forever, because trTeInstStallEna is 1 and its sink accepts no messages",
			    h->index);
	pc = tb_pc(h, t);
	hart_leave(h);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 100000 }, NULL);
	qemu_plugin_set_pc(pc);
}

/*
 * Handle a reset of the machine. QEMU does not report a reset, but the code at the reset vector runs only after
 * a reset. The last block before the reset is reported only if it ran to its end and contains no jump. Otherwise
 * its end is not known. The encoder reports the reset by SYNC 1 ("Core was reset without stopping").
 */
static NB_NOINLINE void was_reset(struct hart *h)
{
	const struct tb_info *cur = h->cur;

	if (cur && h->score->reached && cur->kind == NB_INSN_LINEAR)
		finish(h, h->base + 2 * cur->half_words);
	h->cur = NULL;
	h->have_expect = false;
	h->have_priv = false;
	h->sets = 0;
	mmio_reset(h);
	h->stats.resets++;
	csr_reset(h);
	if (board.reset_lost)
		power_reset(h);
	else if (h->te)
		nb_encoder_notify(&h->te->enc, NB_SYNC_EXIT_RESET);
}

/*
 * Return true if the block after @cur may use another stack or be in another function. @cur is NULL
 * after a trap or a return from a trap.
 */
static bool may_move_stack(const struct tb_info *cur)
{
	return !cur || cur->kind == NB_INSN_ECALL || leads_anywhere(cur) || cur->itype == NB_ITYPE_DIRECT_CALL ||
	       cur->itype == NB_ITYPE_OTHER_DIRECT;
}

/* Report the end of h->cur, of whatever kind it is, and enter @t at @pc. */
static NB_NOINLINE void exec_at(struct hart *h, const struct tb_info *t, uint64_t pc)
{
	bool stack;

	if (NB_UNLIKELY(pc == RESET_VECTOR && h->stats.retired)) {
		was_reset(h);
		/* Return if neither the encoder nor the truth file needs blocks after the reset */
		if (!(h->score->gate & GATE_STREAM)) {
			hart_leave(h);
			return;
		}
	}
	stack = board.truth_stacks && h->truth && h->te && h->te->enc.enabled && may_move_stack(h->cur);
	if (h->cur) {
		finish(h, pc);
	} else if (h->have_expect) {
		if (h->expect != pc)
			edge(h, pc);
		h->have_expect = false;
	}
	if (!h->have_priv) {
		h->priv = board_reg_read(REG_PRIV);
		h->have_priv = true;
	}
	if (stack)
		nb_truth_stack(h->truth, board_reg_read(REG_SP), board_reg_read(REG_TP));
	begin(h, t, pc);
	h->quick = h->counting && h->score->gate == GATE_STREAM;
	hart_leave(h);
	if (NB_UNLIKELY(board.pace && h->stats.retired - h->pace_retired > board.pace / 4))
		pace(h);
}

static NB_NOINLINE void exec_closely(struct hart *h, const struct tb_info *t)
{
	hart_wait(h);
	if (NB_UNLIKELY((h->score->gate & (GATE_STALL | GATE_MMIO)) == GATE_STALL))
		stand_still(h, t);
	if (NB_UNLIKELY(h->score->gate != GATE_STREAM)) {
		if ((h->score->gate & GATE_MMIO && mmio_step(h)) || !(h->score->gate & GATE_STREAM)) {
			hart_leave(h);
			return;
		}
	}
	exec_at(h, t, tb_pc(h, t));
}

static NB_NOINLINE void exec_jump(struct hart *h, const struct tb_info *jumped, uint64_t pc)
{
	nb_encoder_jump(h->counting, jumped->half_words, jumped->ninsn, pc);
	hart_leave(h);
}

static NB_NOINLINE void exec_full(struct hart *h)
{
	nb_encoder_full(h->counting);
	hart_leave(h);
}

static NB_NOINLINE void exec_direct(struct hart *h, uint64_t end)
{
	nb_encoder_direct(h->counting, end);
	hart_leave(h);
}

/*
 * Fast path for most blocks. h->quick is set, and h->cur has run to its end. The encoder only counts the
 * instructions of h->cur, or sends the message of its branch or jump. Each call is the last action of the
 * function, so that the compiler need not save registers.
 */
static inline void exec_quickly(struct hart *h, const struct tb_info *t, uint64_t pc)
{
	const struct tb_info *cur = h->cur;
	uint64_t base = h->base;
	unsigned int act = nb_encoder_action(h->counting, outcome(cur, base, pc), h->priv);
	bool full;

	/* exec_at() processes blocks that need nb_encoder_slow(), and blocks that cannot be followed by @pc */
	if (NB_UNLIKELY((act & (NB_ACT_SLOW | NB_ACT_JUMP)) == NB_ACT_SLOW)) {
		exec_at(h, t, pc);
		return;
	}
	h->stats.retired += cur->ninsn;
	h->sets = cur->sets;
	begin(h, t, pc);
	if (act & NB_ACT_JUMP) {
		exec_jump(h, cur, pc);
		return;
	}
	full = nb_encoder_count(h->counting, act, cur->half_words, cur->ninsn);
	if (act & NB_ACT_DIRECT)
		exec_direct(h, base + 2 * cur->half_words);
	else if (NB_UNLIKELY(full))
		exec_full(h);
	else
		hart_leave(h);
}

/* Enter a TB of a user program, which may run at another address than tb_info.pc0. */
static NB_NOINLINE void exec_user(struct hart *h, const struct tb_info *t)
{
	exec_quickly(h, t, tb_pc(h, t));
}

static void stream_tb_exec(unsigned int vcpu, void *opaque)
{
	struct hart *h = &board.harts[vcpu];
	const struct tb_info *t = opaque;

	/* Prevent the compiler from computing the address of the hart again at each use */
	__asm__("" : "+r"(h));
	if (NB_UNLIKELY(!hart_enter(h) || !h->quick || !h->score->reached))
		exec_closely(h, t);
	else if (t->exact)
		exec_quickly(h, t, t->pc0);
	else
		exec_user(h, t);
}

/*
 * Finish h->cur after the instruction at @from trapped. This instruction is in h->cur, or is the next one after it.
 */
static void finish_trapped(struct hart *h, uint64_t from)
{
	const struct tb_info *t = h->cur;
	bool jumped = h->score->reached &&
		(t->kind == NB_INSN_BRANCH || t->kind == NB_INSN_DIRECT || t->kind == NB_INSN_INDIRECT ||
		 t->kind == NB_INSN_TABLE);
	uint64_t last = h->base + 2 * (t->half_words - t->last);

	if (jumped || (h->score->reached && from != last))
		finish(h, from);	/* h->cur is complete, and the fetch of the next instruction trapped */
	else
		retire_head(h, from);
	h->cur = NULL;
}

/*
 * Report a trap that was taken at @from. The hart is already in the privilege mode of the trap handler at @to,
 * and the cause register of this mode contains the cause.
 */
static void trap(struct hart *h, bool interrupt, uint64_t from, uint64_t to)
{
	struct nb_ingress blk = {
		.iaddr = from, .itype = interrupt ? NB_ITYPE_INTERRUPT : NB_ITYPE_EXCEPTION, .ilastsize = 1,
	};
	uint8_t priv = board_reg_read(REG_PRIV);

	if (h->cur) {
		if (interrupt)
			finish(h, from);
		else
			finish_trapped(h, from);
	} else if (h->have_expect && h->expect != from) {
		edge(h, from);
	}
	/* If the first instruction after an xret trapped, the privilege mode of this instruction was not read */
	if (!h->have_priv)
		h->priv = guest_trapped_priv(priv);
	blk.priv = h->priv;
	if (h->te) {
		uint64_t cause = board_reg_read(priv == NB_PRIV_M ? REG_MCAUSE : REG_SCAUSE);

		nb_te_trap(h->te, cause & ~(1ULL << 63), interrupt);
	}
	retire(h, &blk);
	h->sets = 0;
	h->priv = priv;
	h->have_priv = true;
	h->expect = to;
	h->have_expect = true;
}

static void truth_time(struct hart *h)
{
	if (h->truth && h->stats.retired - h->truth_time_at > (board.truth_stacks ? 100 : 100000)) {
		h->truth_time_at = h->stats.retired;
		nb_truth_time(h->truth, board_time());
	}
}

/*
 * Compare the number of retired instructions with QEMU's count. Between two TBs, both numbers must be equal,
 * except for the instructions after a wfi in its TB. QEMU counts these instructions when the hart starts to wait,
 * and a second time when the hart continues.
 */
static void check_minstret(struct hart *h, uint64_t from)
{
	uint64_t now, theirs, ours;

	if (h->stats.retired < h->minstret_next)
		return;
	now = board_reg_read(REG_MINSTRET);
	theirs = now - h->minstret_last - h->uncounted;
	ours = h->stats.retired - h->retired_last;
	if (h->minstret_last) {
		h->minstret_checks++;
		if (theirs != ours)
			h->minstret_diffs++;
		if (h->minstret_checks <= 16 || theirs != ours)
			board_warn("hart %u: check %llu of minstret: QEMU counts %llu instructions, and the board %llu, with %llu interrupts before %#llx%s",
				   h->index, (unsigned long long)h->minstret_checks, (unsigned long long)theirs,
				   (unsigned long long)ours,
				   (unsigned long long)(h->stats.interrupts - h->interrupts_last),
				   (unsigned long long)from, theirs == ours ? "" : ": the numbers must be equal");
	}
	h->minstret_last = now;
	h->retired_last = h->stats.retired;
	h->interrupts_last = h->stats.interrupts;
	h->uncounted = 0;
	h->minstret_next = h->stats.retired + board.check_minstret;
}

void stream_discon(unsigned int vcpu, enum qemu_plugin_discon_type type, uint64_t from, uint64_t to,
		   void *opaque)
{
	struct hart *h = &board.harts[vcpu];
	bool interrupt = type == QEMU_PLUGIN_DISCON_INTERRUPT;

	if (type == QEMU_PLUGIN_DISCON_HOSTCALL)
		return;
	if (NB_UNLIKELY(board.latency))
		latency_trap(h, to);
	hart_enter_wait(h);
	h->quick = false;
	if (!interrupt && mmio_fault(h, from)) {
		if (h->cur)
			finish_trapped(h, from);
	} else if (h->score->gate & GATE_STREAM) {
		if (interrupt)
			h->stats.interrupts++;
		else
			h->stats.exceptions++;
		trap(h, interrupt, from, to);
		truth_time(h);
		if (NB_UNLIKELY(board.check_minstret))
			check_minstret(h, from);
		if (NB_UNLIKELY(board.limit && h->stats.retired >= board.limit))
			board_end(h);
	}
	hart_leave(h);
	if (NB_UNLIKELY(board.irq_due) && board.icount)
		topology_raise();
}

/*
 * Start to report blocks if @on is true, because the encoder needs them. Otherwise stop, unless the truth or an option
 * needs them. The caller is the thread of the hart, or has claimed the components.
 */
void stream_gate(struct hart *h, bool on)
{
	on = on || (h->truth && !board.truth_traced) || board.check_minstret || board.limit;
	/* Record the end of the session, because the next block in the truth may belong to the next session */
	if (!on && h->truth && h->te)
		nb_truth_state(h->truth, &h->te->enc.state);
	h->counting = h->te && !h->truth && !h->te->split ? &h->te->enc : NULL;
	h->quick = false;
	if (on == !!(h->score->gate & GATE_STREAM))
		return;
	h->cur = NULL;
	h->have_expect = false;
	h->have_priv = false;
	h->sets = 0;
	h->score->gate ^= GATE_STREAM;
}

static unsigned int tb_half_words(struct qemu_plugin_tb *tb, size_t n)
{
	unsigned int len = 0;

	for (size_t i = 0; i < n; i++)
		len += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	return len / 2;
}

/* Return the itype of a TB that ends with @insn, if the hart continues at the address after @insn. */
static uint8_t fall_through(const struct nb_insn *insn)
{
	switch (insn->kind) {
	case NB_INSN_BRANCH:
		return NB_ITYPE_NOT_TAKEN;
	case NB_INSN_DIRECT:
		return insn->offset == 2 * insn->len ? insn->itype : UNEXPLAINED;
	case NB_INSN_ECALL:
		return UNEXPLAINED;
	default:
		return insn->itype;
	}
}

/*
 * Return the flags for an instruction. Zcmp and Zcmt use the opcodes of c.fsdsp (Zcd) for cm.popret
 * and cm.jt. QEMU's disassembler knows which extension the hart has.
 */
static unsigned int insn_flags(struct qemu_plugin_insn *insn, uint32_t opcode)
{
	unsigned int flags = 0;
	char *text;

	if ((opcode & 0xe003) != 0xa002)
		return 0;
	text = qemu_plugin_insn_disas(insn);
	if (text && !strncmp(text, "cm.", 3))
		flags = NB_INSN_ZCMP | NB_INSN_ZCMT;
	g_free(text);
	return flags;
}

static struct tb_info *tb_describe(struct qemu_plugin_tb *tb, size_t n)
{
	unsigned int half_words = tb_half_words(tb, n);
	struct tb_info *t = arena_alloc(&infos, sizeof(*t));
	struct tb_code *code = arena_alloc(&codes, code_size(n, half_words));
	uint8_t *bytes = code_bytes(code, n);
	struct nb_insn insn = { 0 };
	uint32_t opcode = 0, len = 0;

	memset(t, 0, sizeof(*t));
	memset(code, 0, code_size(n, half_words));
	t->pc0 = qemu_plugin_tb_vaddr(tb);
	t->exact = t->pc0 >> 63;
	for (size_t i = 0; i < n; i++) {
		uint8_t sets = insn.sets;

		struct qemu_plugin_insn *theirs = qemu_plugin_tb_get_insn(tb, i);

		opcode = 0;
		qemu_plugin_insn_data(theirs, &opcode, sizeof(opcode));
		nb_insn_classify(opcode, insn_flags(theirs, opcode), &insn);
		memcpy(bytes + len, &opcode, insn.len == 1 ? 2 : 4);
		if (insn.len == 2)
			code->wide[i / 64] |= 1ULL << i % 64;
		if (i == n - 1) {
			t->sijump = insn.kind == NB_INSN_INDIRECT && insn.uses && insn.uses == sets;
			t->target = len + insn.offset;
			if (n == 1 && insn.kind == NB_INSN_INDIRECT)
				t->first_uses = insn.uses;
		}
		len += 2 * insn.len;
	}
	t->kind = insn.kind;
	t->sets = insn.sets;
	t->half_words = len / 2;
	t->ninsn = n;
	t->last = insn.len;
	t->itype = insn.itype;
	t->itype_fall = fall_through(&insn);
	if (insn.kind != NB_INSN_BRANCH && insn.kind != NB_INSN_DIRECT)
		t->target = NO_TARGET;
	t->code = code;
	code->bytes = bytes;
	code->hash = nb_code_hash(bytes, len);
	return t;
}

static void firmware_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t addr, void *opaque)
{
	(void)info, (void)opaque;
	if (addr == POWER_OFF)
		board_power_off(&board.harts[vcpu]);
}

void stream_tb_trans(struct qemu_plugin_tb *tb, void *opaque)
{
	qemu_plugin_u64 gate = { board.scores, offsetof(struct board_score, gate) };
	qemu_plugin_u64 reached = { board.scores, offsetof(struct board_score, reached) };
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	struct qemu_plugin_insn *insn = NULL;
	struct tb_info *t;

	if (n > TB_MAX_INSNS)
		board_fatal("a translated block has %zu instructions, which no known QEMU does", n);
	pthread_mutex_lock(&arena_lock);
	t = tb_describe(tb, n);
	pthread_mutex_unlock(&arena_lock);
	for (size_t i = 0; i < n; i++) {
		uint32_t opcode = 0;

		insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_insn_data(insn, &opcode, sizeof(opcode));
		csr_instrument(insn, opcode, pc);
		if (board.cached_size && pc == RESET_VECTOR)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, cache_reset, QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (board.deep_idle)
			power_instrument(insn, opcode);
		if (board.incoherent || board.cached_size)
			cache_instrument(insn, opcode);
		if (board.latency)
			latency_instrument(insn, opcode);
		if (board.icount && pc - FIRMWARE < FIRMWARE_SIZE)
			qemu_plugin_register_vcpu_mem_cb(insn, firmware_store, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W, NULL);
		pc += qemu_plugin_insn_size(insn);
	}
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_STORE_U64, reached, 1);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, stream_tb_exec, QEMU_PLUGIN_CB_RW_REGS_PC,
						  QEMU_PLUGIN_COND_NE, gate, 0, t);
}
