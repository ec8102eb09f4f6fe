/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stub for gdb's remote protocol, with which gdb reads a recording. The stub does not trust any packet.
 *
 *	link.c		frames of packets, with checksums, escapes and acknowledgements
 *	stub.c		packets that ask for registers, memory and threads
 *	objects.c	descriptions, lists and files that gdb reads
 *	run.c		packets that move the position, and breakpoints
 *	agent.c		conditions of breakpoints
 */
#ifndef NTRACE_GDB_STUB_H
#define NTRACE_GDB_STUB_H

#include "session/array.h"
#include "session/flow/branch.h"
#include "session/replay/replay.h"

#define STUB_PACKET	0x8000	/* maximum number of bytes of a packet without its frame */
#define STUB_FILES	32	/* maximum number of open files */
#define STUB_CALLERS	4096	/* maximum number of callers that gdb gets */
#define STUB_CALLS	100	/* maximum number of calls that `monitor calls` prints */

/* Registers, as numbered in the target description */
enum {
	STUB_REG_PC = 32, STUB_REG_FPU, STUB_REG_FCSR = STUB_REG_FPU + 32,
	STUB_REG_TIME = STUB_REG_FCSR + 3, STUB_REG_INSN, STUB_REG_DEPTH, STUB_REG_CPU, STUB_REGS,
};

struct stub_break {
	uint64_t	addr;
	uint8_t		kind;		/* 0: software breakpoint (packet Z0), 1: hardware (Z1) */
	NS_ARRAY(uint8_t) code;		/* all conditions; each follows its length, which has two bytes */
};

struct stub_file {
	const uint8_t	*data;		/* contents of the file; NULL: no file is open */
	size_t		size;
	/* offset of the byte that read_file() changes to hide the OS ABI from the client; 0: none */
	size_t		blank;
};

/* A stop that the stub reports to the client */
struct stub_stop {
	int32_t		tid;
	unsigned int	signal;
	const char	*reason;
};

/* Position to which the next continue packet moves, which stub_goto() or `monitor back` has set */
enum stub_goto { STUB_GOTO_NONE, STUB_GOTO_TIME, STUB_GOTO_INSN, STUB_GOTO_BACK };

struct stub {
	struct nt_session *session;
	struct nt_replay *replay;
	int32_t		pid;		/* process that is shown */
	bool		kernel;		/* the kernel is shown */
	bool		machine;	/* all processes are shown, and each CPU is a thread */
	int		list;		/* list of files (nt_replay_files()) that the client read last; -1: none */
	struct nt_replay_object program; /* file that the client reads as the program */
	/* stop that is reported after the client has read a list of files; its reason is NULL if none is pending */
	struct stub_stop pending;
	bool		fresh;		/* the client was not yet shown the instruction at the current position */
	int32_t		stopped;	/* thread of the last stop */
	unsigned int	xlen;
	int		in, out;
	bool		no_acks;
	bool		interrupted;	/* the client has sent an interrupt between two packets */
	bool		lldb;		/* the client is LLDB, which is refused */
	bool		has_script;	/* the client has read WINDOW, which only ntrace-gdb.py does */
	bool		linux_abi;	/* gdb assumes a GNU/Linux target and cannot step, so run_packet() refuses it */
	int32_t		tid, run_tid;	/* threads that packets Hg and Hc have chosen; @run_tid is -1 for any thread */
	NS_ARRAY(struct stub_break) breaks;
	NS_ARRAY(uint64_t) addrs;	/* address of each breakpoint in @breaks, for nt_replay_find() */
	struct stub_file files[STUB_FILES];
	enum stub_goto	goes_to;
	uint64_t	goto_value, goto_end;
	struct nt_replay_caller callers[STUB_CALLERS];
	size_t		nr_callers;	/* number of all callers; @callers has at most STUB_CALLERS of them */
	int32_t		callers_tid;	/* ID of the thread whose callers @callers has; -1: none */
	/*
	 * @input has @nr received bytes, of which the first @at were parsed; @packet has the packet that is processed;
	 * @reply has the reply to it
	 */
	uint8_t		input[4096];
	size_t		at, nr;
	char		packet[STUB_PACKET + 1];
	size_t		size;
	uint8_t		reply[STUB_PACKET + 64];
	size_t		reply_size;
	bool		reply_too_long;
};

