/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Components on the path from a RISC-V trace encoder through the Arm CoreSight fabric of SpacemiT's K3.
 *
 *	nb_te --> nb_atb --> nb_funnel --> nb_cs_funnel --> nb_tmc (ETF) --> nb_tmc (ETR)
 *
 * The ATB bridge is a component of the Trace Control Interface 1.0. The components after the
 * RISC-V funnel have the registers of Arm's CoreSight SoC-400 and TMC technical reference
 * manuals. These components lack tr??Control, so their nb_dev_ops.foreign is true.
 *
 * ATB carries a trace id beside its data. The model sends each message through the fabric
 * as one transfer, which is a byte with the id and the bytes of the message. Components that
 * store or reorder messages never separate an id from its message.
 */
#ifndef NTRACE_BOARD_CORESIGHT_H
#define NTRACE_BOARD_CORESIGHT_H

#include "regs_te.h"

/* Longest transfer on ATB, which has an ID and a message */
#define NB_ATB_MAX		(1 + NB_MESSAGE_MAX)

/* ---- ATB bridge, see Trace Control Interface 1.0, chapter "ATB Bridge" ---- */

#define TR_ATB_BRIDGE_ID	(0x7fU << 8)
#define NB_ATB_ID_LAST		0x6f		/* highest trace ID; ATB reserves 0 and 0x70..0x7f */

struct nb_atb_caps {
	uint8_t		ver_major, ver_minor;
	uint8_t		vendor;
};

struct nb_atb {
	struct nb_dev	dev;		/* must be the first member */
	struct nb_atb_caps caps;
	nb_out_fn	out;
	void		*out_opaque;
	uint64_t	discarded;
};

/**
 * nb_atb_init() - initialise an ATB bridge to its state after power-up
 * @atb: Memory with any content. After this call, set the members of dev that nb_te_init() lists.
 * @caps: Capabilities, which are copied
 * @out: Input of the fabric, which receives transfers (a byte with the ID, then the message)
 * @opaque: Argument of @out
 */
void nb_atb_init(struct nb_atb *atb, const struct nb_atb_caps *caps, nb_out_fn out, void *opaque);

/**
 * nb_atb_input() - process a message of the encoder; this function has type nb_out_fn
 * @atb: A struct nb_atb
 * @bytes: A whole message
 * @len: Length of the message, at most NB_MESSAGE_MAX
 *
 * Return: False if the bridge is disabled or the fabric refuses the message.
 */
bool nb_atb_input(void *atb, const uint8_t *bytes, size_t len);

/* nb_atb_end() - report an ATB bridge that is still enabled when the software that used it ends */
void nb_atb_end(struct nb_atb *atb);

/* ---- Registers of all CoreSight components (CoreSight architecture, chapter B2) ---- */

#define CS_ITCTRL		0xf00
#define CS_CLAIMSET		0xfa0
#define CS_CLAIMCLR		0xfa4
#define CS_LAR			0xfb0
#define CS_LSR			0xfb4
#define CS_AUTHSTATUS		0xfb8
#define CS_DEVID		0xfc8
#define CS_DEVTYPE		0xfcc
#define CS_PIDR4		0xfd0
#define CS_PIDR0		0xfe0
#define CS_CIDR0		0xff0

#define CS_LAR_KEY		0xc5acce55U
#define CS_LSR_PRESENT		(1U << 0)
#define CS_LSR_LOCKED		(1U << 1)

struct nb_cs {
	struct nb_dev	dev;		/* must be the first member */
	uint16_t	part;		/* Arm's part number, in PIDR */
	uint8_t		devtype, revision, authstatus;
	uint8_t		claim_tags;	/* number of claim tags, 1..8 */
	uint32_t	devid;
	bool		lock;		/* software must write CS_LAR_KEY to CS_LAR before other registers */
	bool		locked;
	uint8_t		claimed;	/* bit N is set if software has set claim tag N */
	void		(*set)(struct nb_cs *cs, unsigned int offset, uint32_t value);	/* writes a register */
	void		(*clear)(struct nb_cs *cs);		/* resets the registers */
};

/* ---- CoreSight funnel, which merges the trace of up to 8 inputs ---- */

#define CS_FUNNEL_CTRL		0x000	/* bits 7:0 enable ports, bits 11:8 are the hold time minus 1 */
#define CS_FUNNEL_PRIORITY	0x004
#define CS_FUNNEL_INPUTS	8

struct nb_cs_funnel;

struct nb_cs_port {
	struct nb_cs_funnel *funnel;
	unsigned int	index;
};

struct nb_cs_funnel {
	struct nb_cs	cs;		/* must be the first member */
	struct nb_cs_port port[CS_FUNNEL_INPUTS];	/* opaque of nb_cs_funnel_input() */
	unsigned int	inputs;
	nb_out_fn	out;
	void		*out_opaque;
	uint64_t	discarded;
};

void nb_cs_funnel_init(struct nb_cs_funnel *funnel, unsigned int inputs, bool lock, nb_out_fn out,
		       void *opaque);
bool nb_cs_funnel_input(void *port, const uint8_t *bytes, size_t len);

/* ---- Trace Memory Controller ---- */

#define TMC_RSZ			0x004
#define TMC_STS			0x00c
#define TMC_RRP			0x014
#define TMC_RWP			0x018
#define TMC_TRG			0x01c
#define TMC_CTL			0x020
#define TMC_MODE		0x028
#define TMC_BUFWM		0x034
#define TMC_RRPHI		0x038
#define TMC_RWPHI		0x03c
#define TMC_AXICTL		0x110
#define TMC_DBALO		0x118
#define TMC_DBAHI		0x11c
#define TMC_FFSR		0x300
#define TMC_FFCR		0x304
#define TMC_PSCR		0x308

