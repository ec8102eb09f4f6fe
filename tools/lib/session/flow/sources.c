// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the encoders that have messages in a shared AUX buffer (sources.h). */
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace/sinks.h"
#include "frames.h"
#include "sources.h"

#define CHUNK	(256 << 10)	/* number of bytes that are read before their memory is released */
#define EACH_BYTE	0x0101010101010101ULL

/*
 * The work of several threads that search stretches for sources. Each thread takes the next stretch
 * that no thread has taken.
 */
struct search {
	struct nt_session *session;
	const size_t	*stretches;
	size_t		nr, next;
	int		err;
};

const struct ns_cpu *ns_sources_own(const struct nt_session *session, const struct ns_stretch *s)
{
	const struct ns_setup *setup = &session->setup;
	const struct ns_cpu *cpu = s->cpu >= 0 ? ns_setup_cpu(setup, s->cpu) : &setup->cpus[0];

	return cpu && cpu->valid ? cpu : NULL;
}

const struct ns_cpu *ns_part_cpu(const struct nt_session *session, uint64_t part)
{
	const struct ns_cpu *own = ns_sources_own(session, ns_part_stretch(session, part));

	return own && own->nt.src_bits ? &session->setup.cpus[part % session->setup.parts] : own;
}

uint64_t ns_part_number(const struct nt_session *session, const struct ns_stretch *s,
			const struct ns_cpu *cpu)
{
	uint64_t first = (s - session->trace.stretches.at) * session->setup.parts;

	return cpu && cpu->nt.src_bits ? first + (cpu - session->setup.cpus) : first;
}

/* Return true if two encoders share a sink, or if the sink of one of them is not known (0). */
static bool may_share(const struct ns_cpu *a, const struct ns_cpu *b)
{
	return !a->sink || !b->sink || a->sink == b->sink;
}

/*
 * Return the encoder that sends messages with SRC @src to the buffer of @own, or NULL if the
 * recording lists no such encoder.
 */
static const struct ns_cpu *find_source(const struct ns_setup *setup, const struct ns_cpu *own,
					uint32_t src)
{
	const struct ns_cpu *cpu = setup->cpus, *end = cpu + setup->nr_cpus;

	if (own->src_id == src)
		return own;
	for (; cpu < end; cpu++) {
		if (cpu->valid && cpu->src_id == src && cpu->nt.src_bits == own->nt.src_bits &&
		    may_share(cpu, own))
			return cpu;
	}
	return NULL;
}

static bool has_cpu(const struct ns_stretch *s, size_t nr, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (s->cpus.at[i] == cpu)
			return true;
	}
	return false;
}

static bool add_cpu(struct ns_stretch *s, const struct ns_setup *setup, const struct ns_cpu *cpu)
{
	return ns_array_add(&s->cpus, (uint32_t)(cpu - setup->cpus));
}

/* ---- Find the sources of messages ---- */

/*
 * The last bytes before a piece of a buffer (@before bytes), and the first bytes of the piece. A
 * message may cross the boundary between them.
 */
struct seam {
	uint8_t		data[2 * NT_MESSAGE_MAX];
	size_t		before, size;
};

/*
 * Set @seen[SRC] if a valid message begins at @data. An idle byte is not a message. SRC follows TCODE
 * in the first bytes, each of which has six bits of data (chapter 3.1.5). If @seen[SRC] is already
 * set, the message is not decoded, to save time.
 */
static void see_message(const struct nt_config *config, const uint8_t *data, size_t size,
			bool *seen)
{
	struct nt_message msg;
	uint32_t src;

	if (size < 3 || *data == NS_IDLE)
		return;
	src = (data[1] >> 2 | (uint32_t)(data[2] >> 2) << 6) & ((1U << config->src_bits) - 1);
	if (!seen[src] && nt_message_decode(config, data, size, &msg) > 0)
		seen[msg.src] = true;
}

