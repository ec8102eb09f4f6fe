/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that record.c, seize.c, flight.c and causes.c share */
#ifndef NTRACE_RECORD_H
#define NTRACE_RECORD_H

#include <linux/bitmap.h>
#include <linux/ntrace-flight.h>
#include <linux/sched.h>

#include "../compat.h"
#include "../session.h"
#include "flight.h"

/**
 * enum ntrace_record_found - contents of the memory when the driver was loaded
 * @NTRACE_RECORD_EMPTY: No record
 * @NTRACE_RECORD_HALF: A record whose header is incomplete because of a reset; it has no
 *	trace
 * @NTRACE_RECORD_DAMAGED: A record that is damaged, or has a format that this driver does
 *	not know
 * @NTRACE_RECORD_KEPT: A valid record
 */
enum ntrace_record_found {
	NTRACE_RECORD_EMPTY,
	NTRACE_RECORD_HALF,
	NTRACE_RECORD_DAMAGED,
	NTRACE_RECORD_KEPT,
};

/* Maximum number of funnels in a record */
#define NTRACE_RECORD_FUNNELS	(2 * NTRACE_FLIGHT_MAX_CPUS)

/**
 * struct ntrace_record_setup - the part of a record that does not change while it is written
 * @cpus: CPUs and their encoders
 * @sinks: Sinks
 * @funnels: Addresses of the funnels between them
 * @nr_cpus: Number of @cpus
 * @nr_sinks: Number of @sinks
 * @nr_funnels: Number of @funnels
 * @power_of_2: The area of each sink has 2^M bytes
 * @past: Bit n is set if sink n writes its area itself, and bypasses the caches
 */
struct ntrace_record_setup {
	struct ntrace_flight_cpu	*cpus;
	struct ntrace_flight_sink	*sinks;
	u64				*funnels;
	unsigned int			nr_cpus;
	unsigned int			nr_sinks;
	unsigned int			nr_funnels;
	bool				power_of_2;
	DECLARE_BITMAP(past, NTRACE_FLIGHT_MAX_SINKS);
};

/**
 * struct ntrace_area - area of the record that a sink writes
 * @index: Number of the sink in the record
 * @offset: Offset of the area in the record
 * @size: Size in bytes
 * @at: Offset in the area at which the sink continues
 * @wrapped: The sink has written all of the area
 * @on: The sink is writing
 * @claims: Number of CPUs whose perf events have taken the sink
 * @number: Number of the last pointer that was written
 * @gap: Number of the current gap, or 0
 * @gap_from: Time at which the gap began
 */
struct ntrace_area {
	unsigned int	index;
	u64		offset;
	u64		size;
	u64		at;
	bool		wrapped;
	bool		on;
	unsigned int	claims;
	u64		number;
	u32		gap;
	u64		gap_from;
};

/* record.c */
int ntrace_record_init(const char *param, enum ntrace_record_found *found);
void ntrace_record_exit(void);
bool ntrace_record_knows(phys_addr_t addr);
const struct ntrace_flight_sink *ntrace_record_old_sink(phys_addr_t addr, unsigned int *index);
void ntrace_record_old_pointer(unsigned int index, u64 offset, bool wrapped);
int ntrace_record_begin(struct ntrace_record_setup *setup);
void ntrace_record_pointer(struct ntrace_area *area, u64 offset, u32 flags, bool must);
void ntrace_record_gap_begins(struct ntrace_area *area);
void ntrace_record_gap_ends(struct ntrace_area *area);
void ntrace_record_switch(unsigned int cpu, u32 number, struct task_struct *next,
			  const char comm[TASK_COMM_LEN]);
void ntrace_record_module(const char *name, u64 text, u64 text_size, const u8 *build_id);
void ntrace_record_cause(u32 code, const char *text, struct task_struct *task);
void ntrace_record_session(const struct ntrace_area *area, const struct ntrace_want *want,
			   u64 config, unsigned int src_bits, struct task_struct *task);
void ntrace_record_written(const void *at, size_t size);
void ntrace_record_settle(void);
size_t ntrace_record_size(void);
void ntrace_record_read(void *to, u64 at, size_t size);
void *ntrace_record_area(u64 offset);
void ntrace_record_seize(bool begins);
phys_addr_t ntrace_record_base(void);
void ntrace_record_forget(void);
void ntrace_record_clear(void);

/* flight.c */
extern u64 ntrace_flight_config;
extern bool ntrace_flight_user;
int ntrace_flight_begin(void);
bool ntrace_flight_listens(void);
void ntrace_flight_renamed(const char *comm);
bool ntrace_flight_stop(u32 code, const char *text, struct task_struct *task);
void ntrace_flight_pretend(bool on);

/* seize.c */
bool ntrace_flight_may_seize(const struct ntrace_sink *sink);
void ntrace_flight_seize(struct ntrace_sink *sink, bool stopped);

#endif /* NTRACE_RECORD_H */
