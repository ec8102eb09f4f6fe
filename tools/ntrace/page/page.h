/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the files of `ntrace html` share */
#ifndef NTRACE_TOOL_HTML_H
#define NTRACE_TOOL_HTML_H

#include "chunks.h"
#include "flame.h"
#include "source.h"
#include "views/nested-calls.h"
#include "cli/recording.h"

/* Kind of a track, which is a row of the timeline, and of the items of the track */
enum track_kind {
	TRACK_CPU,	/* a CPU; the items are threads that the CPU executed */
	TRACK_LOSS,	/* losses of trace of a CPU; all items have the same name */
	TRACK_THREAD,	/* a thread; the items are calls of functions */
};

struct track {
	enum track_kind	kind;
	int32_t		id;	/* number of the CPU (-1: not known), or number of the thread */
	uint32_t	depth;	/* number of rows that the items need, because calls inside a call are drawn below it */
};

struct html_thread {
	int32_t		pid, tid, cpu;	/* process, thread, and the CPU of an idle thread (otherwise -1) */
	const char	*comm;
};

struct html {
	struct recording_options recording;
	const char	*output, *title;
	bool		no_source;
	struct nt_session *session;
	const struct nt_calls *calls;
	struct nested_calls nested;
	uint64_t	start, end;		/* times of the start and of the end of the page, ns */
	struct levels	*levels;
	struct chunks	chunks;
	struct flame	flame;
	struct sources	*sources;		/* source files in the page; NULL: none */
	NS_ARRAY(struct track) tracks;
	NS_ARRAY(struct html_thread) threads;
	/* number of calls in the page, and of calls that are left out because they are too deep */
	uint64_t	nr_calls, too_deep;
	bool		in_thread;		/* the last track belongs to thread number @thread */
	uint32_t	thread;			/* nested_call::thread of the last track in @tracks */
};

/* html_write() - write the page. Return 0, or -1 with errno. */
int html_write(struct html *html, FILE *out);

/* html_tracks() - add the tracks of all CPUs and of their losses. Return 0, or -1 with errno. */
int html_tracks(struct html *html);

/*
 * html_track() - complete the previous track, and start a new track
 *
 * Return -1 if out of memory, or if writing failed.
 */
int html_track(struct html *html, enum track_kind kind, int32_t id);

#endif /* NTRACE_TOOL_HTML_H */
