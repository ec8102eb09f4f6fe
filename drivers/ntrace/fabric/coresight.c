// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where trace leaves the components of RISC-V: an ATB bridge gives it a trace id, and a
 * CoreSight fabric takes it to memory. That is a funnel, a Trace Memory Controller (TMC) as a
 * FIFO (ETF), and one as the sink (ETR), which writes frames of 16 bytes with the ids in them.
 *
 * The kernel's CoreSight framework is for Arm only. This file can be removed when that framework
 * serves RISC-V too: path.c and session.c only see a sink with operations, and links that are
 * always enabled. The links hold nothing back after the flush that the ETR requests when it stops.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>

#include "coresight.h"
#include "../ntrace.h"

/* A frame of the formatter (CoreSight Architecture Specification, chapter D4) */
#define CS_FRAME		16
/* Interrupts are off: what a full ETF needs to drain, with room to spare */
#define CS_TIMEOUT_US		2000

static int ntrace_cs_wait(struct ntrace_comp *comp, unsigned int offset, u32 mask, u32 want)
{
	u32 val;

	if (!readl_poll_timeout_atomic(comp->base + offset, val, (val & mask) == want, 1,
				       CS_TIMEOUT_US))
		return 0;
	ntrace_comp_err(comp, "%s at %pa: bits 0x%x of register 0x%x did not become 0x%x within %u us (reads 0x%08x)",
			ntrace_type_name(comp->type), &comp->addr, mask, offset, want,
			CS_TIMEOUT_US, val);
	return -ETIMEDOUT;
}

/*
 * Claim tags say whether a debugger or the kernel uses a component: each sets its tag, and then
 * checks that no other tag is set (CoreSight Architecture Specification, chapter B2.3.5).
 */
static int ntrace_cs_claim(struct ntrace_comp *comp)
{
	u32 tags = ntrace_read(comp, CS_CLAIMCLR);

	/* CLAIMSET reads as the tags that there are. */
	if (!(ntrace_read(comp, CS_CLAIMSET) & CS_CLAIM_SELF_HOSTED))
		return 0;
	if (!(tags & ~CS_CLAIM_SELF_HOSTED)) {
		ntrace_write(comp, CS_CLAIMSET, CS_CLAIM_SELF_HOSTED);
		tags = ntrace_read(comp, CS_CLAIMCLR);
		if (tags == CS_CLAIM_SELF_HOSTED)
			return 0;
		ntrace_write(comp, CS_CLAIMCLR, CS_CLAIM_SELF_HOSTED);
	}
	dev_err(comp->dev, "%s at %pa is in use by %s (claim tags 0x%x)\n",
		ntrace_type_name(comp->type), &comp->addr,
		tags & CS_CLAIM_EXTERNAL ? "an external debugger" : "something else", tags);
	return -EBUSY;
}

static void ntrace_cs_unlock(struct ntrace_comp *comp)
{
	ntrace_write(comp, CS_LAR, CS_LAR_KEY);
}

static void ntrace_cs_funnel_revive(struct ntrace_csfunnel *funnel)
{
	ntrace_cs_unlock(&funnel->comp);
	ntrace_write(&funnel->comp, CS_FUNNEL_PRIORITY, 0);
	ntrace_write(&funnel->comp, CS_FUNNEL_CTRL,
		     FIELD_PREP(CS_FUNNEL_HOLD, CS_FUNNEL_HOLD_TIME) |
		     FIELD_PREP(CS_FUNNEL_PORTS, funnel->used));
}

/* Enable @input for a path. Inputs that no path uses stay disabled. */
void ntrace_cs_funnel_open(struct ntrace_csfunnel *funnel, unsigned int input)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&funnel->comp.lock, flags);
	funnel->used |= BIT(input);
	ntrace_cs_funnel_revive(funnel);
	raw_spin_unlock_irqrestore(&funnel->comp.lock, flags);
}

/* Stop a TMC, after it has sent on all trace that it and the components before it hold. */
static int ntrace_tmc_stop(struct ntrace_comp *comp)
{
	u32 ffcr = TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI | TMC_FFCR_STOP_ON_FLUSH;
	int ret;

	if (!(ntrace_read(comp, TMC_CTL) & TMC_CTL_CAPTURE))
		return 0;
	ntrace_write(comp, TMC_FFCR, ffcr);
	ntrace_write(comp, TMC_FFCR, ffcr | TMC_FFCR_FLUSH_MAN);
	ret = ntrace_cs_wait(comp, TMC_FFCR, TMC_FFCR_FLUSH_MAN, 0);
	return ret ?: ntrace_cs_wait(comp, TMC_STS, TMC_STS_READY, TMC_STS_READY);
}