/*
 * Find the bytes in [@from, @to) whose MSEO bits are 11. A message begins after each of these bytes.
 * Set @seen[SRC] for each of these messages.
 */
static void see_messages(const struct nt_config *config, const uint8_t *data, size_t from,
			 size_t to, size_t size, bool *seen)
{
	uint64_t word, ends;
	size_t next;

	for (; from < to; from += sizeof(word)) {
		word = 0;
		memcpy(&word, data + from, to - from < sizeof(word) ? to - from : sizeof(word));
		word = le64toh(word);
		for (ends = word & word >> 1 & EACH_BYTE; ends; ends &= ends - 1) {
			next = from + __builtin_ctzll(ends) / 8 + 1;
			see_message(config, data + next, size - next, seen);
		}
	}
}

static void see_seam(const struct nt_config *config, struct seam *seam,
		     const struct ns_piece *piece, bool *seen)
{
	size_t n = piece->size < NT_MESSAGE_MAX ? piece->size : NT_MESSAGE_MAX;

	memcpy(seam->data + seam->before, piece->data, n);
	seam->size = seam->before + n;
	see_messages(config, seam->data, 0, seam->before, seam->size, seen);
	/* store the last bytes of the piece, because a message in them may continue in the next piece */
	if (n < NT_MESSAGE_MAX) {
		seam->before = seam->size < NT_MESSAGE_MAX ? seam->size : NT_MESSAGE_MAX;
		memmove(seam->data, seam->data + seam->size - seam->before, seam->before);
	} else {
		seam->before = NT_MESSAGE_MAX;
		memcpy(seam->data, piece->data + piece->size - NT_MESSAGE_MAX, NT_MESSAGE_MAX);
	}
}

void ns_sources_see(const struct nt_session *session, const struct ns_stretch *s,
		    const struct nt_config *config, bool *seen)
{
	const struct ns_piece *piece = s->pieces.at, *end = piece + s->pieces.nr;
	/*
	 * a message is found by the byte before it, whose MSEO is 11. A message also begins at the start of the
	 * stretch, unless the start was lost (@s->middle). Put an idle byte, whose MSEO is 11 too, before that message
	 */
	struct seam seam = { .data = { NS_IDLE }, .before = !s->middle };
	size_t at, to;

	for (; piece < end; piece++) {
		see_seam(config, &seam, piece, seen);
		for (at = 0; at < piece->size; at = to) {
			to = piece->size - at < CHUNK ? piece->size : at + CHUNK;
			see_messages(config, piece->data, at, to, piece->size, seen);
			pd_forget(&session->pd, piece->data + at, to - at);
		}
	}
}

/* ---- Stretches ---- */

/*
 * Add the encoders of all sources in @seen to the stretch. Always add the stretch's own CPU,
 * because errors without a source are reported as errors of this CPU.
 */
static bool add_seen(struct nt_session *session, struct ns_stretch *s, const struct ns_cpu *own,
		     bool *seen)
{
	const struct ns_cpu *cpu;
	bool ok = true;
	uint32_t src;

	seen[own->src_id] = true;
	for (src = 0; ok && src >> own->nt.src_bits == 0; src++) {
		if (!seen[src])
			continue;
		cpu = find_source(&session->setup, own, src);
		if (cpu)
			ok = add_cpu(s, &session->setup, cpu);
		else
			__atomic_store_n(&session->unknown_source, src + 1, __ATOMIC_RELAXED);
	}
	return ok;
}

static bool search_stretch(struct nt_session *session, struct ns_stretch *s)
{
	const struct ns_cpu *own = ns_sources_own(session, s);
	bool *seen = calloc((size_t)1 << own->nt.src_bits, sizeof(*seen)), ok = seen;
	struct ns_stretch joined = { 0 };
	bool frames = ns_frames_has(s);

	ok = ok && (!frames || !ns_frames_join(s, &session->setup, NULL, &joined));
	if (ok)
		ns_sources_see(session, frames ? &joined : s, &own->nt, seen);
	ns_frames_free(&joined);
	ok = ok && add_seen(session, s, own, seen);
	s->nr_seen = s->cpus.nr;
	free(seen);
	return ok;
}

