/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The components of the RISC-V Trace Control Interface 1.0: Trace Encoder
 * (with its Timestamp Unit, filters and comparators), Trace Funnel and Trace
 * RAM Sink, as register blocks of 4 KiB.
 *
 *	nb_te.enc --nb_te_connect()--> nb_funnel_input / nb_ram_input
 *
 * What a load returns is always in nb_dev.shadow. nb_dev.changed reports each change of it, so that an
 * owner whose loads are plain RAM loads can mirror it. nb_dev.changed also reports each word that was
 * stored to, even if the shadow is as before, since the store has changed the mirror. The owner reports a
 * store by nb_dev_write(). If a load has an effect (trRamData, and Active or Empty that follow with
 * delay), the owner calls nb_dev_loaded() after the load.
 *
 * Not thread safe: the owner has one lock for all components of one path.
 */
#ifndef NTRACE_BOARD_REGS_H
#define NTRACE_BOARD_REGS_H

#include "encoder.h"
#include "truth.h"

/* table "Trace Components" */
#define TRCOMP_ENCODER		0x1
#define TRCOMP_FUNNEL		0x8
#define TRCOMP_RAMSINK		0x9
#define TRCOMP_PIBSINK		0xa
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
	NB_TS_EXTERNAL	= 1,	/* the clock of the owner, as it is */
	NB_TS_SYSTEM	= 2,	/* a counter driven by that clock: count, reset, prescale */
	NB_TS_CORE	= 3,	/* a counter of the hart's cycles */
	NB_TS_SHARED	= 4,	/* the timestamp of the funnel that follows */
};

/* trTeFilter_i_Control, trTeFilter_i_MatchInst */
#define TR_FILTER_ENABLE		(1U << 0)
#define TR_FILTER_MATCH_PRIVILEGE	(1U << 1)
#define TR_FILTER_MATCH_ECAUSE		(1U << 2)
#define TR_FILTER_MATCH_INTERRUPT	(1U << 3)
#define TR_FILTER_MATCH_COMP(n)		(1U << (4 + 4 * (n)))	/* n 0..2 */
#define TR_FILTER_COMP_SHIFT(n)		(5 + 4 * (n))
#define TR_FILTER_MATCH_IMPDEF		(1U << 16)
#define TR_FILTER_CHOICE_PRIVILEGE	0xffU
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

/* Mistakes of the software that programs a component. */
enum nb_report {
	NB_REPORT_INACTIVE,	/* accessed a register other than Control while Active was 0 */
	NB_REPORT_ENABLED,	/* wrote a setting while the component was enabled or not empty */
	NB_REPORT_UNALIGNED,	/* an access that is not of 32 bits at a multiple of 4 */
	NB_REPORT_UNSET,	/* enabled, a register that is undefined after reset not written */
	NB_REPORT_RANGE,	/* enabled a sink whose write pointer is outside its buffer */
	NB_REPORT_LEFT,		/* left a sink enabled that writes to memory */
	NB_REPORT_LINK_LEFT,	/* left an ATB bridge enabled */
	NB_REPORT_POWER,	/* let the power go while enabled */
	NB_REPORT_LOCKED,	/* wrote to a CoreSight component without its key */
	NB_REPORT_OFF,		/* accessed without power or clock, or in reset */
	NB_REPORT_MAX,
};

/**
 * nb_report_text() - one line on what was wrong
 * @what: the report
 */
const char *nb_report_text(enum nb_report what);

/* Faults on command, for any component; 0 is none. */
struct nb_faults {
	bool		active_stuck;	/* Active never follows what is written */
	bool		not_empty;	/* Empty stays 0 */
	bool		enable_stuck;	/* an encoder's Enable stays 0 */
	uint32_t	stuck;		/* one in N flushes and changes of Active does not end, until the
					 * register is written again (Active) or reset (Empty); 0 never
					 */
	bool		clock_stopped;	/* the timestamp stands still */
	bool		bus_error;	/* a sink's writes to memory fail */
	bool		wp_outside;	/* a sink's write pointer reads 4 KiB after Limit */
	uint32_t	corrupt;	/* one in N messages has a bit flipped, */
	uint32_t	drop;		/* ... is dropped, */
	uint32_t	duplicate;	/* ... is sent twice; 0 never */
	uint32_t	seed;
	bool		irq_lost;	/* a sink raises no interrupt */
	uint32_t	irq_spurious;	/* one in N messages makes it raise one */
};

struct nb_dev;

