/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An encoder of SiFive's pre-ratified messages (trace components of version 0), for tests. It is
 * written from public knowledge of the hardware, independently of the library and the board's
 * model.
 */
#ifndef DIALECT_ENCODER_H
#define DIALECT_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind { LINEAR, BRANCH, JUMP, CALL, INDIRECT_JUMP, INDIRECT_CALL, RETURN, SWAP, TRAP_RETURN };

struct setup {
	/*
	 * Act like the encoder of SpacemiT's K3. It sends the messages of the ratified specification
	 * in BTM. F-ADDR has 66 bits, and its upper bits are copies of its sign. Two Ownership
	 * messages follow each sync.
	 */
	bool		k3;
	bool		btm;
	bool		implicit_return;	/* The encoder counts calls, and sends no message for their returns */
	bool		swap_is_call;		/* jalr t0, ra (a swap) does not pop the return stack */
	bool		timestamp;
	bool		some_timestamps;	/* Only some messages without sync have a timestamp */
	unsigned int	tstamp_bits;
	unsigned int	icnt_max;		/* maximum I-CNT in half-words */
	unsigned int	hist_max;		/* maximum HIST bits without the stop bit */
	unsigned int	run_min;		/* number of equal branches that are sent as a run; 0: no runs */
	unsigned int	sync_period;		/* number of messages between syncs; 0: only one sync */
	unsigned int	addr_bits;		/* number of low address bits that messages contain, 48 or 49 */
	unsigned int	src_bits;
	bool		extras;			/* Also send the data that software writes to the encoder, and events */
};

/* A message that does not report the flow, and that the decoder must return */
struct extra {
	bool		is_event;
	uint8_t		source;			/* field CKSRC, which is the type of an event */
	uint64_t	first, second;		/* IDTAG and value of a message, or address and datum of an event */
};

/* A message that was sent */
struct sent {
	uint64_t	offset;
	uint64_t	time;
	bool		has_time;
	uint8_t		tcode;
};

/* The stream that all encoders write to */
struct stream {
	uint8_t		*data;
	size_t		size, max;
	struct sent	*sent;
	size_t		nr_sent, max_sent;
	uint64_t	tcodes[64];
	uint64_t	rcodes[16];
	uint64_t	at_branch;		/* number of SYNC messages whose full HIST lacks the last branch */
};

#define MAX_CALLS	1023

struct encoder {
	const struct setup *setup;
	struct stream	*stream;
	unsigned int	src;
	uint64_t	random;
	uint64_t	ref;
	uint64_t	time, sent_time;
	unsigned int	icnt;
	uint64_t	hist;			/* HIST with its stop bit */
	unsigned int	nr_bits;
	uint64_t	run;			/* number of equal branches in the current run; 0: none */
	bool		run_bit;
	unsigned int	calls;			/* number of calls on the stack whose returns can be implicit */
	unsigned int	top;
	uint64_t	links[MAX_CALLS];	/* ring of return addresses; hardware only has their number */
	unsigned int	messages;		/* number of messages since the last sync */
	bool		must_sync;
	struct extra	*extra;
	size_t		nr_extra, max_extra;
};

uint64_t next_random(uint64_t *state);

void encoder_start(struct encoder *encoder, uint64_t pc);
void encoder_stop(struct encoder *encoder);

/*
 * Encode that the instruction at @pc, which is @halfwords long, has retired. The hart continues at
 * @next.
 */
void encoder_retire(struct encoder *encoder, uint64_t pc, enum kind kind, unsigned int halfwords,
		    bool taken, uint64_t next);

/* Encode an exception or interrupt before the next instruction. */
void encoder_trap(struct encoder *encoder, uint64_t handler);

#endif /* DIALECT_ENCODER_H */