static void *search(void *arg)
{
	struct search *all = arg;
	struct ns_stretch *s;
	size_t i;

	while ((i = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->nr) {
		s = &all->session->trace.stretches.at[all->stretches[i]];
		if (!search_stretch(all->session, s))
			__atomic_store_n(&all->err, -1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* ---- Sinks ---- */

static bool add_stretch(struct nt_sinks *sinks, const struct ns_setup *setup, const struct ns_stretch *s,
			const struct ns_cpu *own)
{
	size_t i;

	for (i = 0; i < s->nr_seen; i++)
		nt_sinks_join(sinks, own - setup->cpus, s->cpus.at[i]);
	return !s->size || !s->end || nt_sinks_add_window(sinks, own - setup->cpus, s->end);
}

/* Find which encoders share a sink, from the metadata and from the sources in ns_stretch::cpus. */
static bool find_sinks(struct nt_session *session)
{
	const struct ns_setup *setup = &session->setup;
	const struct ns_stretch *s = session->trace.stretches.at, *end = s + session->trace.stretches.nr;
	struct nt_sinks *sinks = nt_sinks_new(setup->nr_cpus);
	const struct ns_cpu *own;
	bool ok = sinks;
	size_t i;

	for (i = 0; ok && i < setup->nr_cpus; i++) {
		if (setup->cpus[i].valid && setup->cpus[i].nt.src_bits)
			nt_sinks_set_cpu(sinks, i, setup->cpus[i].sink);
	}
	for (; ok && s < end; s++) {
		own = ns_sources_own(session, s);
		ok = !own || add_stretch(sinks, setup, s, own);
	}
	if (ok)
		nt_sinks_settle(sinks);
	nt_sinks_free(session->sinks);
	session->sinks = sinks;
	return ok;
}

/*
 * Add the encoders that may have lost all their messages in this stretch because the sink was full.
 * These are all encoders of the sink that have messages in another stretch of the recording.
 */
static bool add_lost(struct nt_session *session, struct ns_stretch *s, const bool *sends)
{
	const struct ns_cpu *own = ns_sources_own(session, s);
	size_t nr = s->cpus.nr, i;
	bool ok = true;

	if (!own || !nr || !ns_stretch_is_full(s))
		return true;
	for (i = 0; ok && i < session->setup.nr_cpus; i++) {
		if (sends[i] && !has_cpu(s, nr, i) &&
		    nt_sinks_share(session->sinks, own - session->setup.cpus, i))
			ok = ns_array_add(&s->cpus, i);
	}
	return ok;
}

static int add_all_lost(struct nt_session *session)
{
	struct ns_stretch *s = session->trace.stretches.at;
	const struct ns_stretch *end = s + session->trace.stretches.nr;
	bool *sends = calloc(session->setup.nr_cpus, sizeof(*sends)), ok = sends;
	size_t i;

	for (; ok && s < end; s++) {
		for (i = 0; i < s->nr_seen; i++)
			sends[s->cpus.at[i]] = true;
	}
	for (s = session->trace.stretches.at; ok && s < end; s++)
		ok = add_lost(session, s, sends);
	free(sends);
	return ok ? 0 : -1;
}

int ns_sources_find(struct nt_session *session, const size_t *stretches, size_t nr,
		    unsigned int threads)
{
	struct search all = { .session = session, .stretches = stretches, .nr = nr };
	pthread_t *others = calloc(threads + 1, sizeof(*others));
	unsigned int started = 0;

	if (!others)
		return -1;
	while (started + 1 < threads && started + 1 < nr &&
	       !pthread_create(&others[started], NULL, search, &all))
		started++;
	search(&all);
	while (started)
		pthread_join(others[--started], NULL);
	free(others);
	return all.err || !find_sinks(session) ? -1 : add_all_lost(session);
}
