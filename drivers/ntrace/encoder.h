/* SPDX-License-Identifier: GPL-2.0-only */
/* An encoder, its capabilities, the settings of events, and the contents of its registers */
#ifndef NTRACE_ENCODER_H
#define NTRACE_ENCODER_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/ntrace.h>

#include "component.h"

/**
 * struct ntrace_caps - capabilities of an encoder, as probed by WARL read-back
 * @config: NTRACE_CONFIG_* fields of a single bit that can be set
 * @fixed: Bits of @config that are always set
 * @modes: Bitmap of trTeInstMode
 * @sync_modes: Bitmap of trTeInstSyncMode
 * @sync_max: Bitmap of trTeInstSyncMax
 * @ts_modes: Bitmap of trTsMode
 * @ts_prescale: Bitmap of trTsPrescale
 * @ts_width: Value of trTsWidth
 * @ir_mode: Value of trTeInstImplicitReturnMode that the driver uses
 * @src_bits: Highest value that trTeSrcBits accepts
 * @src_fixed: Hardware has assigned the source number (SRC) and its width, and the driver only
 *	reads them. If this is false, the driver numbers the encoder.
 * @priv: Bitmap of privileges (NTRACE_PRIV_*) that filter 0 can select
 * @filters: Bitmap of filters
 * @comparators: Bitmap of comparators that compare instruction addresses
 * @latches: Bitmap of comparators that match from one address to another
 * @excludes: Bitmap of comparators that match outside of a range
 * @comps: Number of comparators that one filter can combine
 */
struct ntrace_caps {
	u64	config;
	u64	fixed;
	u16	modes;
	u16	sync_modes;
	u16	sync_max;
	u16	ts_modes;
	u16	ts_prescale;
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
};

/* Values of priv at the ingress port, which are also the bits of trTeFilterMatchChoicePrivilege */
#define NTRACE_PRIV_U		BIT(0)
#define NTRACE_PRIV_S		BIT(1)
#define NTRACE_PRIV_M		BIT(3)
#define NTRACE_PRIV_VU		BIT(5)
#define NTRACE_PRIV_VS		BIT(6)

/**
 * struct ntrace_range - one address filter
 * @start: First address
 * @end: First address after the range, 0 if the range ends with the last byte of the address
 *	space. For a start and a stop, the address of the stop.
 *
 * An empty range is from 1 to 1.
 */
struct ntrace_range {
	u64	start;
	u64	end;
};

/**
 * struct ntrace_filter - addresses and privileges that an event traces
 * @priv: Bitmap of privileges, 0 for all
 * @nr_ranges: Number of address ranges, 0 for all addresses
 * @no_start: Trace from the start of the event to a stop, which is the end of the only range
 * @no_stop: Trace from a start until the end of the event; used only if @latch is not 0
 * @latch: 0 if @ranges are ranges. Otherwise trace begins when the hart reaches a start, and ends
 *	when it reaches a stop. A latch in the comparator stores whether the hart has passed a
 *	start. The number identifies the event to which the state of the latch belongs.
 * @exclude: Trace all addresses except @ranges
 * @ranges: The ranges
 */
struct ntrace_filter {
	u8			priv;
	u8			nr_ranges;
	bool			no_start;
	bool			no_stop;
	bool			exclude;
	u64			latch;
	struct ntrace_range	ranges[TR_TE_COMP_MAX];
};

/**
 * struct ntrace_want - settings that an event needs of an encoder
 * @id: Unique number that is never 0; the event gets a new number when its settings change
 * @config: Settings, NTRACE_CONFIG_*
 * @reported: Number of the CPU whose SRC was reported last, plus 1; or 0
 * @takes: The event may take the sink from the flight recorder, which continues when the event
 *	stops
 * @filter: Addresses and privileges to trace
 */
