// SPDX-License-Identifier: GPL-2.0-only
/* ntrace html - write a recording as one page that a browser shows without network access. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/page.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "session/file/whole-file.h"

#define DEPTH_MAX	4096	/* maximum number of rows of a thread */

static const char usage[] =
	"usage: ntrace html [OPTIONS]\n\n"
	"Write a page that shows a recording of perf: a time axis of all CPUs and threads with the calls\n"
	"of each, a flame graph, how long the calls of each function took, and the source with the\n"
	"instructions of each line. The page is one file, and needs no network.\n";

/* ---- Calls ---- */

static int begin(void *ctx, const struct nt_calls *calls)
{
	struct html *html = ctx;

	html->calls = calls;
	return html_tracks(html);
}

static int add_to_level(struct html *html, const struct nested_call *call)
{
	const struct level_item item = {
		.begin = call->call.begin > html->start ? call->call.begin : html->start,
		.ns = call->call.ns, .n = call->call.insns, .depth = call->depth,
		.name = call->call.function, .kind = call->call.kind | call->call.open << 4,
	};
	struct track *track = &html->tracks.at[html->tracks.nr - 1];

	if (call->depth >= DEPTH_MAX) {
		html->too_deep++;
		return 0;
	}
	if (call->depth >= track->depth)
		track->depth = call->depth + 1;
	html->nr_calls++;
	return levels_add(html->levels, &item);
}

static int enter(void *ctx, struct nested_call *call)
{
	struct html *html = ctx;
	uint32_t parent;
	int err = 0;

	if (!html->in_thread || html->thread != call->thread) {
		err = html_track(html, TRACK_THREAD, call->thread);
		html->in_thread = true;
		html->thread = call->thread;
	}
	if (call->depth)
		parent = html->nested.open.at[call->depth - 1].user;
	else
		parent = flame_child(&html->flame, 0, call->thread);
	call->user = flame_child(&html->flame, parent, call->call.function);
	err = err ? err : add_to_level(html, call);
	if (err && !errno)
		errno = ENOMEM;
	return err;
}

static int leave(void *ctx, const struct nested_call *call)
{
	struct html *html = ctx;
	struct flame_node *node;

	if (call->user == FLAME_NONE)
		return 0;
	node = &html->flame.nodes.at[call->user];
	node->calls++;
	node->ns += call->call.ns;
	node->ran += call->call.ran;
	node->insns += call->call.insns;
	return 0;
}

/* ---- Page ---- */

static int write_page(struct html *html)
{
	struct whole_file whole;
	FILE *out = whole_file_open(&whole, html->output);
	int err, error;

	if (!out)
		return -1;
	errno = 0;
	err = html_write(html, out);
	error = errno;
	if (whole_file_close(&whole, out, !err))
		return -1;
	errno = error;
	return err;
}

/*
 * Write the page after the last call. The calls and their functions are valid until this function returns.
 */
static int end(void *ctx)
{
	struct html *html = ctx;

	if (levels_end(html->levels) || chunks_end(&html->chunks)) {
		errno = errno ? errno : ENOMEM;
		return -1;
	}
	if (!html->nr_calls)
		return 0;
	if (!html->no_source)
		html->sources = sources_new(html->session, &html->recording.filter,
					    html->recording.session.symfs);
	return write_page(html);
}

static bool open_page(struct html *html)
{
	html->levels = levels_new(chunks_put, &html->chunks);
	html->chunks.near = tmpfile();
	html->chunks.far = tmpfile();
	if (html->levels && html->chunks.near && html->chunks.far)
		return true;
	return refuse("%s", strerror(errno));
}

static void close_page(struct html *html)
{
	if (html->chunks.near)
		fclose(html->chunks.near);
	if (html->chunks.far)
		fclose(html->chunks.far);
	levels_free(html->levels);
	chunks_free(&html->chunks);
	flame_free(&html->flame);
	sources_free(html->sources);
	free(html->tracks.at);
	free(html->threads.at);
}

static int make_page(void *ctx, struct nt_session *session)
{
	struct html *html = ctx;
	int status = EXIT_USAGE;

	html->session = session;
	html->title = html->title ?: html->recording.input;
	html->nested = (struct nested_calls){
		.session = html->session, .filter = &html->recording.filter, .begin = begin,
		.enter = enter, .leave = leave, .end = end, .ctx = html, .output = html->output,
	};
	if (!open_page(html) || nested_calls_each(&html->nested)) {
		status = EXIT_USAGE;
	} else if (!html->nr_calls) {
		status = nothing_matched(&html->recording, html->session, NULL);
	} else {
		if (strcmp(html->output, "-"))
			fprintf(stderr, "ntrace: wrote %s to %s\n", COUNTED(html->nr_calls, "call"), html->output);
		status = EXIT_CLEAN;
	}
	close_page(html);
	return status;
}

int cmd_html(int argc, char **argv)
{
	struct html html = { .output = "ntrace.html" };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&html.recording),
		FILTER_OPTIONS(&html.recording),
		OPTION_TEXT('o', "output", "FILE", &html.output, "the page, - is the standard output (ntrace.html)"),
		OPTION_TEXT(0, "title", "TEXT", &html.title, "what the page is called (the recording's name)"),
		OPTION_FLAG(0, "no-source", &html.no_source, "leave the source out"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &html, NULL, make_page);
}
