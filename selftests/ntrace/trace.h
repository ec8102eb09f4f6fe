/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for all selftests, which record without the program perf, and decode a part of N-Trace. */
#ifndef NTRACE_SELFTEST_TRACE_H
#define NTRACE_SELFTEST_TRACE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ntrace.h>

/* A test that hangs ends after this many seconds. A host may stop an emulated board for half a minute. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300

#define PMU_DIR	"/sys/bus/event_source/devices/ntrace"

/*
 * Read the first line of a file as text, or as a number. file_text() returns false, and file_number()
 * returns @otherwise, if the file cannot be read.
 */
bool file_text(const char *path, char *text, size_t size);
uint64_t file_number(const char *path, uint64_t otherwise);
/* Write to a file. Return 0 or an errno. */
int write_text(const char *path, const char *text);
/* Like file_text() and file_number(), read a file below PMU_DIR, or below the folder of a CPU in PMU_DIR. */
bool pmu_text(const char *file, char *text, size_t size);
uint64_t pmu_number(const char *file, uint64_t otherwise);
bool cpu_text(int cpu, const char *file, char *text, size_t size);
uint64_t cpu_number(int cpu, const char *file, uint64_t otherwise);
/* Return true if the CPU has an encoder. */
bool cpu_is_traced(int cpu);
/* Get the name of the sink of a CPU. Return false if it is not known. */
bool cpu_sink(int cpu, char name[64]);
bool cpus_share_sink(int a, int b);
int pmu_type(void);
/* Return the value of cpuN/default_config without NTRACE_CONFIG_EXTEND_ADDR. */
uint64_t pmu_config(int cpu);
/*
 * Return the first CPU (pmu_first_cpu()) or the number of CPUs (pmu_nr_cpus()) in the file cpumask of the
 * PMU.
 */
int pmu_first_cpu(void);
int pmu_nr_cpus(void);

/* Set perf_event_paranoid until this program ends. Return false if that is not possible. */
bool set_paranoid(int val);
/* Bind this thread to a CPU, or to all CPUs if @cpu is -1. Return false if that is not possible. */
bool pin(int cpu);
/* Change this process from root to a user without privileges. Return false if that is not possible. */
bool become_user(void);

/* An event, with its ring buffer of records and its AUX buffer */
struct recording {
	int		fd;
	int		err;		/* errno of perf_event_open() */
	struct perf_event_mmap_page *page;
	uint8_t		*data;
	size_t		data_size;
	uint8_t		*aux;
	size_t		aux_size;
	uint64_t	src_bits;
};

void event_attr(struct perf_event_attr *attr, uint64_t config);
/* Exclude the kernel if the hardware can do so, because the number of interrupts varies. */
void event_attr_user(struct perf_event_attr *attr);
/*
 * To get much trace, choose a mode with a message for each taken branch. Return false if the hardware has
 * no such mode.
 */
bool event_attr_much(struct perf_event_attr *attr);
bool record_open(struct recording *rec, struct perf_event_attr *attr, int pid, int cpu,
		 size_t aux_size, bool overwrite);
void record_close(struct recording *rec);

/* Summary of the records since the last call of record_stretches() */
struct stretches {
	unsigned int	nr;		/* number of PERF_RECORD_AUX with bytes */
	unsigned int	nr_truncated;
	unsigned int	nr_partial;
	unsigned int	nr_collided;
	unsigned int	nr_gaps;	/* number of records that do not start at the end of the previous record */
	uint64_t	bytes;
	uint64_t	end;		/* offset after the last record */
	/* A stretch is the trace of one PERF_RECORD_AUX */
	struct stretch {
		uint64_t offset, size, flags;
		uint64_t time;		/* time of the record */
	} at[4096];
};

void record_stretches(struct recording *rec, struct stretches *st);
/* Clear the summary @st, and fill it by record_stretches(). */
void record_take(struct recording *rec, struct stretches *st);
/* Copy bytes of the data area, which wraps around. */
void record_data(struct recording *rec, uint64_t pos, void *buf, size_t size);
void record_start(const struct recording *rec);
void record_stop(const struct recording *rec);
/* Enable the event, run busy(@n), and disable the event. */
void record_work(const struct recording *rec, unsigned int n);
/* Mark all trace in the AUX buffer as read, so that the kernel can overwrite it. */
void record_empty(const struct recording *rec);
/* Copy @size bytes at @offset of the AUX area. Frames become messages and idle bytes. */
void record_copy(struct recording *rec, uint64_t offset, void *buf, size_t size);

/*
 * Convert frames in place to whole messages in the order in which the messages end. Fill the rest of the
 * buffer with idle bytes.
 */
void frames_to_messages(uint8_t *buf, size_t size);

/* The fields of a message that the tests need */
struct message {
	unsigned int	tcode;
	unsigned int	src;
	unsigned int	sync;		/* field SYNC of a synchronising message */
	bool		is_sync;
	uint64_t	addr;		/* full address, which is F-ADDR << 1 */
	unsigned int	format, prv;	/* fields of an Ownership message */
	uint64_t	context;
	size_t		offset, len;
};

enum { MSG_OWNERSHIP = 2, MSG_ERROR = 8, MSG_PROG_SYNC = 9, MSG_DIRECT_SYNC = 11,
       MSG_INDIRECT_SYNC = 12, MSG_HIST_SYNC = 29, MSG_CORRELATION = 33 };

/* Read the message at *pos. Return 1, 0 at the end of @buf, or -1 if the message is invalid or incomplete. */
int next_message(const uint8_t *buf, size_t len, size_t *pos, unsigned int src_bits,
		 struct message *msg);

/* Run about @n iterations of a loop with branches and calls, which the compiler cannot remove. */
unsigned int busy(unsigned int n);

/* Return CLOCK_MONOTONIC in seconds */
double now(void);

#endif
