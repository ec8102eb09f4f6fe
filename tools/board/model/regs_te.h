/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a Trace Encoder, and functions that pass blocks to it */
#ifndef NTRACE_BOARD_REGS_TE_H
#define NTRACE_BOARD_REGS_TE_H

#include "regs.h"

/* Capabilities of a Trace Encoder, between nb_te_caps_minimal() and nb_te_caps_full() */
struct nb_te_caps {
	uint8_t		xlen;
	bool		btm, htm;
	bool		context;
	bool		hcontext;
	bool		hypervisor;		/* the hart has privilege levels VU and VS */
	bool		triggers;		/* trTeInstTrigEnable */
	uint8_t		ext_in, ext_out;	/* external triggers, 0..8 */
	bool		stall;
	bool		inhibit_src;
	uint8_t		sync_modes;		/* bit N is set if trTeInstSyncMode can be N */
	uint8_t		sync_max_lowest, sync_max_highest;	/* range of trTeInstSyncMax */
	bool		sequential_jump;
	uint8_t		implicit_return;	/* bit N is set if trTeInstImplicitReturnMode can be N */
	bool		repeated_history;
	bool		all_jumps;
	bool		extend_addr;
	uint32_t	features_fixed;		/* bits of trTeInstFeatures that are always 1 */
	uint32_t	control_fixed;		/* bits of trTeControl that are always 1 */
	bool		both_formats;		/* trTeFormat can also be 0 (E-Trace, trTeProtocolMajor 2) */
	bool		etrace_only;
	uint8_t		src_bits;		/* largest number of bits of SRC, 0..12 */
	uint8_t		filters;		/* number of filters, 0..16 */
	uint32_t	filter_control;		/* writable bits of trTeFilter_i_Control */
	uint8_t		filter_levels;		/* writable bits of trTeFilterMatchChoicePrivilege */
	uint8_t		other_levels;		/* bits of trTeFilterMatchChoicePrivilege that are always 1,
						 * except in filter 0
						 */
	uint8_t		comps;			/* number of comparators, 0..8 */
	uint8_t		comp_modes;		/* bit N is set if trTeCompMatchMode can be N; it can always be 0 */
	uint8_t		ts_modes;		/* bit N is set if trTsMode can be N; 0 means no timestamps */
	uint8_t		ts_width;
	bool		ts_prescale;
	uint8_t		vendor;			/* trTeImpl 31:24 */
	uint8_t		ver_major, ver_minor, protocol_major, protocol_minor;
	/* properties of the encoder that no register reports, see struct nb_encoder_config */
	bool		sync_delayed, repeat_branch, btype_extended, hist_always, icnt_sync;
	uint8_t		icnt_bits, hist_bits, stack_depth, stack_bits;
	uint32_t	fifo_depth, fifo_rate;
	uint64_t	variant;
	bool		return_by_mode;		/* trTeInstImplicitReturnMode alone enables implicit return */
	bool		notify_after;		/* a watchpoint reports the address after the matching instruction */
};

void nb_te_caps_full(struct nb_te_caps *caps);
void nb_te_caps_minimal(struct nb_te_caps *caps);

struct nb_filter_state {
	uint32_t	control;
	uint8_t		privilege;	/* bit N selects enum nb_priv N */
	bool		interrupt;
	uint64_t	ecause;
	uint32_t	depth;		/* number of nested traps from the matching trap on; 0 after its return */
};

/* Fields of trTeCompControl, and the values to compare */
struct nb_comp_state {
	uint8_t		mode;			/* trTeCompMatchMode */
	uint8_t		p_function, s_function;
	bool		p_context, s_context;	/* the comparator compares the context, not the address */
	bool		p_notify, s_notify;
	bool		latched;
	/* the primary match compares @p with the input & @p_mask; the secondary match compares @s with the input */
	uint64_t	p_mask, p, s;
};

