// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters and comparators of the Trace Encoder, see Trace Control Interface 1.0, chapter "Trace
 * Encoder Filter Registers".
 */
#include "insn.h"
#include "regs_common.h"

#define FILTER_CONTROL		0x00
#define FILTER_MATCH_INST	0x04
#define FILTER_ECAUSE_LOW	0x08
#define FILTER_ECAUSE_HIGH	0x0c
#define COMP_CONTROL		0x00
#define COMP_P_LOW		0x10
#define COMP_P_HIGH		0x14
#define COMP_S_LOW		0x18
#define COMP_S_HIGH		0x1c

static uint32_t comps_mask(const struct nb_te_caps *caps)
{
	unsigned int i, bits = 0;
	uint32_t mask = 0;

	while (1U << bits < caps->comps)
		bits++;
	for (i = 0; i < 3; i++)
		mask |= ((1U << bits) - 1) << TR_FILTER_COMP_SHIFT(i);
	return mask;
}

uint32_t nb_te_legal_filter(const struct nb_te_caps *caps, unsigned int offset, uint32_t value)
{
	uint32_t control = caps->filter_control & 0xffff;
	unsigned int i;

	if ((offset - TR_TE_FILTER(0)) / 0x20 >= caps->filters)
		return 0;
	if (offset >= TR_TE_FILTER(1) && (offset & 0x1f) == FILTER_MATCH_INST)
		value |= caps->other_levels;
	if (!caps->comps) {
		for (i = 0; i < 3; i++)
			control &= ~(TR_FILTER_MATCH_COMP(i) | 7U << TR_FILTER_COMP_SHIFT(i));
	} else {
		control &= ~(0xeee0U & ~comps_mask(caps));
	}
	switch (offset & 0x1f) {
	case FILTER_CONTROL:
		return value & control;
	case FILTER_MATCH_INST:
		value &= control & TR_FILTER_MATCH_INTERRUPT ? 0x1ff : 0xff;
		/* Supported levels are U, S, M, and VU, VS with the hypervisor extension */
		value &= 0x100 | ((caps->hypervisor ? 0x6b : 0x0b) & caps->filter_levels);
		return control & TR_FILTER_MATCH_PRIVILEGE ? value : value & 0x100;
	case FILTER_ECAUSE_LOW:
	case FILTER_ECAUSE_HIGH:
		return control & TR_FILTER_MATCH_ECAUSE ? value : 0;
	}
	return 0;	/* this model has no filters for impdef (implementation-defined signals) and data accesses */
}

/* The inputs of comparators are iaddr and context, because the ingress port has no tval and no daddr. */
uint32_t nb_te_legal_comp(const struct nb_te_caps *caps, unsigned int offset, uint32_t value)
{
	if ((offset - TR_TE_COMP(0)) / 0x20 >= caps->comps)
		return 0;
	switch (offset & 0x1f) {
	case COMP_CONTROL:
		value &= TR_COMP_P_INPUT | TR_COMP_S_INPUT | TR_COMP_P_FUNCTION |
			 TR_COMP_S_FUNCTION | TR_COMP_MATCH_MODE | TR_COMP_P_NOTIFY |
			 TR_COMP_S_NOTIFY;
		if (nb_field(value, TR_COMP_P_INPUT) > 1)
			value &= ~TR_COMP_P_INPUT;
		if (nb_field(value, TR_COMP_S_INPUT) > 1)
			value &= ~TR_COMP_S_INPUT;
		if (!(caps->comp_modes >> nb_field(value, TR_COMP_MATCH_MODE) & 1))
			value &= ~TR_COMP_MATCH_MODE;
		return value;
	case COMP_P_LOW:
	case COMP_P_HIGH:
	case COMP_S_LOW:
	case COMP_S_HIGH:
		return value;
	}
	return 0;
}

static bool compare(unsigned int function, uint64_t input, uint64_t match)
{
	switch (function) {
	case 0: return input == match;
	case 1: return input != match;
	case 2: return input < match;
	case 3: return input <= match;
	case 4: return input > match;
	case 5: return input >= match;
	case 6: return false;
	}
	return true;
}

static uint64_t comp_input(const struct nb_te *te, bool context, uint64_t iaddr)
{
	return context ? te->context : iaddr;
}

/* Return the bits of an input that are compared. The context is scontext, which has 32 bits. */
static uint64_t comp_bits(bool context)
{
	return context ? 0xffffffff : ~0ULL;
}

