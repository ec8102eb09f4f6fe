/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An encoder: what it can do, what an event wants of it, and what its registers hold.
 */
#ifndef NTRACE_ENCODER_H
#define NTRACE_ENCODER_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/ntrace.h>

#include "component.h"

/* Sinks that an encoder with several outputs can choose between */
#define NTRACE_ROUTES_MAX	4

/**
 * struct ntrace_caps - what an encoder can do, as probed by WARL read-back
 * @config: single-bit fields NTRACE_CONFIG_* that can be set
 * @modes: bitmap of trTeInstMode
 * @sync_modes: bitmap of trTeInstSyncMode
 * @sync_max: bitmap of trTeInstSyncMax
 * @ts_modes: bitmap of trTsMode
 * @ts_prescale: bitmap of trTsPrescale
 * @ts_width: trTsWidth
 * @fixed: those of @config that are always set
 * @ir_mode: trTeInstImplicitReturnMode that is used
 * @src_bits: the most that trTeSrcBits takes
 * @src_fixed: trTeSrcBits cannot be changed
 * @priv: bitmap of ingress priv values that filter 0 can choose between
 * @filters: bitmap of filters
 * @comparators: bitmap of comparators that compare instruction addresses
 * @latches: bitmap of those that match from one address to another
 * @excludes: bitmap of those that match outside of a range
 * @comps: comparators that one filter can combine
 * @trig_in: external trigger inputs, bitmap
 * @trig_out: external trigger outputs, bitmap
 */
struct ntrace_caps {
	u64	config;
	u64	fixed;
	u8	modes;
	u8	sync_modes;
	u16	sync_max;
	u8	ts_modes;
	u8	ts_prescale;
	u8	ts_width;
	u8	ir_mode;
	u8	src_bits;
	bool	src_fixed;
	u8	priv;
	u16	filters;
	u8	comparators;
	u8	latches;
	u8	excludes;
	u8	comps;
	u8	trig_in;
	u8	trig_out;
};

/* priv at the ingress port, as trTeFilterMatchChoicePrivilege numbers it */
#define NTRACE_PRIV_U		BIT(0)
#define NTRACE_PRIV_S		BIT(1)
#define NTRACE_PRIV_M		BIT(3)
#define NTRACE_PRIV_VU		BIT(5)
#define NTRACE_PRIV_VS		BIT(6)
#define NTRACE_PRIV_GUEST	(NTRACE_PRIV_VU | NTRACE_PRIV_VS)

/**
 * struct ntrace_range - one address filter
 * @start: first address
 * @end: first address after it, 0 if it ends with the last byte of the address space; of a start
 *	and stop, the last address
 *
 * An empty range is from 1 to 1.
 */
struct ntrace_range {
	u64	start;
	u64	end;
};

/**
 * struct ntrace_filter - what is to be traced
 * @priv: bitmap of privileges, 0 all
 * @nr_ranges: number of address ranges, 0 all addresses
 * @no_start: trace from the beginning to @end
 * @no_stop: trace from @start on, for ever
 * @latch: 0: @ranges are ranges. Else what is traced begins when the hart gets
 *	to a start, and ends when it gets to an end; whether it is between them is
 *	a latch in the comparator, and belongs to what has this number
 * @exclude: trace all but @ranges
 * @trig_in: trTeTrigExtInControl
 * @trig_out: trTeTrigExtOutControl
 * @ranges: the ranges
 */
struct ntrace_filter {
	u8			priv;
	u8			nr_ranges;
	bool			no_start;
	bool			no_stop;
	bool			exclude;
	u32			trig_in;
	u32			trig_out;
	u64			latch;
	struct ntrace_range	ranges[TR_TE_COMP_MAX];
};

struct ntrace_user;

/**
 * enum ntrace_tracing - trTeInstTracing for the next start of an encoder
 * @NTRACE_TRACING_ASK: set, unless the event is paused
 * @NTRACE_TRACING_OFF: clear, because a trigger ended the trace
 * @NTRACE_TRACING_ON: set, because a trigger began the trace
 */
enum ntrace_tracing {
	NTRACE_TRACING_ASK,
	NTRACE_TRACING_OFF,
	NTRACE_TRACING_ON,
};

/**
 * struct ntrace_want - what an event wants of an encoder
 * @id: no two are equal, and it changes with the rest; never 0
 * @config: NTRACE_CONFIG_*
 * @strobe_on: microseconds that are traced of each @strobe_period
 * @strobe_period: microseconds, 0: trace all the time
 * @sink: the number of the sink, 0: any
 * @reported: the CPU whose SRC was reported last, and 1; 0 none
 * @takes: the event may take its sink from the flight recorder
 * @tracing: trTeInstTracing when the event stopped, if it has triggers
 * @user: who opened the event; NULL: the flight recorder
 * @filter: what is to be traced
 */