#define TMC_STS_FULL		(1U << 0)
#define TMC_STS_READY		(1U << 2)
#define TMC_STS_FT_EMPTY	(1U << 3)
#define TMC_STS_EMPTY		(1U << 4)
#define TMC_STS_MEMERR		(1U << 5)
#define TMC_CTL_CAPTURE		(1U << 0)
#define TMC_AXICTL_SG		(1U << 7)
#define TMC_FFSR_STOPPED	(1U << 1)
#define TMC_FFCR_EN_FMT		(1U << 0)
#define TMC_FFCR_EN_TI		(1U << 1)
#define TMC_FFCR_FLUSH_MAN	(1U << 6)
#define TMC_FFCR_STOP_ON_FLUSH	(1U << 12)

enum nb_tmc_mode {
	NB_TMC_CIRCULAR	= 0,
	NB_TMC_SW_FIFO	= 1,
	NB_TMC_HW_FIFO	= 2,
};

/*
 * The formatter (CoreSight architecture, chapter D4) packs bytes with different IDs into frames of
 * 16 bytes. In a frame, even bytes 0..14 contain an ID change (bit 0 set) or data, and odd bytes
 * contain data.
 *
 *	byte 0    1      2    3          14    15
 *	+------+------+------+------+   +------+------------------+
 *	| id/d | data | id/d | data |...| id/d | bit n for byte 2n|
 *	+------+------+------+------+   +------+------------------+
 *
 * Bit n of byte 15 belongs to byte 2n. If byte 2n is data, this bit is bit 0 of the data. If byte 2n
 * is an ID change, this bit is set if byte 2n + 1 still belongs to the previous ID.
 */
struct nb_formatter {
	uint8_t		frame[16];
	unsigned int	pos;		/* position of the next byte, 0..14 */
	uint8_t		id;		/* current ID; 0x7f if no ID was sent */
	uint8_t		held_id, held;	/* ID and value of a data byte whose encoding depends on the next byte */
	bool		has_held;	/* true if @held_id and @held contain a byte that must still be encoded */
	unsigned int	id_every;	/* number of frames after which an ID is repeated; 0 is never */
	unsigned int	frames;		/* number of frames since an ID was sent */
	bool		(*out)(void *opaque, const uint8_t frame[16]);
	void		*out_opaque;
};

void nb_formatter_init(struct nb_formatter *f, unsigned int id_every,
		       bool (*out)(void *opaque, const uint8_t frame[16]), void *opaque);

/* nb_formatter_put() - add a byte with the trace ID @id, 1..0x6f */
void nb_formatter_put(struct nb_formatter *f, uint8_t id, uint8_t byte);

/* nb_formatter_flush() - output all bytes, and pad the last frame with bytes of ID 0 */
void nb_formatter_flush(struct nb_formatter *f);

struct nb_tmc_caps {
	bool		etf;		/* true for an ETF, false for an ETR */
	uint32_t	fifo;		/* size of an ETF in bytes */
	bool		scatter_gather;	/* if false, DEVID reports that scatter-gather is not supported */
	uint64_t	highest;	/* highest address that an ETR can access */
	unsigned int	id_every;	/* see struct nb_formatter */
	bool		lock;
};

struct nb_tmc {
	struct nb_cs	cs;		/* must be the first member */
	struct nb_tmc_caps caps;
	enum nb_tmc_state {
		NB_TMC_DISABLED,	/* the TMC is disabled, and drops the trace that it gets */
		NB_TMC_RUNNING,
		NB_TMC_STOPPED,		/* a flush has stopped the TMC, which accepts and drops trace */
	} state;
	struct nb_formatter formatter;
	uint64_t	base, wp;	/* address of an ETR's buffer, and address of its next frame */
	uint32_t	size;		/* size of an ETR's buffer in bytes */
	bool		full, memerr;
	uint8_t		*fifo;		/* transfers in an ETF; 2 bytes with the length precede each transfer */
	uint32_t	level;		/* number of bytes in @fifo */
	nb_out_fn	out;		/* output of an ETF */
	void		*out_opaque;
	uint64_t	bytes, discarded, bus_errors;

	/* Writes system memory, and returns false for a bus error. The owner sets this callback. */
	bool		(*mem_write)(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len);
	/*
	 * Makes the previous component on ATB send all trace that it contains (AFVALID). The owner
	 * sets this callback, or NULL.
	 */
	void		(*flush)(void *opaque);
	void		*opaque;
};

/**
 * nb_tmc_init() - initialise a Trace Memory Controller to its state after power-up
 * @tmc: Memory with any content. After this call, set out, mem_write, flush, and the members of cs.dev that
 *	nb_te_init() lists for dev.
 * @caps: Capabilities, which are copied
 *
 * Return: 0, or -1 if memory is exhausted.
 */
int nb_tmc_init(struct nb_tmc *tmc, const struct nb_tmc_caps *caps);
void nb_tmc_fini(struct nb_tmc *tmc);

/* nb_tmc_input() - process a transfer, which is always accepted; this function has type nb_out_fn */
bool nb_tmc_input(void *tmc, const uint8_t *bytes, size_t len);

/*
 * nb_tmc_drain() - send all trace that an ETF contains, because the next component requests a flush
 * (AFVALID)
 */
void nb_tmc_drain(void *tmc);

/* nb_tmc_end() - report an ETR that may still write to memory when the software that used it ends */
void nb_tmc_end(struct nb_tmc *tmc);

#endif /* NTRACE_BOARD_CORESIGHT_H */
