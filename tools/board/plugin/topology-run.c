// SPDX-License-Identifier: GPL-2.0-or-later
/* Start the trace from reset, and close and report all components at the end of the run. */
#include "board.h"

static void boot_activate(struct nb_dev *dev)
{
	nb_dev_write(dev, TR_CONTROL, TR_ACTIVE);
	for (uint32_t i = 0; i <= dev->active_delay; i++)
		nb_dev_read(dev, TR_CONTROL);
}

static void boot_start_encoder(struct board_dev *d)
{
	struct nb_dev *dev = d->dev;
	uint32_t features = board.boot_features;
	void (*gate)(void *opaque, struct nb_te *te, bool on) = d->te->gate;

	/* Encoders that share a sink get different values of SRC */
	if (d->out[0].lock)
		features += d->hart << 16;
	/* Do not start to report blocks of the hart, because QEMU has not created it; vcpu_init() starts this */
	d->te->gate = NULL;
	boot_activate(dev);
	nb_dev_write(dev, TR_TE_INST_FEATURES, features);
	nb_dev_write(dev, TR_TE_FILTER(0) + 4, board.boot_privileges);
	nb_dev_write(dev, TR_TE_FILTER(0), board.boot_privileges ? TR_FILTER_ENABLE | TR_FILTER_MATCH_PRIVILEGE : 0);
	nb_dev_write(dev, TR_TE_INST_FILTERS, !!board.boot_privileges);
	nb_dev_write(dev, TR_TE_DATA_CONTROL, 0);
	nb_dev_write(dev, TR_TE_DATA_FILTERS, 0);
	nb_dev_write(dev, TR_TE_TRIG_EXT_IN, 0);
	nb_dev_write(dev, TR_TE_TRIG_EXT_OUT, 0);
	nb_dev_write(dev, TR_TS_CONTROL, board.boot_timestamp ?
		     TR_TS_ACTIVE | TR_TS_ENABLE | NB_TS_EXTERNAL << 4 : 0);
	nb_dev_write(dev, TR_CONTROL, TR_ACTIVE | board.boot_control);
	nb_dev_write(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | board.boot_control);
	nb_dev_write(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRACING | board.boot_control);
	d->te->gate = gate;
}

/*
 * Start an encoder of version 0. By default it uses HTM, with a synchronising message every 2^16 messages.
 * If timestamps are enabled, all messages except ResourceFull have a timestamp. Options boot-control,
 * boot-features and boot-privileges have no effect.
 */
static void boot_start_sf_encoder(struct board_dev *d)
{
	uint32_t control = TR_ACTIVE | board.boot_sifive;
	void (*gate)(void *opaque, struct nb_te *te, bool on) = d->te->gate;

	d->te->gate = NULL;
	boot_activate(d->dev);
	nb_dev_write(d->dev, TR_TS_CONTROL, board.boot_timestamp ?
		     TR_TS_ACTIVE | TR_TS_ENABLE | SF_TS_BRANCH : 0);
	nb_dev_write(d->dev, TR_CONTROL, control);
	nb_dev_write(d->dev, TR_CONTROL, control | TR_ENABLE);
	nb_dev_write(d->dev, TR_CONTROL, control | TR_ENABLE | SF_TE_TRACING);
	d->te->gate = gate;
}

static void boot_start_sf_funnel(struct board_dev *d)
{
	boot_activate(d->dev);
	nb_dev_write(d->dev, TR_TS_CONTROL, TR_TS_ACTIVE | TR_TS_COUNT);
}

static void boot_start_funnel(struct board_dev *d)
{
	boot_activate(d->dev);
	nb_dev_write(d->dev, TR_FUNNEL_DIS_INPUT, 0);
	nb_dev_write(d->dev, TR_TS_CONTROL, 0);
	nb_dev_write(d->dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE);
}

/* Enable a sink as a debugger does, in SRAM mode without a stop on wrap. */
static void boot_start_ramsink(struct board_dev *d)
{
	if (!d->ram->caps.sram)
		board_fatal("%s: option debugger needs a sink with SRAM", d->name);
	boot_activate(d->dev);
	nb_dev_write(d->dev, TR_CONTROL, TR_ACTIVE);
	nb_dev_write(d->dev, TR_RAM_WP_LOW, 0);
	nb_dev_write(d->dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE);
}

/* Start a bridge. Trace IDs are hart numbers plus 1. */
static void boot_start_bridge(struct board_dev *d)
{
	uint32_t id = (d->hart + 1) << 8;

	boot_activate(d->dev);
	nb_dev_write(d->dev, TR_CONTROL, TR_ACTIVE | id);
	nb_dev_write(d->dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | id);
}

static void boot_start_coresight(struct board_dev *d)
{
	nb_dev_write(d->dev, CS_LAR, CS_LAR_KEY);
	if (d->kind == DEV_CSFUNNEL) {
		nb_dev_write(d->dev, CS_FUNNEL_CTRL, 0x300 | ((1U << d->csfunnel->inputs) - 1));
	} else {
		nb_dev_write(d->dev, TMC_MODE, NB_TMC_HW_FIFO);
		nb_dev_write(d->dev, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI);
		nb_dev_write(d->dev, TMC_CTL, TMC_CTL_CAPTURE);
	}
}

