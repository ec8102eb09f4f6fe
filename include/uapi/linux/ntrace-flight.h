/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * RISC-V N-Trace: the record that the flight recorder leaves in memory.
 *
 * The driver writes it while harts are traced; the next kernel, or a reader of a crash dump, finds
 * it in a region that survives a reset of the machine. All values are little endian, all times are
 * values of the time CSR. Whatever a reader finds here may be damaged: check all of it.
 *
 *   0            struct ntrace_flight_header: says where the parts are
 *   parts        at multiples of 64 bytes, in any order
 *   data_offset  trace, at a multiple of 64 KiB; each sink has an area of its own
 *
 * The header and the parts that do not change have a CRC (CRC-32 as of zlib and Ethernet, with
 * 0xffffffff at the begin and the end). What changes while it records is made of small entries,
 * each with a check of its own, see ntrace_flight_check(). So a reset at any instant costs at most
 * the entry that was being written.
 */
#ifndef _UAPI_LINUX_NTRACE_FLIGHT_H
#define _UAPI_LINUX_NTRACE_FLIGHT_H

#include <linux/types.h>

/* "NTFLIGHT" read as little endian: there is a record */
#define NTRACE_FLIGHT_MAGIC		0x544847494c46544eULL
/* "NTFLWRIT": its header is being written. If it is found like this, it was never finished. */
#define NTRACE_FLIGHT_MAGIC_WRITING	0x544952574c46544eULL
#define NTRACE_FLIGHT_VERSION_MAJOR	1
#define NTRACE_FLIGHT_VERSION_MINOR	1

#define NTRACE_FLIGHT_MAX_PARTS		16
#define NTRACE_FLIGHT_MAX_SINKS		256
#define NTRACE_FLIGHT_MAX_CPUS		1024

enum ntrace_flight_type {
	NTRACE_FLIGHT_NONE,
	NTRACE_FLIGHT_MACHINE,		/* struct ntrace_flight_machine */
	NTRACE_FLIGHT_KERNEL,		/* text: vmcoreinfo, lines of NAME=VALUE */
	NTRACE_FLIGHT_CPUS,		/* struct ntrace_flight_cpu[] */
	NTRACE_FLIGHT_SINKS,		/* struct ntrace_flight_sink[] */
	/* Those below change while it records, and have no CRC of the part */
	NTRACE_FLIGHT_MODULES,		/* struct ntrace_flight_module[] */
	NTRACE_FLIGHT_POINTERS,		/* struct ntrace_flight_pointer[2] for each sink */
	NTRACE_FLIGHT_GAPS,		/* struct ntrace_flight_gap[] */
	NTRACE_FLIGHT_SWITCHES,		/* struct ntrace_flight_switch[]: a ring for each CPU */
	NTRACE_FLIGHT_CAUSE,		/* struct ntrace_flight_cause */
	NTRACE_FLIGHT_SESSIONS,		/* struct ntrace_flight_session for each sink; 1.1 */
	NTRACE_FLIGHT_TYPES,
};

/**
 * struct ntrace_flight_part - where a part of the record is
 * @type: enum ntrace_flight_type; a reader skips types that it does not know
 * @entry: Bytes of an entry; a later version may have longer ones
 * @offset: From the begin of the header
 * @size: Bytes
 * @crc: Of the bytes, if the part does not change
 * @reserved: 0
 */
struct ntrace_flight_part {
	__u32	type;
	__u32	entry;
	__u64	offset;
	__u64	size;
	__u32	crc;
	__u32	reserved;
};

/**
 * struct ntrace_flight_header - the begin of the record
 * @magic: NTRACE_FLIGHT_MAGIC, written last
 * @version: Major << 16 | minor; a reader refuses another major version
 * @size: Of this structure
 * @region: Bytes of the whole record
 * @address: Physical address of the header
 * @data_offset: Where trace begins
 * @id: Random: no two records have the same
 * @nr_parts: Number of @parts
 * @reserved: 0
 * @parts: Where the parts are
 * @reserved2: 0
 * @crc: Of all before it
 */
struct ntrace_flight_header {
	__u64				magic;
	__u32				version;
	__u32				size;
	__u64				region;
	__u64				address;
	__u64				data_offset;
	__u64				id[2];
	__u32				nr_parts;
	__u32				reserved;
	struct ntrace_flight_part	parts[NTRACE_FLIGHT_MAX_PARTS];
	__u32				reserved2;
	__u32				crc;
};

/**
 * struct ntrace_flight_machine - the machine, and what its clocks are
 * @timebase: Hz of the time CSR
 * @time: The time CSR when the record was begun
 * @local_ns: The kernel's clock then, as the times of its log, ns
 * @real_ns: The time of day then, ns since 1970
 * @text: Address of the kernel's first byte
 * @text_size: Bytes of the kernel
 * @kaslr: What KASLR has added to the addresses that the kernel was linked for
 * @nr_cpus: Number of CPUs that the kernel may have
 * @xlen: 32 or 64
 * @release: Version of the kernel, as of uname -r
 */
struct ntrace_flight_machine {
	__u64	timebase;
	__u64	time;
	__u64	local_ns;
	__u64	real_ns;
	__u64	text;
	__u64	text_size;
	__u64	kaslr;
	__u32	nr_cpus;
	__u32	xlen;
	__u8	release[64];
};

#define NTRACE_FLIGHT_CPU_WORDS		16

/**
 * struct ntrace_flight_cpu - an encoder, and how it is set up
 * @words: enum ntrace_info_cpu of <linux/ntrace.h>
 * @address: Of its registers
 * @sink: Which of NTRACE_FLIGHT_SINKS it leads to
 * @priv: Privileges that it traces, 0 all: trTeFilterMatchChoicePrivilege
 */