struct nb_dev_ops {
	bool foreign;	/* no tr??Control: all offsets go to write() and loaded(), see coresight.h */
	uint32_t control_reset;	/* what tr??Control shows beside Empty while Active is 0 */
	void (*write)(struct nb_dev *dev, unsigned int offset, uint32_t value);
	void (*loaded)(struct nb_dev *dev, unsigned int offset);
	void (*refresh)(struct nb_dev *dev);
	bool (*holds)(struct nb_dev *dev);	/* holds trace that its output did not accept */
	void (*activate)(struct nb_dev *dev);	/* Active 0 -> 1 */
	void (*reset)(struct nb_dev *dev);	/* Active 1 -> 0 */
};

/* The state that all components have. */
struct nb_dev {
	uint32_t	shadow[1024];	/* what a load returns, by offset / 4 */
	const struct nb_dev_ops *ops;
	const char	*name;		/* set by the owner, for its messages */
	uint8_t		written[1024 / 8];	/* since the last reset */
	uint32_t	active_delay;	/* loads of Control until Active follows */
	uint32_t	enable_delay;	/* ... until Enable follows */
	uint32_t	ts_active_delay; /* loads of trTsControl until trTsActive follows */
	uint32_t	empty_delay;	/* loads of Control until Empty follows Enable 1 -> 0 */
	bool		jammed;		/* by faults.stuck: Empty stays 0 until a reset */
	uint32_t	chance;		/* state of its random numbers */
	uint32_t	active_left;
	uint32_t	enable_left;
	uint32_t	ts_active_left;
	uint32_t	empty_left;
	uint32_t	control;	/* written while Active had not followed yet */
	uint32_t	ts_control;	/* ... and while trTsActive had not */
	uint32_t	undef;		/* not 0: seed of what undefined fields hold after reset */
	struct nb_faults faults;
	uint64_t	activations;	/* Active 0 -> 1 so far */

	/* set by the owner, may be NULL */
	void		(*changed)(void *opaque, struct nb_dev *dev, unsigned int offset,
				   uint32_t value);
	void		(*report)(void *opaque, struct nb_dev *dev, enum nb_report what,
				  unsigned int offset, uint32_t value);
	void		*opaque;
};

/**
 * nb_dev_write() - a store to a register
 * @dev: the component
 * @offset: within its 4 KiB, a multiple of 4 (else it is reported and ignored)
 * @value: as stored
 *
 * All effects have happened when it returns: messages are out, the shadow is
 * what the next load must return.
 */
void nb_dev_write(struct nb_dev *dev, unsigned int offset, uint32_t value);

/**
 * nb_dev_access() - is it an access of one register?
 * @dev: the component; another access is reported
 * @offset: within its 4 KiB
 * @size: bytes
 *
 * Return: false if it is not of 32 bits at a multiple of 4.
 */
bool nb_dev_access(struct nb_dev *dev, unsigned int offset, unsigned int size);

/**
 * nb_dev_loaded() - a load of a register has happened: its side effects
 * @dev: the component
 * @offset: within its 4 KiB
 */
void nb_dev_loaded(struct nb_dev *dev, unsigned int offset);

/**
 * nb_dev_read() - a load: the value, then its side effects
 * @dev: the component
 * @offset: within its 4 KiB
 *
 * Return: the value.
 */
uint32_t nb_dev_read(struct nb_dev *dev, unsigned int offset);

/**
 * nb_dev_refresh() - bring up to date what changes by itself (trTsCounter)
 * @dev: the component
 */
void nb_dev_refresh(struct nb_dev *dev);

/**
 * nb_dev_power_off() - the component loses its power, and has it again
 * @dev: the component
 *
 * All registers are as after power-up: Active is 0. What was not sent or written is lost.
 */
void nb_dev_power_off(struct nb_dev *dev);

/* A Timestamp Unit, of an encoder or a funnel. */
struct nb_ts {
	uint64_t	(*clock)(void *opaque);	/* set by the owner; NULL: there is no unit */
	void		*clock_opaque;
	const uint64_t	*core_cycles;		/* for NB_TS_CORE, may be NULL */
	const struct nb_ts *shared;		/* for NB_TS_SHARED, may be NULL */
	uint8_t		modes;			/* bit N: enum nb_ts_mode N can be set */
	uint8_t		width;			/* trTsWidth, 1..63 */
	bool		prescaler;
	bool		encoder;		/* has trTsEnable */
	uint64_t	base;			/* clock when the counter was 0 */
	uint64_t	stopped;		/* counter while it stands */
	uint32_t	control;
	const struct nb_faults *faults;
};

/**
 * nb_ts_now() - the timestamp
 * @ts: the unit
 */
uint64_t nb_ts_now(const struct nb_ts *ts);