/*
 * Start trace from reset, by the steps that "Enabling and Disabling" describes for a driver. The
 * sinks write to files or, with option debugger, to SRAM.
 */
void topology_boot_trace(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind == DEV_RAMSINK && board.debugger)
			boot_start_ramsink(d);
		else if (d->kind == DEV_FUNNEL)
			boot_start_funnel(d);
		else if (d->kind == DEV_SF_FUNNEL)
			boot_start_sf_funnel(d);
		else if (d->kind == DEV_ATBBRIDGE)
			boot_start_bridge(d);
		else if (d->kind == DEV_CSFUNNEL || d->kind == DEV_ETF)
			boot_start_coresight(d);
	}
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_ENCODER)
			boot_start_encoder(d);
		else if (d->kind == DEV_SF_ENCODER)
			boot_start_sf_encoder(d);
}

static void boot_trace_close(struct board_dev *dev)
{
	bool bad;

	if (dev->formatter)
		nb_formatter_flush(dev->formatter);
	memory_boot_trace_flush(dev);
	bad = ferror(dev->boot_trace);
	if (fclose(dev->boot_trace) || bad)
		board_incomplete(dev->name, "the trace");
}

static void stop_boot_trace(struct board_dev *d)
{
	struct nb_truth_writer *truth = board.harts[d->hart].truth;

	nb_encoder_stop(&d->te->enc, NB_EVCODE_DISABLED);
	if (truth)
		nb_truth_state(truth, &d->te->enc.state);
}

/* Close all components at the end of the run. */
void topology_close(void)
{
	memory_sync();
	/* Do not report sinks that are still enabled if the board has ended the run (limit) or started the trace */
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_RAMSINK && !board.limit && !board.boot_trace)
			nb_ram_end(d->ram);
		else if (d->kind == DEV_ETR && !board.limit && !board.boot_trace)
			nb_tmc_end(d->tmc);
		else if (d->kind == DEV_SF_FUNNEL && !board.limit && !board.boot_trace)
			nb_sf_funnel_end(d->sf_funnel);
		else if (d->kind == DEV_ATBBRIDGE && !board.limit && !board.boot_trace)
			nb_atb_end(d->atb);
	if (!board.boot_trace)
		return;
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (board_is_encoder(d))
			stop_boot_trace(d);
	/* Repeat this loop, because a funnel may lead to another funnel that precedes it in the list */
	for (unsigned int i = 0; i < board.n_devs; i++)
		for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
			if (d->kind == DEV_FUNNEL)
				nb_funnel_drain(d->funnel);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_ETF)
			nb_tmc_drain(d->tmc);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->boot_trace)
			boot_trace_close(d);
}

static void report_accesses(FILE *f, const struct board_dev *d)
{
	fprintf(f, "%s loads=%llu stores=%llu activations=%llu\n", d->name,
		(unsigned long long)d->loads, (unsigned long long)d->stores,
		(unsigned long long)d->dev->activations);
}

void topology_report(FILE *f)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		report_accesses(f, d);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind == DEV_RAMSINK)
			fprintf(f, "%s bytes=%llu refused=%llu bus_errors=%llu interrupts=%llu\n", d->name,
				(unsigned long long)d->ram->bytes, (unsigned long long)d->ram->refused,
				(unsigned long long)(d->ram->bus_errors + d->bus_errors),
				(unsigned long long)d->interrupts);
		if (d->kind == DEV_ETR || d->kind == DEV_ETF)
			fprintf(f, "%s bytes=%llu discarded=%llu bus_errors=%llu\n", d->name,
				(unsigned long long)d->tmc->bytes, (unsigned long long)d->tmc->discarded,
				(unsigned long long)(d->tmc->bus_errors + d->bus_errors));
		if (d->kind == DEV_SF_FUNNEL)
			fprintf(f, "%s bytes=%llu dropped=%llu bus_errors=%llu\n", d->name,
				(unsigned long long)d->sf_funnel->bytes, (unsigned long long)d->sf_funnel->dropped,
				(unsigned long long)(d->sf_funnel->bus_errors + d->bus_errors));
		if (board_is_encoder(d)) {
			unsigned long long messages = 0;

			for (int i = 0; i < 64; i++)
				messages += d->te->enc.stats.messages[i];
			fprintf(f, "%s messages=%llu bytes=%llu half_words=%llu overflows=%llu blocks_lost=%llu\n",
				d->name, messages, (unsigned long long)d->te->enc.stats.bytes,
				(unsigned long long)d->te->enc.stats.half_words,
				(unsigned long long)d->te->enc.stats.overflows,
				(unsigned long long)d->te->enc.stats.blocks_lost);
		}
	}
}
