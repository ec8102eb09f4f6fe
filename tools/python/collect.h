/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the Python module calls: all records of a recording in one array. cffi reads this text up to its end. */
struct py_branch {
	uint64_t	time;		/* ns */
	uint64_t	from, to;	/* addresses; 0: trace began or stopped */
	uint64_t	insns;		/* executed since the branch before */
	int32_t		cpu, pid, tid;	/* -1: not known */
	uint8_t		kind, flags;	/* as of session/branch.h */
	uint16_t	reserved;
};

struct py_insn {
	uint64_t	address;	/* as the file has it */
	uint64_t	count;		/* times executed */
	uint32_t	object, symbol;	/* numbers of names */
};

struct py_call {
	uint64_t	time, ns;	/* when it began, and how long it took */
	uint64_t	at;		/* instructions of its thread before it */
	uint64_t	insns;		/* executed in it, in what it called, too */
	int32_t		cpu, pid, tid;	/* -1: not known */
	uint32_t	thread;		/* from 0: by tid, and the idle thread of each CPU apart */
	uint32_t	object, symbol;	/* numbers of names */
	uint8_t		kind, open;	/* how it was entered; open: its end was not recorded */
	uint16_t	reserved[3];
};

struct py_recording;

/* NULL: out of memory; else py_error() is "" or a sentence */
struct py_recording *py_open(const char *path, const char *symfs, const char *cache, int threads);
const char *py_error(const struct py_recording *recording);
void py_close(struct py_recording *recording);

/* Arrays belong to the recording, until the same call again or py_close(). -1: py_error() */
int py_branches(struct py_recording *recording, const struct py_branch **branches, size_t *nr);
int py_insns(struct py_recording *recording, const struct py_insn **insns, size_t *nr);
int py_calls(struct py_recording *recording, const struct py_call **calls, size_t *nr);

/* Of the last array that has numbers of names; NULL: there is no such number, or the name is not known */
const char *py_name(const struct py_recording *recording, uint32_t number);

/* Losses, errors of the trace, and places without code of the last call */
void py_totals(const struct py_recording *recording, uint64_t totals[3]);
