// SPDX-License-Identifier: GPL-2.0-only
/* N-Trace: from timestamps, which count ticks of the time CSR, to ns of perf's clock. */
#include <linux/kernel.h>
#include <linux/time64.h>

#include "debug.h"
#include "ntrace-priv.h"

/* The clock of the trace is the time CSR, or one of the same rate */
bool ntrace_cpu_has_time(struct ntrace *nt, const struct ntrace_cpu *cpu)
{
	u64 freq, diff;

	if (!nt->have_time || nt->synth_opts.timeless_decoding)
		return false;
	if (!(cpu->config & NTRACE_CONFIG_TIMESTAMP))
		return false;
	if (!cpu->ts_freq)
		return true;
	freq = ((u64)NSEC_PER_SEC << nt->tc.time_shift) / nt->tc.time_mult;
	diff = freq > cpu->ts_freq ? freq - cpu->ts_freq : cpu->ts_freq - freq;
	if (diff <= freq / 100)
		return true;
	if (!nt->time_warned)
		pr_warning("N-Trace: timestamps run at %llu Hz, perf's clock at %llu Hz: decoding without times\n",
			   (unsigned long long)cpu->ts_freq, (unsigned long long)freq);
	nt->time_warned = true;
	return false;
}

static unsigned int ntrace_prescale_shift(const struct ntrace_cpu *cpu)
{
	/* trTsPrescale: the counter advances every 4^n ticks */
	return 2 * ((cpu->config & NTRACE_CONFIG_TS_PRESCALE) >> NTRACE_CONFIG_TS_PRESCALE_SHIFT);
}

u64 ntrace_ticks_to_time(struct ntrace_queue *q, u64 ticks)
{
	u64 time = tsc_to_perf_time(ticks << ntrace_prescale_shift(q->info), &q->nt->tc);

	/* nothing in a stretch is later than its end: a damaged timestamp must not say so */
	if (q->stretch_time && time > q->stretch_time)
		time = q->stretch_time;
	return time;
}

static u64 ntrace_ts_mask(const struct ntrace_cpu *cpu)
{
	return cpu->ts_width && cpu->ts_width < 64 ? (1ULL << cpu->ts_width) - 1 : ~0ULL;
}

/* The end of the stretch, in ticks, and a little more: nothing in it is later */
static u64 ntrace_end_ticks(struct ntrace_queue *q, u64 mask)
{
	u64 end = perf_time_to_tsc(q->stretch_time, &q->nt->tc) >> ntrace_prescale_shift(q->info);

	return end + (mask >> 4);
}

/*
 * A counter that is narrower than 64 bits wraps: from a reference that is
 * close, the upper bits follow.
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

bool ntrace_clock_advance(struct ntrace_queue *q, const struct nt_message *msg)
{
	struct ntrace_clock *clock = &q->clock;

	if (!(msg->fields & NT_FIELD_TSTAMP))
		return false;
	if (nt_message_is_sync(msg)) {
		clock->ticks = ntrace_ticks_widen(q, clock, msg->tstamp);
		clock->valid = true;
	} else if (clock->valid) {
		clock->ticks += msg->tstamp;
	}
	return clock->valid;
}

u64 ntrace_queue_time(struct ntrace_queue *q, u64 tstamp, u8 kind)
{
	const struct ntrace_clock *clock = &q->clock;
	u64 mask = ntrace_ts_mask(q->info), time;

	if (q->timeless || kind == NT_TSTAMP_NONE)
		return q->time;
	/* without an end, the reader's clock is the one that is ahead */
	if (mask != ~0ULL && !q->stretch_time && clock->valid)
		tstamp = clock->ticks - ((clock->ticks - tstamp) & mask);
	else
		tstamp = ntrace_ticks_widen(q, clock, tstamp);
	time = ntrace_ticks_to_time(q, tstamp);
	if (time > q->time)
		q->time = time;
	return q->time;
}
