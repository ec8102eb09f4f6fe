/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for all selftests: recording without perf, and as much of N-Trace as they need */
#ifndef NTRACE_SELFTEST_TRACE_H
#define NTRACE_SELFTEST_TRACE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ntrace.h>

#define PMU_DIR	"/sys/bus/event_source/devices/ntrace"

/* A file below PMU_DIR as text (false if there is none) or as a number */
bool pmu_text(const char *file, char *text, size_t size);
uint64_t pmu_number(const char *file, uint64_t otherwise);
int pmu_type(void);
/* cpuN/default_config, without shortened addresses */
uint64_t pmu_config(int cpu);
/* The first CPU of cpumask, and how many there are */
int pmu_first_cpu(void);
int pmu_nr_cpus(void);

/* A sink, and the number for the field "sink" */
struct pmu_sink {
	char		name[64];
	uint64_t	number;
};

/* Those of the PMU, @max at the most. Returns how many */
unsigned int pmu_sinks(struct pmu_sink *sinks, unsigned int max);

/* Sets what everybody may see (perf_event_paranoid) until this program ends; false: it cannot */
bool set_paranoid(int val);
/* This thread runs on this CPU alone from now on, -1: on any; false if it cannot */
bool pin(int cpu);
/* This process has no rights of root any more; false if it cannot give them up */
bool become_user(void);

/* An event and its buffers */
struct recording {
	int		fd;
	int		err;		/* of perf_event_open() */
	struct perf_event_mmap_page *page;
	uint8_t		*data;
	size_t		data_size;
	uint8_t		*aux;
	size_t		aux_size;
	uint64_t	src_bits;
};

void event_attr(struct perf_event_attr *attr, uint64_t config);
/* Leave out the kernel if the hardware can: how much it does in interrupts is unpredictable */
void event_attr_user(struct perf_event_attr *attr);
/* A mode that makes much trace: a message for each branch that is taken; false if there is none */
bool event_attr_much(struct perf_event_attr *attr);
bool record_open(struct recording *rec, struct perf_event_attr *attr, int pid, int cpu,
		 size_t aux_size, bool overwrite);
void record_close(struct recording *rec);

/* A summary of the records since the last look */
struct stretches {
	unsigned int	nr;		/* PERF_RECORD_AUX with bytes */
	unsigned int	nr_truncated;
	unsigned int	nr_partial;
	unsigned int	nr_collided;
	unsigned int	nr_gaps;	/* offset is not the end of the one before */
	uint64_t	bytes;
	uint64_t	end;		/* offset after the last */
	struct stretch {
		uint64_t offset, size, flags;
		uint64_t time;		/* when it was handed over */
	} at[4096];
};

void record_stretches(struct recording *rec, struct stretches *st);
/* Copy @size bytes at @offset out of the AUX area; frames become messages and idle bytes */
void record_copy(struct recording *rec, uint64_t offset, void *buf, size_t size);

/* Takes frames apart in place: whole messages in the order in which they end, then idle bytes */
void frames_to_messages(uint8_t *buf, size_t size);

/* A message as far as the tests need it */
struct message {
	unsigned int	tcode;
	unsigned int	src;
	unsigned int	sync;		/* of synchronising messages */
	bool		is_sync;
	uint64_t	addr;		/* F-ADDR, bit 0 put back */
	unsigned int	format, prv;	/* Ownership */
	uint64_t	context;
	size_t		offset, len;
};

enum { MSG_OWNERSHIP = 2, MSG_ERROR = 8, MSG_PROG_SYNC = 9, MSG_DIRECT_SYNC = 11,
       MSG_INDIRECT_SYNC = 12, MSG_HIST_SYNC = 29, MSG_CORRELATION = 33 };

/* Next message from *pos on: 1, 0 at the end, -1 if it is none or is cut off */
int next_message(const uint8_t *buf, size_t len, size_t *pos, unsigned int src_bits,
		 struct message *msg);

/* A loop with branches and calls, for about @n iterations; never optimised away */
unsigned int busy(unsigned int n);

/* Seconds of CLOCK_MONOTONIC */
double now(void);

#endif
