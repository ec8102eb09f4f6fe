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

/*
 * Numbers of address spaces. A generation is the code of a process until one of its maps is replaced
 * (sideband.h). The generation with index N has the address space NS_SPACE_GENERATION + N.
 */
enum ns_space {
	NS_SPACE_NONE		= 0,
	NS_SPACE_KERNEL		= 1,
	NS_SPACE_FIRMWARE	= 2,
	NS_SPACE_UNKNOWN	= 3,	/* a process that is not in the recording, or a guest */
	NS_SPACE_GENERATION	= 16,
};

/*
 * Counts of executed code, which a session has instead of trace if it was opened from a file of
 * counts. nt_profile_run() calls take(), and nt_session_close() calls free().
 */
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
	struct nt_foreign_clock clock;	/* clock from PERF_RECORD_TIME_CONV, for recordings of other drivers */
	struct ns_objects objects;
	struct ns_sideband sideband;
	struct ns_trace	trace;
	struct ns_visits visits;
	/* records about programs and code; nt_session_open() frees them unless options.keep_records is set */
	NS_ARRAY(struct pd_record) records;
	/* samples of tracepoints, sorted by time; pd_record::data is the payload that the kernel wrote */
	NS_ARRAY(struct pd_record) events;
	NS_ARRAY(struct ns_map) firmware;	/* maps of machine-mode code, or of all code if @one_map */
	/* nt_session_open_raw() has opened the session, and all addresses belong to one program */
	bool		one_map;
	bool		has_objects;
	/* counts of executed code, which the session has instead of trace; NULL: the session has trace */
	struct ns_counted *counted;
	struct {			/* piece of trace that nt_session_trace() returned last */
		int	cpu;
		size_t	stretch;
		size_t	first;		/* number of pieces of this CPU before stretch @stretch */
	} found;
	/* sinks that several encoders share, found while decoding; NULL: none, or not yet found */
	struct nt_sinks	*sinks;
	NS_ARRAY(struct ns_traced) traced;	/* times and losses of the parts that nt_session_decode() decoded */
	NS_ARRAY(struct nt_missing) missing;	/* missing trace of each CPU */
	size_t		nr_parts;	/* number of parts that nt_session_decode() decodes */
	uint32_t	unknown_source;	/* nt_session_info::unknown_source + 1; 0: none */
	uint32_t	wrong_clock;	/* nt_session_info::wrong_clock + 1; 0: none */
	char		error[256];
};

int ns_fail(struct nt_session *session, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Copy @options to the session. If they name no build-id cache, use ~/.debug. */
void ns_take_options(struct nt_session *session, const struct nt_session_options *options);

/*
 * Return the object that contains an address, or NULL. Set *offset to the offset of the address in
 * the object's file. For the kernel, set *offset to the address.
 */
const struct ns_object *ns_session_object(const struct nt_session *session, uint64_t space,
					  uint64_t addr, uint64_t *offset);

/*
 * Return the object whose path is at the pointer @object, which is a nt_place::object. Return NULL
 * if the file of the object was not found, and for the kernel and its modules.
 */
struct ns_object *ns_session_named(struct nt_session *session, const char *object);

/*
 * ns_firmware_load() - read the code of machine mode. @spec has the format of
 * nt_session_options::firmware.
 *
 * Return 0, or -1 with a sentence in nt_session_error().
 */
int ns_firmware_load(struct nt_session *session, const char *spec);

/* ns_firmware_map() - return the map of machine-mode code that contains @addr, or NULL */
const struct ns_map *ns_firmware_map(const struct nt_session *session, uint64_t addr);

/* Return the session that the caller has passed to nt_profile_new() when it created the profile. */
struct nt_session *ns_profile_session(const struct nt_profile *profile);

/*
 * Return the lowest address of the kernel, with Sv39 or wider on RV64, and with Sv32 on RV32.
 * Return UINT64_MAX for a session of one program, which may use all addresses.
 */
static inline uint64_t ns_kernel_start(const struct nt_session *session)
{
	if (session->one_map)
		return UINT64_MAX;
	return session->setup.nr_cpus && session->setup.cpus[0].nt.xlen == 32 ? 0xc0000000ULL :
										1ULL << 63;
}

#endif /* NTRACE_SESSION_SESSION_PRIV_H */
