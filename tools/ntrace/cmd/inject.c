// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace inject - write samples with branch stacks and call chains to a file that any perf reads.
 *
 * Several threads make the samples of stretches. The samples of a stretch stay in memory until the samples
 * of earlier stretches are written. Samples and the other events of the recording are merged by time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/lines.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "session/calls/chains.h"
#include "session/file/whole-file.h"
#include "cli/output.h"
#include "session/file/perfdata-write.h"

static const char usage[] =
	"usage: ntrace inject [OPTIONS]\n\n"
	"Write a file with samples in place of the trace, for a perf without N-Trace and other readers of\n"
	"perf.data. Each sample has the branches before it and the calls that are open.\n";

#define SAMPLE_ID	1ULL	/* ID of the file's only event, which all samples have */
#define TIME_AT		32	/* offset of a sample's time, after the header, id, ip, pid and tid */
#define DEFAULT_PERIOD	100000
#define LAST_MAX	1024
#define CHAIN_MAX	127	/* same as PERF_MAX_STACK_DEPTH */
#define ROUND		(1 << 20)	/* number of bytes between two records PERF_RECORD_FINISHED_ROUND */
#define SAMPLE_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

struct inject {
	struct recording_options recording;
	const char	*output;
	unsigned long	period, last;
	bool		all_branches, no_chains;
	struct nt_session *session;
	struct nt_chains *chains;
	struct merge	*merge;
	struct pd_writer file;
	size_t		next_record;	/* index of the next record for nt_session_record() */
	uint64_t	round_at;	/* file offset of the last record PERF_RECORD_FINISHED_ROUND, see ROUND */
	uint64_t	samples, insns;
};

/* The samples of one stretch of trace (nt_stretch) */
struct part {
	struct inject	*inject;
	struct lines	lines;
	struct nt_chain	*chain;
	int32_t		pid, tid;	/* thread of the last branch */
	uint64_t	at;		/* target address of the last branch; 0: not known */
	uint64_t	time;
	uint64_t	insns;		/* instructions since the last sample */
	uint64_t	all_insns;
	struct perf_branch_entry *ring;
	unsigned int	first, nr;	/* index of the oldest branch in @ring, and number of branches in it */
};

/* ---- Samples ---- */

static void add_word(struct lines *lines, uint64_t word)
{
	lines_add_bytes(lines, &word, sizeof(word));
}

static bool is_kernel(uint64_t addr)
{
	return addr >> 63;
}

/* Add a call chain. PERF_CONTEXT_KERNEL precedes callers in the kernel, and PERF_CONTEXT_USER those in the program. */
static void add_chain(struct part *p, uint64_t ip)
{
	uint64_t returns[CHAIN_MAX], chain[2 * CHAIN_MAX + 4];
	size_t nr = nt_chain_get(p->chain, returns, CHAIN_MAX), n = 0, i;
	bool kernel = is_kernel(ip);

	chain[n++] = kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;
	chain[n++] = ip;
	for (i = 0; i < nr; i++) {
		if (is_kernel(returns[i]) != kernel) {
			kernel = !kernel;
			chain[n++] = kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;
		}
		chain[n++] = returns[i];
	}
	add_word(&p->lines, n);
	lines_add_bytes(&p->lines, chain, n * sizeof(chain[0]));
}

/* Add the branch stack, with the newest branch first. */
static void add_branches(struct part *p)
{
	unsigned int i;

	add_word(&p->lines, p->nr);
	for (i = p->nr; i-- > 0;)
		lines_add_bytes(&p->lines, &p->ring[(p->first + i) % p->inject->last],
				sizeof(p->ring[0]));
}

static int add_sample(struct part *p, const struct nt_who *who, uint64_t ip, uint64_t time,
		      uint64_t period)
{
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.misc = is_kernel(ip) ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
	};
	size_t at;

	lines_begin(&p->lines, who->cpu);
	at = p->lines.len;
	lines_add_bytes(&p->lines, &header, sizeof(header));
	add_word(&p->lines, SAMPLE_ID);
	add_word(&p->lines, ip);
	add_word(&p->lines, (uint32_t)who->pid | (uint64_t)(uint32_t)who->tid << 32);
	add_word(&p->lines, time);
	add_word(&p->lines, (uint32_t)who->cpu);
	add_word(&p->lines, period);
	if (p->chain)
		add_chain(p, ip);
	if (p->inject->last)
		add_branches(p);
	if (p->lines.failed)
		return -1;
	header.size = p->lines.len - at;
	memcpy(p->lines.text + at, &header, sizeof(header));
	return lines_end(&p->lines, time);
}

