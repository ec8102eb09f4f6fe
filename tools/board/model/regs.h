/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The components of the RISC-V Trace Control Interface 1.0 as register blocks
 * of 4 KiB. These are the Trace Encoder (with its Timestamp Unit, filters and
 * comparators), the Trace Funnel and the Trace RAM Sink.
 *
 *	nb_te.enc --nb_te_connect()--> nb_funnel_input / nb_ram_input
 *
 * nb_dev.shadow always has the values that loads return. nb_dev.changed reports each change of it, so
 * that an owner whose loads are plain RAM loads can mirror it. nb_dev.changed also reports each word that
 * was stored to, even if the shadow is unchanged, because the store has changed the mirror. The owner
 * reports a store by nb_dev_write(). If a load has an effect (trRamData, or Active and Empty if they
 * change with a delay), the owner calls nb_dev_loaded() after the load.
 *
 * The functions are not thread safe. The owner needs one lock for all components of a path.
 */
#ifndef NTRACE_BOARD_REGS_H
#define NTRACE_BOARD_REGS_H

#include "encoder.h"
#include "truth.h"

/* table "Trace Components" */
#define TRCOMP_ENCODER		0x1
#define TRCOMP_FUNNEL		0x8
#define TRCOMP_RAMSINK		0x9
#define TRCOMP_ATBBRIDGE	0xe

/* Offsets */
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

/* tr??Control, all components */
#define TR_ACTIVE		(1U << 0)
#define TR_ENABLE		(1U << 1)
#define TR_EMPTY		(1U << 3)

/* trTeControl */
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

/* trTeInstFeatures */
#define TR_TE_INST_EN_SEQUENTIAL_JUMP	(1U << 2)
#define TR_TE_INST_EN_IMPLICIT_RETURN	(1U << 3)
#define TR_TE_INST_IMPLICIT_RETURN_MODE	(3U << 6)
#define TR_TE_INST_EN_REPEATED_HISTORY	(1U << 8)
#define TR_TE_INST_EN_ALL_JUMPS		(1U << 9)
#define TR_TE_INST_EXTEND_ADDR_MSB	(1U << 10)
#define TR_TE_SRC_ID			(0xfffU << 16)
#define TR_TE_SRC_BITS			(15U << 28)

/* trTsControl */
#define TR_TS_ACTIVE		(1U << 0)
#define TR_TS_COUNT		(1U << 1)
#define TR_TS_RESET		(1U << 2)
#define TR_TS_RUN_IN_DEBUG	(1U << 3)
#define TR_TS_MODE		(7U << 4)
#define TR_TS_PRESCALE		(3U << 8)
#define TR_TS_ENABLE		(1U << 15)
#define TR_TS_WIDTH		(63U << 24)

/* trTsMode */
enum nb_ts_mode {
	NB_TS_NONE	= 0,
	NB_TS_EXTERNAL	= 1,	/* the clock of the owner, unchanged */
	NB_TS_SYSTEM	= 2,	/* a counter that this clock drives, with prescaler and reset */
	NB_TS_CORE	= 3,	/* a counter of the hart's cycles */
	NB_TS_SHARED	= 4,	/* the timestamp of the next funnel */
};

/* trTeFilter_i_Control, trTeFilter_i_MatchInst */
#define TR_FILTER_ENABLE		(1U << 0)
#define TR_FILTER_MATCH_PRIVILEGE	(1U << 1)
#define TR_FILTER_MATCH_ECAUSE		(1U << 2)
#define TR_FILTER_MATCH_INTERRUPT	(1U << 3)
#define TR_FILTER_MATCH_COMP(n)		(1U << (4 + 4 * (n)))	/* n 0..2 */
#define TR_FILTER_COMP_SHIFT(n)		(5 + 4 * (n))
#define TR_FILTER_VALUE_INTERRUPT	(1U << 8)

/* trTeComp_j_Control */
#define TR_COMP_P_INPUT		(3U << 0)
#define TR_COMP_S_INPUT		(3U << 2)
#define TR_COMP_P_FUNCTION	(7U << 4)
#define TR_COMP_S_FUNCTION	(7U << 8)
#define TR_COMP_MATCH_MODE	(3U << 12)
#define TR_COMP_P_NOTIFY	(1U << 14)
#define TR_COMP_S_NOTIFY	(1U << 15)

/* trRamControl, trRamImpl, trRamWPLow */
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

/* Mistakes of the software that programs a component */
enum nb_report {
	NB_REPORT_INACTIVE,	/* access to a register other than Control while Active was 0 */
	NB_REPORT_ENABLED,	/* write of a setting while the component was enabled or not empty */
	NB_REPORT_UNALIGNED,	/* access that is not 32 bits wide at a multiple of 4 */
	NB_REPORT_UNSET,	/* enabled before a register that is undefined after reset was written */
	NB_REPORT_RANGE,	/* enabled a sink with a write pointer outside its buffer */
	NB_REPORT_LEFT,		/* left a sink enabled, which may write to memory */
	NB_REPORT_LINK_LEFT,	/* left an ATB bridge enabled */
	NB_REPORT_POWER,	/* switched the power off while enabled */
	NB_REPORT_LOCKED,	/* wrote to a locked CoreSight component */
	NB_REPORT_OFF,		/* access without power or clock, or in reset */
	NB_REPORT_MAX,
};

