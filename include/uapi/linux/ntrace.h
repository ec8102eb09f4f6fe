/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * RISC-V N-Trace interface between the driver, perf and the ntrace command.
 *
 * Fields have the names of the RISC-V Trace Control Interface Specification 1.0 without their
 * prefix, for example "mode" for trTeInstMode.
 */
#ifndef _UAPI_LINUX_NTRACE_H
#define _UAPI_LINUX_NTRACE_H

#include <linux/types.h>

/*
 * perf_event_attr::config of the PMU "ntrace".
 *
 *   26  25  24  23  22   20 19 18 17  16  15  14  13  12  11 10    7 6    5 4    2 1  0
 *  +---+---+---+---+-------+-----+---+---+---+---+---+---+---+-------+------+------+--+--+
 *  |srm|trg|exc|inh| tsmode|presc|sta|fw |ext|all|rep|seq|ret|syncmax| sync | mode |ts|cx|
 *  +---+---+---+---+-------+-----+---+---+---+---+---+---+---+-------+------+------+--+--+
 *
 * The kernel takes the fields literally. 0 means off, except for mode and tsmode,
 * for which 0 means the best value of the hardware. perf and the ntrace command fill
 * in the sysfs defaults for the fields that the user did not give. Bits that are
 * not named here must be 0 (-EINVAL).
 */
/* trTeContext: Ownership messages */
#define NTRACE_CONFIG_CONTEXT		(1ULL << 0)
/* trTsEnable */
#define NTRACE_CONFIG_TIMESTAMP		(1ULL << 1)
/* trTeInstMode: 0 for the best mode of the hardware, 3 for BTM, 6 for HTM */
#define NTRACE_CONFIG_MODE		(7ULL << 2)
#define NTRACE_CONFIG_MODE_SHIFT	2
/* trTeInstSyncMode: 0 off, 1 messages, 2 cycles, 3 half-words */
#define NTRACE_CONFIG_SYNC_MODE		(3ULL << 5)
#define NTRACE_CONFIG_SYNC_MODE_SHIFT	5
/* trTeInstSyncMax: period 2^(n + 4) */
#define NTRACE_CONFIG_SYNC_MAX		(15ULL << 7)
#define NTRACE_CONFIG_SYNC_MAX_SHIFT	7
/* Fields trTeInstEn*, and trTeInstExtendAddrMSB */
#define NTRACE_CONFIG_IMPLICIT_RETURN	(1ULL << 11)
#define NTRACE_CONFIG_SEQUENTIAL_JUMP	(1ULL << 12)
#define NTRACE_CONFIG_REPEATED_HISTORY	(1ULL << 13)
#define NTRACE_CONFIG_ALL_JUMPS		(1ULL << 14)
#define NTRACE_CONFIG_EXTEND_ADDR	(1ULL << 15)
/* also trace machine mode (privileged) */
#define NTRACE_CONFIG_FIRMWARE		(1ULL << 16)
/* trTeInstStallEna: Stall the hart, so that no trace is lost */
#define NTRACE_CONFIG_STALL		(1ULL << 17)
/* trTsPrescale: Divide the clock by 4^n */
#define NTRACE_CONFIG_TS_PRESCALE	(3ULL << 18)
#define NTRACE_CONFIG_TS_PRESCALE_SHIFT	18
/* trTsMode: 0 for the best value of the hardware, 1 (external) to 4 (shared) */
#define NTRACE_CONFIG_TS_MODE		(7ULL << 20)
#define NTRACE_CONFIG_TS_MODE_SHIFT	20
/* trTeInhibitSrc: Omit the SRC field */
#define NTRACE_CONFIG_INHIBIT_SRC	(1ULL << 23)
/* Address filters select ranges that are not traced */
#define NTRACE_CONFIG_EXCLUDE		(1ULL << 24)
#define NTRACE_CONFIG_VALID		((1ULL << 25) - 1)

/*
 * PERF_RECORD_AUX_OUTPUT_HW_ID: SRC of the messages from the CPU of the record. The kernel writes
 * this record if several encoders share the sink of the event.
 */
#define NTRACE_HW_ID_SRC		0xfffULL
#define NTRACE_HW_ID_SRC_BITS		(0xfULL << 16)

/*
 * PERF_RECORD_AUX flags, format bits (PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK).
 *
 * Each PERF_RECORD_AUX is one stretch of trace. The encoder was started before
 * its first byte, and stopped and flushed after its last byte. A stretch is a
 * whole number of messages and idle bytes (0xff), with these exceptions.
 *
 * PERF_AUX_FLAG_PARTIAL	The sink was full. The end is missing, or the start if
 *				the sink has no trRamStopOnWrap.
 * PERF_AUX_FLAG_TRUNCATED	The AUX buffer was full. Later trace is missing.
 * snapshots			The start may have been overwritten.
 */