struct ntrace_want {
	u64			id;
	u64			config;
	unsigned int		reported;
	bool			takes;
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
 * @addr_bits: Number of bits of the addresses in messages
 * @setup: Find out the capabilities after a reset, like ntrace_encoder_setup()
 * @revive: Write all registers that @program does not write, after a reset or a loss of power
 * @set_src: Function like ntrace_encoder_set_src(). It sets src_bits and src_id of struct
 *	ntrace_encoder to the values in the registers, and calls ntrace_encoder_forget(). If
 *	caps.src_fixed is set, it ignores the number that it gets, and fails only if SRC is too
 *	narrow.
 * @program: Function like ntrace_encoder_program()
 * @counter: Offset of the lower half of its timestamp; not used if caps.ts_modes is 0
 *
 * Active, Enable, Tracing, Empty and StallOrOverflow of its first register have the same positions
 * as in trTeControl. The files component.[ch], route.[ch], driver.c and flight/flight.c rely on
 * this.
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
 * struct ntrace_route - a route from an encoder to a sink
 * @path: Components from the encoder to the sink
 * @inputs: Number of the input of each component at which the path enters it
 * @len: Number of components
 * @sink: Last component of @path
 */
struct ntrace_route {
	struct ntrace_comp	*path[NTRACE_PATH_MAX];
	u8			inputs[NTRACE_PATH_MAX];
	unsigned int		len;
	struct ntrace_sink	*sink;
};

/**
 * struct ntrace_encoder - a trace encoder and the path that starts at it
 * @comp: The component
 * @ops: Operations, or NULL if its registers are those of the Trace Control Interface 1.0
 * @cpu: CPU that it traces
 * @caps: Capabilities
 * @default_config: Default settings, NTRACE_CONFIG_*. perf uses them for fields that the user does
 *	not choose.
 * @route: Route to its sink, without components if it has no usable sink. Protected by
 *	ntrace_mutex. The route stays as long as the CPU has events.
 * @reported: The driver has logged why the encoder has no route
 * @sink: Its sink
 * @src_bits: Value of trTeSrcBits
 * @src_id: Value of trTeSrcID
 * @ts_clock: Frequency of its clock in the device tree in Hz, or 0
 * @ts_freq: Frequency of the timestamp counter before the prescaler in Hz, 0 if unknown
 * @ts_is_time: The timestamp counts like the time CSR
 * @ts_restarts: Its internal counter may restart after an idle state, so its times are
 *	unknown
 * @ts_base: Timestamp that was read when an event was last opened, or up to a second before
 * @ts_base_time: Value of the time CSR that was read together with @ts_base
 * @ts_read: Time in jiffies at which the driver last read the counter for @ts_base, or 0
 * @config: Config that the registers contain
 * @filter: Filter that the registers contain
 * @programmed: The registers contain @config and @filter; otherwise they must be written
 * @ready: Value of ntrace_want.id of the event that can restart the path by writing trTeEnable
 *	without reading it back; or 0. It is set after trTeEnable became 1 at the first read, if no
 *	other encoder uses the sink and the path has no funnel.
 * @features: Bits of trTeInstFeatures that do not depend on @config (SrcID, SrcBits). For SiFive's
 *	encoder of version 0, bits of its teControl instead (MaxInst).
 * @paused: Keep trTeInstTracing at 0
 * @overflows: Number of times that the encoder had no room, and dropped messages or stalled
 *	the hart
 * @on: The encoder, and the components between it and the sink, are enabled
 * @member: Entry in sink->members
 * @held: Entry in sink->held
 * @session: Session that traces with this encoder, see session.c
 */
struct ntrace_encoder {
	struct ntrace_comp	comp;
	const struct ntrace_encoder_ops *ops;
	unsigned int		cpu;
	struct ntrace_caps	caps;
	u64			default_config;
	struct ntrace_route	route;
	bool			reported;
	struct ntrace_sink	*sink;
	u8			src_bits;
	u16			src_id;
	u32			ts_clock;
	u32			ts_freq;
	bool			ts_is_time;
	bool			ts_restarts;
	u64			ts_base;
	u64			ts_base_time;
	unsigned long		ts_read;
	u64			config;
	struct ntrace_filter	filter;
	bool			programmed;
	u64			ready;
	u32			features;
	bool			paused;
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

/* Set trTeInstTracing, which is written after trTeEnable (chapter "Enabling and Disabling") */
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

/*
 * Return true if the registers contain @config and @filter, so that a task switch need not write
 * them
 */
static inline bool ntrace_encoder_holds(const struct ntrace_encoder *enc, u64 config,
					const struct ntrace_filter *filter)
{
	return enc->programmed && enc->config == config && enc->filter.priv == filter->priv &&
	       enc->filter.nr_ranges == filter->nr_ranges &&
	       enc->filter.exclude == filter->exclude &&
	       (!filter->nr_ranges || ntrace_filter_same_ranges(&enc->filter, filter));
}

/* Forget the contents of the registers, so that the next start writes them */
static inline void ntrace_encoder_forget(struct ntrace_encoder *enc)
{
	enc->programmed = false;
	enc->ready = 0;
}

/* Choose the settings of the next start, see ntrace_path_enable(). The encoder is disabled. */
static inline void ntrace_encoder_want(struct ntrace_encoder *enc, const struct ntrace_want *want)
{
	enc->ready = 0;
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
