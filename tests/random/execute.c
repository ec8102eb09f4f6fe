// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let harts execute random programs. A hart has no registers. Random numbers and the member @habit of
 * struct insn determine the direction of a branch, and the target of an indirect jump.
 * The messages of all harts enter one stream in random order.
 */
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define MAX_CALLS	48
#define MAX_FRAMES	4

enum { PRIV_U = 0, PRIV_S = 1, PRIV_M = 3, V_BIT = 4 };

struct frame {
	uint64_t	pc;
	uint8_t		priv;
	uint32_t	nr_calls;
	uint64_t	calls[MAX_CALLS];
};

struct hart {
	struct world	*world;
	const struct options *opt;
	struct encoder	*encoder;
	struct rng	rng;
	uint32_t	proc;
	uint32_t	depth;
	struct frame	frames[MAX_FRAMES + 1];
	uint32_t	*counts[MAX_PROGRAMS];	/* number of executions of each branch in each program */
	uint32_t	idle_insns;		/* number of instructions since the last branch or indirect jump */
	uint32_t	stopped;		/* number of instructions until trace restarts; 0: trace is enabled */
	uint8_t		start_sync;
};

static struct frame *current(struct hart *h)
{
	return &h->frames[h->depth];
}

static struct program *program_of(struct hart *h, uint64_t pc)
{
	struct program *kernel = h->world->kernel;

	return pc - kernel->base < kernel->size ? kernel : &h->world->programs[h->proc];
}

static uint64_t any_function(struct hart *h, const struct program *p)
{
	return p->insns.v[p->functions.v[rng_below(&h->rng, p->functions.n)]].addr;
}

static uint64_t any_insn(struct hart *h, const struct program *p)
{
	return p->insns.v[rng_below(&h->rng, p->insns.n)].addr;
}

static void set_context(struct hart *h)
{
	const struct program *p = &h->world->programs[h->proc];
	struct xcontext *context = &h->encoder->context;

	context->scontext = p->scontext;
	context->hcontext = p->hcontext;
	context->priv = current(h)->priv;
}

static void set_priv(struct hart *h)
{
	uint8_t old = h->encoder->context.priv;

	h->encoder->context.priv = current(h)->priv;
	if (old != current(h)->priv)
		encoder_context(h->encoder, rng_percent(&h->rng, 20), false);
}

static uint32_t *count_of(struct hart *h, const struct program *p, const struct insn *insn)
{
	return &h->counts[p - h->world->programs][insn - p->insns.v];
}

static bool is_taken(struct hart *h, const struct program *p, const struct insn *insn)
{
	uint32_t n = (*count_of(h, p, insn))++;
	uint32_t period;

	if (rng_percent(&h->rng, h->opt->chance))
		return rng_percent(&h->rng, 50);
	switch (insn->habit) {
	case 0:		/* the branch at the end of a loop, which is not taken in 1 of @period executions */
		period = 2 + (insn->param & (insn->param & 1 << 20 ? 1023 : 15));
		return n % period != period - 1;
	case 1:		/* a repeated pattern of directions */
		return insn->param >> n % 16 & 1;
	case 2:
		return rng_percent(&h->rng, insn->param % 100);
	default:	/* a branch that is taken once in 64 times */
		return n % 64 == 63;
	}
}

static uint64_t candidate(struct hart *h, const struct program *p, const struct insn *insn)
{
	uint32_t n = (*count_of(h, p, insn))++;

	if (rng_percent(&h->rng, h->opt->chance / 4))
		return any_insn(h, p);
	if (insn->habit == 0)
		n = 0;
	else if (insn->habit == 1)
		n = n / 50;
	else if (insn->habit == 2)
		n = rng_below(&h->rng, 4);
	return p->insns.v[insn->candidates[n % insn->nr_candidates]].addr;
}

static void push_call(struct hart *h, uint64_t addr)
{
	struct frame *f = current(h);

	if (f->nr_calls == MAX_CALLS)
		memmove(f->calls, f->calls + 1, --f->nr_calls * sizeof(f->calls[0]));
	f->calls[f->nr_calls++] = addr;
}

