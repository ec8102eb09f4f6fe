/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The components of the RISC-V Trace Control Interface 1.0 as register blocks
 * of 4 KiB. These are the Trace Encoder (with its Timestamp Unit, filters and
 * comparators), the Trace Funnel and the Trace RAM Sink.
 *
 *	nb_te.enc --nb_te.out()--> nb_funnel_input() or nb_ram_input()
 *
 * The owner of a component is the emulator or test that contains it. nb_dev.shadow always has the values
 * that loads return. The component calls nb_dev.changed for each changed word of the shadow, so that an
 * owner whose guest loads from plain RAM can copy the word to this RAM. The component also calls
 * nb_dev.changed for each word that the guest has stored to, even if the shadow is unchanged, because the
 * store has changed the RAM. The owner passes each store to nb_dev_write(). The owner calls nb_dev_loaded()
 * after a load that has an effect. Loads of trRamData have an effect. Loads of Control and trTsControl have
 * an effect while a change of Active, Enable, Empty or trTsActive is delayed.
 *
 * The functions are not thread safe. The owner needs one lock for all components of a path.
 */
#ifndef NTRACE_BOARD_REGS_H
#define NTRACE_BOARD_REGS_H

#include "encoder.h"
#include "truth.h"

/* Types of components (Trace Control Interface, table "Trace Components") */
#define TRCOMP_ENCODER		0x1
#define TRCOMP_FUNNEL		0x8
#define TRCOMP_RAMSINK		0x9
#define TRCOMP_ATBBRIDGE	0xe

/* Offsets of registers in the 4 KiB of a component */
#define TR_CONTROL		0x000
#define TR_IMPL			0x004
#define TR_TE_INST_FEATURES	0x008
#define TR_TE_INST_FILTERS	0x00c
#define TR_TE_DATA_CONTROL	0x010
#define TR_TE_DATA_FILTERS	0x01c
#define TR_TS_CONTROL		0x040
#define TR_TS_COUNTER_LOW	0x048
#define TR_TS_COUNTER_HIGH	0x04c
#define TR_TE_TRIG_DBG_CONTROL	0x050
#define TR_TE_TRIG_EXT_IN	0x054
#define TR_TE_TRIG_EXT_OUT	0x058
#define TR_TE_FILTER(i)		(0x400 + 0x20 * (i))
#define TR_TE_COMP(j)		(0x600 + 0x20 * (j))
#define TR_FUNNEL_DIS_INPUT	0x008
#define TR_RAM_START_LOW	0x010
#define TR_RAM_START_HIGH	0x014
#define TR_RAM_LIMIT_LOW	0x018
#define TR_RAM_LIMIT_HIGH	0x01c
#define TR_RAM_WP_LOW		0x020
#define TR_RAM_WP_HIGH		0x024
#define TR_RAM_RP_LOW		0x028
#define TR_RAM_RP_HIGH		0x02c
#define TR_RAM_DATA		0x040

/* Fields of tr??Control in all components */
#define TR_ACTIVE		(1U << 0)
#define TR_ENABLE		(1U << 1)
#define TR_EMPTY		(1U << 3)

/* Fields of trTeControl */
#define TR_TE_INST_TRACING	(1U << 2)
#define TR_TE_INST_MODE		(7U << 4)
#define TR_TE_CONTEXT		(1U << 9)
#define TR_TE_INST_TRIG_ENABLE	(1U << 11)
#define TR_TE_INST_STALL_OR_OVERFLOW (1U << 12)
#define TR_TE_INST_STALL_ENA	(1U << 13)
#define TR_TE_INHIBIT_SRC	(1U << 15)
#define TR_TE_INST_SYNC_MODE	(3U << 16)
#define TR_TE_INST_SYNC_MAX	(15U << 20)
#define TR_TE_FORMAT		(7U << 24)

/* Fields of trTeInstFeatures */
#define TR_TE_INST_EN_SEQUENTIAL_JUMP	(1U << 2)
#define TR_TE_INST_EN_IMPLICIT_RETURN	(1U << 3)
#define TR_TE_INST_IMPLICIT_RETURN_MODE	(3U << 6)
#define TR_TE_INST_EN_REPEATED_HISTORY	(1U << 8)
#define TR_TE_INST_EN_ALL_JUMPS		(1U << 9)
#define TR_TE_INST_EXTEND_ADDR_MSB	(1U << 10)
#define TR_TE_SRC_ID			(0xfffU << 16)
#define TR_TE_SRC_BITS			(15U << 28)