/* ---- link.c, which reads and writes packets ---- */

/* link_read() - read a packet into @stub->packet. Return false at the end of the connection. */
bool link_read(struct stub *stub);
/* link_interrupted() - return true if the client wants to stop a command that runs */
bool link_interrupted(struct stub *stub);
/* link_send() - send the reply. Return false if the connection has ended. */
bool link_send(struct stub *stub);

/* Append to the reply. */
void reply_add(struct stub *stub, const void *data, size_t size);
void reply_text(struct stub *stub, const char *text);
void reply_format(struct stub *stub, const char *format, ...) __attribute__((format(printf, 2, 3)));
void reply_hex(struct stub *stub, const void *data, size_t size);
/* Append a number of @size bytes, little endian, in hexadecimal. */
void reply_number(struct stub *stub, uint64_t value, size_t size);

/* packet_number() - parse a hexadecimal number at *at. Return false if no number is there, or if it is too large. */
bool packet_number(const char **at, uint64_t *value);
/*
 * packet_hex() - convert hexadecimal text to at most @max bytes. Return their number, or -1 if the text is not valid.
 */
long packet_hex(const char *text, uint8_t *data, size_t max);

/* ---- stub.c, which replies to packets that ask for registers, memory and threads ---- */

/* stub_serve() - serve a client until it leaves. Return EXIT_CLEAN, or EXIT_USAGE if the client was refused. */
int stub_serve(struct stub *stub, int in, int out);
void stub_free(struct stub *stub);
/* stub_begin() - choose the current thread and the list of files for the position at which the client starts */
void stub_begin(struct stub *stub);
/* stub_thread() - parse the id of a thread. *tid is -1 for any thread. Return false if the thread is unknown. */
bool stub_thread(const struct stub *stub, const char **at, int32_t *tid);
/* stub_id() - return the client's id of a thread. The id of a CPU is its number + 1, because gdb reserves id 0. */
static inline uint32_t stub_id(const struct stub *stub, int32_t tid)
{
	return tid + stub->machine;
}

/* stub_file() - get the @nth file that the client can read, from 0. Return false after the last one. */
bool stub_file(struct stub *stub, size_t nth, struct nt_replay_object *file);
/* stub_register() - get the value of a register. Return false if the value is unknown. */
bool stub_register(struct stub *stub, int32_t tid, uint64_t number, uint64_t *value, size_t *size);
/* stub_goto() - parse a place, which is begin, end, insn N or a time in seconds. Return false if it is none of these. */
bool stub_goto(struct stub *stub, const char *place);
/* stub_say() - print a line on the client's console. */
bool stub_say(struct stub *stub, const char *text);

/* ---- objects.c (files), run.c (breakpoints and steps) and agent.c (conditions of breakpoints) ---- */

/* objects_packet() and run_packet() - reply to a packet. Return false if another file must reply to the packet. */

bool objects_packet(struct stub *stub);
/* objects_begin() - choose the list of files at the position, and the file that the client reads as the program */
void objects_begin(struct stub *stub, uint64_t space);
bool run_packet(struct stub *stub);
/* run_goto() - move to the place of stub_goto(), if there is one. Return the same values as nt_replay_seek(). */
int run_goto(struct stub *stub);
/* run_stopped() - reply that a thread has stopped with a signal */
void run_stopped(struct stub *stub, int32_t tid, unsigned int sig, const char *reason);
/* agent_true() - evaluate a condition. Return true if the result is not 0, or if the evaluation fails. */
bool agent_true(struct stub *stub, int32_t tid, const uint8_t *code, size_t size);

#endif /* NTRACE_GDB_STUB_H */