/* ---- Branches ---- */

/* enum: PERF_BR_* */
static const uint8_t branch_types[] = {
	[NT_BRANCH_CONDITIONAL] = PERF_BR_COND, [NT_BRANCH_JUMP] = PERF_BR_UNCOND,
	[NT_BRANCH_CALL] = PERF_BR_CALL, [NT_BRANCH_RETURN] = PERF_BR_RET,
	[NT_BRANCH_SYSCALL] = PERF_BR_SYSCALL, [NT_BRANCH_TRAP_RETURN] = PERF_BR_ERET,
	[NT_BRANCH_INTERRUPT] = PERF_BR_IRQ, [NT_BRANCH_NONE] = PERF_BR_UNKNOWN,
};

static void add_to_ring(struct part *p, const struct nt_branch *b)
{
	const struct inject *inject = p->inject;
	struct perf_branch_entry entry = {
		.from = b->from, .to = b->to, .type = branch_types[b->kind],
	};

	if (!inject->last)
		return;
	if (p->nr == inject->last) {
		p->first = (p->first + 1) % inject->last;
		p->nr--;
	}
	p->ring[(p->first + p->nr++) % inject->last] = entry;
}

/* Return the address of the @nth instruction from @addr on, in code without jumps. */
static uint64_t walk(const struct nt_who *who, uint64_t addr, uint64_t nth)
{
	uint16_t low;

	while (nth--) {
		if (nt_who_read(who, addr, &low, sizeof(low)) != sizeof(low))
			break;
		addr += nt_code_length(low);
	}
	return addr;
}

/* Make a sample after each inject::period instructions, among the instructions before branch @b. */
static int sample_insns(struct part *p, const struct nt_who *who, const struct nt_branch *b)
{
	uint64_t period = p->inject->period, nth = 0;
	int err = 0;

	while (!err && p->insns + (b->insns - nth) >= period) {
		nth += period - p->insns;
		p->insns = 0;
		if (p->at)
			err = add_sample(p, who, walk(who, p->at, nth - 1), b->time, period);
	}
	p->insns += b->insns - nth;
	return err;
}

/* Make a sample with all branches since the last sample, at the target of the newest branch. */
static int flush_branches(struct part *p, const struct nt_who *who)
{
	struct nt_who then = *who;
	uint64_t insns = p->insns;
	int err;

	then.pid = p->pid;
	then.tid = p->tid;
	if (!p->nr)
		return 0;
	p->insns = 0;
	err = add_sample(p, &then, p->ring[(p->first + p->nr - 1) % p->inject->last].to, p->time,
			 insns ? insns : 1);
	p->nr = 0;
	return err;
}

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	bool whole = !(b->flags & (NT_BRANCH_BEGIN | NT_BRANCH_END));
	struct part *p = part;
	int err = 0;

	/* end the sample, because a branch stack must not have branches of two threads */
	if (p->tid != who->tid) {
		if (p->inject->all_branches)
			err = flush_branches(p, who);
		p->nr = 0;
		p->tid = who->tid;
		p->pid = who->pid;
	}
	p->time = b->time;
	p->all_insns += b->insns;
	if (!err && !p->inject->all_branches)
		err = sample_insns(p, who, b);
	else
		p->insns += b->insns;
	if (!err && p->chain)
		err = nt_chain_branch(p->chain, who, b);
	p->at = b->flags & NT_BRANCH_END ? 0 : b->to;
	if (whole)
		add_to_ring(p, b);
	if (!err && p->inject->all_branches && p->nr == p->inject->last)
		err = flush_branches(p, who);
	return err;
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;
	int err = 0;

	p->at = 0;
	if (p->inject->all_branches)
		err = flush_branches(p, who);
	p->nr = 0;
	if (p->chain)
		nt_chain_error(p->chain, item);
	return err;
}

/* ---- Stretches ---- */

