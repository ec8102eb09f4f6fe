/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RISC-V N-Trace driver: what its files share.
 *
 * component.c	what all components have in common: reset, enable, disable
 * timestamp.c	the timestamp unit of an encoder or a funnel
 * encoder.c	the trace encoder
 * funnel.c	the trace funnel
 * ramsink.c	the RAM sink
 * fabric/bridge.c	the ATB bridge
 * fabric/coresight.c	funnel, ETF and ETR of a CoreSight fabric behind bridges
 * fabric/sifive.c	SiFive's encoder and funnel of version 0
 * power.c	when registers may be accessed
 * context.c	scontext at task switches
 * registry.c	which components there are
 * path.c	from a source to its sink
 * topology.c	device-tree graph, which CPU has which path
 * sysfs.c	attributes of the components' devices
 * debugfs.c	registers of the components, for reports of hardware
 * buf.c	AUX buffers: windows of memory for the sink
 * sample.c	trace in the samples of other events
 * session.c	an event that traces on a CPU
 * flight/record.c	the record of the flight recorder, in memory that survives a reset
 * flight/seize.c	the trace of an event, taken into the record in a panic
 * flight/flight.c	the flight recorder
 * flight/causes.c	what stops it, and its files in sysfs
 * users.c	who opened events, and who uses a sink
 * pmu.c	the PMU
 * driver.c	the platform driver
 *
 * A file calls only files above it in this list, which is that of the Makefile. Only buf.c,
 * sample.c, session.c, flight/, users.c and pmu.c know of perf events.
 */
#ifndef NTRACE_NTRACE_H
#define NTRACE_NTRACE_H

#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/ntrace.h>

#include "regs.h"

/* The version of the Trace Control Interface this driver is written for */
#define NTRACE_VER_MAJOR	1
#define NTRACE_VER_MINOR	0

/* Encoder, funnels, sink: two levels of funnels are usual */
#define NTRACE_PATH_MAX		8

/* Sinks that an encoder with several outputs can choose between */
#define NTRACE_ROUTES_MAX	4

/**
 * enum ntrace_comp_state - who uses a component
 * @NTRACE_COMP_NEW: nobody; its registers are not set up
 * @NTRACE_COMP_FOREIGN: it was enabled when it was found: a debugger traces with it
 * @NTRACE_COMP_READY: this driver, which restores its registers after a loss of power
 */
enum ntrace_comp_state {
	NTRACE_COMP_NEW,
	NTRACE_COMP_FOREIGN,
	NTRACE_COMP_READY,
};

/* The clock of the registers and the one that the timestamp counts */
enum { NTRACE_CLOCK_BUS, NTRACE_CLOCK_TIMESTAMP, NTRACE_NR_CLOCKS };

struct clk;
struct ntrace_comp;
struct reset_control;

/**
 * struct ntrace_comp_ops - what differs between kinds of components
 * @type: tr??ComponentType, or another number for a component without that field
 * @name: for messages
 * @prefix: what the specification's names of its registers begin with
 * @is_sink: trace ends in it
 * @foreign: it has no tr??Control: claim tags say who uses it, and it has no reset
 * @stays_on: a link that is enabled from its set-up until it is removed
 * @inputs: bitmap of the inputs that the device tree may name; 0: all numbers mean its only input
 * @identify: find out its type and impl, and whether the driver supports it; it may set other ops.
 *	NULL in ops that another identify() sets
 * @setup: after a reset, find out what it can do; may sleep. NULL: it is not supported
 * @revive: after a reset or a loss of power, write all its registers but those of a path
 * @open: a path leads into this input from now on; NULL: there is nothing to do
 * @quiesce: nothing may be written to memory after this
 * @free: undo @setup; NULL: there is nothing to do
 */
struct ntrace_comp_ops {
	unsigned int	type;
	const char	*name;
	const char	*prefix;
	bool		is_sink;
	bool		foreign;
	bool		stays_on;
	u16		inputs;
	int		(*identify)(struct ntrace_comp *comp);
	int		(*setup)(struct ntrace_comp *comp);
	int		(*revive)(struct ntrace_comp *comp);
	void		(*open)(struct ntrace_comp *comp, unsigned int input);
	void		(*quiesce)(struct ntrace_comp *comp);
	void		(*free)(struct ntrace_comp *comp);
};

