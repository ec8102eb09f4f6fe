// SPDX-License-Identifier: GPL-2.0-only
/* Make the tracks of the page for CPUs. The tracks show the threads that each CPU executed, and the losses of trace. */
#include <errno.h>
#include <stdlib.h>

#include "page.h"

int html_track(struct html *html, enum track_kind kind, int32_t id)
{
	const struct track track = { .kind = kind, .id = id };

	if (levels_end(html->levels) || chunks_end(&html->chunks))
		return -1;
	html->chunks.track = html->tracks.nr;
	return ns_array_add(&html->tracks, track) ? 0 : -1;
}

static int add_item(struct html *html, const struct level_item *item)
{
	html->tracks.at[html->tracks.nr - 1].depth = 1;
	return levels_add(html->levels, item);
}

/* ---- CPUs ---- */

static int slice_cmp(const void *a, const void *b)
{
	const struct nt_slice *x = *(const struct nt_slice *const *)a;
	const struct nt_slice *y = *(const struct nt_slice *const *)b;

	return ns_order(x->cpu, y->cpu) ?: ns_order(x->begin, y->begin) ?: ns_order(x->end, y->end);
}

/* Return true if the slice continues the item, because the CPU executed no other thread in between. */
static bool goes_on(const struct level_item *item, const struct nt_slice *s)
{
	return item->n && item->name == s->thread && item->begin + item->ns == s->begin;
}

static int add_slices(struct html *html, const struct nt_slice **all, size_t nr)
{
	struct level_item item = { 0 };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < nr; i++) {
		if ((!i || all[i]->cpu != all[i - 1]->cpu) && i)
			err = add_item(html, &item);
		if (!err && (!i || all[i]->cpu != all[i - 1]->cpu)) {
			err = html_track(html, TRACK_CPU, all[i]->cpu);
			item.n = 0;
		} else if (!err && !goes_on(&item, all[i])) {
			err = add_item(html, &item);
			item.n = 0;
		}
		if (!item.n)
			item = (struct level_item){ .begin = all[i]->begin, .name = all[i]->thread };
		item.ns = all[i]->end - item.begin;
		item.n += all[i]->insns ? all[i]->insns : 1;
	}
	return err || !nr ? err : add_item(html, &item);
}

/* ---- Losses ---- */

static int gap_cmp(const void *a, const void *b)
{
	const struct nt_gap *x = a, *y = b;

	return ns_order(x->cpu, y->cpu) ?: ns_order(x->from, y->from);
}

static int add_gaps(struct html *html, const struct nt_gap *all, size_t nr)
{
	struct level_item item = { .n = 1 };
	uint64_t end;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < nr; i++) {
		if (!i || all[i].cpu != all[i - 1].cpu)
			err = html_track(html, TRACK_LOSS, all[i].cpu);
		item.begin = all[i].from > html->start ? all[i].from : html->start;
		end = all[i].to < html->end ? all[i].to : html->end;
		if (item.begin > html->end)
			continue;
		item.ns = end > item.begin ? end - item.begin : 0;
		err = err ? err : add_item(html, &item);
	}
	return err;
}

static int loss_tracks(struct html *html)
{
	NS_ARRAY(struct nt_gap) gaps = { 0 };
	struct nt_gap gap;
	int err = 0;
	size_t i;

	for (i = 0; !err && nt_calls_gap(html->calls, i, &gap); i++)
		err = ns_array_add(&gaps, gap) ? 0 : -1;
	if (!err && gaps.nr) {
		ns_array_sort(&gaps, gap_cmp);
		err = add_gaps(html, gaps.at, gaps.nr);
	}
	free(gaps.at);
	return err;
}

/* ---- All ---- */

static bool add_thread(struct html *html, const struct nt_slice *s)
{
	const struct html_thread none = { .pid = -1, .tid = -1, .cpu = -1, .comm = "" };
	struct html_thread *t;

	while (html->threads.nr <= s->thread) {
		if (!ns_array_add(&html->threads, none))
			return false;
	}
	t = &html->threads.at[s->thread];
	t->tid = s->tid;
	t->cpu = s->tid > 0 ? -1 : s->cpu;
	/* use the latest name, because a child of a shell first has the name of the shell */
	nt_session_thread(html->session, s->tid, s->end, &t->pid, &t->comm);
	return true;
}

static unsigned int near_level(const struct html *html)
{
	unsigned int level = 0;

	while (level + 1 < LEVELS && LEVEL_NS(level + 1) < (html->end - html->start) / 4096)
		level++;
	return level ? level - 1 : 0;
}

int html_tracks(struct html *html)
{
	NS_ARRAY(const struct nt_slice *) all = { 0 };
	const struct nt_slice *s;
	int err = 0;
	size_t i;

	html->start = UINT64_MAX;
	for (i = 0; !err && (s = nt_calls_slice(html->calls, i)); i++) {
		html->start = s->begin < html->start ? s->begin : html->start;
		html->end = s->end > html->end ? s->end : html->end;
		if (!ns_array_add(&all, s) || !add_thread(html, s))
			err = -1;
	}
	if (!i)
		html->start = 0;
	html->chunks.start = html->start;
	html->chunks.near_level = near_level(html);
	if (!err && all.nr) {
		ns_array_sort(&all, slice_cmp);
		err = add_slices(html, all.at, all.nr);
	}
	free(all.at);
	err = err ? err : loss_tracks(html);
	if (err && !errno)
		errno = ENOMEM;
	return err;
}