static bool comp_primary(const struct nb_te *te, const struct nb_comp_state *c, uint64_t iaddr)
{
	return compare(c->p_function, comp_input(te, c->p_context, iaddr) & c->p_mask, c->p);
}

static bool comp_secondary(const struct nb_te *te, const struct nb_comp_state *c, uint64_t iaddr)
{
	/* Function 6, "Use SMatch as a mask for PMatch", does not compare */
	return c->s_function == 6 ||
	       compare(c->s_function, comp_input(te, c->s_context, iaddr), c->s);
}

/*
 * Return the output of a comparator for the instruction at @iaddr. @retired is true if the instruction has
 * retired, and false if a trap was taken before it.
 */
static bool comp_output(const struct nb_te *te, const struct nb_comp_state *c, uint64_t iaddr,
			bool retired)
{
	bool p = comp_primary(te, c, iaddr);

	switch (c->mode) {
	case 0:
		return p;
	case 1:
		return p && comp_secondary(te, c, iaddr);
	case 2:
		return !(p && comp_secondary(te, c, iaddr));
	}
	return c->latched || (retired && p);
}

/*
 * Update the latch after the instruction at @iaddr has retired. In mode 3 the output is latched
 * "until instruction after secondary result is true".
 */
static void comp_step(const struct nb_te *te, struct nb_comp_state *c, uint64_t iaddr)
{
	if (c->mode == 3)
		c->latched = comp_output(te, c, iaddr, true) && !comp_secondary(te, c, iaddr);
}

/* Return true if the output of @c may differ between two instructions from @first to @last. */
static bool comp_changes(const struct nb_te *te, const struct nb_comp_state *c, uint64_t first,
			 uint64_t last)
{
	struct nb_comp_state after = *c;

	/* A comparison with an address may change its result at that address */
	if (!c->p_context && (c->s_function == 6 || (c->p >= first && c->p <= last)))
		return true;
	if (!c->s_context && c->s_function != 6 && c->s >= first && c->s <= last)
		return true;
	if (c->mode != 3)
		return false;
	comp_step(te, &after, first);
	return after.latched != c->latched;
}

static bool filter_matches(const struct nb_filter_state *f, const bool *comp,
			   const struct nb_ingress *blk)
{
	unsigned int i;

	if (!(f->control & TR_FILTER_ENABLE))
		return false;
	if (f->control & TR_FILTER_MATCH_PRIVILEGE && !(f->privilege >> blk->priv & 1))
		return false;
	if (f->control & (TR_FILTER_MATCH_ECAUSE | TR_FILTER_MATCH_INTERRUPT) && !f->depth)
		return false;
	for (i = 0; i < 3; i++)
		if (f->control & TR_FILTER_MATCH_COMP(i) &&
		    !comp[f->control >> TR_FILTER_COMP_SHIFT(i) & 7])
			return false;
	return true;
}

static bool trap_matches(const struct nb_te *te, const struct nb_filter_state *f)
{
	bool interrupt = f->control & TR_FILTER_MATCH_INTERRUPT ? f->interrupt : false;

	if (te->trap_interrupt != interrupt)
		return false;
	return !(f->control & TR_FILTER_MATCH_ECAUSE) ||
	       (te->trap_cause < 64 && f->ecause >> te->trap_cause & 1);
}

/*
 * Update nb_filter_state.depth after @blk. A filter must "start matching from" a matching trap, and "stop
 * matching upon return from the 1st matching trap".
 */
static void count_traps(struct nb_te *te, struct nb_filter_state *f, const struct nb_ingress *blk)
{
	if (!(f->control & (TR_FILTER_MATCH_ECAUSE | TR_FILTER_MATCH_INTERRUPT)))
		return;
	if (blk->itype == NB_ITYPE_EXCEPTION || blk->itype == NB_ITYPE_INTERRUPT) {
		if (f->depth || trap_matches(te, f))
			f->depth++;
	} else if (blk->itype == NB_ITYPE_TRAP_RETURN && f->depth) {
		f->depth--;
	}
}

static bool block_matches(const struct nb_te *te, const struct nb_ingress *blk)
{
	bool comp[NB_MAX_COMPS] = { };
	unsigned int i;
	uint32_t left;

	for (left = te->used_comps; left; left &= left - 1) {
		i = __builtin_ctz(left);
		comp[i] = comp_output(te, &te->comp[i], blk->iaddr, blk->iretire);
	}
	for (i = 0; i < te->caps.filters; i++)
		if (te->inst_filters >> i & 1 && filter_matches(&te->filter[i], comp, blk))
			return true;
	return !te->inst_filters;
}