/**
 * struct ntrace_comp - a trace component
 * @ops: what kind of component it is
 * @dev: the platform device
 * @base: its 4 KiB of registers
 * @addr: their physical address, for messages
 * @type: @type of @ops
 * @impl: tr??Impl
 * @trace_id: of an ATB bridge: trAtbBridgeID
 * @control: what was last written to tr??Control
 * @stuck: it stopped answering; not used until a reset succeeds
 * @prompt: Enable followed at the first read when it was last set
 * @state: who uses it
 * @powered: runtime PM has resumed it: its registers can be accessed, if it serves a CPU that is
 *	online. Written with @lock held.
 * @clocks: optional clocks, which run while @powered
 * @reset: optional reset line, released while the driver is bound
 * @lock: serialises @powered and what restores the registers; of a funnel: also @users and all
 *	accesses to registers
 * @users: paths that are started through it
 * @say: says @said, where a message is allowed
 * @said: why it is stuck, or which setting it refused
 * @refused: the log has a setting that it did not take
 * @node: in ntrace_comps
 * @debug: its directory in debugfs
 */
struct ntrace_comp {
	const struct ntrace_comp_ops *ops;
	struct device		*dev;
	void __iomem		*base;
	phys_addr_t		addr;
	unsigned int		type;
	u32			impl;
	u8			trace_id;
	u32			control;
	bool			stuck;
	bool			prompt;
	enum ntrace_comp_state	state;
	bool			powered;
	struct clk		*clocks[NTRACE_NR_CLOCKS];
	struct reset_control	*reset;
	raw_spinlock_t		lock;
	unsigned int		users;
	struct irq_work		say;
	char			said[160];
	bool			refused;
	struct list_head	node;
	struct dentry		*debug;
};

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
 * @contexts: bitmap of those that compare the context
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
	u8	contexts;
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
 * @thread: trace nothing but what has this in scontext, 0 all
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
	u32			thread;
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

struct device_node;
struct ntrace_area;
struct ntrace_encoder;
struct ntrace_map;
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

/**
 * struct ntrace_window - memory that a sink may write
 * @start: address for trRamStart
 * @wp: address for trRamWP
 * @end: first address after the window; trRamLimit is one access below
 * @circular: the oldest may be overwritten when it is full
 * @stop: the sink stops when it is full
 */
struct ntrace_window {
	dma_addr_t	start;
	dma_addr_t	wp;
	dma_addr_t	end;
	bool		circular;
	bool		stop;
};

/**
 * struct ntrace_ram_area - the memory of a sink in one of its modes
 * @there: the sink has this mode, and the driver can use it
 * @copied: the sink has memory of its own, which is copied to AUX pages; else it writes these
 * @align: access width "A": granule of trRamLimit and trRamWP
 * @start_align: granule of trRamStart
 * @min: lowest address that trRamStart takes
 * @max: highest address that trRamLimit takes
 * @one_line: all addresses of a window have their upper 32 bits in common
 * @any_size: trRamLimit takes windows of any size, not only of 2^M bytes
 * @trims: of one that is copied: trRamLimit can be lowered
 */
struct ntrace_ram_area {
	bool			there;
	bool			copied;
	u32			align;
	u32			start_align;
	u64			min;
	u64			max;
	bool			one_line;
	bool			any_size;
	bool			trims;
};

/**
 * struct ntrace_sink_ops - operations of a sink that is no RAM sink
 * @program: point the disabled sink to a window
 * @enable: begin at the start of the window
 * @disable: stop; all that was traced is in memory after it
 * @written: as ntrace_ramsink_written()
 *
 * Context: as ntrace_sink_start().
 */
struct ntrace_sink_ops {
	int (*program)(struct ntrace_sink *sink, struct ntrace_window *win);
	int (*enable)(struct ntrace_sink *sink);
	int (*disable)(struct ntrace_sink *sink);
	u32 (*written)(const struct ntrace_sink *sink, const struct ntrace_window *win,
		       bool *wrapped);
};

