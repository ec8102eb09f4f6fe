/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trace component: what all of them have, the operations of each kind, its registers, and its
 * timestamp unit.
 */
#ifndef NTRACE_COMPONENT_H
#define NTRACE_COMPONENT_H

#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "regs.h"

/* The version of the Trace Control Interface this driver is written for */
#define NTRACE_VER_MAJOR	1
#define NTRACE_VER_MINOR	0

/* Encoder, funnels, sink: two levels of funnels are usual */
#define NTRACE_PATH_MAX		8

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
int ntrace_comp_flush(struct ntrace_comp *comp, const struct ntrace_comp *sink);
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

/* Has a timestamp unit a counter of its own in this trTsMode? Only such a one has a prescaler. */
static inline bool ntrace_ts_is_internal(unsigned int mode)
{
	return mode == TR_TS_MODE_INTERNAL_SYSTEM || mode == TR_TS_MODE_INTERNAL_CORE;
}

/* timestamp.c */
void ntrace_ts_probe(struct ntrace_comp *comp, struct ntrace_ts *ts);
bool ntrace_ts_count(struct ntrace_comp *comp, unsigned int mode, unsigned int prescale);
u64 ntrace_ts_counter(const struct ntrace_comp *comp, unsigned int offset);

#endif /* NTRACE_COMPONENT_H */
