// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conversion of N-Trace timestamps to ns of the perf clock. Most encoders count ticks of the time
 * CSR.
 */
#include <linux/kernel.h>
#include <linux/time64.h>

#include "debug.h"
#include "ntrace.h"
#include "ntrace-priv.h"

/* Return true if timestamps can be converted, because the counter has the rate of the time CSR or a known base */
bool ntrace_cpu_has_time(struct ntrace *nt, const struct ntrace_cpu *cpu)
{
	u64 freq, diff;

	if (!nt->have_time || nt->synth_opts.timeless_decoding)
		return false;
	if (!(cpu->config & NTRACE_CONFIG_TIMESTAMP))
		return false;
	if (cpu->ts_freq && cpu->ts_base_time)
		return true;
	freq = ((u64)NSEC_PER_SEC << nt->tc.time_shift) / nt->tc.time_mult;
	diff = freq > cpu->ts_freq ? freq - cpu->ts_freq : cpu->ts_freq - freq;
	if (diff <= freq / 100)
		return true;
	if (!nt->time_warned && !cpu->ts_freq)
		pr_warning("N-Trace: the frequency of the timestamps is unknown, so times are left out\n");
	else if (!nt->time_warned)
		pr_warning("N-Trace: timestamps run at %llu Hz, but perf's clock at %llu Hz, so times are left out\n",
			   (unsigned long long)cpu->ts_freq, (unsigned long long)freq);
	nt->time_warned = true;
	return false;
}

static unsigned int ntrace_prescale_shift(const struct ntrace_cpu *cpu)
{
	/* If trTsPrescale is n, the counter advances once in 4^n cycles of its clock */
	return 2 * ((cpu->config & NTRACE_CONFIG_TS_PRESCALE) >> NTRACE_CONFIG_TS_PRESCALE_SHIFT);
}

static bool ntrace_has_own_clock(const struct ntrace_cpu *cpu)
{
	return cpu->ts_base_time && cpu->ts_freq;
}

/* Return @value * @mul / @div for a value that may be negative */
static s64 ntrace_scale(s64 value, u64 mul, u64 div)
{
	return (s64)((__int128)value * (s64)mul / (s64)div);
}

static u64 ntrace_counter_to_time(struct ntrace_queue *q, u64 counter)
{
	const struct ntrace_cpu *cpu = q->info;

	if (!ntrace_has_own_clock(cpu))
		return tsc_to_perf_time(counter, &q->nt->tc);
	return tsc_to_perf_time(cpu->ts_base_time, &q->nt->tc) +
	       ntrace_scale(counter - cpu->ts_base, NSEC_PER_SEC, cpu->ts_freq);
}

static u64 ntrace_time_to_counter(struct ntrace_queue *q, u64 time)
{
	const struct ntrace_cpu *cpu = q->info;
	s64 ns;

	if (!ntrace_has_own_clock(cpu))
		return perf_time_to_tsc(time, &q->nt->tc);
	ns = time - tsc_to_perf_time(cpu->ts_base_time, &q->nt->tc);
	return cpu->ts_base + ntrace_scale(ns, cpu->ts_freq, NSEC_PER_SEC);
}

u64 ntrace_ticks_to_time(struct ntrace_queue *q, u64 ticks)
{
	u64 time = ntrace_counter_to_time(q, ticks << ntrace_prescale_shift(q->info)) + q->set_back;

	/* Limit a damaged timestamp to the end of the stretch */
	if (q->stretch_time && time > q->stretch_time)
		time = q->stretch_time;
	return time;
}

static u64 ntrace_ts_mask(const struct ntrace_cpu *cpu)
{
	return cpu->ts_width && cpu->ts_width < 64 ? (1ULL << cpu->ts_width) - 1 : ~0ULL;
}

/*
 * Return an upper limit of all timestamps in the stretch, which is the tick count at the end of the stretch plus a
 * tolerance
 */