/**
 * struct ntrace_sink - a RAM sink, or a CoreSight ETR
 * @comp: the component
 * @ops: NULL for a RAM sink
 * @frames: it writes frames, and begins at the start of its window each time
 * @areas: its memory by TR_RAM_MODE_*
 * @area: of these, the one of the mode that is set
 * @mem: memory that the device tree reserves for it, NULL if there is none
 * @mem_start: address of @mem
 * @mem_end: address after @mem
 * @mem_cached: caches may have old contents of @mem, as the sink writes past them
 * @stop_on_wrap: trRamStopOnWrap can be set
 * @stop_fixed: it cannot be cleared: the sink stops when its window is full, also in a snapshot
 * @base: of one that writes frames: the start of its window
 * @index: index among the sinks
 * @number: what events choose it by, a hash of its name
 * @file: in the PMU's directory "sinks"; without a show() it is not there
 * @encoders: number of encoders that may lead here, as the device tree has them
 * @cpu: of one of them
 * @lock: protects what follows, and the registers, if @encoders is above 1.
 *	Else they are touched on the CPU of the encoder only, with interrupts off
 * @members: encoders that trace into it; always the encoder, if there is but one
 * @held: encoders that are disabled, and whose path still holds trace for which there was no room
 * @scrap: a page for trace that nobody is to have, see ntrace_sink_drain(), as the sink's address;
 *	0: there is none
 * @scrap_page: that page
 * @scrap_map: ... as buf.c has mapped it
 * @owner: whose memory it writes, see session.c; NULL if nobody traces
 * @holds: whose window the registers hold, see session.c; NULL if nobody's
 * @loose: it did not stop when it was to, and may still write its window
 * @full: it was reset when its window was full: trRamWP does not say so any more
 * @pausing: a member is to pause or to go on; who unlocks the sink next sees to it
 * @closed: the system goes down, it is not started any more
 * @flight: its area in the record of the flight recorder, NULL none
 */
struct ntrace_sink {
	struct ntrace_comp	comp;
	const struct ntrace_sink_ops *ops;
	bool			frames;
	struct ntrace_ram_area	areas[2];
	const struct ntrace_ram_area *area;
	void			*mem;
	u64			mem_start;
	u64			mem_end;
	bool			mem_cached;
	u64			base;
	bool			stop_on_wrap;
	bool			stop_fixed;
	unsigned int		index;
	u32			number;
	struct device_attribute	file;
	unsigned int		encoders;
	unsigned int		cpu;
	raw_spinlock_t		lock;
	struct list_head	members;
	struct list_head	held;
	dma_addr_t		scrap;
	void			*scrap_page;
	struct ntrace_map	*scrap_map;
	struct ntrace_session	*owner;
	struct ntrace_session	*holds;
	bool			loose;
	bool			full;
	bool			pausing;
	bool			closed;
	struct ntrace_area	*flight;
};

/* The memory for events that do not choose */
static inline const struct ntrace_ram_area *ntrace_sink_default_area(const struct ntrace_sink *sink)
{
	return &sink->areas[sink->areas[TR_RAM_MODE_SMEM].there ? TR_RAM_MODE_SMEM :
								   TR_RAM_MODE_SRAM];
}

static inline void ntrace_sink_lock(struct ntrace_sink *sink) __acquires(&sink->lock)
{
	if (sink->encoders > 1)
		raw_spin_lock(&sink->lock);
	else
		__acquire(&sink->lock);
}

/*
 * For code that may have interrupted the holder of the lock, and must not wait for it. A sink
 * without a lock has @owner instead.
 */
static inline bool ntrace_sink_trylock(struct ntrace_sink *sink)
{
	return sink->encoders <= 1 || raw_spin_trylock(&sink->lock);
}

void ntrace_sink_pause(struct ntrace_sink *sink);

static inline void ntrace_sink_unlock(struct ntrace_sink *sink) __releases(&sink->lock)
{
	if (sink->encoders > 1) {
		/* registers were written, and another CPU may be the next */
		mb();
		raw_spin_unlock(&sink->lock);
		/*
		 * pairs with ntrace_sink_pause(): either it got the lock, or this CPU sees its
		 * request
		 */
		smp_mb();
		if (unlikely(READ_ONCE(sink->pausing)))
			ntrace_sink_pause(sink);
	} else {
		__release(&sink->lock);
	}
}

static inline void ntrace_sink_assert_locked(const struct ntrace_sink *sink)
{
	if (sink->encoders > 1)
		lockdep_assert_held(&sink->lock);
}