/* Fields of trTsControl */
#define TR_TS_ACTIVE		(1U << 0)
#define TR_TS_COUNT		(1U << 1)
#define TR_TS_RESET		(1U << 2)
#define TR_TS_RUN_IN_DEBUG	(1U << 3)
#define TR_TS_MODE		(7U << 4)
#define TR_TS_PRESCALE		(3U << 8)
#define TR_TS_ENABLE		(1U << 15)
#define TR_TS_WIDTH		(63U << 24)

/* Sources of timestamps, which are the values of trTsMode */
enum nb_ts_mode {
	NB_TS_NONE	= 0,
	NB_TS_EXTERNAL	= 1,	/* the value of nb_ts.clock, unchanged */
	NB_TS_SYSTEM	= 2,	/* a counter that nb_ts.clock drives, with prescaler and reset */
	NB_TS_CORE	= 3,	/* a counter of the hart's cycles */
	NB_TS_SHARED	= 4,	/* the timestamp of the next funnel */
};

/* Fields of trTeFilter_i_Control and trTeFilter_i_MatchInst */
#define TR_FILTER_ENABLE		(1U << 0)
#define TR_FILTER_MATCH_PRIVILEGE	(1U << 1)
#define TR_FILTER_MATCH_ECAUSE		(1U << 2)
#define TR_FILTER_MATCH_INTERRUPT	(1U << 3)
#define TR_FILTER_MATCH_COMP(n)		(1U << (4 + 4 * (n)))	/* @n is 0 to 2 */
#define TR_FILTER_COMP_SHIFT(n)		(5 + 4 * (n))
#define TR_FILTER_VALUE_INTERRUPT	(1U << 8)

/* Fields of trTeComp_j_Control */
#define TR_COMP_P_INPUT		(3U << 0)
#define TR_COMP_S_INPUT		(3U << 2)
#define TR_COMP_P_FUNCTION	(7U << 4)
#define TR_COMP_S_FUNCTION	(7U << 8)
#define TR_COMP_MATCH_MODE	(3U << 12)
#define TR_COMP_P_NOTIFY	(1U << 14)
#define TR_COMP_S_NOTIFY	(1U << 15)

/* Fields of trRamControl, trRamImpl and trRamWPLow */
#define TR_RAM_MODE		(1U << 4)	/* 0 SRAM, 1 SMEM */
#define TR_RAM_STOP_ON_WRAP	(1U << 8)
#define TR_RAM_MEM_FORMAT	(3U << 9)
#define TR_RAM_ASYNC_FREQ	(7U << 12)
#define TR_RAM_HAS_SRAM		(1U << 12)
#define TR_RAM_HAS_SMEM		(1U << 13)
#define TR_RAM_WRAP		(1U << 0)

#define NB_MAX_FILTERS		16
#define NB_MAX_COMPS		8
#define NB_MAX_INPUTS		16
#define NB_MAX_FUNNEL_FIFO	1024

/* Mistakes of the software that uses a component, which the component reports by nb_dev.report */
enum nb_report {
	NB_REPORT_INACTIVE,	/* access to a register other than Control while Active was 0 */
	NB_REPORT_ENABLED,	/* write of a setting while the component was enabled or not empty */
	NB_REPORT_UNALIGNED,	/* access that is not 32 bits wide at a multiple of 4 */
	NB_REPORT_UNSET,	/* a component was enabled although a register is still undefined after reset */
	NB_REPORT_RANGE,	/* a sink was enabled with a write pointer outside its buffer */
	NB_REPORT_LEFT,		/* the software ended while a sink was enabled, which may write to memory */
	NB_REPORT_LINK_LEFT,	/* the software ended while an ATB bridge was enabled */
	NB_REPORT_POWER,	/* the power of an enabled component was switched off */
	NB_REPORT_LOCKED,	/* write to a locked CoreSight component */
	NB_REPORT_OFF,		/* access to a component without power or clock, or in reset */
	NB_REPORT_MAX,
};

/**
 * nb_report_text() - describe a mistake in one line
 * @what: The report of the mistake
 */