static u64 ntrace_end_ticks(struct ntrace_queue *q, u64 mask)
{
	u64 end = ntrace_time_to_counter(q, q->stretch_time) >> ntrace_prescale_shift(q->info);

	return end + (mask >> 4);
}

/*
 * Return a timestamp extended to 64 bits, if the counter is narrower and wraps. Take the upper bits from the end
 * of the stretch or, if the time of this end is not known, from the last time of the clock.
 */
static u64 ntrace_ticks_widen(struct ntrace_queue *q, const struct ntrace_clock *clock, u64 value)
{
	u64 mask = ntrace_ts_mask(q->info), end;

	if (mask == ~0ULL)
		return value;
	if (q->stretch_time) {
		end = ntrace_end_ticks(q, mask);
		return end - ((end - value) & mask);
	}
	return clock->valid ? clock->ticks + ((value - clock->ticks) & mask) : value;
}

/* Return the time in ticks of a message without SYNC, from its timestamp @tstamp and the previous time @last */
u64 ntrace_next_tstamp(const struct ntrace_cpu *cpu, u64 last, u64 tstamp)
{
	u64 mask = ntrace_ts_mask(cpu);

	if (cpu->dialect != NTRACE_DIALECT_SIFIVE0)
		return last + tstamp;
	/*
	 * SiFive's message contains the XOR of its time and @last. A time below @last means that the counter has
	 * wrapped around, so calculate the difference modulo the counter's range (@mask).
	 */
	return last + (((last ^ tstamp) - last) & mask);
}

bool ntrace_clock_advance(struct ntrace_queue *q, const struct nt_message *msg)
{
	struct ntrace_clock *clock = &q->clock;

	if (!(msg->fields & NT_FIELD_TSTAMP))
		return false;
	if (nt_message_is_sync(msg)) {
		clock->ticks = ntrace_ticks_widen(q, clock, msg->tstamp);
		clock->valid = true;
		clock->stale = false;
	} else if (clock->valid && !clock->stale) {
		clock->ticks = ntrace_next_tstamp(q->info, clock->ticks, msg->tstamp);
	}
	return clock->valid && !clock->stale;
}

u64 ntrace_queue_time(struct ntrace_queue *q, u64 tstamp, u8 kind)
{
	const struct ntrace_clock *clock = &q->clock;
	u64 mask = ntrace_ts_mask(q->info), time;

	if (q->timeless || kind == NT_TSTAMP_NONE)
		return q->time;
	/*
	 * If the time of the end of the stretch is not known, take the upper bits from the time up to which messages
	 * were read ahead (clock->ticks). Messages after it are not decoded yet, so @tstamp is not later.
	 */
	if (mask != ~0ULL && !q->stretch_time && clock->valid)
		tstamp = clock->ticks - ((clock->ticks - tstamp) & mask);
	else
		tstamp = ntrace_ticks_widen(q, clock, tstamp);
	time = ntrace_ticks_to_time(q, tstamp);
	if (time > q->time)
		q->time = time;
	return q->time;
}

/* ---- Detect a timestamp counter that is constant or was set back ---- */

#define NTRACE_EARLY	10000000	/* a message that waited in the encoder can be this much too old, ns */

/* Timestamps of a stretch, in ns of the perf clock */
struct ntrace_scan {
	u64	first, last;
	bool	known;		/* a message of the stretch has a time */
	u64	same;		/* size of the trace whose messages all have the time @first, bytes */
};

/*
 * Read the timestamps of the stretch whose first bytes are in piece @i. If @all is not set, stop at the first
 * timestamp that differs from the first one. Return false if no message has a time.
 */
