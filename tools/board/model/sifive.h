/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SiFive's trace components of version 0, which are older than the Trace Control Interface. The
 * P550 cores of ESWIN's EIC7700X have these encoders and a funnel that writes to memory.
 *
 *	nb_te.enc --nb_sf_funnel_input()--> nb_sf_funnel --mem_write--> system memory
 *
 * The model follows the table of registers in the EIC7700X TRM (part 1, chapter 3.4.1.19) and dumps
 * of silicon. Control, Active, Enable and Empty have the same positions as in all components. ITC
 * stimulus, triggers, watchpoints, event trace and PC samples are not modelled, and their registers
 * read as 0.
 */
#ifndef NTRACE_BOARD_SIFIVE_H
#define NTRACE_BOARD_SIFIVE_H

#include "regs_te.h"

/* Offsets of registers. teControl, teImpl and tsControl are at TR_CONTROL, TR_IMPL and TR_TS_CONTROL. */
#define SF_SINK_BASE		0x010
#define SF_SINK_BASE_HIGH	0x014
#define SF_SINK_LIMIT		0x018
#define SF_SINK_WP		0x01c
#define SF_TS_LOWER		0x044
#define SF_TS_UPPER		0x048

/* Fields of teControl */
#define SF_TE_TRACING		(1U << 2)
#define SF_TE_INSTRUCTION	(7U << 4)
#define SF_TE_INSTRUMENTATION	(3U << 7)
#define SF_TE_STALL_OR_OVERFLOW	(1U << 12)
#define SF_TE_STALL_ENABLE	(1U << 13)
#define SF_TE_INHIBIT_SRC	(1U << 15)
#define SF_TE_SYNC_MAX_BTM	(15U << 16)
#define SF_TE_SYNC_MAX_INST	(15U << 20)
#define SF_TE_FORMAT		(7U << 24)

/* Values of teInstruction, the trace mode */
enum { SF_MODE_OFF = 0, SF_MODE_EVENTS = 1, SF_MODE_HTM = 6, SF_MODE_HTM_OPTIMIZED = 7 };

/* Fields of tfControl and teControl */
#define SF_STOP_ON_WRAP		(1U << 14)
#define SF_SINK_ERROR		(1U << 27)
#define SF_SINK			(15U << 28)
#define SF_SINK_SBA		7U
#define SF_SINK_FUNNEL		8U

/* Field of teSinkWP */
#define SF_WRAPPED		(1U << 0)

/* Fields of an encoder's tsControl */
#define SF_TS_BRANCH		(3U << 16)
#define SF_TS_INSTRUMENTATION	(1U << 18)
#define SF_TS_OWNERSHIP		(1U << 19)

#define SF_TS_WIDTH		40

/* Parameters of an encoder that the integrator chooses */
struct nb_sf_te_caps {
	uint8_t		hart;		/* teImpl.hartid, 0..15 */
	uint8_t		src_bits;	/* nSrcBits, 0..4 */
	uint8_t		src_id;
};

/**
 * nb_sf_te_init() - initialise an encoder of version 0 to its state after power-up
 * @te: Memory for the encoder, see nb_te_init()
 * @caps: Capabilities, which are copied. The capabilities that describe registers have no effect.
 * @sf: Parameters of the encoder
 * @out: Receiver of the messages, such as nb_sf_funnel_input()
 * @opaque: Argument of @out
 */
void nb_sf_te_init(struct nb_te *te, const struct nb_te_caps *caps, const struct nb_sf_te_caps *sf,
		   nb_out_fn out, void *opaque);

struct nb_sf_funnel;

/* An input of the funnel, the opaque argument of nb_sf_funnel_input() */
struct nb_sf_port {
	struct nb_sf_funnel *funnel;
	struct nb_te	*te;		/* encoder that sends to this input, set by the owner, or NULL */
};

/* A funnel with an SBA sink, which writes words of 64 bits to the system bus */
struct nb_sf_funnel {
	struct nb_dev	dev;		/* must be the first member */
	struct nb_ts	ts;
	struct nb_sf_port port[NB_MAX_INPUTS];
	uint8_t		word[8];	/* bytes that wait until a word of 64 bits is complete */
	unsigned int	n;		/* number of bytes in @word */
	uint64_t	bytes;		/* number of bytes accepted since nb_sf_funnel_init() */
	uint64_t	dropped;	/* number of messages that arrived while the funnel was disabled */
	uint64_t	bus_errors;

	/* Writes system memory, and returns false for a bus error. The owner sets this callback. */
	bool		(*mem_write)(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len);
	void		*mem_opaque;
};

void nb_sf_funnel_init(struct nb_sf_funnel *funnel);

/**
 * nb_sf_funnel_input() - accept a message; this function has type nb_out_fn
 * @port: &funnel->port[input]
 * @bytes: A complete message
 * @len: Length of the message in bytes
 *
 * "When the funnel is disabled, TileLink data will be accepted but dropped." If the funnel is
 * not active, the sender gets a bus error.
 *
 * Return: Always true.
 */
bool nb_sf_funnel_input(void *port, const uint8_t *bytes, size_t len);

/**
 * nb_sf_funnel_end() - check the funnel when the software that used it ends
 * @funnel: The funnel, which is reported if it may still write to memory
 */
void nb_sf_funnel_end(struct nb_sf_funnel *funnel);

#endif /* NTRACE_BOARD_SIFIVE_H */