static inline void ntrace_sink_add(struct ntrace_sink *sink, struct list_head *member)
{
	if (sink->encoders > 1)
		list_add_tail(member, &sink->members);
}

static inline void ntrace_sink_del(struct ntrace_sink *sink, struct list_head *member)
{
	if (sink->encoders > 1)
		list_del_init(member);
}

/**
 * struct ntrace_ts - what a timestamp unit can do
 * @modes: bitmap of trTsMode
 * @prescale: bitmap of trTsPrescale
 * @width: trTsWidth
 */
struct ntrace_ts {
	u8	modes;
	u8	prescale;
	u8	width;
};

/**
 * struct ntrace_funnel - a trace funnel
 * @comp: the component; @comp.lock protects the registers
 * @inputs: bitmap of inputs that can be disabled
 * @used: bitmap of inputs that a path uses
 * @inner: its output leads to another funnel
 * @ts: its timestamp unit
 * @ts_mode: trTsMode as programmed, 0 if there is no such unit
 * @ts_prescale: trTsPrescale as programmed
 * @ts_is_set: by a user, to what the driver would not have chosen
 */
struct ntrace_funnel {
	struct ntrace_comp	comp;
	u16			inputs;
	u16			used;
	bool			inner;
	struct ntrace_ts	ts;
	u8			ts_mode;
	u8			ts_prescale;
	bool			ts_is_set;
};

#define to_ntrace_encoder(c)	container_of(c, struct ntrace_encoder, comp)
#define to_ntrace_sink(c)	container_of(c, struct ntrace_sink, comp)
#define to_ntrace_funnel(c)	container_of(c, struct ntrace_funnel, comp)

/* Has a timestamp unit a counter of its own in this trTsMode? Only such a one has a prescaler. */
static inline bool ntrace_ts_is_internal(unsigned int mode)
{
	return mode == TR_TS_MODE_INTERNAL_SYSTEM || mode == TR_TS_MODE_INTERNAL_CORE;
}

/*
 * component.c
 *
 * Accesses to one component stay in order, and each change of tr??Control is
 * read back before the next component's. What the sink writes is ordered with
 * memory in ntrace_ramsink_program() and ntrace_session_collect().
 */
static inline u32 ntrace_read(const struct ntrace_comp *comp, unsigned int offset)
{
	return readl_relaxed(comp->base + offset);
}

static inline void ntrace_write(const struct ntrace_comp *comp, unsigned int offset, u32 val)
{
	writel_relaxed(val, comp->base + offset);
}

void ntrace_comp_init(struct ntrace_comp *comp, const struct ntrace_comp_ops *ops,
		      struct device *dev, void __iomem *base, phys_addr_t addr);
__printf(2, 3) void ntrace_comp_err(struct ntrace_comp *comp, const char *fmt, ...);
int ntrace_comp_reset(struct ntrace_comp *comp);
int ntrace_comp_recognise(struct ntrace_comp *comp);
int ntrace_comp_identify(struct ntrace_comp *comp, const struct ntrace_comp_ops * const *kinds);
int ntrace_comp_flush(struct ntrace_comp *comp, const struct ntrace_sink *sink);
int ntrace_comp_poll(const struct ntrace_comp *comp, u32 mask, u32 want);
int ntrace_comp_wait(struct ntrace_comp *comp, u32 mask, u32 want);
int ntrace_comp_set(struct ntrace_comp *comp, const char *name, unsigned int offset, u32 val,
		    u32 mask);
u32 ntrace_try(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 try);
u32 ntrace_try_values(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 mask);
int ntrace_comp_drop(struct ntrace_comp *comp);
int ntrace_comp_activate(struct ntrace_comp *comp);
void ntrace_comp_quiesce(struct ntrace_comp *comp);

static inline int ntrace_comp_enable(struct ntrace_comp *comp)
{
	comp->control |= TR_CONTROL_ENABLE;
	ntrace_write(comp, TR_CONTROL, comp->control);
	comp->prompt = ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ENABLE;
	if (likely(comp->prompt))
		return 0;
	return ntrace_comp_wait(comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE);
}

