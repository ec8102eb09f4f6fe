/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace html: what its files share */
#ifndef NTRACE_TOOL_HTML_H
#define NTRACE_TOOL_HTML_H

#include "chunks.h"
#include "flame.h"
#include "source.h"
#include "views/nested-calls.h"
#include "cli/recording.h"

/* A row of the page, and what its items' names are */
enum track_kind {
	TRACK_CPU,	/* threads that it executed */
	TRACK_LOSS,	/* of a CPU; one name */
	TRACK_THREAD,	/* functions */
};

struct track {
	enum track_kind	kind;
	int32_t		id;	/* a CPU (-1: not known), or the number of a thread */
	uint32_t	depth;	/* rows that its items need */
};

struct html_thread {
	int32_t		pid, tid, cpu;	/* cpu: of an idle thread; else -1 */
	const char	*comm;
};

struct html {
	struct recording_options recording;
	const char	*output, *title;
	bool		no_source;
	struct nt_session *session;
	const struct nt_calls *calls;
	struct nested_calls nested;
	uint64_t	start, end;		/* ns */
	struct levels	*levels;
	struct chunks	chunks;
	struct flame	flame;
	struct sources	*sources;		/* NULL: there are none */
	NS_ARRAY(struct track) tracks;
	NS_ARRAY(struct html_thread) threads;
	uint64_t	nr_calls, too_deep;	/* calls in the page, and those that are not */
	bool		in_thread;		/* the last track is that of a thread */
	uint32_t	thread;			/* ... of this one */
};

/* html_write() - the page. 0; -1: errno says why it failed */
int html_write(struct html *html, FILE *out);

/* html_tracks() - tracks of CPUs and losses. 0; -1: errno says why it failed */
int html_tracks(struct html *html);

/* html_track() - a track begins, that before is complete. -1: out of memory, or writing failed */
int html_track(struct html *html, enum track_kind kind, int32_t id);

#endif /* NTRACE_TOOL_HTML_H */