static void ntrace_tmc_disable(struct ntrace_comp *comp)
{
	ntrace_write(comp, TMC_CTL, 0);
}

/* The ETF is a FIFO that is always enabled. */
static int ntrace_etf_revive(struct ntrace_comp *comp)
{
	int ret;

	ntrace_cs_unlock(comp);
	ret = ntrace_tmc_stop(comp);
	ntrace_tmc_disable(comp);
	if (ret)
		return ret;
	ntrace_write(comp, TMC_MODE, TMC_MODE_HW_FIFO);
	ntrace_write(comp, TMC_BUFWM, 0);
	ntrace_write(comp, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI);
	ntrace_write(comp, TMC_CTL, TMC_CTL_CAPTURE);
	return 0;
}

static int ntrace_etr_program(struct ntrace_sink *sink, struct ntrace_window *win)
{
	struct ntrace_comp *comp = &sink->comp;
	u32 words = (win->end - win->start) / 4;

	/* The CPU's writes to the window reach memory before the sink's. */
	wmb();
	sink->base = win->start;
	ntrace_write(comp, TMC_RSZ, words);
	ntrace_write(comp, TMC_MODE, TMC_MODE_CIRCULAR);
	ntrace_write(comp, TMC_AXICTL, FIELD_PREP(TMC_AXICTL_BURST, 15) | TMC_AXICTL_PROT_NS);
	ntrace_write(comp, TMC_DBALO, lower_32_bits(win->start));
	ntrace_write(comp, TMC_DBAHI, upper_32_bits(win->start));
	if (likely(ntrace_read(comp, TMC_RSZ) == words &&
		   ntrace_read(comp, TMC_DBALO) == lower_32_bits(win->start) &&
		   ntrace_read(comp, TMC_DBAHI) == upper_32_bits(win->start)))
		return 0;
	ntrace_comp_err(comp, "%s at %pa: its registers do not take a buffer at %pad",
			ntrace_type_name(comp->type), &comp->addr, &win->start);
	return -EIO;
}

/* Some hardware keeps its pointers between captures, and would begin where they are. */
static int ntrace_etr_enable(struct ntrace_sink *sink)
{
	struct ntrace_comp *comp = &sink->comp;

	ntrace_write(comp, TMC_RRP, lower_32_bits(sink->base));
	ntrace_write(comp, TMC_RRPHI, upper_32_bits(sink->base));
	ntrace_write(comp, TMC_RWP, lower_32_bits(sink->base));
	ntrace_write(comp, TMC_RWPHI, upper_32_bits(sink->base));
	ntrace_write(comp, TMC_STS, 0);
	ntrace_write(comp, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI);
	ntrace_write(comp, TMC_CTL, TMC_CTL_CAPTURE);
	if (likely(ntrace_read(comp, TMC_CTL) & TMC_CTL_CAPTURE))
		return 0;
	return ntrace_cs_wait(comp, TMC_CTL, TMC_CTL_CAPTURE, TMC_CTL_CAPTURE);
}

static int ntrace_etr_disable(struct ntrace_sink *sink)
{
	struct ntrace_comp *comp = &sink->comp;
	int ret = ntrace_tmc_stop(comp);
	u32 sts = ntrace_read(comp, TMC_STS);

	/* The ETR may still write to its memory. */
	if (ret) {
		sink->loose = true;
		return ret;
	}
	if (unlikely(sts & TMC_STS_MEMERR)) {
		ntrace_comp_err(comp, "%s at %pa: the bus refused what it wrote (STS 0x%08x)",
				ntrace_type_name(comp->type), &comp->addr, sts);
		ret = -EIO;
	}
	ntrace_tmc_disable(comp);
	return ret;
}

static u32 ntrace_etr_written(const struct ntrace_sink *sink, const struct ntrace_window *win,
			      bool *wrapped)
{
	u32 offset = ntrace_read(&sink->comp, TMC_RWP) - lower_32_bits(win->start);

	*wrapped = ntrace_read(&sink->comp, TMC_STS) & TMC_STS_FULL;
	if (likely(offset < win->end - win->start))
		return offset;
	*wrapped = true;
	return 0;
}

static const struct ntrace_sink_ops ntrace_etr_ops = {
	.program	= ntrace_etr_program,
	.enable		= ntrace_etr_enable,
	.disable	= ntrace_etr_disable,
	.written	= ntrace_etr_written,
};

static int ntrace_etr_revive(struct ntrace_sink *sink)
{
	int ret;

	sink->holds = NULL;
	sink->loose = false;
	ntrace_cs_unlock(&sink->comp);
	ret = ntrace_tmc_stop(&sink->comp);
	ntrace_tmc_disable(&sink->comp);
	return ret;
}