static uint64_t return_address(struct hart *h, const struct program *p)
{
	struct frame *f = current(h);
	uint64_t counted = encoder_counted_return(h->encoder);

	if (counted)
		return counted;
	if (h->opt->ir_mode != 1 && rng_percent(&h->rng, h->opt->wild)) {
		if (f->nr_calls > 1 && rng_percent(&h->rng, 40))
			f->nr_calls -= rng_below(&h->rng, f->nr_calls);	/* longjmp() */
		else
			return rng_percent(&h->rng, 50) ? any_insn(h, p) : any_function(h, p);
	}
	return f->nr_calls ? f->calls[--f->nr_calls] : any_function(h, p);
}

static void enter_trap(struct hart *h, uint64_t epc, bool interrupt)
{
	uint64_t handler = any_function(h, h->world->kernel);
	uint64_t pc = current(h)->pc;

	if (h->depth == MAX_FRAMES)
		h->depth--;
	current(h)->pc = epc;
	h->depth++;
	current(h)->pc = handler;
	current(h)->nr_calls = 0;
	current(h)->priv = rng_percent(&h->rng, 30) ? PRIV_M : PRIV_S;
	if (h->opt->guests && current(h)->priv == PRIV_S && rng_percent(&h->rng, 40))
		current(h)->priv |= V_BIT;
	encoder_trap(h->encoder, pc, handler, interrupt);
	set_priv(h);
	h->idle_insns = 0;
}

/* Leave the trap handler by xret. Return the target of the xret. */
static uint64_t leave_trap(struct hart *h)
{
	const struct program *p = &h->world->programs[h->proc];

	if (h->depth) {
		h->depth--;
	} else {
		current(h)->pc = any_function(h, p);
		current(h)->nr_calls = 0;
		current(h)->priv = PRIV_U | (h->opt->guests && rng_percent(&h->rng, 50) ? V_BIT : 0);
	}
	return current(h)->pc;
}

/* The kernel writes scontext, and returns to another process */
static void switch_process(struct hart *h)
{
	struct frame frame = *current(h);

	if (h->world->nr_procs == 1)
		return;
	h->proc = rng_below(&h->rng, h->world->nr_procs);
	h->depth = 0;
	h->frames[0] = frame;
	h->frames[0].nr_calls = 0;
	set_context(h);
	encoder_context(h->encoder, true, h->opt->guests && rng_percent(&h->rng, 60));
}

static uint64_t next_pc(struct hart *h, const struct program *p, const struct insn *insn, bool *taken)
{
	uint64_t after = insn->addr + insn->length;

	*taken = true;
	if (insn->paired)
		return p->insns.v[insn->target].addr;
	switch (insn->kind) {
	case K_BRANCH:
		*taken = is_taken(h, p, insn);
		return *taken ? p->insns.v[insn->target].addr : after;
	case K_JUMP: case K_CALL:
		return p->insns.v[insn->target].addr;
	case K_IJUMP: case K_ICALL:
		return candidate(h, p, insn);
	case K_CUSTOM:
		*taken = insn->last || rng_percent(&h->rng, insn->param);
		return *taken ? candidate(h, p, insn) : after;
	case K_RETURN: case K_SWAP:
		return return_address(h, p);
	case K_XRET:
		return leave_trap(h);
	}
	*taken = false;
	return after;
}

static void execute(struct hart *h)
{
	struct frame *f = current(h);
	struct program *p = program_of(h, f->pc);
	const struct insn *insn = program_at(p, f->pc);
	uint64_t next, after;
	bool taken;

	if (!insn)
		abort();
	after = f->pc + insn->length;
	if (insn->kind == K_TRAP) {
		enter_trap(h, rng_percent(&h->rng, 80) ? after : f->pc, false);
		return;
	}
	next = next_pc(h, p, insn, &taken);
	/* a return after lui or auipc (a pair) jumps to the target of the pair, and also pops the newest call */
	if (insn->paired && insn->kind == K_RETURN && f->nr_calls)
		f->nr_calls--;
	if (insn->kind == K_CALL || insn->kind == K_ICALL || insn->kind == K_SWAP)
		push_call(h, after);
	current(h)->pc = next;
	encoder_retire(h->encoder, insn, next, taken);
	if (insn->kind == K_XRET)
		set_priv(h);
	else if (insn->kind == K_SCONTEXT)
		switch_process(h);
	if (insn->kind == K_LINEAR || insn->kind == K_JUMP || insn->kind == K_CALL)
		h->idle_insns++;
	else
		h->idle_insns = 0;
}

