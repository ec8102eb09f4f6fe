// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "flight.h"
#include "session/flow/trace.h"

#define NS_PER_S	1000000000ULL
#define TIME_SHIFT	20
/* If an area ends with at least this number of idle bytes, the sink has not written them. */
#define UNWRITTEN	64

static int fail(struct ns_flight *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->error, sizeof(f->error), fmt, ap);
	va_end(ap);
	return -1;
}

/* CRC-32 of zlib, computed bit by bit because a record is read only once */
static uint32_t crc32(const void *data, size_t size)
{
	const uint8_t *byte = data;
	uint32_t crc = ~0U;
	int i;

	while (size--) {
		crc ^= *byte++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* ---- Header ---- */

bool ns_flight_is_header(const void *data)
{
	const uint64_t magic = NTRACE_FLIGHT_MAGIC;
	struct ntrace_flight_header head;

	if (memcmp(data, &magic, sizeof(magic)))
		return false;
	memcpy(&head, data, sizeof(head));
	return head.size == sizeof(head) &&
	       crc32(&head, offsetof(struct ntrace_flight_header, crc)) == head.crc;
}

static int check_header(struct ns_flight *f)
{
	struct ntrace_flight_header *h = &f->head;

	if (f->size < sizeof(*h))
		return fail(f, "this is not a record of a flight recorder: it has only %zu bytes", f->size);
	memcpy(h, f->data, sizeof(*h));
	if (h->magic == NTRACE_FLIGHT_MAGIC_WRITING)
		return fail(f, "this record has no trace, because the machine was reset while the recorder wrote the header");
	if (h->magic != NTRACE_FLIGHT_MAGIC)
		return fail(f, "this is not a record of a flight recorder");
	if (crc32(h, offsetof(struct ntrace_flight_header, crc)) != h->crc) {
		if (h->version >> 16 != NTRACE_FLIGHT_VERSION_MAJOR || h->size != sizeof(*h))
			return fail(f, "the record is damaged, or of version %u, which this program does not know",
				    h->version >> 16);
		return fail(f, "the record is damaged: its header has a wrong CRC");
	}
	if (h->region > f->size)
		return fail(f, "the record was cut short: it has %zu of %llu bytes", f->size,
			    (unsigned long long)h->region);
	if (h->data_offset > h->region || h->nr_parts > NTRACE_FLIGHT_MAX_PARTS)
		return fail(f, "the record is damaged: its sizes contradict each other");
	f->size = h->region;
	return 0;
}

static const struct ntrace_flight_part *find_part(const struct ns_flight *f, uint32_t type,
						  size_t entry)
{
	const struct ntrace_flight_part *p = f->head.parts;

	for (; p < f->head.parts + f->head.nr_parts; p++) {
		if (p->type == type && p->entry >= entry && p->offset <= f->head.data_offset &&
		    p->size <= f->head.data_offset - p->offset)
			return p;
	}
	return NULL;
}

/* Copy the entries of a part, each in the size that this version knows. */
static void *copy_part(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr)
{
	const struct ntrace_flight_part *p = find_part(f, type, entry);
	uint8_t *copy;
	size_t i;

	*nr = p ? p->size / p->entry : 0;
	copy = calloc(*nr + 1, entry);
	for (i = 0; copy && i < *nr; i++)
		memcpy(copy + i * entry, f->data + p->offset + i * p->entry, entry);
	if (!copy)
		fail(f, "out of memory");
	return copy;
}

/* Copy a part that did not change after its checksum was written. */
static void *copy_sealed(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr,
			 const char *what)
{
	const struct ntrace_flight_part *p = find_part(f, type, entry);

	if (!p) {
		fail(f, "the record has no %s", what);
		return NULL;
	}
	if (crc32(f->data + p->offset, p->size) != p->crc) {
		fail(f, "the record is damaged: its %s has a wrong CRC", what);
		return NULL;
	}
	return copy_part(f, type, entry, nr);
}

static int read_machine(struct ns_flight *f)
{
	struct ntrace_flight_machine *m;
	size_t nr;

	m = copy_sealed(f, NTRACE_FLIGHT_MACHINE, sizeof(*m), &nr, "description of the machine");
	if (!m)
		return -1;
	f->machine = *m;
	f->machine.release[sizeof(m->release) - 1] = '\0';
	free(m);
	if (!nr || !f->machine.timebase)
		return fail(f, "the record has no description of the machine");
	f->kernel = find_part(f, NTRACE_FLIGHT_KERNEL, 1) ?
		    copy_sealed(f, NTRACE_FLIGHT_KERNEL, 1, &nr, "description of the kernel") :
		    calloc(1, 1);
	return f->kernel ? 0 : -1;
}

static bool fits(const struct ns_flight *f, const struct ntrace_flight_sink *s)
{
	return s->offset >= f->head.data_offset && s->offset <= f->size &&
	       s->size <= f->size - s->offset && s->size;
}

static int read_sinks(struct ns_flight *f)
{
	size_t i;

	f->cpus = copy_sealed(f, NTRACE_FLIGHT_CPUS, sizeof(*f->cpus), &f->nr_cpus,
			      "list of CPUs");
	if (!f->cpus)
		return -1;
	f->sinks = copy_sealed(f, NTRACE_FLIGHT_SINKS, sizeof(*f->sinks), &f->nr_sinks,
			       "list of sinks");
	if (!f->sinks)
		return -1;
	if (!f->nr_cpus || !f->nr_sinks || f->nr_cpus > NTRACE_FLIGHT_MAX_CPUS ||
	    f->nr_sinks > NTRACE_FLIGHT_MAX_SINKS)
		return fail(f, "the record is damaged: it has %zu CPUs and %zu sinks", f->nr_cpus,
			    f->nr_sinks);
	f->traces = calloc(f->nr_sinks, sizeof(*f->traces));
	if (!f->traces)
		return fail(f, "out of memory");
	for (i = 0; i < f->nr_sinks; i++) {
		if (!fits(f, &f->sinks[i]))
			return fail(f, "the record is damaged: the trace of a sink is outside of the record");
		f->sinks[i].name[sizeof(f->sinks[i].name) - 1] = '\0';
		f->traces[i].sink = &f->sinks[i];
		f->traces[i].area = f->data + f->sinks[i].offset;
		f->traces[i].area_size = f->sinks[i].size;
	}
	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink >= f->nr_sinks)
			return fail(f, "the record is damaged: a CPU has a sink that does not exist");
	}
	return 0;
}