#define NTRACE_AUX_FORMAT_RAW		0x0000	/* bytes as stored by a RAM sink */
/*
 * Frames of 16 bytes, in which the formatter of a CoreSight ETR combines the bytes of several
 * sources. NTRACE_INFO_CPU_TRACE_ID identifies the source. The first frame begins with an id.
 */
#define NTRACE_AUX_FORMAT_FRAMES	0x0100

/*
 * PERF_RECORD_AUXTRACE_INFO: All words are u64, in the byte order of the file. The header is
 * followed by NTRACE_INFO_NR_CPUS blocks of NTRACE_INFO_CPU_WORDS words. A reader takes the sizes
 * from the record, because a later minor version appends words to either part, and an earlier
 * reader skips them.
 */
#define NTRACE_AUXTRACE_TYPE		0x4e54	/* auxtrace_info.type: "NT" */
/* "\0NTRACE1" read as little endian */
#define NTRACE_INFO_MAGIC_VALUE		0x3145434152544e00ULL
#define NTRACE_INFO_VERSION_MAJOR	1
#define NTRACE_INFO_VERSION_MINOR	3

/* NTRACE_INFO_CPU_DIALECT: Format of the encoder's messages */
#define NTRACE_DIALECT_RATIFIED	0	/* N-Trace 1.0 */
#define NTRACE_DIALECT_SIFIVE0	1	/* SiFive's encoders of version 0 */

enum ntrace_info_header {
	NTRACE_INFO_MAGIC,
	NTRACE_INFO_VERSION,		/* major << 32 | minor */
	NTRACE_INFO_HEADER_WORDS,
	NTRACE_INFO_CPU_WORDS,
	NTRACE_INFO_NR_CPUS,
	NTRACE_INFO_PMU_TYPE,
	NTRACE_INFO_FLAGS,		/* NTRACE_INFO_FLAG_* */
	NTRACE_INFO_TIME_SHIFT,		/* perf time = zero + (cycles * mult >> shift) */
	NTRACE_INFO_TIME_MULT,
	NTRACE_INFO_TIME_ZERO,
	NTRACE_INFO_HEADER_MAX,
};

#define NTRACE_INFO_FLAG_SNAPSHOT	(1ULL << 0)	/* recorded in snapshot mode */
#define NTRACE_INFO_FLAG_PER_CPU	(1ULL << 1)	/* a buffer per CPU, else per thread */
#define NTRACE_INFO_FLAG_TIME_CONV	(1ULL << 2)	/* the TIME words are valid */
#define NTRACE_INFO_FLAG_FILTER		(1ULL << 3)	/* only some addresses were traced */
#define NTRACE_INFO_FLAG_NO_SCONTEXT	(1ULL << 4)	/* caps/scontext was 0, so messages contain no thread ids */

enum ntrace_info_cpu {
	NTRACE_INFO_CPU_ID,		/* Linux CPU number */
	NTRACE_INFO_CPU_IMPL,		/* trTeImpl */
	NTRACE_INFO_CPU_CONFIG,		/* NTRACE_CONFIG_*, mode and tsmode resolved */
	NTRACE_INFO_CPU_SRC_BITS,	/* width of the SRC field, 0..12; 0 if it is inhibited */
	NTRACE_INFO_CPU_SRC_ID,
	NTRACE_INFO_CPU_TS_WIDTH,	/* trTsWidth, bits */
	NTRACE_INFO_CPU_TS_FREQ,	/* Hz of the counter before the prescaler; 0 if unknown */
	NTRACE_INFO_CPU_IR_MODE,	/* trTeInstImplicitReturnMode */
	NTRACE_INFO_CPU_XLEN,		/* 32 or 64 */
	NTRACE_INFO_CPU_TRACE_ID,	/* trAtbBridgeID; 0 if the encoder's trace is not in frames */
	NTRACE_INFO_CPU_DIALECT,	/* NTRACE_DIALECT_* */
	NTRACE_INFO_CPU_ADDR_BITS,	/* bits of an address in messages, the highest is the sign; 0: all bits */
	NTRACE_INFO_CPU_TS_BASE,	/* value of the counter, without prescaler, at TS_BASE_TIME */
	NTRACE_INFO_CPU_TS_BASE_TIME,	/* value of the time CSR at TS_BASE; 0 if the counter equals the time CSR */
	NTRACE_INFO_CPU_SINK,		/* hash of the sink's name, not 0; 0 if unknown */
	NTRACE_INFO_CPU_MAX,
};

#endif /* _UAPI_LINUX_NTRACE_H */