/* Begin to disable: the change from 1 to 0 flushes. True if it is already disabled and empty. */
static inline bool ntrace_comp_disable_fast(struct ntrace_comp *comp)
{
	comp->control &= ~(TR_CONTROL_ENABLE | TR_TE_INST_TRACING);
	ntrace_write(comp, TR_CONTROL, comp->control);
	return likely((ntrace_read(comp, TR_CONTROL) & (TR_CONTROL_ENABLE | TR_CONTROL_EMPTY)) ==
		      TR_CONTROL_EMPTY);
}

/* Disable, and wait until all is empty */
static inline int ntrace_comp_disable(struct ntrace_comp *comp)
{
	if (ntrace_comp_disable_fast(comp))
		return 0;
	return ntrace_comp_wait(comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY);
}

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
	       enc->filter.exclude == filter->exclude && enc->filter.thread == filter->thread &&
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

/* timestamp.c */
void ntrace_ts_probe(struct ntrace_comp *comp, struct ntrace_ts *ts);
bool ntrace_ts_count(struct ntrace_comp *comp, unsigned int mode, unsigned int prescale);
u64 ntrace_ts_counter(const struct ntrace_comp *comp, unsigned int offset);

/* funnel.c */
extern const struct ntrace_comp_ops ntrace_funnel_comp_ops;
void ntrace_funnel_setup(struct ntrace_funnel *funnel);
void ntrace_funnel_revive(struct ntrace_funnel *funnel);
void ntrace_funnel_open(struct ntrace_funnel *funnel, unsigned int input, bool open);
int ntrace_funnel_drop(struct ntrace_funnel *funnel);
void ntrace_funnel_connect(struct ntrace_funnel *funnel, bool inner);
int ntrace_funnel_set_ts(struct ntrace_funnel *funnel, unsigned int mode, unsigned int prescale);

/* ramsink.c */
/*
 * The driver copies from a sink while interrupts are off. So it uses no more of the sink's memory
 * than can be copied in a few milliseconds: SRAM by a load of the bus for each word, or reserved
 * memory.
 */
#define NTRACE_SRAM_MAX		SZ_64K
#define NTRACE_RESERVED_MAX	SZ_1M
extern const struct ntrace_comp_ops ntrace_ramsink_comp_ops;
int ntrace_ramsink_cap(const struct ntrace_sink *sink, struct ntrace_ram_area *area,
		       u64 limit_min, u64 most);
int ntrace_ramsink_setup(struct ntrace_sink *sink);
void ntrace_ramsink_revive(struct ntrace_sink *sink);
int ntrace_ramsink_choose(struct ntrace_sink *sink, bool sram);
int ntrace_ramsink_program(struct ntrace_sink *sink, struct ntrace_window *win);
int ntrace_ramsink_disable(struct ntrace_sink *sink);
void ntrace_ramsink_read(struct ntrace_sink *sink, u32 from, void *buf, unsigned int len);

/*
 * Bytes between the first one of @win and the write pointer. A window is far below 4 GiB, so that
 * trRamWPLow is enough, and one read of it is consistent while the sink runs. If the pointer is
 * outside the window, the window counts as full.
 */
static inline u32 ntrace_ramsink_written(const struct ntrace_sink *sink,
					 const struct ntrace_window *win, bool *wrapped)
{
	u32 wp = ntrace_read(&sink->comp, TR_RAM_WP_LOW);
	u32 offset = (wp & TR_RAM_WP_MASK) - lower_32_bits(win->start);

	*wrapped = wp & TR_RAM_WRAP;
	if (unlikely(sink->full || offset >= win->end - win->start)) {
		*wrapped = true;
		return 0;
	}
	return offset;
}

/* As ntrace_ramsink_written(), for a sink of any kind */
static inline u32 ntrace_sink_written(const struct ntrace_sink *sink,
				      const struct ntrace_window *win, bool *wrapped)
{
	if (unlikely(sink->ops))
		return sink->ops->written(sink, win, wrapped);
	return ntrace_ramsink_written(sink, win, wrapped);
}

