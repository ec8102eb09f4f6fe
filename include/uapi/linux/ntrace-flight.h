/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Format of the RISC-V N-Trace record that the flight recorder leaves in memory.
 *
 * The driver writes the record while harts are traced, into a region that survives a reset of the
 * machine. The next kernel, or a reader of a crash dump, finds it there. All values are little
 * endian, and all times are values of the time CSR. The contents may be damaged, so a reader must
 * check all of them.
 *
 *   0            struct ntrace_flight_header, which has the position of each part
 *   positions    the parts, at multiples of 64 bytes and in any order
 *   data_offset  trace, at a multiple of 64 KiB; each sink has its own area
 *
 * The header and the parts that do not change have a CRC (CRC-32 as in zlib and Ethernet, with
 * an initial value and a final XOR of 0xffffffff). The parts that change during recording consist
 * of small entries with a check each, see ntrace_flight_check(). So a reset at any time damages at
 * most the entry that was being written.
 */
#ifndef _UAPI_LINUX_NTRACE_FLIGHT_H
#define _UAPI_LINUX_NTRACE_FLIGHT_H

#include <linux/types.h>

/* "NTFLIGHT" read as little endian, which marks a record */
#define NTRACE_FLIGHT_MAGIC		0x544847494c46544eULL
/* "NTFLWRIT", which marks an incomplete header. A reader that finds it must ignore the record. */
#define NTRACE_FLIGHT_MAGIC_WRITING	0x544952574c46544eULL
#define NTRACE_FLIGHT_VERSION_MAJOR	1
#define NTRACE_FLIGHT_VERSION_MINOR	2

#define NTRACE_FLIGHT_MAX_PARTS		16
#define NTRACE_FLIGHT_MAX_SINKS		256
#define NTRACE_FLIGHT_MAX_CPUS		1024

enum ntrace_flight_type {
	NTRACE_FLIGHT_NONE,
	NTRACE_FLIGHT_MACHINE,		/* struct ntrace_flight_machine */
	NTRACE_FLIGHT_KERNEL,		/* text of vmcoreinfo, lines of NAME=VALUE */
	NTRACE_FLIGHT_CPUS,		/* struct ntrace_flight_cpu[] */
	NTRACE_FLIGHT_SINKS,		/* struct ntrace_flight_sink[] */
	/* The parts below change during recording, and do not have a CRC */
	NTRACE_FLIGHT_MODULES,		/* struct ntrace_flight_module[] */
	NTRACE_FLIGHT_POINTERS,		/* struct ntrace_flight_pointer[2] for each sink */
	NTRACE_FLIGHT_GAPS,		/* struct ntrace_flight_gap[] */
	NTRACE_FLIGHT_SWITCHES,		/* struct ntrace_flight_switch[], a ring for each CPU */
	NTRACE_FLIGHT_CAUSE,		/* struct ntrace_flight_cause */
	NTRACE_FLIGHT_SESSIONS,		/* struct ntrace_flight_session for each sink; since 1.1 */
	/* Addresses (u64) of the funnels between encoders and sinks; since 1.2; with CRC */
	NTRACE_FLIGHT_FUNNELS,
	NTRACE_FLIGHT_TYPES,
};

/**
 * struct ntrace_flight_part - position of a part of the record
 * @type: Type, enum ntrace_flight_type; a reader skips types that it does not know
 * @entry: Size of an entry in bytes; a later version may have longer entries
 * @offset: Offset from the start of the header
 * @size: Size in bytes
 * @crc: CRC of these bytes, if the part does not change
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
 * struct ntrace_flight_header - start of the record
 * @magic: NTRACE_FLIGHT_MAGIC, written last
 * @version: Major << 16 | minor; a reader refuses another major version
 * @size: Size of this structure in bytes
 * @region: Size of the whole record in bytes
 * @address: Physical address of the header
 * @data_offset: Offset of the trace
 * @id: Random number that identifies the record
 * @nr_parts: Number of @parts
 * @reserved: 0
 * @parts: Positions of the parts
 * @reserved2: 0
 * @crc: CRC of all members before it
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
 * struct ntrace_flight_machine - the machine and its clocks
 * @timebase: Frequency of the time CSR in Hz
 * @time: The time CSR when the record was begun
 * @local_ns: The kernel's clock at @time in ns, the same as in its log
 * @real_ns: The time of day at @time, in ns since 1970
 * @text: Address of the kernel's first byte
 * @text_size: Size of the kernel in bytes
 * @kaslr: Offset that KASLR has added to the addresses for which the kernel was linked
 * @nr_cpus: Number of possible CPUs
 * @xlen: 32 or 64
 * @release: Version of the kernel, the same as from uname -r
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
 * struct ntrace_flight_cpu - an encoder and its settings
 * @words: Words of enum ntrace_info_cpu in <linux/ntrace.h>
 * @address: Physical address of its registers
 * @sink: Index of its sink in NTRACE_FLIGHT_SINKS
 * @priv: Bitmap of privileges that it traces, like trTeFilterMatchChoicePrivilege; 0 for
 *	all
 */
struct ntrace_flight_cpu {
	__u64	words[NTRACE_FLIGHT_CPU_WORDS];
	__u64	address;
	__u32	sink;
	__u32	priv;
};

/**
 * struct ntrace_flight_sink - the trace of a sink
 * @address: Physical address of its registers
 * @offset: Offset of its area from the start of the header
 * @size: Size of its area in bytes
 * @flags: NTRACE_FLIGHT_SINK_*
 * @reserved: 0
 * @name: Name of its device
 */