struct ntrace_want {
	u64			id;
	u64			config;
	u32			strobe_on;
	u32			strobe_period;
	u32			sink;
	unsigned int		reported;
	bool			takes;
	enum ntrace_tracing	tracing;
	const struct ntrace_user *user;
	struct ntrace_filter	filter;
};

struct cpumask;
struct ntrace_encoder;
struct ntrace_session;
struct ntrace_sink;
struct tracepoint;

/**
 * struct ntrace_encoder_ops - operations of an encoder whose registers are not those of the
 * Trace Control Interface 1.0
 * @dialect: NTRACE_DIALECT_*
 * @addr_bits: addresses are sent without bits above these
 * @setup: after a reset, find out what it can do; as ntrace_encoder_setup()
 * @revive: after a reset or a loss of power, write what is not written by @program
 * @set_src: as ntrace_encoder_set_src()
 * @program: as ntrace_encoder_program()
 * @counter: offset of the lower half of its timestamp
 *
 * Active, Enable, Tracing, Empty and StallOrOverflow of its first register are where trTeControl
 * has them.
 */
struct ntrace_encoder_ops {
	u8 dialect;
	u8 addr_bits;
	int (*setup)(struct ntrace_encoder *enc);
	void (*revive)(struct ntrace_encoder *enc);
	int (*set_src)(struct ntrace_encoder *enc, unsigned int bits, unsigned int id);
	int (*program)(struct ntrace_encoder *enc, u64 config);
	unsigned int counter;
};

/**
 * struct ntrace_route - a way from an encoder to a sink
 * @path: the components from the encoder to the sink
 * @inputs: of those, the input by which the path comes in
 * @len: their number
 * @sink: the last of @path
 */
struct ntrace_route {
	struct ntrace_comp	*path[NTRACE_PATH_MAX];
	u8			inputs[NTRACE_PATH_MAX];
	unsigned int		len;
	struct ntrace_sink	*sink;
};

/**
 * struct ntrace_encoder - a trace encoder and the path that starts at it
 * @comp: the component
 * @ops: NULL if its registers are those of the Trace Control Interface 1.0
 * @cpu: the CPU it traces
 * @caps: what it can do
 * @default_config: the config that perf uses for what the user left open
 * @routes: the ways to sinks, the one for events that do not choose first. Protected by
 *	ntrace_mutex; one that is there stays as long as events of the CPU do
 * @nr_routes: their number, 0 if there is no usable sink
 * @reported: the log says why there is none
 * @path: the components of the route that is in use, from here to the sink
 * @path_len: their number
 * @sink: the last of @path. While the encoder is not in use, only its CPU changes these three
 * @src_bits: trTeSrcBits as programmed
 * @src_id: trTeSrcID as programmed
 * @ts_clock: Hz of its clock in the device tree, 0 if there is none
 * @ts_freq: Hz of the timestamp counter before the prescaler, 0 unknown
 * @ts_is_time: the timestamp counts like the time CSR
 * @ts_restarts: its own counter may begin anew after an idle state: nobody knows its times
 * @ts_base: the timestamp when an event was opened last
 * @ts_base_time: the time CSR then
 * @config: the config that the registers hold
 * @filter: the filter that the registers hold
 * @programmed: the registers hold @config and @filter, else they are to be written
 * @ready: the ntrace_want for which the path can be started by writing Enable, and Enable
 *	followed at once when it was; 0: there is none. Only if the path has a sink of its own and
 *	no funnel
 * @features: trTeInstFeatures bits that stay as they are (SrcID, SrcBits)
 * @paused: trTeInstTracing is to stay 0
 * @tracing: trTeInstTracing for the next start. Hardware changes the bit of an event with triggers.
 * @overflows: stretches of trace in which it had no room, and dropped messages or stalled the hart
 * @on: the path before the sink is enabled
 * @member: in sink->members
 * @held: in sink->held
 * @session: who traces with it, see session.c
 */
struct ntrace_encoder {
	struct ntrace_comp	comp;
	const struct ntrace_encoder_ops *ops;
	unsigned int		cpu;
	struct ntrace_caps	caps;
	u64			default_config;
	struct ntrace_route	routes[NTRACE_ROUTES_MAX];
	unsigned int		nr_routes;
	bool			reported;
	struct ntrace_comp	*path[NTRACE_PATH_MAX];
	unsigned int		path_len;
	struct ntrace_sink	*sink;
	u8			src_bits;
	u16			src_id;
	u32			ts_clock;
	u32			ts_freq;
	bool			ts_is_time;
	bool			ts_restarts;
	u64			ts_base;
	u64			ts_base_time;
	u64			config;
	struct ntrace_filter	filter;
	bool			programmed;
	u64			ready;
	u32			features;
	bool			paused;
	enum ntrace_tracing	tracing;
	unsigned long		overflows;
	bool			on;
	struct list_head	member;
	struct list_head	held;
	struct ntrace_session	*session;
};