static void free_part(struct part *p)
{
	nt_chain_free(p->chain);
	lines_free(&p->lines);
	free(p->ring);
	free(p);
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct inject *inject = ctx;
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->inject = inject;
	/*
	 * count the first period of each stretch from another number of instructions, because otherwise the
	 * first sample of all stretches would be after the same number of instructions
	 */
	p->insns = stretch * 0x9e3779b97f4a7c15ULL % inject->period;
	p->ring = calloc(inject->last + 1, sizeof(*p->ring));
	if (inject->chains)
		p->chain = nt_chain_new(inject->chains, stretch);
	if (p->ring && (p->chain || !inject->chains))
		return p;
	free_part(p);
	return NULL;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct inject *inject = ctx;
	struct part *p = part;
	int err = 0;

	if (inject->all_branches)
		err = flush_branches(p, who);
	if (!err)
		err = merge_add(inject->merge, who->buffer, &p->lines);
	inject->insns += p->all_insns;
	free_part(p);
	return err;
}

/* ---- The file ---- */

static bool is_of_trace(uint32_t type)
{
	return type == PERF_RECORD_AUX || type == PERF_RECORD_ITRACE_START ||
		type == PERF_RECORD_AUX_OUTPUT_HW_ID;
}

static int write_record(struct inject *inject, const struct nt_record *r)
{
	const struct pd_written_id id = {
		.pid = r->pid, .tid = r->tid, .time = r->time, .cpu = r->cpu,
		.id = SAMPLE_ID,
	};
	struct perf_event_header header;

	memcpy(&header, r->data, sizeof(header));
	if (is_of_trace(header.type) || r->size + sizeof(id) > UINT16_MAX)
		return 0;
	header.size = r->size + sizeof(id);
	return pd_write(&inject->file, &header, sizeof(header)) ||
		pd_write(&inject->file, (const uint8_t *)r->data + sizeof(header),
				 r->size - sizeof(header)) ||
		pd_write(&inject->file, &id, sizeof(id)) ? -1 : 0;
}

static int write_records(struct inject *inject, uint64_t until)
{
	struct nt_record r;
	int err = 0;

	while (!err && nt_session_record(inject->session, inject->next_record, &r) &&
	       r.time <= until) {
		inject->next_record++;
		err = write_record(inject, &r);
	}
	return err;
}

static int write_sample(void *ctx, uint64_t time, void *line, size_t size)
{
	const struct perf_event_header round = {
		.type = PD_FINISHED_ROUND, .size = sizeof(round),
	};
	struct inject *inject = ctx;

	/*
	 * replace the time of the sample by @time, by which the samples of all CPUs were merged, and which
	 * never decreases. The time of the sample itself can be later than that of the next sample, because
	 * a stretch of trace may end after the start of the next stretch. perf would then sort the samples
	 * into another order.
	 */
	memcpy((uint8_t *)line + TIME_AT, &time, sizeof(time));
	if (write_records(inject, time) || pd_write(&inject->file, line, size))
		return -1;
	inject->samples++;
	if (inject->file.at - inject->round_at < ROUND)
		return 0;
	inject->round_at = inject->file.at;
	return pd_write(&inject->file, &round, sizeof(round));
}

static struct perf_event_attr make_attr(const struct inject *inject)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
		.size = PERF_ATTR_SIZE_VER5, .sample_period = inject->period,
		.sample_type = SAMPLE_TYPE, .disabled = 1, .inherit = 1, .mmap = 1, .comm = 1,
		.task = 1, .sample_id_all = 1, .mmap2 = 1, .comm_exec = 1,
	};

	if (inject->chains)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (inject->last) {
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER |
					  PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_TYPE_SAVE;
	}
	return attr;
}

/* Copy the features that describe neither the events nor the trace. */
static void keep_features(const struct inject *inject, struct pd_feature_section *features)
{
	/* numbers of features in the header of perf.data, each with perf's name for it without the prefix HEADER_ */
	static const uint8_t kept[] = {
		2 /* BUILD_ID */, 3 /* HOSTNAME */, 4 /* OSRELEASE */, 5 /* VERSION */, 6 /* ARCH */,
		7 /* NRCPUS */, 8 /* CPUDESC */, 9 /* CPUID */, 10 /* TOTAL_MEM */,
		11 /* CMDLINE */, 13 /* CPU_TOPOLOGY */, 14 /* NUMA_TOPOLOGY */, 21 /* SAMPLE_TIME */,
		24 /* DIR_FORMAT */, 29 /* CLOCK_DATA */,
	};
	struct pd_feature_section *f;
	const void *data;
	unsigned int i;

	for (i = 0; i < sizeof(kept); i++) {
		f = &features[kept[i]];
		f->there = nt_session_feature(inject->session, kept[i], &data, &f->section.size);
		f->section.data = data;
	}
	features[PD_FEAT_BRANCH_STACK].there = inject->last;
}

