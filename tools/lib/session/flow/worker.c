// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Create workers, and find the thread and the address space of a context that the trace reports. */
#include <linux/ntrace.h>

#include "worker.h"

bool ns_worker_writes_scontext(const struct worker *w)
{
	return !(w->session->setup.flags & NTRACE_INFO_FLAG_NO_SCONTEXT);
}

static int32_t tid_of(const struct worker *w, const struct nt_context *context)
{
	const struct ns_stretch *s = w->stretch;
	int32_t tid;

	if (context->has_scontext && ns_worker_writes_scontext(w))
		return (int32_t)context->scontext;
	if (w->session->trace.queues.at[s->queue].cpu < 0)
		return w->session->trace.queues.at[s->queue].tid;
	/* s->tid is the thread of the CPU of the stretch, but the messages may be from another CPU */
	tid = ns_sideband_running(&w->session->sideband, w->who.cpu, w->now);
	return tid >= 0 || w->who.cpu != s->cpu ? tid : s->tid;
}

/* Set the thread and the process of @w->who to those of a context at time @w->now. */
static void set_thread(struct worker *w, const struct nt_context *context)
{
	int64_t gen;

	w->who.tid = tid_of(w, context);
	if (w->who.tid == w->known_tid && w->now == w->known_at)
		return;
	w->known_tid = w->who.tid;
	w->known_at = w->now;
	nt_session_thread(w->session, w->who.tid, w->now, &w->who.pid, &w->who.comm);
	ns_sideband_mark(&w->session->sideband, w->who.tid, w->now);
	gen = w->who.pid < 0 ? -1 :
	      ns_sideband_generation(&w->session->sideband, w->who.pid, w->now);
	w->who.user = gen < 0 ? NS_SPACE_UNKNOWN : NS_SPACE_GENERATION + gen;
	w->who.image = gen < 0 ? 0 : w->session->sideband.generations.at[gen].image;
}

static bool is_guest(const struct nt_context *context)
{
	return context->priv == NT_PRIV_VS || context->priv == NT_PRIV_VU;
}

uint64_t ns_worker_space(void *ctx, const struct nt_context *context)
{
	struct worker *w = ctx;

	set_thread(w, context);
	if (w->session->one_map)
		return w->who.user;
	if (context->has_priv && context->priv == NT_PRIV_M)
		return NS_SPACE_FIRMWARE;
	if (context->has_priv && is_guest(context))
		return NS_SPACE_UNKNOWN;
	if (context->has_priv && context->priv != NT_PRIV_U)
		return NS_SPACE_KERNEL;
	/*
	 * if the privilege mode is unknown and the process is not in the recording, the code may
	 * also be kernel code
	 */
	if (!context->has_priv && w->who.user == NS_SPACE_UNKNOWN)
		return NS_SPACE_KERNEL;
	return w->who.user;
}

uint64_t nt_who_time(const struct nt_who *who, uint64_t tstamp, uint8_t kind)
{
	const struct worker *w = who->priv;

	return kind == NT_TSTAMP_NONE || !w->cpu->has_time ? who->time : ns_worker_time(w, tstamp);
}

uint64_t ns_who_now(const struct nt_who *who)
{
	return ((const struct worker *)who->priv)->now;
}

uint64_t nt_who_space(const struct nt_who *who, uint64_t addr)
{
	return ns_who_space(who, addr);
}

size_t nt_who_read(const struct nt_who *who, uint64_t addr, void *buf, size_t size)
{
	const struct worker *w = who->priv;

	return nt_session_read(w->session, who->space, addr, buf, size);
}

bool ns_is_ecall(const struct nt_who *who, uint64_t addr)
{
	uint32_t insn;

	return nt_who_read(who, addr, &insn, sizeof(insn)) == sizeof(insn) && insn == 0x00000073;
}

int ns_worker_new_flow(struct worker *w)
{
	struct nt_config config = w->cpu->nt;

	if (config.src_bits)
		config.src_id = w->cpu->src_id;
	nt_flow_free(w->flow);
	nt_reader_free(w->reader);
	w->flow = nt_flow_new(&config, w->image);
	w->reader = nt_reader_new(&config);
	w->made_for = w->cpu;
	return w->flow && w->reader ? 0 : ns_fail(w->session, "out of memory");
}

static int code_read(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	struct worker *w = ctx;

	return nt_session_read(w->session, space, addr, buf, size);
}

int ns_worker_init(struct worker *w, struct job *job)
{
	const struct nt_image_reader reader = {
		.space = ns_worker_space, .read = code_read, .ctx = w,
	};

	w->job = job;
	w->session = job->session;
	w->kernel_start = ns_kernel_start(job->session);
	w->image = nt_image_new();
	if (!w->image)
		return ns_fail(job->session, "out of memory");
	nt_image_set_reader(w->image, &reader);
	return 0;
}

void ns_worker_free(struct worker *w)
{
	nt_flow_free(w->flow);
	nt_reader_free(w->reader);
	nt_image_free(w->image);
}