struct ntrace_flight_cpu {
	__u64	words[NTRACE_FLIGHT_CPU_WORDS];
	__u64	address;
	__u32	sink;
	__u32	priv;
};

/**
 * struct ntrace_flight_sink - the trace of a sink
 * @address: Of its registers
 * @offset: Of its area, from the begin of the header
 * @size: Bytes of its area
 * @flags: NTRACE_FLIGHT_SINK_*
 * @reserved: 0
 * @name: Of its device
 */
struct ntrace_flight_sink {
	__u64	address;
	__u64	offset;
	__u64	size;
	__u32	flags;
	__u32	reserved;
	__u8	name[32];
};

/* The sink has memory of its own, which the driver copies when the sink stops */
#define NTRACE_FLIGHT_SINK_COPIED	(1U << 0)

/* NTRACE_FLIGHT_MODULES: what may have been unloaded since has no name */
struct ntrace_flight_module {
	__u64	text;			/* address of its code */
	__u64	text_size;
	__u8	build_id[20];		/* 0: not known */
	__u8	name[52];
	__u32	reserved;
	__u32	check;
};

/**
 * struct ntrace_flight_pointer - where a sink had got to
 * @number: The entry of the two with the higher number is the later one
 * @time: When it was
 * @offset: In the area of the sink, of the byte after its last one
 * @flags: NTRACE_FLIGHT_POINTER_*
 * @check: ntrace_flight_check()
 */
struct ntrace_flight_pointer {
	__u64	number;
	__u64	time;
	__u64	offset;
	__u32	flags;
	__u32	check;
};

#define NTRACE_FLIGHT_POINTER_WRAPPED	(1U << 0)	/* all of the area has been written */
#define NTRACE_FLIGHT_POINTER_STOPPED	(1U << 1)	/* the sink was empty: it is the end */
#define NTRACE_FLIGHT_POINTER_RESET	(1U << 2)	/* read after a reset it ran through */

/* NTRACE_FLIGHT_GAPS, a ring: an event of perf had the sink, or its CPUs slept */
struct ntrace_flight_gap {
	__u64	from, to;		/* @to 0: it did not end */
	__u32	sink;
	__u32	number;			/* from 1 on */
	__u32	reserved;
	__u32	check;
};

/* NTRACE_FLIGHT_SWITCHES: a thread began to run */
struct ntrace_flight_switch {
	__u64	time;
	__u32	tid, pid;		/* in the initial pid namespace */
	__u8	comm[16];
	__u32	number;			/* in its ring, from 1 on */
	__u32	check;
};

enum ntrace_flight_code {
	NTRACE_FLIGHT_CAUSE_NONE,	/* it did not stop, or nobody could say why */
	NTRACE_FLIGHT_CAUSE_PANIC,
	NTRACE_FLIGHT_CAUSE_OOPS,
	NTRACE_FLIGHT_CAUSE_HUNG_TASK,
	NTRACE_FLIGHT_CAUSE_SYSRQ,
	NTRACE_FLIGHT_CAUSE_REBOOT,	/* orderly: reboot(2), also of reboot -f, and kexec */
	NTRACE_FLIGHT_CAUSE_RESTART,	/* an emergency restart */
	NTRACE_FLIGHT_CAUSE_USER,
	NTRACE_FLIGHT_CAUSE_SOFT_LOCKUP,
	NTRACE_FLIGHT_CAUSE_HARD_LOCKUP,
	NTRACE_FLIGHT_CAUSE_RCU_STALL,
	NTRACE_FLIGHT_CAUSE_CODES,
};

/* NTRACE_FLIGHT_CAUSE: what stopped it; without a valid check, nothing did */
struct ntrace_flight_cause {
	__u64	time;
	__u32	code;			/* enum ntrace_flight_code */
	__u32	cpu;			/* that said so */
	__u32	tid, pid;		/* of what ran there, or of the task that hung */
	__u8	comm[16];
	__u8	text[128];		/* what the kernel said; ends with 0 */
	__u32	reserved;
	__u32	check;
};

/*
 * NTRACE_FLIGHT_SESSIONS: an event of perf had the sink when the kernel panicked. The area has what
 * that event traced last, and these settings hold for it, instead of those of the sink's CPUs.
 */
struct ntrace_flight_session {
	__u64	config;			/* for NTRACE_INFO_CPU_CONFIG */
	__u32	src_bits;		/* for NTRACE_INFO_CPU_SRC_BITS */
	__u32	priv;			/* as that of struct ntrace_flight_cpu */
	__u32	tid, pid;		/* of the program that made the event; 0: it has ended */
	__u8	comm[16];
	__u32	sink;
	__u32	check;
};

/**
 * ntrace_flight_check() - what the check of an entry has to be
 * @entry: The entry, whose last four bytes are the check
 * @size: Bytes of the entry, a multiple of 8
 * @seed: The type of the part << 32 | a number that no other entry of it has
 *
 * It is cheap enough for a task switch. Each step can be undone, so that entries which differ have
 * different sums of 64 bits, of which half is kept. An entry of zeros is never right.
 */
static inline __u32 ntrace_flight_check(const void *entry, unsigned int size, __u64 seed)
{
	const __u64 *word = (const __u64 *)entry;
	__u64 sum = ~seed;
	unsigned int i;

	for (i = 0; i < size / 8; i++) {
		/* The check itself counts as 0 */
		__u64 value = i + 1 < size / 8 ? word[i] : word[i] & 0xffffffffULL;

		sum = (sum ^ value) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 29;
	}
	return (__u32)(sum >> 32) ^ (__u32)sum;
}

#define NTRACE_FLIGHT_SEED(type, nth)	((__u64)(type) << 32 | (nth))

#endif /* _UAPI_LINUX_NTRACE_FLIGHT_H */