/* Update the latches of comparators, and nb_filter_state.depth, after @blk. */
static void step_filters(struct nb_te *te, const struct nb_ingress *blk)
{
	uint32_t left = blk->iretire ? te->used_comps : 0;
	unsigned int i;

	for (; left; left &= left - 1)
		comp_step(te, &te->comp[__builtin_ctz(left)], blk->iaddr);
	for (i = 0; i < te->caps.filters; i++)
		if (te->inst_filters >> i & 1)
			count_traps(te, &te->filter[i], blk);
}

static bool te_qualify(void *opaque, const struct nb_ingress *blk)
{
	bool match = block_matches(opaque, blk);

	step_filters(opaque, blk);
	return match;
}

/*
 * Request a message if the instruction of @blk matches. "Generate a trace packet explicitly reporting
 * the address of the final instruction in a block that causes a primary match. This is also known as
 * a watchpoint." In this model, @blk is one instruction, and the message is sent before it. With
 * caps.notify_after, the message is sent before the next block.
 */
static void watchpoints(struct nb_te *te, const struct nb_ingress *blk)
{
	unsigned int i;

	if (!te->notifies)
		return;
	for (i = 0; blk->iretire && i < te->caps.comps; i++) {
		const struct nb_comp_state *c = &te->comp[i];

		if ((c->p_notify && !c->p_context && comp_primary(te, c, blk->iaddr)) ||
		    (c->s_notify && !c->s_context && c->s_function != 6 &&
		     comp_secondary(te, c, blk->iaddr)))
			nb_encoder_notify(&te->enc, NB_SYNC_TRACE_EVENT);
	}
}

static void give(struct nb_te *te, const struct nb_ingress *blk, struct nb_truth_writer *truth)
{
	if (!te->caps.notify_after)
		watchpoints(te, blk);
	nb_encoder_ingress(&te->enc, blk);
	if (te->caps.notify_after)
		watchpoints(te, blk);
	if (truth)
		nb_truth_block(truth, blk, &te->enc.state);
}

/*
 * Return true if the block need not be split, because no comparator reports matches, and each comparator
 * has the same output for all instructions of the block.
 */
static bool is_uniform(const struct nb_te *te, const struct nb_ingress *blk)
{
	uint64_t last = blk->iaddr + 2 * (blk->iretire - blk->ilastsize);
	uint32_t left;

	for (left = te->used_comps; left; left &= left - 1) {
		const struct nb_comp_state *c = &te->comp[__builtin_ctz(left)];

		if (c->p_notify || c->s_notify || comp_changes(te, c, blk->iaddr, last))
			return false;
	}
	return true;
}

/*
 * In hardware, the ingress port reports a few instructions per cycle, so that an address filter begins
 * and ends at the exact instruction. Blocks of this model may be long. If a comparator may change its
 * output within a block, the function passes each instruction to the encoder as a separate block.
 */
void nb_te_split(struct nb_te *te, const struct nb_ingress *blk, struct nb_truth_writer *truth)
{
	struct nb_ingress one;
	uint32_t i;

	if (!blk->wide || blk->ninsn <= 1 ||
	    (!(te->caps.variant & NB_VARIANT_SPLIT) && is_uniform(te, blk))) {
		give(te, blk, truth);
		return;
	}
	for (i = 0; i < blk->ninsn; i++) {
		nb_ingress_part(blk, i, &one);
		give(te, &one, truth);
	}
}

static void read_filter(struct nb_te *te, unsigned int i)
{
	const struct nb_dev *dev = &te->dev;
	uint32_t inst = nb_get(dev, TR_TE_FILTER(i) + FILTER_MATCH_INST);

	te->filter[i] = (struct nb_filter_state){
		.control = nb_get(dev, TR_TE_FILTER(i) + FILTER_CONTROL),
		/* The ingress port encodes Debug Mode, VU, VS as 4, 5, 6, and enum nb_priv encodes VU, VS as 4, 5 */
		.privilege = (inst & 0x0f) | (inst >> 1 & 0x30),
		.interrupt = inst & TR_FILTER_VALUE_INTERRUPT,
		.ecause = nb_get(dev, TR_TE_FILTER(i) + FILTER_ECAUSE_LOW) |
			  (uint64_t)nb_get(dev, TR_TE_FILTER(i) + FILTER_ECAUSE_HIGH) << 32,
	};
}