/* ---- What changed while it recorded ---- */

/* Return true if an entry exists and its checksum is right. An entry of zeros was never written. */
static bool entry_is_good(struct ns_flight *f, const void *entry, size_t size, uint32_t type,
			  size_t nth)
{
	uint32_t check;

	memcpy(&check, (const char *)entry + size - sizeof(check), sizeof(check));
	if (ntrace_flight_check(entry, size, NTRACE_FLIGHT_SEED(type, nth)) == check)
		return true;
	for (; size; size--) {
		if (((const char *)entry)[size - 1]) {
			f->damaged++;
			break;
		}
	}
	return false;
}

/* Return the valid entries of a part. @where, if not NULL, receives their indices. */
static void *read_entries(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr,
			  uint32_t *where)
{
	uint8_t *all = copy_part(f, type, entry, nr);
	size_t i, good = 0;

	for (i = 0; all && i < *nr; i++) {
		if (!entry_is_good(f, all + i * entry, entry, type, i))
			continue;
		if (where)
			where[good] = i;
		memmove(all + good++ * entry, all + i * entry, entry);
	}
	*nr = good;
	return all;
}

struct sorted_switch {
	struct ntrace_flight_switch entry;
	uint32_t cpu;
};

static int compare_switches(const void *a, const void *b)
{
	const struct sorted_switch *x = a, *y = b;

	return ns_order(x->entry.time, y->entry.time) ?: ns_order(x->entry.number, y->entry.number);
}

