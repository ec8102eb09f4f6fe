// SPDX-License-Identifier: GPL-2.0-only
/* N-Trace errors, delivered as events and summarised at the end. */
#include <inttypes.h>

#include <linux/kernel.h>

#include "data.h"
#include "debug.h"
#include "ntrace-priv.h"
#include "session.h"

/* Count an error in kernel code, because the kernel may have patched the code after perf had copied it */
static void ntrace_count_patched(struct ntrace *nt, int code, u64 ip)
{
	if (code >= -NT_E_INSN && code <= -NT_E_ADDR && ip >= nt->kernel_start)
		nt->kernel_errors++;
}

/*
 * Return true if the recording has its own kcore. Otherwise perf reads /proc/kcore of this machine
 * if permitted, which contains the current code and not the code at the time of the recording.
 */
static bool ntrace_has_kcore(struct ntrace *nt)
{
	struct perf_data *data = nt->session->data;

	return data && data->path && perf_data__is_dir(data) && has_kcore_dir(data->path);
}

static size_t ntrace_patched_text(struct ntrace *nt, char *text, size_t size)
{
	const char *what = "record with --kcore, or only user code (ntrace//u)";

	if (!nt->kernel_errors)
		return 0;
	if (ntrace_has_kcore(nt))
		what = "code was patched after --kcore had copied it";
	return scnprintf(text, size,
			 "  %8llu  of these are in the kernel, which patches its code while it runs: %s\n",
			 (unsigned long long)nt->kernel_errors, what);
}

/* Warn that there is nothing to decode, with the likely reasons */
static void ntrace_no_trace(struct ntrace *nt)
{
	if (nt->info.flags & NTRACE_INFO_FLAG_SNAPSHOT)
		ui__warning("N-Trace: there is no trace in this recording. %s\n\n",
			    "perf record writes a snapshot at SIGUSR2, or at the end with -Se.");
	else
		ui__warning("N-Trace: there is no trace in this recording. %s\n\n",
			    "The selected code was not executed, or perf record was killed.");
}

/*
 * Warn if no code was decoded although there was no error, because nothing else reports this
 * problem
 */
static void ntrace_nothing_decoded(struct ntrace *nt)
{
	if (!nt->nr_streams || nt->decoded || nt->damaged || nt->synth_opts.range_num)
		return;
	ui__warning("N-Trace: no instruction was decoded from the trace in this recording. %s\n\n",
		    "The trace may be too short for a synchronising message, or the metadata may be wrong.");
}

int ntrace_synth_error(struct ntrace *nt, int code, int cpu, pid_t pid, pid_t tid, u64 ip,
		       u64 time, const char *text)
{
	union perf_event event;
	int err;

	if (code == NTRACE_ERROR_OVERFLOW &&
	    nt->synth_opts.error_minus_flags & AUXTRACE_ERR_FLG_OVERFLOW)
		return 0;
	if ((code == NTRACE_ERROR_LOST || code == NTRACE_ERROR_BUSY) &&
	    nt->synth_opts.error_minus_flags & AUXTRACE_ERR_FLG_DATA_LOST)
		return 0;
	/* Lost trace and unknown firmware leave gaps, but do not mean that the trace is damaged */
	nt->damaged |= code != NTRACE_ERROR_LOST && code != NTRACE_ERROR_OVERFLOW &&
		       code != NTRACE_ERROR_FIRMWARE && code != NTRACE_ERROR_BUSY;
	if (code > 0 && code < NTRACE_NR_ERRORS)
		nt->nr_errors[code]++;
	ntrace_count_patched(nt, code, ip);
	/* The summary counts an error even if option e is not set */
	if (!nt->synth_opts.errors)
		return 0;
	auxtrace_synth_error(&event.auxtrace_error, PERF_AUXTRACE_ERROR_ITRACE, code, cpu, pid,
			     tid, ip, text, nt->synth_opts.timeless_decoding ? 0 : time);
	err = perf_session__deliver_synth_event(nt->session, &event, NULL);
	if (err)
		pr_err("N-Trace: failed to deliver an error event, error %d\n", err);
	return err;
}

int ntrace_queue_error(struct ntrace_queue *q, int code, u64 ip, const char *text)
{
	return ntrace_synth_error(q->nt, code, q->cpu, q->pid, q->tid, ip, q->time, text);
}

static const char *const ntrace_error_texts[] = {
	[NTRACE_ERROR_LOST]	= "AUX buffer or sink full: trace was lost",
	[NTRACE_ERROR_OVERFLOW]	= "the encoder lost messages, and sent an Error message",
	[NTRACE_ERROR_CONFIG]	= "no metadata for a CPU: its trace is skipped",
	[NTRACE_ERROR_FIRMWARE]	= "no [firmware] code: perf config ntrace.firmware=FILE",
	[NTRACE_ERROR_BUSY]	= "another program used the sink: trace is missing",
};

static const char *ntrace_error_text(int code)
{
	if (code > 0 && (unsigned int)code < ARRAY_SIZE(ntrace_error_texts))
		return ntrace_error_texts[code];
	return nt_error_text(-code);
}

/* Print the lost trace with the reasons, because perf itself prints only the number of errors */
void ntrace_synth_summary(struct ntrace *nt)
{
	char text[4096];
	size_t len = 0;
	int code;

	for (code = 0; code < NTRACE_NR_ERRORS; code++) {
		if (!nt->nr_errors[code])
			continue;
		len += scnprintf(text + len, sizeof(text) - len, "  %8" PRIu64 "  code %d: %s\n",
				 nt->nr_errors[code], code, ntrace_error_text(code));
		nt->nr_errors[code] = 0;
	}
	if (nt->firmware_gaps)
		len += scnprintf(text + len, sizeof(text) - len,
				 "  %8" PRIu64 "  gaps, as there is no [firmware] code, which lost %" PRIu64
				 " return addresses\n",
				 nt->firmware_gaps, nt->firmware_returns);
	nt->firmware_gaps = 0;
	nt->firmware_returns = 0;
	len += ntrace_patched_text(nt, text + len, sizeof(text) - len);
	nt->kernel_errors = 0;
	if (!nt->have_trace)
		ntrace_no_trace(nt);
	if (!len)
		ntrace_nothing_decoded(nt);
	if (len)
		ui__warning("N-Trace: the trace is not complete:\n%s\n", text);
}
