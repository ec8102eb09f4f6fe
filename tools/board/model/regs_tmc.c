// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Trace Memory Controller (Arm CoreSight TMC technical reference manual). An ETR writes
 * frames to system memory, and an ETF is a FIFO on the path of the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "coresight_common.h"

#define FRAME		16
#define FFCR_SETTABLE	0x7f73U		/* bits of FFCR that are not reserved */

static struct nb_tmc *to_tmc(struct nb_cs *cs)
{
	return (struct nb_tmc *)cs;
}

static uint64_t pair(const struct nb_dev *dev, unsigned int low, unsigned int high)
{
	return (uint64_t)nb_get(dev, high) << 32 | nb_get(dev, low);
}

static void put_status(struct nb_tmc *tmc)
{
	struct nb_dev *dev = &tmc->cs.dev;
	bool running = tmc->state == NB_TMC_RUNNING;
	uint32_t sts = (tmc->full ? TMC_STS_FULL : 0) | (tmc->memerr ? TMC_STS_MEMERR : 0);

	if (!running)
		sts |= TMC_STS_READY | TMC_STS_FT_EMPTY;
	if (!running || (tmc->caps.etf && !tmc->level))
		sts |= TMC_STS_EMPTY;
	nb_put(dev, TMC_STS, sts);
	nb_put(dev, TMC_FFSR, tmc->state == NB_TMC_STOPPED ? TMC_FFSR_STOPPED : 0);
	nb_put(dev, TMC_RWP, tmc->wp);
	nb_put(dev, TMC_RWPHI, tmc->wp >> 32);
}

/* ---- Store trace ---- */

/* Write a frame of an ETR to memory. After a bus error, nothing is written, and the function returns false. */
static bool write_frame(void *opaque, const uint8_t frame[FRAME])
{
	struct nb_tmc *tmc = opaque;

	if (tmc->memerr)
		return false;
	if (tmc->cs.dev.faults.bus_error || !tmc->mem_write ||
	    !tmc->mem_write(tmc->opaque, tmc->wp, frame, FRAME)) {
		tmc->bus_errors++;
		tmc->memerr = true;
		return false;
	}
	tmc->wp += FRAME;
	if (tmc->wp >= tmc->base + tmc->size) {
		tmc->wp = tmc->base;
		tmc->full = true;
	}
	return true;
}

/* The FIFO stores each transfer after two bytes with its length. */
static void fifo_pop(struct nb_tmc *tmc)
{
	uint32_t len = tmc->fifo[0] | tmc->fifo[1] << 8;

	tmc->out(tmc->out_opaque, tmc->fifo + 2, len);
	tmc->level -= len + 2;
	memmove(tmc->fifo, tmc->fifo + 2 + len, tmc->level);
}

static void fifo_push(struct nb_tmc *tmc, const uint8_t *bytes, size_t len)
{
	while (tmc->level + len + 2 > tmc->caps.fifo && tmc->level)
		fifo_pop(tmc);
	if (len + 2 > tmc->caps.fifo) {
		tmc->out(tmc->out_opaque, bytes, len);
		return;
	}
	tmc->fifo[tmc->level] = len;
	tmc->fifo[tmc->level + 1] = len >> 8;
	memcpy(tmc->fifo + tmc->level + 2, bytes, len);
	tmc->level += len + 2;
}

/*
 * A TMC that does not capture keeps the signal ATREADY high and drops the trace, so that the previous
 * components need not stop.
 */
bool nb_tmc_input(void *opaque, const uint8_t *bytes, size_t len)
{
	struct nb_tmc *tmc = opaque;
	size_t i;

	if (tmc->state != NB_TMC_RUNNING || len < 2) {
		tmc->discarded++;
		return true;
	}
	tmc->bytes += len - 1;
	if (tmc->caps.etf) {
		fifo_push(tmc, bytes, len);
	} else {
		for (i = 1; i < len; i++)
			nb_formatter_put(&tmc->formatter, bytes[0], bytes[i]);
	}
	put_status(tmc);
	return true;
}