static int compare_gaps(const void *a, const void *b)
{
	const struct ntrace_flight_gap *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Read the switches. The rings of all CPUs have the same number of entries. */
static int read_switches(struct ns_flight *f)
{
	const struct ntrace_flight_part *p = find_part(f, NTRACE_FLIGHT_SWITCHES,
						       sizeof(*f->switches));
	size_t all = p ? p->size / p->entry : 0, each, i;
	struct sorted_switch *sorted;

	f->switch_cpus = calloc(all + 1, sizeof(*f->switch_cpus));
	sorted = calloc(all + 1, sizeof(*sorted));
	if (f->switch_cpus && sorted)
		f->switches = read_entries(f, NTRACE_FLIGHT_SWITCHES, sizeof(*f->switches),
					   &f->nr_switches, f->switch_cpus);
	if (!f->switches) {
		free(sorted);
		return fail(f, "out of memory");
	}
	each = f->machine.nr_cpus ? all / f->machine.nr_cpus : 0;
	for (i = 0; i < f->nr_switches; i++) {
		sorted[i].entry = f->switches[i];
		sorted[i].entry.comm[sizeof(sorted[i].entry.comm) - 1] = '\0';
		sorted[i].cpu = each ? f->switch_cpus[i] / each : 0;
	}
	qsort(sorted, f->nr_switches, sizeof(*sorted), compare_switches);
	for (i = 0; i < f->nr_switches; i++) {
		f->switches[i] = sorted[i].entry;
		f->switch_cpus[i] = sorted[i].cpu;
	}
	free(sorted);
	return 0;
}

static int read_events(struct ns_flight *f)
{
	struct ntrace_flight_cause *cause;
	size_t nr, i;

	f->modules = read_entries(f, NTRACE_FLIGHT_MODULES, sizeof(*f->modules), &f->nr_modules,
				  NULL);
	if (!f->modules)
		return -1;
	for (i = 0; i < f->nr_modules; i++)
		f->modules[i].name[sizeof(f->modules[i].name) - 1] = '\0';
	f->gaps = read_entries(f, NTRACE_FLIGHT_GAPS, sizeof(*f->gaps), &f->nr_gaps, NULL);
	cause = f->gaps ? read_entries(f, NTRACE_FLIGHT_CAUSE, sizeof(*cause), &nr, NULL) : NULL;
	if (!cause)
		return -1;
	qsort(f->gaps, f->nr_gaps, sizeof(*f->gaps), compare_gaps);
	f->has_cause = nr;
	f->cause = *cause;
	f->cause.text[sizeof(cause->text) - 1] = '\0';
	f->cause.comm[sizeof(cause->comm) - 1] = '\0';
	free(cause);
	return read_switches(f);
}

/*
 * Apply the settings of a perf event to all CPUs of the sink that it used. The clock in the record
 * is for the recorder's ts_mode and ts_prescale, so other settings make it unknown.
 */
static void apply_session(struct ns_flight *f, const struct ntrace_flight_session *session)
{
	__u64 *words;
	size_t i;

	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink != session->sink)
			continue;
		words = f->cpus[i].words;
		if ((words[NTRACE_INFO_CPU_CONFIG] ^ session->config) &
		    (NTRACE_CONFIG_TS_MODE | NTRACE_CONFIG_TS_PRESCALE))
			words[NTRACE_INFO_CPU_TS_FREQ] = 0;
		words[NTRACE_INFO_CPU_CONFIG] = session->config;
		words[NTRACE_INFO_CPU_SRC_BITS] = session->src_bits;
		f->cpus[i].priv = session->priv;
	}
}

static int read_sessions(struct ns_flight *f)
{
	size_t i;

	f->sessions = read_entries(f, NTRACE_FLIGHT_SESSIONS, sizeof(*f->sessions), &f->nr_sessions,
				   NULL);
	if (!f->sessions)
		return -1;
	for (i = 0; i < f->nr_sessions; i++) {
		f->sessions[i].comm[sizeof(f->sessions[i].comm) - 1] = '\0';
		apply_session(f, &f->sessions[i]);
	}
	return 0;
}

/* ---- Set-up ---- */