static bool ntrace_scan(struct ntrace_queue *q, unsigned int i, bool all, struct ntrace_scan *scan)
{
	struct ntrace_piece *piece = &q->pieces[i];
	u64 time, start = 0, stretch_time = q->stretch_time;
	struct nt_message msg;
	const u8 *data;
	int ret;

	*scan = (struct ntrace_scan){ 0 };
	q->clock = (struct ntrace_clock){ 0 };
	q->stretch_time = piece->stretch->time;
	nt_reader_seek(q->reader, piece->offset, ntrace_piece_is_middle(q, piece));
	while ((data = ntrace_piece_data(q, &q->pieces[i])) != NULL) {
		nt_reader_feed(q->reader, data, q->pieces[i].size);
		while ((ret = nt_reader_next(q->reader, &msg)) != 0) {
			if (ret < 0 || ntrace_queue_is_other(q, &msg) || !ntrace_clock_advance(q, &msg))
				continue;
			time = ntrace_ticks_to_time(q, q->clock.ticks);
			if (!scan->known) {
				scan->first = time;
				scan->known = true;
				start = msg.offset;
			}
			scan->last = time;
			if (time == scan->first)
				scan->same = msg.offset - start;
			else if (!all)
				goto out;
		}
		if (ntrace_piece_is_last(q, i++))
			break;
	}
out:
	q->stretch_time = stretch_time;
	return scan->known;
}

/*
 * Return by how many ns the counter was set back between the previous stretch, which ended at @before, and this
 * stretch, whose first time is @first. Return 0 if it was not.
 */
static u64 ntrace_went_back(struct ntrace_queue *q, u64 before, u64 first)
{
	unsigned int prev = q->flow_piece - 1;
	u64 back = before - first;
	struct ntrace_scan scan;

	while (prev && !q->pieces[prev].start && !ntrace_piece_is_last(q, prev - 1))
		prev--;
	/*
	 * The counter was not set back if only the first message of this stretch has a time before @before. It may have
	 * waited in the encoder's queue since the previous stretch, or its time may be damaged.
	 */
	if (!ntrace_scan(q, prev, true, &scan) || scan.last < first ||
	    (scan.last == first && back < NTRACE_EARLY) || !ntrace_scan(q, q->flow_piece, true, &scan) ||
	    (q->stretch_time && scan.last + back > q->stretch_time + NTRACE_EARLY))
		return 0;
	return back;
}

void ntrace_clock_check(struct ntrace_queue *q)
{
	const struct ntrace_stretch *stretch = q->pieces[q->flow_piece].stretch, *prev = NULL;
	const struct ntrace_clock clock = q->clock;
	u64 tick;
	struct ntrace_scan scan;
	bool constant = false;

	q->set_back = 0;
	q->timeless = !ntrace_cpu_has_time(q->nt, q->info);
	if (q->timeless || !stretch || ntrace_stretch_has_frames(stretch))
		return;
	if (q->flow_piece && !(stretch->flags & PERF_AUX_FLAG_OVERWRITE))
		prev = q->pieces[q->flow_piece - 1].stretch;
	if (ntrace_scan(q, q->flow_piece, false, &scan)) {
		/*
		 * A processor executes less than eight instructions in a ns, with at most eight bytes of trace each:
		 * 64 bytes in a ns. If the trace with the same time is longer than 64 bytes * @tick, where @tick is the
		 * length in ns of one step of the counter, then the counter does not advance.
		 */
		tick = ntrace_counter_to_time(q, 1ULL << ntrace_prescale_shift(q->info)) - ntrace_counter_to_time(q, 0);
		constant = !scan.last || (scan.last == scan.first && scan.same > 4096 && scan.same / 64 > tick);
		if (!constant && prev && prev->cpu == stretch->cpu && scan.first < prev->time)
			q->set_back = ntrace_went_back(q, prev->time, scan.first);
	}
	q->clock = clock;
	q->timeless = constant;
	if ((constant || q->set_back) && !q->nt->clock_warned) {
		pr_warning("N-Trace: timestamps of CPU %d did not advance or went back, so its times are those at which the kernel read the trace, and are not exact\n",
			   q->cpu);
		q->nt->clock_warned = true;
	}
}