void nb_tmc_drain(void *opaque)
{
	struct nb_tmc *tmc = opaque;

	if (tmc->flush)
		tmc->flush(tmc->opaque);
	while (tmc->level)
		fifo_pop(tmc);
	put_status(tmc);
}

/* ---- Registers ---- */

static void check_start(struct nb_tmc *tmc)
{
	struct nb_dev *dev = &tmc->cs.dev;
	uint32_t ffcr = nb_get(dev, TMC_FFCR);
	uint64_t last = tmc->base + tmc->size - 1;

	if (nb_get(dev, TMC_MODE) != (tmc->caps.etf ? NB_TMC_HW_FIFO : NB_TMC_CIRCULAR) ||
	    !(ffcr & TMC_FFCR_EN_FMT))
		nb_dev_report(dev, NB_REPORT_UNSET, TMC_MODE, nb_get(dev, TMC_MODE));
	if (tmc->caps.etf)
		return;
	/* Without EnTI, frames would not contain trace IDs */
	if (!(ffcr & TMC_FFCR_EN_TI))
		nb_dev_report(dev, NB_REPORT_UNSET, TMC_FFCR, ffcr);
	if (nb_get(dev, TMC_AXICTL) & TMC_AXICTL_SG && !tmc->caps.scatter_gather)
		nb_dev_report(dev, NB_REPORT_UNSET, TMC_AXICTL, nb_get(dev, TMC_AXICTL));
	if (!tmc->size || tmc->size % FRAME || tmc->base % FRAME || last > tmc->caps.highest ||
	    last < tmc->base)
		nb_dev_report(dev, NB_REPORT_RANGE, TMC_RSZ, tmc->size);
}

static void start(struct nb_tmc *tmc)
{
	struct nb_dev *dev = &tmc->cs.dev;

	tmc->size = nb_get(dev, TMC_RSZ) * 4;
	tmc->base = pair(dev, TMC_DBALO, TMC_DBAHI);
	tmc->wp = tmc->base;
	tmc->full = false;
	/* If the buffer is invalid, set MemErr at the start, so that nothing is written */
	tmc->memerr = !tmc->caps.etf && (!tmc->size || tmc->size % FRAME);
	tmc->level = 0;
	check_start(tmc);
	nb_formatter_init(&tmc->formatter, tmc->caps.id_every, write_frame, tmc);
	tmc->state = NB_TMC_RUNNING;
}

/*
 * Handle a change of TraceCaptEn from 1 to 0. If software has not stopped the TMC before, trace that was not written
 * is lost.
 */
static void disable(struct nb_tmc *tmc)
{
	if (tmc->state == NB_TMC_RUNNING && !tmc->caps.etf)
		nb_dev_report(&tmc->cs.dev, NB_REPORT_ENABLED, TMC_CTL, 0);
	tmc->level = 0;
	tmc->state = NB_TMC_DISABLED;
}

static void manual_flush(struct nb_tmc *tmc)
{
	if (tmc->state != NB_TMC_RUNNING)
		return;
	nb_tmc_drain(tmc);
	if (!(nb_get(&tmc->cs.dev, TMC_FFCR) & TMC_FFCR_STOP_ON_FLUSH))
		return;
	if (!tmc->caps.etf)
		nb_formatter_flush(&tmc->formatter);
	tmc->state = NB_TMC_STOPPED;
}

static void write_ffcr(struct nb_tmc *tmc, uint32_t value)
{
	nb_put(&tmc->cs.dev, TMC_FFCR, value & FFCR_SETTABLE & ~TMC_FFCR_FLUSH_MAN);
	if (value & TMC_FFCR_FLUSH_MAN)
		manual_flush(tmc);
	put_status(tmc);
}

static void write_ctl(struct nb_tmc *tmc, uint32_t value)
{
	uint32_t old = nb_get(&tmc->cs.dev, TMC_CTL);

	nb_put(&tmc->cs.dev, TMC_CTL, value & TMC_CTL_CAPTURE);
	if (value & ~old & TMC_CTL_CAPTURE)
		start(tmc);
	else if (old & ~value & TMC_CTL_CAPTURE)
		disable(tmc);
	put_status(tmc);
}