#define to_ntrace_encoder(c)	container_of(c, struct ntrace_encoder, comp)

/* encoder.c */
extern const struct ntrace_comp_ops ntrace_encoder_comp_ops;
int ntrace_encoder_comp_setup(struct ntrace_comp *comp);
int ntrace_encoder_comp_revive(struct ntrace_comp *comp);
int ntrace_encoder_setup(struct ntrace_encoder *enc);
unsigned int ntrace_caps_ranges(const struct ntrace_caps *caps, bool latch);
unsigned int ntrace_caps_excludes(const struct ntrace_caps *caps);
int ntrace_encoder_supports(const struct ntrace_encoder *enc, u64 config,
			    const struct ntrace_filter *filter);
int ntrace_encoder_check(const struct ntrace_encoder *enc, u64 config,
			 const struct ntrace_filter *filter);
u64 ntrace_encoder_resolve_default(const struct ntrace_encoder *enc, u64 config);
u64 ntrace_encoder_resolve(const struct ntrace_encoder *enc, u64 config);
int ntrace_encoder_program(struct ntrace_encoder *enc, u64 config,
			   const struct ntrace_filter *filter);
u64 ntrace_encoder_counter(const struct ntrace_encoder *enc);
unsigned int ntrace_encoder_ts_mode(const struct ntrace_encoder *enc, u64 config);
unsigned int ntrace_encoder_usual_ts_mode(const struct ntrace_encoder *enc);
bool ntrace_encoder_has_usual_clock(const struct ntrace_encoder *enc, u64 config);
void ntrace_encoder_count(struct ntrace_encoder *enc);
void ntrace_encoder_take_base(struct ntrace_encoder *enc);
int ntrace_encoder_drop(struct ntrace_encoder *enc);
void ntrace_encoder_revive(struct ntrace_encoder *enc);
int ntrace_encoder_set_src(struct ntrace_encoder *enc, unsigned int bits, unsigned int id);
void ntrace_encoder_forget_clock(struct ntrace_encoder *enc);
void ntrace_encoder_begins_anew(struct ntrace_encoder *enc);
void ntrace_encoder_measure(struct ntrace_encoder *enc);
void ntrace_encoder_start_counter(struct ntrace_encoder *enc);

/* trTeInstTracing is written after trTeEnable (chapter "Enabling and Disabling") */
static inline void ntrace_encoder_tracing(struct ntrace_encoder *enc, bool on)
{
	if (on)
		enc->comp.control |= TR_TE_INST_TRACING;
	else
		enc->comp.control &= ~TR_TE_INST_TRACING;
	ntrace_write(&enc->comp, TR_TE_CONTROL, enc->comp.control);
}

static inline bool ntrace_filter_same_ranges(const struct ntrace_filter *a,
					     const struct ntrace_filter *b)
{
	return a->latch == b->latch && a->no_start == b->no_start && a->no_stop == b->no_stop &&
	       !memcmp(a->ranges, b->ranges, a->nr_ranges * sizeof(a->ranges[0]));
}

/* Do the registers hold @config and @filter? A task switch does not write them again. */
static inline bool ntrace_encoder_holds(const struct ntrace_encoder *enc, u64 config,
					const struct ntrace_filter *filter)
{
	return enc->programmed && enc->config == config && enc->filter.priv == filter->priv &&
	       enc->filter.nr_ranges == filter->nr_ranges &&
	       enc->filter.exclude == filter->exclude &&
	       enc->filter.trig_in == filter->trig_in && enc->filter.trig_out == filter->trig_out &&
	       (!filter->nr_ranges || ntrace_filter_same_ranges(&enc->filter, filter));
}

/* The registers have to be written before the next start */
static inline void ntrace_encoder_forget(struct ntrace_encoder *enc)
{
	enc->programmed = false;
	enc->ready = 0;
}

/* Settings for the next start, see ntrace_path_enable(). Nothing is traced. */
static inline void ntrace_encoder_want(struct ntrace_encoder *enc, const struct ntrace_want *want)
{
	enc->ready = 0;
	enc->tracing = want->tracing;
	if (ntrace_encoder_holds(enc, want->config, &want->filter))
		return;
	enc->programmed = false;
	enc->config = want->config;
	enc->filter = want->filter;
}

/* context.c */
const char *ntrace_context_missing(const struct cpumask *cpus);
void ntrace_context_probe(unsigned int cpu);
int ntrace_context_get(const struct cpumask *cpus);
void ntrace_context_put(void);
void ntrace_context_restore(void);
void ntrace_context_exit(void);
struct tracepoint *ntrace_find_tracepoint(const char *name);

#endif /* NTRACE_ENCODER_H */
