/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Move a position forwards and backwards through a recording, instruction by instruction, and get the
 * callers at each position.
 *
 *	nt_replay_new() -- nt_replay_seek(), nt_replay_step(), nt_replay_find() -- nt_replay_callers()
 *
 * The instructions of all CPUs are in one order. Ranges are ordered by time, and ranges with the
 * same time by CPU. nt_replay_new() decodes the recording once and stores an index of about 2 KiB
 * for each 64 KiB of trace. Later calls decode only the segments of trace that they need.
 */
#ifndef NTRACE_SESSION_REPLAY_H
#define NTRACE_SESSION_REPLAY_H

#include "session/session.h"

struct nt_replay;

struct nt_replay_options {
	size_t		size;		/* sizeof(struct nt_replay_options) */
	int32_t		pid;		/* process whose instructions are shown; -1: all */
	bool		kernel;		/* also show the instructions of the kernel */
	uint64_t	segment;	/* minimum number of bytes of trace in a segment; 0: 64 KiB */
	bool		paths;		/* the replay is only used for nt_path_next(), so that decoding can be faster */
	bool		cpus;		/* each CPU is a thread, whose id is the number of the CPU */
};

/*
 * nt_replay_new() - decode a recording, and start at its first instruction
 *
 * Return NULL after an error, which nt_session_error() describes if it is not a lack of memory.
 */
struct nt_replay *nt_replay_new(struct nt_session *session, const struct nt_replay_options *options);
void nt_replay_free(struct nt_replay *replay);

/* nt_replay_insns() - return the number of instructions that are shown */
uint64_t nt_replay_insns(const struct nt_replay *replay);

/* nt_replay_thread() - get the id of the @nth thread that has instructions, from 0. Return false after the last one. */
bool nt_replay_thread(const struct nt_replay *replay, size_t nth, int32_t *tid);

/* An instruction that was executed */
struct nt_replay_place {
	uint64_t	addr;
	uint64_t	space;		/* address space, for nt_session_where() and nt_session_read() */
	/* time of the message that reports the instruction, or of the message before, ns */
	uint64_t	time;
	uint64_t	insn;		/* number of instructions before the position of the replay */
	int32_t		tid, pid, cpu;
	/* thread id for the functions below, which is @cpu if nt_replay_options::cpus is set, and otherwise @tid */
	int32_t		thread;
};

/* nt_replay_here() - get the next instruction. Return false if the recording has none. */
bool nt_replay_here(struct nt_replay *replay, struct nt_replay_place *place);

/*
 * nt_replay_where() - get the next instruction of a thread, or its last one if no other follows
 *
 * Return false if the thread has no instructions, or after an error.
 */
bool nt_replay_where(struct nt_replay *replay, int32_t tid, struct nt_replay_place *place);

/* Results of the functions that move the position; -1 is an error */
enum nt_replay_moved {
	NT_REPLAY_END	= 0,	/* the move stopped at the first or the last instruction */
	NT_REPLAY_MOVED	= 1,	/* the position is now at the wanted instruction */
	NT_REPLAY_GAP	= 2,	/* trace is missing between the previous position and the new position */
};

/*
 * nt_replay_step() - move over one instruction of a thread
 * @tid: The thread; -1: any thread
 *
 * After a step forwards, the position can be at an instruction of another thread, which was executed before the
 * thread's next instruction.
 */
int nt_replay_step(struct nt_replay *replay, int32_t tid, bool backwards);

/*
 * nt_replay_find() - move to the next or the previous execution of one of @nr addresses
 * @tid: Thread that executes the address; -1: any thread
 *
 * The search does not include the instruction at the current position.
 */
int nt_replay_find(struct nt_replay *replay, int32_t tid, const uint64_t *addrs, size_t nr, bool backwards);

/* nt_replay_seek_time() - move to the first instruction at @time or later. If none follows, move to the last one. */
int nt_replay_seek_time(struct nt_replay *replay, uint64_t time);

/* nt_replay_seek() - move to instruction @insn, counted from 0. If @insn is too large, move to the last one. */
int nt_replay_seek(struct nt_replay *replay, uint64_t insn);