static void read_comp(struct nb_te *te, unsigned int j)
{
	const struct nb_dev *dev = &te->dev;
	uint32_t control = nb_get(dev, TR_TE_COMP(j) + COMP_CONTROL);
	struct nb_comp_state *c = &te->comp[j];

	c->mode = nb_field(control, TR_COMP_MATCH_MODE);
	c->p_function = nb_field(control, TR_COMP_P_FUNCTION);
	c->s_function = nb_field(control, TR_COMP_S_FUNCTION);
	c->p_context = nb_field(control, TR_COMP_P_INPUT);
	c->s_context = nb_field(control, TR_COMP_S_INPUT);
	c->p_notify = control & TR_COMP_P_NOTIFY;
	c->s_notify = control & TR_COMP_S_NOTIFY;
	c->s = nb_get(dev, TR_TE_COMP(j) + COMP_S_LOW) |
	       (uint64_t)nb_get(dev, TR_TE_COMP(j) + COMP_S_HIGH) << 32;
	c->p_mask = comp_bits(c->p_context) & (c->s_function == 6 ? c->s : ~0ULL);
	c->s &= comp_bits(c->s_context);
	c->p = (nb_get(dev, TR_TE_COMP(j) + COMP_P_LOW) |
		(uint64_t)nb_get(dev, TR_TE_COMP(j) + COMP_P_HIGH) << 32) & c->p_mask;
}

/*
 * Primary function 6 is "Prime latch to 1 if trTeCompMatchMode is 3". The latch is set or cleared when
 * software writes the control register. Its value does not change when trace stops and restarts.
 */
void nb_te_prime(struct nb_te *te, unsigned int offset, uint32_t control)
{
	if (offset < TR_TE_COMP(0) || offset >= TR_TE_COMP(NB_MAX_COMPS) ||
	    (offset & 0x1f) != COMP_CONTROL)
		return;
	te->comp[(offset - TR_TE_COMP(0)) / 0x20].latched =
		nb_field(control, TR_COMP_MATCH_MODE) == 3 &&
		nb_field(control, TR_COMP_P_FUNCTION) == 6;
}

/* Return a mask of the comparators that a filter uses. */
static uint32_t filter_comps(const struct nb_te *te, const struct nb_filter_state *f)
{
	uint32_t used = 0;
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (f->control & TR_FILTER_MATCH_COMP(i))
			used |= 1U << (f->control >> TR_FILTER_COMP_SHIFT(i) & 7);
	return used & ((1U << te->caps.comps) - 1);
}

/* Read the registers of all comparators, and determine which comparators to evaluate for each block. */
static void set_comps(struct nb_te *te)
{
	const struct nb_comp_state *c;
	unsigned int i;

	te->notifies = false;
	for (i = 0; i < te->caps.comps; i++) {
		read_comp(te, i);
		c = &te->comp[i];
		te->notifies |= c->p_notify || c->s_notify;
		if (c->p_notify || c->s_notify || c->mode == 3)
			te->used_comps |= 1U << i;
	}
}

/*
 * Read the registers of all filters. If the filters only match privilege modes, return a mask of these
 * modes, so that the encoder does not evaluate the filters for each block. This case is common.
 */
uint8_t nb_te_set_filters(struct nb_te *te)
{
	bool simple = true, by_comp = false;
	uint8_t privilege = 0;
	unsigned int i;

	te->inst_filters = nb_get(&te->dev, TR_TE_INST_FILTERS);
	te->used_comps = 0;
	for (i = 0; i < te->caps.filters; i++) {
		const struct nb_filter_state *f = &te->filter[i];

		read_filter(te, i);
		if (!(te->inst_filters >> i & 1) || !(f->control & TR_FILTER_ENABLE))
			continue;
		te->used_comps |= filter_comps(te, f);
		by_comp |= f->control & (TR_FILTER_MATCH_COMP(0) | TR_FILTER_MATCH_COMP(1) |
					 TR_FILTER_MATCH_COMP(2));
		simple &= !(f->control & 0xffff & ~(TR_FILTER_ENABLE | TR_FILTER_MATCH_PRIVILEGE));
		privilege |= f->control & TR_FILTER_MATCH_PRIVILEGE ? f->privilege : 0xff;
	}
	set_comps(te);
	te->split = by_comp || te->notifies || te->caps.variant & NB_VARIANT_SPLIT;
	simple &= privilege || !te->inst_filters;
	te->enc.qualify = simple ? NULL : te_qualify;
	te->enc.qualify_opaque = te;
	return simple ? privilege : 0;
}