struct ntrace_flight_sink {
	__u64	address;
	__u64	offset;
	__u64	size;
	__u32	flags;
	__u32	reserved;
	__u8	name[32];
};

/* The sink has its own memory, which the driver copies when the sink stops */
#define NTRACE_FLIGHT_SINK_COPIED	(1U << 0)

/* Entry of NTRACE_FLIGHT_MODULES. The name is empty if the module was unloaded. */
struct ntrace_flight_module {
	__u64	text;			/* address of its code */
	__u64	text_size;
	__u8	build_id[20];		/* 0 if unknown */
	__u8	name[52];
	__u32	reserved;
	__u32	check;
};

/**
 * struct ntrace_flight_pointer - position of a sink, entry of NTRACE_FLIGHT_POINTERS
 * @number: Number of the update; the entry with the higher number is the newer of the two
 * @time: Time of the update
 * @offset: Offset in the area of the sink, after the last byte that it wrote
 * @flags: NTRACE_FLIGHT_POINTER_*
 * @check: Result of ntrace_flight_check()
 */
struct ntrace_flight_pointer {
	__u64	number;
	__u64	time;
	__u64	offset;
	__u32	flags;
	__u32	check;
};

#define NTRACE_FLIGHT_POINTER_WRAPPED	(1U << 0)	/* all of the area has been written */
#define NTRACE_FLIGHT_POINTER_STOPPED	(1U << 1)	/* the sink had written all trace, which ends at @offset */
#define NTRACE_FLIGHT_POINTER_RESET	(1U << 2)	/* the sink ran through a reset */

/*
 * Entry of NTRACE_FLIGHT_GAPS, a ring. In a gap, a perf event had the sink, or all CPUs of the sink
 * were idle.
 */
struct ntrace_flight_gap {
	__u64	from, to;		/* @to is 0 if the gap has not ended */
	__u32	sink;
	__u32	number;			/* number of the gap, starts at 1 */
	__u32	reserved;
	__u32	check;
};

/* Entry of NTRACE_FLIGHT_SWITCHES, written when a thread starts to run */
struct ntrace_flight_switch {
	__u64	time;
	__u32	tid, pid;		/* in the initial pid namespace */
	__u8	comm[16];
	__u32	number;			/* number of the switch in the ring of its CPU, starts at 1 */
	__u32	check;
};

enum ntrace_flight_code {
	NTRACE_FLIGHT_CAUSE_NONE,	/* recording did not stop, or the cause of its stop is not known */
	NTRACE_FLIGHT_CAUSE_PANIC,
	NTRACE_FLIGHT_CAUSE_OOPS,
	NTRACE_FLIGHT_CAUSE_HUNG_TASK,
	NTRACE_FLIGHT_CAUSE_SYSRQ,
	NTRACE_FLIGHT_CAUSE_REBOOT,	/* reboot or kexec by reboot(2), which includes reboot -f */
	NTRACE_FLIGHT_CAUSE_RESTART,	/* emergency restart, without an orderly shutdown */
	NTRACE_FLIGHT_CAUSE_USER,
	NTRACE_FLIGHT_CAUSE_SOFT_LOCKUP,
	NTRACE_FLIGHT_CAUSE_HARD_LOCKUP,
	NTRACE_FLIGHT_CAUSE_RCU_STALL,
	NTRACE_FLIGHT_CAUSE_CODES,
};

/*
 * Entry of NTRACE_FLIGHT_CAUSE, the cause of the stop. If the check is not valid, the cause is not
 * known.
 */
struct ntrace_flight_cause {
	__u64	time;
	__u32	code;			/* enum ntrace_flight_code */
	__u32	cpu;			/* CPU that detected the cause */
	__u32	tid, pid;		/* task that ran on the CPU, or task that hung */
	__u8	comm[16];
	__u8	text[128];		/* message of the kernel, ends with 0 */
	__u32	reserved;
	__u32	check;
};

/*
 * Entry of NTRACE_FLIGHT_SESSIONS. A perf event had the sink when the kernel panicked. The area
 * contains the last trace of that event. These settings replace those of the sink's CPUs.
 */
struct ntrace_flight_session {
	__u64	config;			/* value for NTRACE_INFO_CPU_CONFIG */
	__u32	src_bits;		/* value for NTRACE_INFO_CPU_SRC_BITS */
	__u32	priv;			/* the same as in struct ntrace_flight_cpu */
	__u32	tid, pid;		/* task that opened the event; 0 if this task has ended */
	__u8	comm[16];
	__u32	sink;
	__u32	check;
};

/**
 * ntrace_flight_check() - compute the check of an entry
 * @entry: The entry, whose last four bytes are the check
 * @size: Size of the entry in bytes, a multiple of 8
 * @seed: Type of the part << 32 | a number that no other entry of the part has
 *
 * The check is cheap enough for a task switch. Each step is reversible, so that different entries
 * have different sums of 64 bits, which are folded to 32 bits. An entry of zeros is never valid.
 */
static inline __u32 ntrace_flight_check(const void *entry, unsigned int size, __u64 seed)
{
	const __u64 *word = (const __u64 *)entry;
	__u64 sum = ~seed;
	unsigned int i;

	for (i = 0; i < size / 8; i++) {
		/* The upper half of the last word is the check itself; use 0 in its place */
		__u64 value = i + 1 < size / 8 ? word[i] : word[i] & 0xffffffffULL;

		sum = (sum ^ value) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 29;
	}
	return (__u32)(sum >> 32) ^ (__u32)sum;
}

#define NTRACE_FLIGHT_SEED(type, nth)	((__u64)(type) << 32 | (nth))

#endif /* _UAPI_LINUX_NTRACE_FLIGHT_H */