uint64_t *ns_flight_words(const struct ns_flight *f, size_t *nr)
{
	uint64_t *word, mult;
	size_t i;

	*nr = NTRACE_INFO_HEADER_MAX + f->nr_cpus * NTRACE_INFO_CPU_MAX;
	word = calloc(*nr, sizeof(*word));
	if (!word)
		return NULL;
	mult = (NS_PER_S << TIME_SHIFT) / f->machine.timebase;
	word[NTRACE_INFO_MAGIC] = NTRACE_INFO_MAGIC_VALUE;
	word[NTRACE_INFO_VERSION] = (uint64_t)NTRACE_INFO_VERSION_MAJOR << 32 |
				    NTRACE_INFO_VERSION_MINOR;
	word[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	word[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_NR_CPUS] = f->nr_cpus;
	word[NTRACE_INFO_FLAGS] = NTRACE_INFO_FLAG_PER_CPU | NTRACE_INFO_FLAG_TIME_CONV;
	word[NTRACE_INFO_TIME_SHIFT] = TIME_SHIFT;
	word[NTRACE_INFO_TIME_MULT] = mult;
	word[NTRACE_INFO_TIME_ZERO] = f->machine.local_ns -
		(uint64_t)(((unsigned __int128)f->machine.time * mult) >> TIME_SHIFT);
	for (i = 0; i < f->nr_cpus; i++)
		memcpy(word + NTRACE_INFO_HEADER_MAX + i * NTRACE_INFO_CPU_MAX, f->cpus[i].words,
		       NTRACE_INFO_CPU_MAX * sizeof(*word));
	return word;
}

uint64_t ns_flight_time(const struct ns_flight *f, uint64_t ticks)
{
	uint64_t product = (unsigned __int128)ticks * f->setup.time_mult >> TIME_SHIFT;

	return f->setup.time_zero + product;
}

static int make_setup(struct ns_flight *f)
{
	const char *error;
	uint64_t *words;
	size_t nr;

	words = ns_flight_words(f, &nr);
	error = words ? ns_setup_parse(&f->setup, words, nr) : "out of memory";
	free(words);
	return error ? fail(f, "%s", error) : 0;
}

/* ---- Trace ---- */

/* Find the later of the two saved pointers of a sink. */
static bool latest_pointer(struct ns_flight *f, size_t sink, struct ntrace_flight_pointer *best)
{
	struct ntrace_flight_pointer *all;
	bool found = false;
	size_t nr, i;

	all = copy_part(f, NTRACE_FLIGHT_POINTERS, sizeof(*all), &nr);
	for (i = 2 * sink; all && i < 2 * sink + 2 && i < nr; i++) {
		if (!entry_is_good(f, &all[i], sizeof(*all), NTRACE_FLIGHT_POINTERS, i) ||
		    all[i].offset > f->sinks[sink].size)
			continue;
		if (!found || all[i].number > best->number)
			*best = all[i];
		found = true;
	}
	free(all);
	return found;
}

/* Get a configuration that can read the messages of all sources of the sink. */
static bool config_of(const struct ns_flight *f, size_t sink, struct nt_config *config)
{
	size_t i;

	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink != sink || !f->setup.cpus[i].valid)
			continue;
		*config = f->setup.cpus[i].nt;
		config->src_id = NT_SRC_ANY;
		return true;
	}
	return false;
}

/*
 * Copy the bytes of the area from @from to @to, continuing at the start after its end. Idle bytes
 * before them fill the size up to a power of two. They show a reader that the start of the trace is
 * lost, and that the first byte may be inside a message.
 */
static int take_ring(struct ns_flight *f, struct ns_flight_trace *t, uint64_t from, uint64_t to)
{
	uint64_t used = to > from ? to - from : t->area_size - from + to, size = 4096, first;

	while (size < used)
		size *= 2;

	t->bytes = malloc(size);
	if (!t->bytes)
		return fail(f, "out of memory");
	memset(t->bytes, NS_IDLE, size - used);
	first = t->area_size - from < used ? t->area_size - from : used;
	memcpy(t->bytes + size - used, t->area + from, first);
	memcpy(t->bytes + size - used + first, t->area, used - first);
	t->size = size;
	t->middle = true;
	return 0;
}

/* Copy the bytes from the start of the area up to @to. This is for a sink that has not wrapped. */
static int take_line(struct ns_flight *f, struct ns_flight_trace *t, uint64_t to)
{
	t->size = to;
	t->bytes = malloc(to + 1);
	if (!t->bytes)
		return fail(f, "out of memory");
	memcpy(t->bytes, t->area, to);
	if (!to)
		t->end = NS_FLIGHT_END_NONE;
	return 0;
}

/*
 * Search for the seam of a ring without a saved pointer, which is where the newest trace ends and
 * the oldest begins
 */
struct seam {
	uint64_t newest, oldest, time;
	uint64_t first;		/* time of the first message of the search */
	unsigned int older;	/* consecutive messages that are older than @first */
	bool	found, want_oldest;
};

#define SEAM_OLDER	16
#define SEAM_STEPS	64

/* Examine one message. Return false if the seam has been passed. */
static bool look_for_seam(struct seam *seam, const struct nt_message *msg)
{
	if (!nt_message_is_sync(msg) || !(msg->fields & NT_FIELD_TSTAMP))
		return true;
	if (!seam->found)
		seam->first = msg->tstamp;
	if (seam->want_oldest)
		seam->oldest = msg->offset;
	seam->want_oldest = false;
	seam->older = msg->tstamp < seam->first ? seam->older + 1 : 0;
	if (msg->tstamp < seam->time)
		return seam->older < SEAM_OLDER;
	seam->time = msg->tstamp;
	seam->newest = msg->offset + msg->length;
	seam->found = seam->want_oldest = true;
	return true;
}

