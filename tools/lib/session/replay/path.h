/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The code that one thread executed, as pieces (struct nt_piece) between two jumps. Interrupts,
 * exceptions, system calls and signal handlers that return to the interrupted code are left out,
 * and do not divide a piece. If a loop of lr and sc repeats because sc has failed, the repetitions
 * are also left out, because they depend on interrupts.
 *
 *	nt_path_new() -- nt_path_next() -- nt_path_free()
 */
#ifndef NTRACE_SESSION_PATH_H
#define NTRACE_SESSION_PATH_H

#include "replay.h"

struct nt_path;

/* A piece of code, which is instructions that follow one another in memory */
struct nt_piece {
	uint64_t	start, end;	/* address of the first instruction, and the address after the last one */
	uint64_t	space;		/* address space, for nt_session_where() */
	uint64_t	time;		/* as in struct nt_replay_place */
	uint64_t	insns;		/* number of instructions of the thread up to the end of this code */
	/*
	 * enum nt_end of the last instruction; NT_END_LINEAR: the kernel continued the thread
	 * elsewhere
	 */
	uint8_t		how;
	uint8_t		last_len;	/* length of the last instruction, half-words */
	bool		gap;		/* trace is missing before this code */
	bool		cut;		/* trace is missing after this code, or this is the last code of the thread */
};

/*
 * nt_path_new() - start at the first instruction of a thread. Return NULL if out of memory.
 * @replay: A replay, with or without nt_replay_options::paths, which is used until nt_path_free()
 */
struct nt_path *nt_path_new(struct nt_replay *replay, int32_t tid);
void nt_path_free(struct nt_path *path);

/* nt_path_copy() - return a copy that continues at the same instruction; NULL if out of memory */
struct nt_path *nt_path_copy(const struct nt_path *path);

/*
 * nt_path_next() - get the next piece of code. Return 1, 0 after the last one, or -1 after an
 * error.
 */
int nt_path_next(struct nt_path *path, struct nt_piece *piece);

#endif /* NTRACE_SESSION_PATH_H */