/* A function that is being executed */
struct nt_replay_caller {
	/* current instruction of the innermost function; return address in other functions */
	uint64_t	addr;
	bool		trap;		/* a trap or a signal has interrupted the function at @addr */
};

/*
 * nt_replay_callers() - get the open calls of a thread at its next instruction, the innermost first
 *
 * Return the number of callers, which includes the innermost function and may exceed @max; 0 after an error.
 */
size_t nt_replay_callers(struct nt_replay *replay, int32_t tid, struct nt_replay_caller *callers, size_t max);

/* A call of a function */
struct nt_replay_call {
	uint64_t	addr, space;	/* first instruction of the function, and its address space */
	uint64_t	time;		/* time of the message that reports the call, ns */
	size_t		depth;		/* number of open calls, which includes this one */
};

/*
 * nt_replay_calls() - get the last calls that a thread made before its next instruction, the newest last
 *
 * Return the number of calls, at most @max, or 0 after an error.
 */
size_t nt_replay_calls(struct nt_replay *replay, int32_t tid, struct nt_replay_call *calls, size_t max);

/*
 * nt_replay_has_code() - return false if neither a file of the process, the kernel's copy nor firmware can be read
 *
 * A replay without readable code has no instructions. If @pid is -1, the only process of the recording is checked. If it has
 * several, return true.
 */
bool nt_replay_has_code(struct nt_session *session, int32_t pid);

/*
 * nt_replay_main() - find the process with the most instructions in user space
 * @pid: Set to the id of the process; -1: no process has such instructions
 * @others: Set to the number of other processes with instructions in user space
 *
 * Return the same values as nt_session_decode().
 */
int nt_replay_main(struct nt_session *session, int32_t *pid, size_t *others);

/*
 * A file with code, or with only names of functions. If @has_build_id is set, the build ID of the file equals the build
 * ID in the recording.
 */
struct nt_replay_object {
	const char	*path;		/* path in the recording, or /kernel/NAME */
	const char	*file;		/* path of the file that was found; NULL: the file belongs to the kernel */
	const uint8_t	*data;		/* contents of the file */
	size_t		size;
	uint64_t	start, end;	/* start of the first PT_LOAD segment, and end of the last one */
	uint64_t	space;		/* an address space in which the file is loaded */
	bool		has_build_id;	/* the recording contains the build ID of the file */
	/* addresses of all sections that are loaded, in the order of the file, if it is a kernel module; NULL: no module */
	const uint64_t	*sections;
	size_t		nr_sections;
	const struct ns_object *object;	/* the file in the library; NULL: a file of the kernel */
};

#define NT_REPLAY_KERNEL	(-1)	/* number of the list with the files of the kernel and its modules */

/*
 * nt_replay_files() - return the number of the list of files that are loaded in an address space
 *
 * Address spaces with equal lists have the same number. If nt_replay_options::cpus is set, the list has the files of
 * all programs, without files that overlap a file of another program. Return -1 if the address space has no list.
 */
int nt_replay_files(struct nt_replay *replay, uint64_t space);

/*
 * nt_replay_file() - get the @nth file of a list in the order of addresses, from 0. Return false after the last file.
 */
bool nt_replay_file(struct nt_replay *replay, int list, size_t nth, struct nt_replay_object *object);

/*
 * nt_replay_constants() - copy bytes from a file of a list that no process can change, such as texts
 *
 * Return the number of bytes copied, which is 0 if @addr is code or can be written.
 */
size_t nt_replay_constants(const struct nt_replay *replay, int list, uint64_t addr, void *buf, size_t size);

/*
 * nt_replay_change() - find the next change of the files of a process, or the previous one if @backwards is set
 * @space: An address space of the process; set to the address space on the other side of the change
 * @time: Set to the time of the change, ns
 *
 * exec, or a map that replaces another map, changes the files. Return false if no further change exists.
 */
bool nt_replay_change(struct nt_replay *replay, uint64_t *space, bool backwards, uint64_t *time);

#endif /* NTRACE_SESSION_REPLAY_H */