/* --------------------------------------------------- events of the encoder */

static uint8_t sync_reason(struct hart *h)
{
	static const uint8_t others[] = { 0, 6 }, vendor[] = { 14, 15, 8, 10, 13 };

	if (rng_percent(&h->rng, h->opt->sync_other))
		return others[rng_below(&h->rng, 2)];
	if (rng_percent(&h->rng, h->opt->sync_vendor))
		return vendor[rng_below(&h->rng, 5)];
	return 2;
}

static bool is_unknown_jump(const struct insn *insn)
{
	return insn && !insn->paired &&
	       (insn->kind == K_IJUMP || insn->kind == K_ICALL || insn->kind == K_RETURN ||
		insn->kind == K_XRET);
}

/*
 * If the next instruction is an indirect jump, execute it with a probability of @percent percent, but do
 * not report its target. Return true if it was executed.
 */
static bool jump_unknown(struct hart *h, uint32_t percent)
{
	const struct insn *insn = program_at(program_of(h, current(h)->pc), current(h)->pc);

	if (!is_unknown_jump(insn) || !rng_percent(&h->rng, percent) ||
	    encoder_infers_any(h->encoder))
		return false;
	encoder_retire_unknown(h->encoder, insn);
	return true;
}

/* Continue at another address, like a hart after a reset, or after a debugger has set the PC */
static void go_elsewhere(struct hart *h)
{
	h->depth = 0;
	current(h)->nr_calls = 0;
	current(h)->priv = PRIV_M;
	current(h)->pc = any_function(h, h->world->kernel);
	set_context(h);
}

static void stop(struct hart *h)
{
	static const uint8_t evcodes[] = { 0, 1, 4, 4 };
	uint8_t evcode = evcodes[rng_below(&h->rng, 4)];
	/* Without HIST, a decoder cannot detect that the mode is HTM */
	bool quiet = evcode == 4 && rng_percent(&h->rng, h->opt->no_corr) &&
		     (h->opt->mode_given || !h->opt->htm);
	bool unknown = !quiet && jump_unknown(h, h->opt->stop_jump);

	if (h->opt->stop_vendor && rng_percent(&h->rng, 20) && !quiet)
		evcode = rng_range(&h->rng, 8, 15);
	encoder_stop(h->encoder, evcode, current(h)->pc, quiet);
	h->start_sync = evcode == 0 ? 3 : evcode == 1 && rng_percent(&h->rng, 60) ? 9 : 5;
	h->stopped = 1 + rng_below(&h->rng, 40);
	if (unknown || rng_percent(&h->rng, 20))
		go_elsewhere(h);
	if (!quiet && rng_percent(&h->rng, 10))
		encoder_disabled(h->encoder, 0);
}

static void start(struct hart *h)
{
	set_context(h);
	if (h->encoder->overrun) {
		encoder_recover(h->encoder, current(h)->pc);
	} else {
		encoder_start(h->encoder, h->start_sync, current(h)->pc);
	}
}

static void reset(struct hart *h)
{
	jump_unknown(h, h->opt->reset_jump);
	go_elsewhere(h);
	encoder_reset(h->encoder, rng_percent(&h->rng, 50) ? 1 : 9, current(h)->pc);
}

static void sync(struct hart *h)
{
	uint8_t reason = sync_reason(h);

	if (rng_percent(&h->rng, h->opt->sync_upgrade))
		h->encoder->sync_due = reason + 1;
	else
		encoder_sync(h->encoder, reason, current(h)->pc);
}