struct nb_ram_caps {
	bool		sram, smem;	/* which modes there are, at least one */
	uint32_t	sram_size;	/* bytes, a power of two */
	uint32_t	align;		/* "A": access width in SMEM mode, 2^n, at least 4 */
	uint32_t	start_align;	/* of trRamStart, where it is coarser */
	uint32_t	burst;		/* bytes gathered before a write; 0: align */
	uint64_t	smem_lowest;	/* addresses that Start, Limit and WP can take */
	uint64_t	smem_highest;
	uint8_t		sizes;		/* of a buffer: 0 any, 1 a power of two or the one below, 2 or the
					 * one above
					 */
	bool		smem_fixed;	/* Start and Limit stay at the above */
	bool		stop_on_wrap;
	bool		stop_fixed;	/* trRamStopOnWrap is always 1 */
	bool		limit_fixed;	/* in SRAM mode, trRamLimit cannot be trimmed */
	uint32_t	formats;	/* bits of trRamMemFormat and trRamAsyncFreq that can be set; the
					 * data are plain bytes all the same
					 */
	bool		data_write;	/* trRamData can be written, in SRAM mode */
	bool		smem_data;	/* trRamRP and trRamData are there in SMEM mode */
	bool		keeps_rest;	/* stopped on wrap, it is not empty until a reset: a FIFO of its own */
	uint8_t		vendor;
	uint8_t		ver_major, ver_minor;
};

void nb_ram_caps_full(struct nb_ram_caps *caps);

/* A Trace RAM Sink. */
struct nb_ram {
	struct nb_dev	dev;		/* first */
	struct nb_ram_caps caps;
	uint64_t	start, limit, wp, rp;
	bool		wrap;
	bool		broken;		/* enabled with an impossible buffer */
	uint8_t		*buf;		/* gathered, not written yet */
	uint32_t	n;		/* bytes in it */
	uint32_t	burst;		/* its size */
	uint32_t	*sram;
	uint64_t	bytes;		/* taken since init */
	uint64_t	refused;	/* messages */
	uint32_t	spurious;	/* messages since the last spurious interrupt */
	uint64_t	bus_errors;	/* writes that failed */

	/* set by the owner: writes system memory; false is a bus error */
	bool		(*mem_write)(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len);
	/* ... and reads it, for caps.smem_data; may be NULL */
	bool		(*mem_read)(void *opaque, uint64_t addr, uint8_t *bytes, size_t len);
	/*
	 * ... an interrupt, which the specification does not have: trRamWrap was set,
	 * the buffer is full. An edge; nothing in the registers acknowledges it.
	 */
	void		(*irq)(void *opaque);
	void		*mem_opaque;
};

/**
 * nb_ram_init() - a Trace RAM Sink after power-up
 * @ram: any memory; dev.* as with nb_te_init(), and mem_write are set after this call
 * @caps: copied
 *
 * Return: 0, or -1 without memory. The only function here that allocates.
 */
int nb_ram_init(struct nb_ram *ram, const struct nb_ram_caps *caps);
void nb_ram_fini(struct nb_ram *ram);

/**
 * nb_ram_end() - software ends, and what comes next does not know of the sink
 * @ram: reported if it may write to memory still
 */
void nb_ram_end(struct nb_ram *ram);

/**
 * nb_ram_input() - a message arrives; an nb_out_fn
 * @ram: a struct nb_ram
 * @bytes: whole messages
 * @len: their length
 *
 * Return: false if the sink is disabled or was stopped by the wrap.
 */
bool nb_ram_input(void *ram, const uint8_t *bytes, size_t len);

struct nb_funnel_caps {
	uint8_t		inputs;		/* 1..16 */
	bool		dis_input;
	uint32_t	fifo;		/* bytes of messages and two more for each it holds, 0: none */
	bool		reorder;	/* inputs go in turn, and not in the order of arrival */
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

/* A Trace Funnel. */
struct nb_funnel {
	struct nb_dev	dev;		/* first */
	struct nb_funnel_caps caps;
	struct nb_ts	ts;
	struct nb_funnel_port port[NB_MAX_INPUTS];	/* opaque of nb_funnel_input() */
	nb_out_fn	out;
	void		*out_opaque;
	uint8_t		fifo[NB_MAX_FUNNEL_FIFO];
	uint32_t	held;		/* bytes in it */
	unsigned int	next;		/* the input whose turn it is */
	uint64_t	discarded;
};

/* nb_funnel_drain() - all that it holds goes to its output, as far as that takes it */
void nb_funnel_drain(struct nb_funnel *funnel);

void nb_funnel_init(struct nb_funnel *funnel, const struct nb_funnel_caps *caps,
		    nb_out_fn out, void *opaque);

/**
 * nb_funnel_input() - a message arrives; an nb_out_fn
 * @port: &funnel->port[input]
 * @bytes: a whole message
 * @len: its length
 *
 * Return: false where the funnel is disabled or its output refuses.
 */
bool nb_funnel_input(void *port, const uint8_t *bytes, size_t len);

#endif /* NTRACE_BOARD_REGS_H */
