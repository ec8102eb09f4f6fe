/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Declarations that only the files of the session library share. */
#ifndef NTRACE_SESSION_SESSION_PRIV_H
#define NTRACE_SESSION_SESSION_PRIV_H

#include <linux/ntrace.h>

#include "ntrace/foreign.h"
#include "session/code/object.h"
#include "session/file/perfdata.h"
#include "session.h"
#include "session/world/setup.h"
#include "session/world/sideband.h"
#include "session/flow/missing.h"
#include "session/flow/trace.h"
#include "session/world/visits.h"

struct nt_profile;
struct nt_sinks;
struct nt_profile_totals;

/* Address spaces. The generation of a process with index N has NS_SPACE_GENERATION + N. */
enum ns_space {
	NS_SPACE_NONE		= 0,
	NS_SPACE_KERNEL		= 1,
	NS_SPACE_FIRMWARE	= 2,
	NS_SPACE_UNKNOWN	= 3,	/* a process that is not in the recording, or a guest */
	NS_SPACE_GENERATION	= 16,
};

/* Counts instead of trace, with the functions that nt_profile_run() and nt_session_close() call */
struct ns_counted {
	int (*take)(const struct nt_session *session, struct nt_counts *counts,
		    struct nt_profile_totals *totals);
	void (*free)(struct ns_counted *counted);
};

struct nt_session {
	struct nt_session_options options;
	char		*cache;		/* the default build-id cache */
	struct perfdata	pd;
	struct ns_setup	setup;
	bool		has_setup;
	struct nt_foreign_clock clock;	/* of PERF_RECORD_TIME_CONV */
	struct ns_objects objects;
	struct ns_sideband sideband;
	struct ns_trace	trace;
	struct ns_visits visits;
	NS_ARRAY(struct pd_record) records;	/* records of the file, freed when the session is open */
	/* samples of tracepoints, by time; their data is the payload that the kernel wrote */
	NS_ARRAY(struct pd_record) events;
	NS_ARRAY(struct ns_map) firmware;	/* code of machine mode, or of all modes if @one_map */
	bool		one_map;	/* nt_session_open_raw() has opened it, and all addresses are those of one program */
	bool		has_objects;
	struct ns_counted *counted;	/* counts instead of trace; NULL: the session has trace */
	struct {			/* the last piece that nt_session_trace() found */
		int	cpu;
		size_t	stretch;
		size_t	first;		/* number of the CPU's pieces before that stretch */
	} found;
	struct nt_sinks	*sinks;		/* indexed like ns_setup::cpus; NULL: no encoder sends SRC */
	NS_ARRAY(struct ns_traced) traced;	/* parts of nt_session_decode() */
	NS_ARRAY(struct nt_missing) missing;	/* missing trace of each CPU */
	size_t		nr_parts;	/* number of parts into which nt_session_decode() divides the trace */
	uint32_t	unknown_source;	/* nt_session_info::unknown_source + 1; 0: none */
	uint32_t	wrong_clock;	/* nt_session_info::wrong_clock + 1; 0: none */
	char		error[256];
};

int ns_fail(struct nt_session *session, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Keep the options, and find the default build-id cache. */
void ns_take_options(struct nt_session *session, const struct nt_session_options *options);

/*
 * Return the object of an address, or NULL. *offset is the offset in it; for the kernel, the
 * address.
 */
const struct ns_object *ns_session_object(const struct nt_session *session, uint64_t space,
					  uint64_t addr, uint64_t *offset);

/* Return the object of a place whose file was found, or NULL. It is not for the kernel and its modules. */
struct ns_object *ns_session_named(struct nt_session *session, const char *object);

/*
 * ns_firmware_load() - read the firmware's code from the file in @spec, see struct
 * nt_session_options
 *
 * Return 0, or -1 with a sentence in nt_session_error().
 */
int ns_firmware_load(struct nt_session *session, const char *spec);

/* ns_firmware_map() - return the map of the firmware's code at @addr, or NULL */
const struct ns_map *ns_firmware_map(const struct nt_session *session, uint64_t addr);

/* Return the session that nt_profile_new() was called with. */
struct nt_session *ns_profile_session(const struct nt_profile *profile);

/*
 * Return the lowest address of the kernel, for Sv39 and wider on RV64 and for Sv32 on RV32. A program
 * without a kernel has all addresses.
 */
static inline uint64_t ns_kernel_start(const struct nt_session *session)
{
	if (session->one_map)
		return UINT64_MAX;
	return session->setup.nr_cpus && session->setup.cpus[0].nt.xlen == 32 ? 0xc0000000ULL :
										1ULL << 63;
}

/* Return true if the event had filters. The recording does not contain their addresses. */
static inline bool ns_is_filtered(const struct nt_session *session)
{
	return session->setup.flags & NTRACE_INFO_FLAG_FILTER;
}

#endif /* NTRACE_SESSION_SESSION_PRIV_H */