/* A Trace Encoder, to which nb_te_ingress() passes blocks */
struct nb_te {
	struct nb_dev	dev;		/* must be the first member */
	struct nb_te_caps caps;
	struct nb_encoder enc;
	struct nb_ts	ts;
	struct nb_filter_state filter[NB_MAX_FILTERS];
	struct nb_comp_state comp[NB_MAX_COMPS];
	uint32_t	inst_filters;	/* bit N is set if filter N is applied */
	uint32_t	used_comps;	/* bit N is set if a filter uses comparator N, or if N notifies or latches */
	bool		notifies;	/* a comparator reports matches (watchpoint) */
	nb_out_fn	out;
	void		*out_opaque;
	uint32_t	impl;		/* value of teImpl if the encoder has another register map (sifive.h) */
	uint32_t	fault_rand;
	uint64_t	context;
	bool		split;		/* nb_te_split() must process each block, which may match only in part */
	bool		trap_interrupt;
	uint64_t	trap_cause;

	/*
	 * Called when the trace starts (@on is true) or stops. The encoder needs blocks only between the start and the
	 * stop. The owner sets this callback, or NULL.
	 */
	void		(*gate)(void *opaque, struct nb_te *te, bool on);
	/* Called when nb_te_stalls() becomes true. The owner sets this callback, or NULL. */
	void		(*stall)(void *opaque, struct nb_te *te);
	void		(*ext_out)(void *opaque, struct nb_te *te, unsigned int trigger);
	void		*gate_opaque;
};

/**
 * nb_te_init() - initialise a Trace Encoder to its state after power-up
 * @te: Memory with any content. After this call, set dev.name, dev.changed, dev.report, dev.opaque, dev.undef,
 *	dev.active_delay, dev.empty_delay, ts.clock and gate.
 * @caps: The capabilities, which are copied
 * @out: Receiver of the messages, such as nb_ram_input()
 * @opaque: Argument of @out
 */
void nb_te_init(struct nb_te *te, const struct nb_te_caps *caps, nb_out_fn out, void *opaque);

/* Handle a block that may have to be split. Only nb_te_ingress() may call this function. */
void nb_te_split(struct nb_te *te, const struct nb_ingress *blk, struct nb_truth_writer *truth);

/**
 * nb_te_ingress() - pass a block that has retired to the encoder
 * @te: The encoder
 * @blk: The block
 * @truth: Writer that also records the block and the state of the trace, or NULL
 */
static inline void nb_te_ingress(struct nb_te *te, const struct nb_ingress *blk,
				 struct nb_truth_writer *truth)
{
	if (NB_UNLIKELY(te->split)) {
		nb_te_split(te, blk, truth);
		return;
	}
	nb_encoder_ingress(&te->enc, blk);
	if (truth)
		nb_truth_block(truth, blk, &te->enc.state);
}

/**
 * nb_te_drain() - send the content of the FIFO, because the sink may accept it now
 * @te: The encoder
 *
 * Call this function after each access to a component between the encoder and its sink.
 */
void nb_te_drain(struct nb_te *te);

/**
 * nb_te_stalls() - check whether the hart must stall
 * @te: The encoder
 *
 * Return: True if trTeInstStallEna is 1 and the FIFO is full.
 */
static inline bool nb_te_stalls(const struct nb_te *te)
{
	return nb_encoder_stalls(&te->enc);
}

/**
 * nb_te_context() - report that the hart has written scontext or hcontext, see nb_encoder_context()
 * @te: The encoder
 * @scontext: The value of scontext after the write
 * @hcontext: The value of hcontext after the write
 */
void nb_te_context(struct nb_te *te, uint64_t scontext, uint64_t hcontext);

/**
 * nb_te_trap() - report that the hart takes a trap, before the block that ends with the trap is passed
 * @te: The encoder
 * @cause: Exception or interrupt code, without the interrupt bit
 * @interrupt: True for an interrupt, false for an exception
 */
void nb_te_trap(struct nb_te *te, uint64_t cause, bool interrupt);

/**
 * nb_te_debug_trigger() - report that a trigger of the hart with a trace action has fired
 * @te: The encoder
 * @action: 2 for trace-on, 3 for trace-off, 4 for trace-notify (table "Debug Trigger Actions")
 */
void nb_te_debug_trigger(struct nb_te *te, unsigned int action);

/**
 * nb_te_ext_trigger() - report that an external trigger input has fired
 * @te: The encoder
 * @input: Number of the input, 0..7
 */
void nb_te_ext_trigger(struct nb_te *te, unsigned int input);

#endif /* NTRACE_BOARD_REGS_TE_H */