const char *nb_report_text(enum nb_report what);

/*
 * Faults to inject into a component. A member that is 0 injects no fault. If @stuck, @corrupt, @drop,
 * @duplicate or @irq_spurious is N, the fault is injected about once in N possible times.
 */
struct nb_faults {
	bool		active_stuck;	/* Active ignores writes */
	bool		not_empty;	/* Empty never changes from 0 to 1 after trace was flushed */
	bool		enable_stuck;	/* an encoder's Enable stays 0 */
	uint32_t	stuck;		/* a write that changes Active has no effect until software repeats it,
					 * or Empty stays 0 after a flush until the component is reset
					 */
	bool		clock_stopped;	/* the timestamp does not change */
	bool		bus_error;	/* a sink's writes to memory fail */
	bool		wp_outside;	/* a sink's write pointer reads 4 KiB after Limit */
	uint32_t	corrupt;	/* about one in @corrupt messages gets a flipped bit */
	uint32_t	drop;		/* about one in @drop messages is dropped */
	uint32_t	duplicate;	/* about one in @duplicate messages is sent twice */
	uint32_t	seed;		/* seed of the random choices */
	bool		irq_lost;	/* a sink raises no interrupt */
	uint32_t	irq_spurious;	/* a sink raises an interrupt when a message arrives */
};

struct nb_dev;

struct nb_dev_ops {
	/* the component has no tr??Control, so write() gets writes to all offsets, and loaded() is not called */
	bool foreign;
	uint32_t control_reset;	/* bits of tr??Control that are 1 while Active is 0, except Empty */
	void (*write)(struct nb_dev *dev, unsigned int offset, uint32_t value);
	void (*loaded)(struct nb_dev *dev, unsigned int offset);
	void (*refresh)(struct nb_dev *dev);
	bool (*holds)(struct nb_dev *dev);	/* returns true if the component still contains trace */
	void (*activate)(struct nb_dev *dev);	/* called when Active changes from 0 to 1 */
	void (*reset)(struct nb_dev *dev);	/* called when Active changes from 1 to 0 or power is lost */
};

/* The common state of all components */
struct nb_dev {
	uint32_t	shadow[1024];	/* results of loads, by offset / 4 */
	const struct nb_dev_ops *ops;
	const char	*name;		/* name of the component in error messages, set by the owner */
	uint8_t		written[1024 / 8];	/* one bit for each word, set if it was written since the last reset */
	uint32_t	active_delay;	/* number of loads of Control after a write until Active changes */
	uint32_t	enable_delay;	/* number of loads of Control after a write until Enable changes */
	uint32_t	ts_active_delay; /* number of loads of trTsControl after a write until trTsActive changes */
	uint32_t	empty_delay;	/* number of loads of Control, after Enable became 0, until Empty is 1 */
	bool		jammed;		/* Empty stays 0 until a reset (faults.stuck, caps.keeps_rest) */
	uint32_t	chance;		/* state of the random number generator */
	/* number of reads of the register after which a delayed change takes effect; 0 if no change is delayed */
	uint32_t	active_left;
	uint32_t	enable_left;
	uint32_t	ts_active_left;
	uint32_t	empty_left;
	uint32_t	control;	/* last value written to Control, which may not yet be in effect */
	uint32_t	ts_control;	/* last value written to trTsControl, which may not yet be in effect */
	uint32_t	undef;		/* random state for fields that are undefined after reset; 0 sets them to 0 */
	struct nb_faults faults;
	uint64_t	activations;	/* number of changes of Active from 0 to 1 */

	/* Callbacks, which the owner may set; each may be NULL */
	void		(*changed)(void *opaque, struct nb_dev *dev, unsigned int offset,
				   uint32_t value);
	void		(*report)(void *opaque, struct nb_dev *dev, enum nb_report what,
				  unsigned int offset, uint32_t value);
	void		*opaque;
};

/**
 * nb_dev_write() - store to a register
 * @dev: The component
 * @offset: Offset of the register in the 4 KiB of the component. A store to an offset that is not a multiple
 *	of 4 is reported and ignored.
 * @value: The stored value
 *
 * When the function returns, the store has had all its effects. Messages have been sent,
 * and the shadow has the value for the next load.
 */