/* path.c */
extern const struct ntrace_comp_ops ntrace_riscv_comp_ops;
u32 ntrace_sink_period(const struct ntrace_sink *sink, const struct ntrace_window *win);
int ntrace_sink_start(struct ntrace_sink *sink, struct ntrace_window *win);
void ntrace_sink_discard(struct ntrace_sink *sink, const struct ntrace_window *win);
int ntrace_sink_stop(struct ntrace_sink *sink);
int ntrace_sink_hold(struct ntrace_sink *sink, struct ntrace_encoder *own);
int ntrace_sink_join(struct ntrace_sink *sink, struct ntrace_encoder *enc);
int ntrace_sink_leave(struct ntrace_sink *sink, struct ntrace_encoder *enc);
void ntrace_sink_close(struct ntrace_sink *sink, bool power);
void ntrace_path_is_ready(struct ntrace_encoder *enc, const struct ntrace_want *want);
struct ntrace_funnel *ntrace_route_funnel(const struct ntrace_route *route);
const struct ntrace_route *ntrace_route_find(const struct ntrace_encoder *enc,
					     const struct ntrace_want *want);
void ntrace_path_use(struct ntrace_encoder *enc, const struct ntrace_route *route);
void ntrace_path_leave(struct ntrace_encoder *enc);
void ntrace_path_rest(struct ntrace_encoder *enc);
void ntrace_path_choose(struct ntrace_encoder *enc, const struct ntrace_route *route);
int ntrace_path_recover(struct ntrace_encoder *enc, const struct ntrace_route *route);
bool ntrace_path_restore(struct ntrace_encoder *enc);
bool ntrace_path_keeps_links(const struct ntrace_encoder *enc);
void ntrace_path_leave_link(struct ntrace_comp *comp);
void ntrace_path_leave_links(struct ntrace_encoder *enc);
void ntrace_path_rest_links(struct ntrace_encoder *enc);
bool ntrace_path_restore_comp(struct ntrace_comp *comp);
int ntrace_route_get(const struct ntrace_route *route);
void ntrace_route_put(const struct ntrace_route *route);
int ntrace_path_get(struct ntrace_encoder *enc);
void ntrace_path_put(struct ntrace_encoder *enc);

/*
 * Enable a path that is ready, see struct ntrace_encoder. Its settings and that Enable follows
 * were verified when its window was opened: "Trace tools may verify a particular setting once
 * per session, so subsequent starts of trace may be faster".
 */
static __always_inline void ntrace_path_restart(struct ntrace_encoder *enc)
{
	struct ntrace_comp *sink = &enc->sink->comp;

	sink->control |= TR_CONTROL_ENABLE;
	ntrace_write(sink, TR_CONTROL, sink->control);
	/* The sink is another component, and must be enabled before */
	wmb();
	enc->comp.control |= TR_CONTROL_ENABLE;
	ntrace_write(&enc->comp, TR_CONTROL, enc->comp.control);
	enc->on = true;
	ntrace_encoder_tracing(enc, true);
	/* Another event may have paused the encoder meanwhile, see ntrace_sink_pause() */
	if (unlikely(READ_ONCE(enc->paused)))
		ntrace_encoder_tracing(enc, false);
}

/*
 * Begin to disable: true if that is done, and all is empty. trTeInstStallOrOverflow is in the same
 * register, and cleared when trTeEnable is set.
 */
static inline bool ntrace_encoder_disable_fast(struct ntrace_encoder *enc)
{
	u32 mask = TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, val;

	enc->comp.control &= ~(TR_CONTROL_ENABLE | TR_TE_INST_TRACING);
	ntrace_write(&enc->comp, TR_CONTROL, enc->comp.control);
	val = ntrace_read(&enc->comp, TR_CONTROL);
	if (unlikely(val & TR_TE_INST_STALL_OR_OVERFLOW))
		enc->overflows++;
	return likely((val & mask) == TR_CONTROL_EMPTY);
}

/* Disable a path that is ready; false: call ntrace_sink_stop(), there is more to do than usual */
static __always_inline bool ntrace_path_halt(struct ntrace_encoder *enc)
{
	if (unlikely(!ntrace_encoder_disable_fast(enc)))
		return false;
	enc->on = false;
	return ntrace_comp_disable_fast(&enc->sink->comp);
}

/* Limits of what ntrace_sink_period() returns */
#define NTRACE_PERIOD_MIN	50000
#define NTRACE_PERIOD_MAX	4000000

/* Limits of strobing in microseconds: the timer of neither part may fire too often */
#define NTRACE_STROBE_MIN	50
#define NTRACE_STROBE_MAX	10000000

