/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions that the Python module calls. They return all records of a kind, such as all calls of a
 * recording, in one array. cffi parses this file.
 */
struct py_branch {
	uint64_t	time;		/* ns */
	uint64_t	from, to;	/* addresses; @from is 0 if the trace began here, and @to is 0 if it stopped */
	uint64_t	insns;		/* number of instructions since the previous branch */
	int32_t		cpu, pid, tid;	/* -1: not known */
	uint8_t		kind, flags;	/* see session/flow/branch.h */
	uint16_t	reserved;
};

struct py_insn {
	uint64_t	address;	/* address of the instruction in its file */
	uint64_t	count;		/* number of executions of the instruction */
	uint32_t	object, symbol;	/* numbers of names, see py_name() */
};

struct py_call {
	uint64_t	time, ns;	/* start, and duration in ns */
	uint64_t	on_cpu_ns;	/* time in which the thread ran during the call, ns */
	uint64_t	at;		/* number of instructions that the thread executed before the call */
	uint64_t	insns;		/* number of instructions in the call, and in the calls that it made */
	int32_t		cpu, pid, tid;	/* -1: not known */
	/* number of the call stack, from 0, in the order of tid; a thread may have several (nt_slice::thread) */
	uint32_t	thread;
	uint32_t	object, symbol;	/* numbers of names, see py_name() */
	uint8_t		kind, open;	/* enum nt_branch_kind of the entry; 1 if the end of the call was not recorded */
	uint16_t	reserved[3];
};

struct py_recording;

/*
 * Open a recording. Return NULL if out of memory. Otherwise py_error() returns the reason why it cannot be read, or "".
 */
struct py_recording *py_open(const char *path, const char *symfs, const char *cache, int threads);
const char *py_error(const struct py_recording *recording);
void py_close(struct py_recording *recording);

/*
 * Get an array with all branches, instructions or calls. Return 0, or -1 with a reason in py_error(). The recording
 * owns the array, which is valid until the next call of the same function or of py_close().
 */
int py_branches(struct py_recording *recording, const struct py_branch **branches, size_t *nr);
int py_insns(struct py_recording *recording, const struct py_insn **insns, size_t *nr);
int py_calls(struct py_recording *recording, const struct py_call **calls, size_t *nr);

/*
 * Return the name of an object or symbol by its number in the array of the last py_insns() or py_calls(). Return
 * NULL if the number is too large or the name is unknown.
 */
const char *py_name(const struct py_recording *recording, uint32_t number);

/*
 * Get the numbers of losses, of errors in the trace, and of gaps without code, which the last call of py_branches(),
 * py_insns() or py_calls() found.
 */
void py_totals(const struct py_recording *recording, uint64_t totals[3]);