void nb_dev_write(struct nb_dev *dev, unsigned int offset, uint32_t value);

/**
 * nb_dev_access() - check that an access is to one whole register
 * @dev: The component, whose nb_dev.report is called for any other access
 * @offset: Offset of the access in the 4 KiB of the component
 * @size: Size of the access in bytes
 *
 * Return: True if the access is 32 bits wide at a multiple of 4.
 */
bool nb_dev_access(struct nb_dev *dev, unsigned int offset, unsigned int size);

/**
 * nb_dev_loaded() - perform the side effects of a load that has happened
 * @dev: The component
 * @offset: Offset of the register in the 4 KiB of the component
 */
void nb_dev_loaded(struct nb_dev *dev, unsigned int offset);

/**
 * nb_dev_read() - load from a register and perform the side effects of the load
 * @dev: The component
 * @offset: Offset of the register in the 4 KiB of the component
 *
 * Return: The value of the register.
 */
uint32_t nb_dev_read(struct nb_dev *dev, unsigned int offset);

/**
 * nb_dev_refresh() - update registers that change by themselves (trTsCounter)
 * @dev: The component
 */
void nb_dev_refresh(struct nb_dev *dev);

/**
 * nb_dev_power_off() - switch the power of a component off and on
 * @dev: The component
 *
 * After the call, all registers have their values after power-up. For example, Active is 0. Trace that was
 * not sent or written is lost.
 */
void nb_dev_power_off(struct nb_dev *dev);

/* A Timestamp Unit of an encoder or a funnel */
struct nb_ts {
	uint64_t	(*clock)(void *opaque);	/* set by the owner; NULL if the component has no Timestamp Unit */
	void		*clock_opaque;
	const uint64_t	*core_cycles;		/* cycle counter for NB_TS_CORE, or NULL */
	const struct nb_ts *shared;		/* unit of the next funnel for NB_TS_SHARED, or NULL */
	uint8_t		modes;			/* bit N is set if enum nb_ts_mode N is supported */
	uint8_t		width;			/* trTsWidth, the bits of a timestamp, 1..63 */
	bool		prescaler;
	bool		encoder;		/* the unit belongs to an encoder, and has trTsEnable */
	uint64_t	base;			/* value of clock() at which the counter was 0 */
	uint64_t	stopped;		/* value of a stopped counter */
	uint32_t	control;
	const struct nb_faults *faults;
};

/**
 * nb_ts_now() - read the timestamp
 * @ts: The timestamp unit
 */
uint64_t nb_ts_now(const struct nb_ts *ts);

struct nb_ram_caps {
	bool		sram, smem;	/* supported modes, of which at least one is true */
	uint32_t	sram_size;	/* size of the SRAM in bytes, a power of two */
	uint32_t	align;		/* alignment A of pointers and writes in SMEM mode, in bytes, 2^n, at least 4 */
	uint32_t	start_align;	/* alignment of trRamStart in bytes if it is coarser than @align */
	uint32_t	burst;		/* bytes that the sink collects before a write; 0 means @align */
	uint64_t	smem_lowest;	/* lowest address for Start, Limit and WP */
	uint64_t	smem_highest;	/* highest address for Start, Limit and WP */
	uint8_t		sizes;		/* sizes of buffers; 0 allows any size, 1 rounds a size down to a
					 * power of two, and 2 rounds it up
					 */
	bool		smem_fixed;	/* Start and Limit are fixed at smem_lowest and smem_highest */
	bool		stop_on_wrap;
	bool		stop_fixed;	/* trRamStopOnWrap is always 1 */
	bool		limit_fixed;	/* trRamLimit is fixed in SRAM mode */
	uint32_t	formats;	/* bits of trRamMemFormat and trRamAsyncFreq that can be set, without
					 * an effect on the data
					 */
	bool		data_write;	/* trRamData can be written in SRAM mode */
	bool		smem_data;	/* trRamRP and trRamData exist in SMEM mode */
	bool		keeps_rest;	/* after a stop on wrap, the sink's field Empty stays 0 until a reset */
	uint8_t		vendor;
	uint8_t		ver_major, ver_minor;
};

void nb_ram_caps_full(struct nb_ram_caps *caps);