/**
 * nb_report_text() - describe a mistake in one line
 * @what: The report of the mistake
 */
const char *nb_report_text(enum nb_report what);

/* Faults to inject into any component; 0 is none. */
struct nb_faults {
	bool		active_stuck;	/* Active ignores writes */
	bool		not_empty;	/* Empty stays 0 */
	bool		enable_stuck;	/* an encoder's Enable stays 0 */
	uint32_t	stuck;		/* one in N flushes or changes of Active does not end before the
					 * register is written again (Active) or reset (Empty); 0 is none
					 */
	bool		clock_stopped;	/* the timestamp does not change */
	bool		bus_error;	/* a sink's writes to memory fail */
	bool		wp_outside;	/* a sink's write pointer reads 4 KiB after Limit */
	uint32_t	corrupt;	/* one in N messages has a flipped bit; 0 is none */
	uint32_t	drop;		/* one in N messages is dropped; 0 is none */
	uint32_t	duplicate;	/* one in N messages is sent twice; 0 is none */
	uint32_t	seed;
	bool		irq_lost;	/* a sink raises no interrupt */
	uint32_t	irq_spurious;	/* one in N messages raises an interrupt */
};

struct nb_dev;

struct nb_dev_ops {
	bool foreign;	/* has no tr??Control, so write() and loaded() get all offsets, see coresight.h */
	uint32_t control_reset;	/* bits of tr??Control beside Empty while Active is 0 */
	void (*write)(struct nb_dev *dev, unsigned int offset, uint32_t value);
	void (*loaded)(struct nb_dev *dev, unsigned int offset);
	void (*refresh)(struct nb_dev *dev);
	bool (*holds)(struct nb_dev *dev);	/* the component holds trace that its output did not accept */
	void (*activate)(struct nb_dev *dev);	/* Active 0 -> 1 */
	void (*reset)(struct nb_dev *dev);	/* Active 1 -> 0 */
};

/* The common state of all components */
struct nb_dev {
	uint32_t	shadow[1024];	/* results of loads, by offset / 4 */
	const struct nb_dev_ops *ops;
	const char	*name;		/* name of the component in error messages, set by the owner */
	uint8_t		written[1024 / 8];	/* bit N: word N was written since the last reset */
	uint32_t	active_delay;	/* loads of Control until Active changes */
	uint32_t	enable_delay;	/* loads of Control until Enable changes */
	uint32_t	ts_active_delay; /* loads of trTsControl until trTsActive changes */
	uint32_t	empty_delay;	/* loads of Control from Enable 1 -> 0 until Empty is 1 */
	bool		jammed;		/* Empty stays 0 until a reset (faults.stuck, caps.keeps_rest) */
	uint32_t	chance;		/* state of the random number generator */
	uint32_t	active_left;
	uint32_t	enable_left;
	uint32_t	ts_active_left;
	uint32_t	empty_left;
	uint32_t	control;	/* value that was written before Active changed */
	uint32_t	ts_control;	/* value that was written before trTsActive changed */
	uint32_t	undef;		/* seed of the values of undefined fields after reset; 0 is none */
	struct nb_faults faults;
	uint64_t	activations;	/* number of changes of Active from 0 to 1 */

	/* callbacks, which the owner may set, or NULL */
	void		(*changed)(void *opaque, struct nb_dev *dev, unsigned int offset,
				   uint32_t value);
	void		(*report)(void *opaque, struct nb_dev *dev, enum nb_report what,
				  unsigned int offset, uint32_t value);
	void		*opaque;
};

/**
 * nb_dev_write() - store to a register
 * @dev: The component
 * @offset: Offset in its 4 KiB. If it is not a multiple of 4, it is reported and ignored.
 * @value: The stored value
 *
 * The function returns after all effects of the store. Messages have been sent,
 * and the shadow has the value for the next load.
 */
void nb_dev_write(struct nb_dev *dev, unsigned int offset, uint32_t value);

/**
 * nb_dev_access() - check that an access is to one whole register
 * @dev: The component, which reports any other access
 * @offset: Offset of the register in its 4 KiB
 * @size: Size of the access in bytes
 *
 * Return: True if the access is 32 bits wide at a multiple of 4.
 */
bool nb_dev_access(struct nb_dev *dev, unsigned int offset, unsigned int size);

/**
 * nb_dev_loaded() - perform the side effects of a load that has happened
 * @dev: The component
 * @offset: Offset of the register in its 4 KiB
 */
void nb_dev_loaded(struct nb_dev *dev, unsigned int offset);