/* Write the output. If the recording is a folder, which has a copy of the kernel, the output is also a folder. */
static int write_records_and_samples(struct inject *inject)
{
	const char *folder = nt_session_folder(inject->session);
	uint64_t id = SAMPLE_ID;
	const struct pd_attr attr = { .attr = make_attr(inject), .ids = &id, .nr_ids = 1 };

	if (pd_write_create(&inject->file, inject->output, folder, &attr, 1) ||
	    (folder && pd_write_kernel(&inject->file, folder)))
		return -1;
	return merge_each(inject->merge, write_sample, inject) || write_records(inject, UINT64_MAX);
}

static int no_samples(const struct inject *inject)
{
	if (!inject->insns)
		return nothing_matched(&inject->recording, inject->session, NULL);
	fprintf(stderr, "ntrace: no sample was made: %" PRIu64 " instructions are fewer than --period %lu or have no branch\n",
		inject->insns, inject->period);
	return EXIT_TRACE;
}

/* Write the file. Return the exit status. */
static int write_file(struct inject *inject)
{
	static struct pd_feature_section features[PD_FEAT_MAX];
	int err = write_records_and_samples(inject), error = errno;

	keep_features(inject, features);
	if (pd_write_close(&inject->file, features, !err && inject->samples) && !err) {
		err = -1;
		error = errno;
	}
	errno = error;
	if (err)
		return output_failed(inject->output);
	if (!inject->samples)
		return no_samples(inject);
	fprintf(stderr, "ntrace: wrote %s to %s\n", COUNTED(inject->samples, "sample"), inject->output);
	return EXIT_CLEAN;
}

/* ---- Command ---- */

static int make_samples(struct inject *inject)
{
	static const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error,
		.end = end,
	};

	inject->merge = merge_new();
	if (!inject->merge)
		return -1;
	if (!inject->no_chains)
		inject->chains = nt_chains_new(inject->session);
	if ((!inject->chains && !inject->no_chains) ||
	    nt_session_branches(inject->session, &sink, inject)) {
		recording_failed(inject->session);
		return -1;
	}
	return 0;
}

static int run(void *ctx, struct nt_session *session)
{
	struct inject *inject = ctx;
	int status;

	inject->session = session;
	status = make_samples(inject) ? EXIT_USAGE : write_file(inject);
	merge_free(inject->merge);
	nt_chains_free(inject->chains);
	return status;
}

static bool check(void *ctx)
{
	struct inject *inject = ctx;

	if (inject->all_branches && !inject->last)
		return refuse("--all-branches needs room for branches: --last-branches of 1 or more");
	if (inject->all_branches && inject->period)
		return refuse("--all-branches and --period exclude each other");
	if (!inject->period)
		inject->period = DEFAULT_PERIOD;
	inject->recording.session.keep_records = true;
	return !output_is_pipe("inject", inject->output);
}

static bool set_last(const struct option_entry *option, const char *arg)
{
	if (!option_number(option, arg))
		return false;
	if (*(unsigned long *)option->to <= LAST_MAX)
		return true;
	return refuse("--last-branches is at most %d", LAST_MAX);
}

int cmd_inject(int argc, char **argv)
{
	struct inject inject = {
		.output = "perf.inject.data", .last = 32,
	};
	const struct option_entry options[] = {
		RECORDED_OPTIONS(&inject.recording),
		OPTION_TEXT('o', "output", "FILE", &inject.output, "the file to write (perf.inject.data)"),
		OPTION_NUMBER(0, "period", "N", &inject.period, 1, "a sample for each N instructions of a CPU (100000)"),
		OPTION_FLAG(0, "all-branches", &inject.all_branches,
			    "a sample when there are enough branches for its branch stack: each\n"
			    "branch is in just one sample"),
		OPTION_CALL(0, "last-branches", "N", set_last, &inject.last, "branches in a sample, up to 1024 (32), 0: none"),
		OPTION_FLAG(0, "no-call-chains", &inject.no_chains,
			    "leave out the call chains, which need a second decoding"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &inject, check, run);
}