static int ntrace_etr_setup(struct ntrace_sink *sink)
{
	struct ntrace_ram_area *area = &sink->areas[TR_RAM_MODE_SMEM];
	int ret = dma_set_mask_and_coherent(sink->comp.dev, DMA_BIT_MASK(40));

	if (ret) {
		dev_err(sink->comp.dev, "%s at %pa: no memory below 40 bits of address (%d)\n",
			ntrace_type_name(sink->comp.type), &sink->comp.addr, ret);
		return ret;
	}
	sink->ops = &ntrace_etr_ops;
	sink->frames = true;
	area->there = true;
	area->align = CS_FRAME;
	area->start_align = CS_FRAME;
	area->max = DMA_BIT_MASK(40);
	sink->area = area;
	return 0;
}

static int ntrace_cs_tmc_type(struct ntrace_comp *comp)
{
	u32 config = FIELD_GET(TMC_DEVID_CONFIG, comp->impl);

	if (config == TMC_DEVID_ETR)
		return NTRACE_COMP_ETR;
	if (config == TMC_DEVID_ETF)
		return NTRACE_COMP_ETF;
	dev_err(comp->dev, "TMC at %pa is neither ETR nor ETF (DEVID 0x%08x)\n", &comp->addr,
		comp->impl);
	return -EOPNOTSUPP;
}

/**
 * ntrace_cs_identify - find out what a CoreSight component is, and claim it
 * @comp: the component; its type and impl (DEVID) are set
 * @tmc: the device tree says that it is a TMC, else that it is a funnel
 *
 * Return: 0; -EBUSY if a debugger has it; -ENODEV or -EOPNOTSUPP if it cannot be used.
 */
int ntrace_cs_identify(struct ntrace_comp *comp, bool tmc)
{
	u32 devtype = ntrace_read(comp, CS_DEVTYPE);
	u32 auth = ntrace_read(comp, CS_AUTHSTATUS);
	int type = NTRACE_COMP_CSFUNNEL;

	comp->impl = ntrace_read(comp, CS_DEVID);
	if (tmc)
		type = ntrace_cs_tmc_type(comp);
	if (type < 0)
		return type;
	comp->type = type;
	if (FIELD_GET(CS_DEVTYPE_MAJOR, devtype) !=
	    (type == NTRACE_COMP_ETR ? CS_DEVTYPE_SINK : CS_DEVTYPE_LINK)) {
		dev_err(comp->dev, "no %s at %pa (DEVTYPE 0x%08x)\n", ntrace_type_name(type),
			&comp->addr, devtype);
		return -ENODEV;
	}
	if (FIELD_GET(CS_AUTHSTATUS_NSNID, auth) == CS_AUTHSTATUS_DISABLED)
		dev_warn(comp->dev, "%s at %pa: the system forbids debug (AUTHSTATUS 0x%08x); trace may stay away\n",
			 ntrace_type_name(type), &comp->addr, auth);
	ntrace_cs_unlock(comp);
	return ntrace_cs_claim(comp);
}

/* After a loss of power, or when it did not answer: all registers are undefined. */
int ntrace_cs_revive(struct ntrace_comp *comp)
{
	switch (comp->type) {
	case NTRACE_COMP_CSFUNNEL:
		ntrace_cs_funnel_revive(to_ntrace_csfunnel(comp));
		return 0;
	case NTRACE_COMP_ETF:
		return ntrace_etf_revive(comp);
	default:
		return ntrace_etr_revive(to_ntrace_sink(comp));
	}
}

/*
 * After it was identified: find out what else it can do, and leave it ready. The lock of a sink is
 * not in use yet.
 */
int ntrace_cs_setup(struct ntrace_comp *comp)
{
	int ret = ntrace_cs_revive(comp);

	if (!ret && comp->type == NTRACE_COMP_ETR)
		ret = ntrace_etr_setup(to_ntrace_sink(comp));
	return ret;
}

/* For removal and shutdown: nothing may be written to memory after this. */
void ntrace_cs_quiesce(struct ntrace_comp *comp)
{
	ntrace_cs_unlock(comp);
	if (comp->type == NTRACE_COMP_CSFUNNEL) {
		ntrace_write(comp, CS_FUNNEL_CTRL, 0);
	} else {
		ntrace_tmc_stop(comp);
		ntrace_tmc_disable(comp);
	}
	ntrace_write(comp, CS_CLAIMCLR, CS_CLAIM_SELF_HOSTED);
}