/**
 * nb_dev_read() - load from a register, with the side effects
 * @dev: The component
 * @offset: Offset of the register in its 4 KiB
 *
 * Return: The value.
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
 * All registers have their values after power-up, such as Active 0. Trace that was not sent or written
 * is lost.
 */
void nb_dev_power_off(struct nb_dev *dev);

/* A Timestamp Unit of an encoder or a funnel */
struct nb_ts {
	uint64_t	(*clock)(void *opaque);	/* set by the owner; NULL without a unit */
	void		*clock_opaque;
	const uint64_t	*core_cycles;		/* for NB_TS_CORE, or NULL */
	const struct nb_ts *shared;		/* for NB_TS_SHARED, or NULL */
	uint8_t		modes;			/* bit N is set if enum nb_ts_mode N is supported */
	uint8_t		width;			/* trTsWidth, 1..63 */
	bool		prescaler;
	bool		encoder;		/* has trTsEnable */
	uint64_t	base;			/* clock at which the counter was 0 */
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
	bool		sram, smem;	/* supported modes, at least one */
	uint32_t	sram_size;	/* bytes, a power of two */
	uint32_t	align;		/* "A": access width in SMEM mode, 2^n, at least 4 */
	uint32_t	start_align;	/* alignment of trRamStart if it is coarser */
	uint32_t	burst;		/* bytes collected before a write; 0 is align */
	uint64_t	smem_lowest;	/* range of addresses for Start, Limit and WP */
	uint64_t	smem_highest;
	uint8_t		sizes;		/* supported sizes of a buffer; 0 is any, 1 rounds down to a power of
					 * two, 2 rounds up
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
	bool		keeps_rest;	/* after a stop on wrap, Empty stays 0 until a reset */
	uint8_t		vendor;
	uint8_t		ver_major, ver_minor;
};

void nb_ram_caps_full(struct nb_ram_caps *caps);

/* A Trace RAM Sink */
struct nb_ram {
	struct nb_dev	dev;		/* first */
	struct nb_ram_caps caps;
	uint64_t	start, limit, wp, rp;
	bool		wrap;
	bool		broken;		/* enabled with an invalid buffer */
	uint8_t		*buf;		/* bytes that wait for a write to memory */
	uint32_t	n;		/* number of bytes in @buf */
	uint32_t	burst;		/* size of @buf */
	uint32_t	*sram;
	uint64_t	bytes;		/* number of bytes accepted since init */
	uint64_t	refused;	/* number of refused messages */
	uint32_t	spurious;	/* messages since the last spurious interrupt */
	uint64_t	bus_errors;	/* number of failed writes */

	/* write system memory; set by the owner; returns false for a bus error */
	bool		(*mem_write)(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len);
	/* read system memory, for caps.smem_data; set by the owner, or NULL */
	bool		(*mem_read)(void *opaque, uint64_t addr, uint8_t *bytes, size_t len);
	/*
	 * Raise an interrupt, which the specification does not define, because trRamWrap
	 * was set. It is edge-triggered and needs no acknowledgement in a register. Set by
	 * the owner, or NULL.
	 */
	void		(*irq)(void *opaque);
	void		*mem_opaque;
};

/**
 * nb_ram_init() - initialise a Trace RAM Sink as after power-up
 * @ram: Memory with any content; set mem_write and, as after nb_te_init(), dev.* after this call
 * @caps: The capabilities, which are copied
 *
 * This is the only function of this file that allocates memory.
 *
 * Return: 0, or -1 without memory.
 */
int nb_ram_init(struct nb_ram *ram, const struct nb_ram_caps *caps);
void nb_ram_fini(struct nb_ram *ram);

/**
 * nb_ram_end() - check the sink when the software that used it ends
 * @ram: The sink, which is reported if it may still write to memory
 */
void nb_ram_end(struct nb_ram *ram);

/**
 * nb_ram_input() - accept messages; an nb_out_fn
 * @ram: A struct nb_ram
 * @bytes: Complete messages
 * @len: Length of the messages in bytes
 *
 * Return: False if the sink is disabled or has stopped on wrap.
 */
bool nb_ram_input(void *ram, const uint8_t *bytes, size_t len);

struct nb_funnel_caps {
	uint8_t		inputs;		/* 1..16 */
	bool		dis_input;
	uint32_t	fifo;		/* bytes; each message needs two more than its length; 0 is none */
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
	struct nb_dev	dev;		/* first */
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

/* nb_funnel_drain() - send the content of the FIFO as far as the output accepts it */
void nb_funnel_drain(struct nb_funnel *funnel);

void nb_funnel_init(struct nb_funnel *funnel, const struct nb_funnel_caps *caps,
		    nb_out_fn out, void *opaque);

/**
 * nb_funnel_input() - accept a message; an nb_out_fn
 * @port: &funnel->port[input]
 * @bytes: A complete message
 * @len: Length of the message in bytes
 *
 * Return: False if the funnel is disabled or its output refuses the message.
 */
bool nb_funnel_input(void *port, const uint8_t *bytes, size_t len);

#endif /* NTRACE_BOARD_REGS_H */