static void encoder_events(struct hart *h)
{
	const struct options *opt = h->opt;

	if (h->encoder->lost) {
		if (rng_percent(&h->rng, 30))
			encoder_recover(h->encoder, current(h)->pc);
		return;
	}
	if (rng_once_in(&h->rng, opt->sync))
		sync(h);
	if (rng_once_in(&h->rng, opt->own_again))
		encoder_context(h->encoder, rng_percent(&h->rng, 50), rng_percent(&h->rng, 20));
	if (rng_once_in(&h->rng, opt->icnt_early))
		encoder_icnt_early(h->encoder);
	if (rng_once_in(&h->rng, opt->overruns))
		encoder_overrun(h->encoder);
	if (rng_once_in(&h->rng, opt->resets))
		reset(h);
	else if (rng_once_in(&h->rng, opt->stops))
		stop(h);
}

static void hart_step(struct hart *h)
{
	if (h->stopped) {
		if (!--h->stopped)
			start(h);
		execute(h);
		return;
	}
	encoder_events(h);
	if (h->stopped)
		return;
	/* end an endless loop by an interrupt */
	if (rng_once_in(&h->rng, h->opt->interrupts) || h->idle_insns > 3 * h->opt->block_insns + 300)
		enter_trap(h, current(h)->pc, true);
	else if (rng_once_in(&h->rng, h->opt->exceptions))
		enter_trap(h, current(h)->pc, false);
	else
		execute(h);
}

static void hart_init(struct hart *h, struct world *world, struct encoder *encoder, uint32_t nr)
{
	uint32_t i;

	memset(h, 0, sizeof(*h));
	h->world = world;
	h->opt = &world->opt;
	h->encoder = encoder;
	h->rng = rng_new(world->seed, 300 + nr);
	h->proc = world->opt.same_code ? 0 : nr % world->nr_procs;
	for (i = 0; i < MAX_PROGRAMS; i++)
		h->counts[i] = calloc(world->programs[i].insns.n + 1, sizeof(uint32_t));
	h->start_sync = rng_percent(&h->rng, 50) ? 3 : 5;
	h->stopped = world->opt.same_code ? 1 : rng_range(&h->rng, 1, 20);
	encoder->has_hcontext = world->opt.guests;
	if (rng_percent(&h->rng, 50)) {
		go_elsewhere(h);
	} else {
		const struct program *p = &world->programs[h->proc];

		current(h)->pc = p->insns.v[world->opt.same_code ? 0 :
			p->functions.v[rng_below(&h->rng, p->functions.n)]].addr;
	}
	set_context(h);
	if (world->opt.disabled)
		encoder_disabled(encoder, 4);
}

static void hart_end(struct hart *h)
{
	uint32_t i;

	if (h->encoder->overrun && h->encoder->lost && rng_percent(&h->rng, 70))
		encoder_error(h->encoder);
	else if (h->encoder->on && !h->encoder->overrun)
		encoder_stop(h->encoder, 4, current(h)->pc, rng_percent(&h->rng, 20));
	encoder_end(h->encoder);
	for (i = 0; i < MAX_PROGRAMS; i++)
		free(h->counts[i]);
}

/* --------------------------------------- one stream with the messages of all harts */

static void put_message(struct trace *trace, struct encoder *e, struct rng *rng)
{
	struct message *message = &e->messages.v[e->sent++];
	uint32_t i, idle = 0;

	if (rng_percent(rng, e->opt->idle))
		idle = rng_range(rng, 1, rng_percent(rng, 10) ? 40 : 3);
	for (i = 0; i < idle; i++)
		VEC_ADD(&trace->stream) = 0xff;
	message->offset = trace->stream.n;
	for (i = 0; i < message->length; i++)
		VEC_ADD(&trace->stream) = e->bytes.v[message->start + i];
}

/* Append some messages of some harts to the stream. If @all, append all messages. */
static void put_messages(struct trace *trace, uint32_t harts, struct rng *rng, bool all)
{
	bool more = true;
	uint32_t i, n;

	while (more) {
		more = false;
		for (i = 0; i < harts; i++) {
			struct encoder *e = &trace->encoders[i];

			n = rng_below(rng, 4);
			while (n-- && e->sent < e->messages.n)
				put_message(trace, e, rng);
			more |= all && e->sent < e->messages.n;
		}
	}
}

/*
 * Advance the time. Between two timestamps of a source, the time advances by less than the range of the
 * timestamp counter, because a decoder could not detect that the counter wrapped twice.
 */