/* Get the time of the first message with SYNC at or after @at. Return false if none follows. */
static bool time_at(struct nt_reader *reader, const struct ns_flight_trace *t, uint64_t at,
		    uint64_t *time)
{
	struct nt_message msg;
	int ret;

	nt_reader_seek(reader, 0, true);
	nt_reader_feed(reader, t->area + at, t->area_size - at);
	while ((ret = nt_reader_next(reader, &msg)) != 0) {
		if (ret < 0 || !nt_message_is_sync(&msg) || !(msg.fields & NT_FIELD_TSTAMP))
			continue;
		*time = msg.tstamp;
		return true;
	}
	return false;
}

/*
 * Find a position shortly before the seam by bisection. Messages that are older than the first
 * message of the area are after the seam.
 */
static uint64_t before_seam(struct nt_reader *reader, const struct ns_flight_trace *t)
{
	uint64_t low = 0, high = t->area_size, middle, begin, time;

	if (!time_at(reader, t, 0, &begin))
		return 0;
	while (high - low > t->area_size / SEAM_STEPS) {
		middle = low + (high - low) / 2;
		if (time_at(reader, t, middle, &time) && time >= begin)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Find the seam. The times of messages with SYNC increase up to the newest message and step back
 * after it, for every start of the search. Messages that are older than the first one are after the
 * seam. A funnel may have reordered some messages of other harts, and one may be damaged, but not
 * SEAM_OLDER consecutive ones.
 */
static void find_seam(const struct nt_config *config, const struct ns_flight_trace *t,
		      struct seam *seam)
{
	struct nt_reader *reader = nt_reader_new(config);
	struct nt_message msg;
	bool goes_on = true;
	int piece, ret;
	uint64_t from;

	memset(seam, 0, sizeof(*seam));
	if (!reader)
		return;
	from = before_seam(reader, t);
	nt_reader_seek(reader, 0, true);
	for (piece = 0; piece < 2 && goes_on; piece++) {
		nt_reader_feed(reader, piece ? t->area : t->area + from,
			       piece ? from : t->area_size - from);
		while (goes_on && (ret = nt_reader_next(reader, &msg)) != 0)
			goes_on = ret < 0 || look_for_seam(seam, &msg);
	}
	if (seam->want_oldest)
		seam->oldest = 0;
	seam->oldest = (seam->oldest + from) % t->area_size;
	seam->newest = (seam->newest + from) % t->area_size;
	nt_reader_free(reader);
}

/* Find the end of the trace by its bytes, because the position of the sink was not saved. */
static int search_end(struct ns_flight *f, struct ns_flight_trace *t, const struct nt_config *config,
		      const struct ntrace_flight_pointer *last)
{
	uint64_t end = t->area_size;
	struct seam seam;

	while (end && t->area[end - 1] == NS_IDLE)
		end--;
	if (t->area_size - end >= UNWRITTEN && !(last && last->flags & NTRACE_FLIGHT_POINTER_WRAPPED)) {
		t->end = NS_FLIGHT_END_FOUND;
		return take_line(f, t, end);
	}
	find_seam(config, t, &seam);
	if (seam.found) {
		t->end = NS_FLIGHT_END_FOUND;
		t->end_time = 0;
		return take_ring(f, t, seam.oldest, seam.newest);
	}
	if (!last)
		return take_line(f, t, 0);
	t->end = NS_FLIGHT_END_SAVED;
	t->end_time = last->time;
	return take_ring(f, t, last->offset % t->area_size, last->offset % t->area_size);
}

/* Cut off the trace that the sink wrote after the reset, which begins with "exit from reset". */
static void cut_reset(struct ns_flight_trace *t, const struct nt_config *config)
{
	struct nt_reader *reader = nt_reader_new(config);
	uint64_t cut = 0, kept;
	struct nt_message msg;
	bool found = false;
	int ret;

	if (!reader)
		return;
	nt_reader_seek(reader, 0, t->middle);
	nt_reader_feed(reader, t->bytes, t->size);
	while ((ret = nt_reader_next(reader, &msg)) != 0) {
		if (ret < 0 || !nt_message_is_sync(&msg) || msg.sync != NT_SYNC_EXIT_RESET)
			continue;
		/* Each hart of a shared sink sends this message; the first one marks the reset */
		if (!found)
			cut = msg.offset;
		found = true;
	}
	nt_reader_free(reader);
	t->end = found ? NS_FLIGHT_END_RESET : NS_FLIGHT_END_OVERWRITTEN;
	t->end_time = 0;
	if (!t->middle) {
		t->size = cut;
		return;
	}
	kept = cut;
	memmove(t->bytes + t->size - kept, t->bytes, kept);
	memset(t->bytes, NS_IDLE, t->size - kept);
}

static int read_trace(struct ns_flight *f, size_t sink)
{
	struct ns_flight_trace *t = &f->traces[sink];
	struct ntrace_flight_pointer last;
	struct nt_config config;
	bool known;
	int err;

	if (!config_of(f, sink, &config))
		return take_line(f, t, 0);
	known = latest_pointer(f, sink, &last);
	if (!known || !(last.flags & NTRACE_FLIGHT_POINTER_STOPPED))
		return search_end(f, t, &config, known ? &last : NULL);
	t->end = NS_FLIGHT_END_STOPPED;
	t->end_time = last.time;
	err = last.flags & NTRACE_FLIGHT_POINTER_WRAPPED ?
	      take_ring(f, t, last.offset % t->area_size, last.offset % t->area_size) :
	      take_line(f, t, last.offset);
	if (!err && last.flags & NTRACE_FLIGHT_POINTER_RESET)
		cut_reset(t, &config);
	return err;
}

/* ---- All ---- */

int ns_flight_open(struct ns_flight *f, const void *data, size_t size)
{
	size_t i;

	memset(f, 0, sizeof(*f));
	f->data = data;
	f->size = size;
	if (check_header(f) || read_machine(f) || read_sinks(f) || read_events(f) ||
	    read_sessions(f) || make_setup(f))
		return -1;
	for (i = 0; i < f->nr_sinks; i++) {
		if (read_trace(f, i))
			return -1;
	}
	return 0;
}

void ns_flight_close(struct ns_flight *f)
{
	size_t i;

	for (i = 0; f->traces && i < f->nr_sinks; i++)
		free(f->traces[i].bytes);
	free(f->traces);
	free(f->kernel);
	free(f->cpus);
	free(f->sinks);
	free(f->modules);
	free(f->switches);
	free(f->switch_cpus);
	free(f->gaps);
	free(f->sessions);
	ns_setup_free(&f->setup);
}

bool ns_flight_line(const struct ns_flight *f, const char *name, char *value, size_t size)
{
	const char *at = f->kernel;
	size_t len = strlen(name), n;

	while (at && *at) {
		n = strcspn(at, "\n");
		if (n > len && !strncmp(at, name, len) && at[len] == '=') {
			snprintf(value, size, "%.*s", (int)(n - len - 1), at + len + 1);
			return true;
		}
		at += n + (at[n] == '\n');
	}
	return false;
}

const char *ns_flight_cause_name(uint32_t code)
{
	static const char *const names[NTRACE_FLIGHT_CAUSE_CODES] = {
		[NTRACE_FLIGHT_CAUSE_NONE] = "unknown",
		[NTRACE_FLIGHT_CAUSE_PANIC] = "panic",
		[NTRACE_FLIGHT_CAUSE_OOPS] = "oops",
		[NTRACE_FLIGHT_CAUSE_HUNG_TASK] = "hung task",
		[NTRACE_FLIGHT_CAUSE_SYSRQ] = "SysRq",
		[NTRACE_FLIGHT_CAUSE_REBOOT] = "reboot",
		[NTRACE_FLIGHT_CAUSE_RESTART] = "emergency restart",
		[NTRACE_FLIGHT_CAUSE_USER] = "user",
		[NTRACE_FLIGHT_CAUSE_SOFT_LOCKUP] = "soft lockup",
		[NTRACE_FLIGHT_CAUSE_HARD_LOCKUP] = "hard lockup",
		[NTRACE_FLIGHT_CAUSE_RCU_STALL] = "RCU stall",
	};

	return code < NTRACE_FLIGHT_CAUSE_CODES ? names[code] : names[NTRACE_FLIGHT_CAUSE_NONE];
}

const char *ns_flight_end_text(enum ns_flight_end end)
{
	static const char *const texts[] = {
		[NS_FLIGHT_END_NONE] = "no trace",
		[NS_FLIGHT_END_STOPPED] = "complete up to the stop",
		[NS_FLIGHT_END_RESET] = "complete up to the reset",
		[NS_FLIGHT_END_FOUND] = "up to the last synchronising message",
		[NS_FLIGHT_END_SAVED] = "up to the position that was saved last",
		[NS_FLIGHT_END_OVERWRITTEN] = "overwritten by the boot after the reset",
	};

	return texts[end];
}