/* Registers that return the written value when they are read, and their implemented bits */
static const struct setting {
	uint16_t	offset;
	bool		etr;		/* only an ETR has the register */
	uint32_t	mask;
} settings[] = {
	{ TMC_RSZ,	true,	0x7fffffff },
	{ TMC_RRP,	true,	~0U },
	{ TMC_RRPHI,	true,	0xff },
	{ TMC_TRG,	false,	~0U },
	{ TMC_MODE,	false,	3 },
	{ TMC_BUFWM,	false,	0x7fffffff },
	{ TMC_AXICTL,	true,	0xfbf },
	{ TMC_DBALO,	true,	~0U },
	{ TMC_DBAHI,	true,	0xff },
	{ TMC_PSCR,	false,	0x1f },
};

/* Write a register that "must only be changed while the TMC is in Disabled state". */
static void write_setting(struct nb_tmc *tmc, const struct setting *s, uint32_t value)
{
	struct nb_dev *dev = &tmc->cs.dev;

	if (s->etr && tmc->caps.etf)
		return;
	if (tmc->state != NB_TMC_DISABLED) {
		nb_dev_report(dev, NB_REPORT_ENABLED, s->offset, value);
		return;
	}
	if (s->offset == TMC_AXICTL && !tmc->caps.scatter_gather)
		value &= ~TMC_AXICTL_SG;
	nb_put(dev, s->offset, value & s->mask);
}

static void tmc_set(struct nb_cs *cs, unsigned int offset, uint32_t value)
{
	struct nb_tmc *tmc = to_tmc(cs);
	unsigned int i;

	if (offset == TMC_CTL) {
		write_ctl(tmc, value);
	} else if (offset == TMC_FFCR) {
		write_ffcr(tmc, value);
	} else if (offset == TMC_STS && tmc->state == NB_TMC_DISABLED) {
		tmc->full = value & TMC_STS_FULL;
		tmc->memerr = false;
		put_status(tmc);
	} else {
		for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
			if (settings[i].offset == offset)
				write_setting(tmc, &settings[i], value);
	}
}

static void tmc_clear(struct nb_cs *cs)
{
	struct nb_tmc *tmc = to_tmc(cs);
	unsigned int i;

	tmc->state = NB_TMC_DISABLED;
	tmc->wp = tmc->base = tmc->size = 0;
	tmc->full = tmc->memerr = false;
	tmc->level = 0;
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		nb_put(&cs->dev, settings[i].offset, nb_undef(&cs->dev) & settings[i].mask);
	nb_put(&cs->dev, TMC_CTL, 0);
	nb_put(&cs->dev, TMC_FFCR, 0);
	if (tmc->caps.etf)
		nb_put(&cs->dev, TMC_RSZ, tmc->caps.fifo / 4);
	put_status(tmc);
}

int nb_tmc_init(struct nb_tmc *tmc, const struct nb_tmc_caps *caps)
{
	memset(tmc, 0, sizeof(*tmc));
	tmc->caps = *caps;
	if (caps->etf) {
		tmc->fifo = malloc(caps->fifo);
		if (!tmc->fifo)
			return -1;
	}
	tmc->cs.part = 0x961;
	tmc->cs.devtype = caps->etf ? 0x32 : 0x21;	/* a link with a FIFO, or a sink with a buffer */
	tmc->cs.devid = (caps->etf ? 2U : 1U) << 6 | (caps->scatter_gather ? 0 : 1U << 24);
	tmc->cs.authstatus = 0x33;	/* secure and non-secure debug are supported and enabled */
	tmc->cs.lock = caps->lock;
	tmc->cs.set = tmc_set;
	tmc->cs.clear = tmc_clear;
	nb_cs_init(&tmc->cs, caps->etf ? "etf" : "etr");
	return 0;
}

void nb_tmc_fini(struct nb_tmc *tmc)
{
	free(tmc->fifo);
	tmc->fifo = NULL;
}

void nb_tmc_end(struct nb_tmc *tmc)
{
	if (!tmc->caps.etf && tmc->state == NB_TMC_RUNNING)
		nb_dev_report(&tmc->cs.dev, NB_REPORT_LEFT, TMC_CTL, TMC_CTL_CAPTURE);
}