static void advance(struct trace *trace, const struct options *opt, struct rng *rng, uint64_t *now)
{
	uint64_t step = rng_below(rng, opt->ts_step + 1), limit;
	uint32_t i;

	if (opt->ts_bits < 64) {
		limit = (1ULL << opt->ts_bits) - 1;
		for (i = 0; i < opt->harts; i++) {
			struct encoder *e = &trace->encoders[i];

			if (e->time_started && *now + step - e->sure_time > limit)
				return;
		}
	}
	*now += step;
}

void trace_make(struct trace *trace, struct world *world)
{
	struct rng rng = rng_new(world->seed, 400);
	const struct options *opt = &world->opt;
	struct hart *harts = calloc(MAX_HARTS, sizeof(*harts));
	uint64_t now = rng_below(&rng, 2) ? rng_next(&rng) >> 20 : rng_below(&rng, 100000);
	uint32_t i, n, run;

	memset(trace, 0, sizeof(*trace));
	for (i = 0; i < opt->harts; i++) {
		encoder_init(&trace->encoders[i], opt, world->seed, i, &now);
		trace->encoders[i].src = opt->src_bits ?
			(i + (uint16_t)world->seed * 3) & ((1 << opt->src_bits) - 1) : 0;
		hart_init(&harts[i], world, &trace->encoders[i], i);
	}
	while (trace->executed < opt->insns) {
		i = rng_below(&rng, opt->harts);
		run = rng_range(&rng, 1, 60);
		for (n = 0; n < run; n++) {
			advance(trace, opt, &rng, &now);
			hart_step(&harts[i]);
			if (opt->vendor && rng_below(&rng, 1000) < opt->vendor)
				encoder_vendor(&trace->encoders[i]);
		}
		trace->executed += run;
		put_messages(trace, opt->harts, &rng, false);
	}
	for (i = 0; i < opt->harts; i++)
		hart_end(&harts[i]);
	put_messages(trace, opt->harts, &rng, true);
	free(harts);
}

void trace_free(struct trace *trace)
{
	uint32_t i;

	for (i = 0; i < MAX_HARTS; i++)
		encoder_free(&trace->encoders[i]);
	free(trace->stream.v);
	memset(trace, 0, sizeof(*trace));
}

/* ------------------------------------------------------ programs and address spaces */

static uint64_t user_base(const struct options *opt, struct rng *rng)
{
	uint64_t page = (uint64_t)rng_below(rng, 16) << 12;

	if (opt->xlen == 32 || opt->high < 2)
		return 0x10000 + page;
	return opt->high == 2 ? 0x555555554000ULL + page : 0xbfffffff00000000ULL + page;
}

static uint64_t kernel_base(const struct options *opt, struct rng *rng)
{
	uint64_t page = (uint64_t)rng_below(rng, 16) << 12;

	if (opt->xlen == 32)
		return 0xc0000000 + page;
	return opt->high ? 0xffffffff80000000ULL + page : 0x40000000 + page;
}

void world_make(struct world *world, uint64_t seed, const struct options *opt)
{
	struct rng rng = rng_new(seed, 500);
	uint64_t base;
	uint32_t i;

	memset(world, 0, sizeof(*world));
	world->seed = seed;
	world->opt = *opt;
	world->nr_procs = opt->procs;
	world->kernel = &world->programs[MAX_PROGRAMS - 1];
	base = user_base(opt, &rng);
	/* the address in CSR jvt must be a multiple of 64 bytes */
	world->jvt = base + 0x8000000 + 64 * rng_below(&rng, 64);
	for (i = 0; i < world->nr_procs; i++) {
		program_make(world, &world->programs[i], base, i);
		world->programs[i].scontext = (rng_next(&rng) >> rng_range(&rng, 34, 60)) * 4 + i + 1;
		world->programs[i].hcontext = rng_below(&rng, 3);
	}
	program_make(world, world->kernel, kernel_base(opt, &rng), MAX_PROGRAMS);
}

void world_free(struct world *world)
{
	uint32_t i;

	for (i = 0; i < MAX_PROGRAMS; i++)
		program_free(&world->programs[i]);
}