/* session.c */
bool ntrace_sink_interrupt(struct ntrace_sink *sink);

/* power.c */
void ntrace_sync_cpus(void);
void ntrace_keep_awake(void);
void ntrace_let_sleep(void);
void ntrace_wait_asleep(unsigned int cpu);
void ntrace_cpu_stays(unsigned int cpu);
int ntrace_node_cpu(const struct device_node *node);
bool ntrace_has_power(const struct ntrace_comp *comp);
bool ntrace_waits_for_cpu(const struct ntrace_comp *comp);
bool ntrace_somebody_waits(void);
void ntrace_nobody_waits(void);
bool ntrace_serves_active(const struct ntrace_comp *comp);
int ntrace_power_find(struct ntrace_comp *comp);
int ntrace_power_up(struct ntrace_comp *comp);
void ntrace_power_down(struct ntrace_comp *comp);
int ntrace_power_get(struct ntrace_comp *comp);
void ntrace_power_put(struct ntrace_comp *comp);

/* context.c */
const char *ntrace_context_missing(const struct cpumask *cpus);
void ntrace_context_probe(unsigned int cpu);
int ntrace_context_get(const struct cpumask *cpus);
void ntrace_context_put(void);
void ntrace_context_restore(void);
void ntrace_context_exit(void);
struct tracepoint *ntrace_find_tracepoint(const char *name);

/* registry.c */
extern struct mutex ntrace_mutex;
extern struct list_head ntrace_comps;
struct ntrace_encoder *ntrace_encoder_of(unsigned int cpu);
const struct cpumask *ntrace_cpus(void);
void ntrace_take_bases(const struct cpumask *cpus);
void ntrace_recount(struct ntrace_encoder *enc);
struct ntrace_sink *ntrace_sink_at(unsigned int index);
unsigned int ntrace_nr_sinks(void);
struct ntrace_sink *ntrace_sink_numbered(u32 number);
void ntrace_registry_add_encoder(struct ntrace_encoder *enc);
void ntrace_registry_del_encoder(struct ntrace_encoder *enc);
int ntrace_registry_add_sink(struct ntrace_sink *sink);
void ntrace_registry_del_sink(struct ntrace_sink *sink);

/* topology.c */
#define NTRACE_COMPATIBLE	"riscv,trace-component"
#define NTRACE_SIFIVE_ENCODER	"sifive,trace-encoder0"
#define NTRACE_SIFIVE_FUNNEL	"sifive,trace-funnel0"
int ntrace_cpu_hold(unsigned int cpu);
void ntrace_cpu_release(unsigned int cpu);
struct ntrace_encoder *ntrace_connect(void);
void ntrace_disconnect(struct ntrace_encoder *enc);
struct ntrace_encoder *ntrace_encoder_through(const struct ntrace_comp *comp);
void ntrace_report_unconnected(void);
bool ntrace_is_held(const struct ntrace_comp *comp);
void ntrace_recount_behind(const struct ntrace_comp *funnel);

/* sysfs.c */
const struct attribute_group **ntrace_comp_groups(const struct ntrace_comp *comp);

/* debugfs.c */
void ntrace_debugfs_add(struct ntrace_comp *comp);
void ntrace_debugfs_remove(struct ntrace_comp *comp);
void ntrace_debugfs_init(void);
void ntrace_debugfs_exit(void);

/* buf.c */
int ntrace_scrap_make(struct ntrace_sink *sink);
bool ntrace_maps_uncached(void);

/* users.c */
extern const struct attribute_group *ntrace_sink_groups[];

/* pmu.c */
int ntrace_pmu_register(void);
void ntrace_pmu_unregister(void);
void ntrace_pmu_link(struct ntrace_encoder *enc);
void ntrace_pmu_unlink(struct ntrace_encoder *enc);
void ntrace_pmu_detach(struct ntrace_encoder *enc);
void ntrace_pmu_add_sink(struct ntrace_sink *sink);
void ntrace_pmu_del_sink(struct ntrace_sink *sink);
void ntrace_pmu_suspend(void);
void ntrace_pmu_resume(void);
int ntrace_cpus_init(void (*came)(void));
void ntrace_cpus_exit(void);

#endif /* NTRACE_NTRACE_H */