/* A Trace RAM Sink */
struct nb_ram {
	struct nb_dev	dev;		/* must be the first member */
	struct nb_ram_caps caps;
	uint64_t	start, limit, wp, rp;
	bool		wrap;
	bool		broken;		/* the sink was enabled with an invalid buffer, and refuses all messages */
	uint8_t		*buf;		/* bytes that wait for a write to memory */
	uint32_t	n;		/* number of bytes in @buf */
	uint32_t	burst;		/* number of bytes in @buf after which the sink writes them to memory */
	uint32_t	*sram;
	uint64_t	bytes;		/* number of bytes accepted since nb_ram_init() */
	uint64_t	refused;	/* number of refused messages */
	uint32_t	spurious;	/* number of messages since the last spurious interrupt */
	uint64_t	bus_errors;	/* number of failed writes */

	/* Writes system memory, and returns false for a bus error. The owner sets this callback. */
	bool		(*mem_write)(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len);
	/* Reads system memory, for caps.smem_data. The owner sets this callback, or NULL. */
	bool		(*mem_read)(void *opaque, uint64_t addr, uint8_t *bytes, size_t len);
	/*
	 * Raises an interrupt because trRamWrap was set. The specification does not define
	 * this interrupt. The interrupt is edge-triggered and needs no acknowledgement in a
	 * register. The owner sets this callback, or NULL.
	 */
	void		(*irq)(void *opaque);
	void		*mem_opaque;
};

/**
 * nb_ram_init() - initialise a Trace RAM Sink to its state after power-up
 * @ram: Memory with any content. After this call, set mem_write and the members of dev that nb_te_init() lists.
 * @caps: The capabilities, which are copied
 *
 * This is the only function of this file that allocates memory.
 *
 * Return: 0, or -1 if memory is exhausted.
 */
int nb_ram_init(struct nb_ram *ram, const struct nb_ram_caps *caps);
void nb_ram_fini(struct nb_ram *ram);

/**
 * nb_ram_end() - check the sink when the software that used it ends
 * @ram: The sink, which is reported if it may still write to memory
 */
void nb_ram_end(struct nb_ram *ram);

/**
 * nb_ram_input() - accept messages; this function has type nb_out_fn
 * @ram: A struct nb_ram
 * @bytes: Complete messages
 * @len: Length of the messages in bytes
 *
 * Return: False if the sink is disabled or has stopped on wrap.
 */
bool nb_ram_input(void *ram, const uint8_t *bytes, size_t len);

struct nb_funnel_caps {
	uint8_t		inputs;		/* number of inputs, 1..16 */
	bool		dis_input;
	uint32_t	fifo;		/* size of the FIFO in bytes, or 0; a message of N bytes needs N + 2 */
	bool		reorder;	/* inputs are served round-robin, not in the order of arrival */
	uint8_t		ts_modes;
	uint8_t		ts_width;
	bool		ts_prescale;
	uint8_t		vendor;
	uint8_t		ver_major, ver_minor;
};

struct nb_funnel;

struct nb_funnel_port {
	struct nb_funnel *funnel;
	unsigned int	index;
};

/* A Trace Funnel */
struct nb_funnel {
	struct nb_dev	dev;		/* must be the first member */
	struct nb_funnel_caps caps;
	struct nb_ts	ts;
	struct nb_funnel_port port[NB_MAX_INPUTS];	/* opaque arguments of nb_funnel_input() */
	nb_out_fn	out;
	void		*out_opaque;
	uint8_t		fifo[NB_MAX_FUNNEL_FIFO];
	uint32_t	held;		/* number of bytes in @fifo */
	unsigned int	next;		/* next input to serve */
	uint64_t	discarded;
};

/* nb_funnel_drain() - send the messages in the FIFO until the output refuses one, and set Empty if none is left */
void nb_funnel_drain(struct nb_funnel *funnel);

void nb_funnel_init(struct nb_funnel *funnel, const struct nb_funnel_caps *caps,
		    nb_out_fn out, void *opaque);

/**
 * nb_funnel_input() - accept a message; this function has type nb_out_fn
 * @port: &funnel->port[input]
 * @bytes: A complete message
 * @len: Length of the message in bytes
 *
 * Return: False if the funnel is disabled or its output refuses the message.
 */
bool nb_funnel_input(void *port, const uint8_t *bytes, size_t len);

#endif /* NTRACE_BOARD_REGS_H */
