// SPDX-License-Identifier: GPL-2.0-only
/*
 * CoreSight fabrics. An ATB bridge gives the trace of RISC-V components a trace id, and a CoreSight
 * fabric transports it to memory. The fabric consists of a funnel, a Trace Memory Controller (TMC)
 * as a FIFO (ETF), and a TMC as the sink (ETR), which writes frames of 16 bytes that contain the
 * ids.
 *
 * The kernel's CoreSight framework is for Arm only. This file can be removed when that framework
 * also supports RISC-V, because route.c and session.c only use a sink with operations, and links
 * that are always enabled. The links hold no trace after the flush that the ETR requests when it
 * stops.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>

#include "coresight.h"
#include "fabric.h"

/* A frame of the formatter (CoreSight Architecture Specification, chapter D4) */
#define CS_FRAME		16
/* Time that a full ETF needs to drain, with a margin. Interrupts are off. */
#define CS_TIMEOUT_US		2000

static int ntrace_cs_wait(struct ntrace_comp *comp, unsigned int offset, u32 mask, u32 want)
{
	u32 val;

	if (!readl_poll_timeout_atomic(comp->base + offset, val, (val & mask) == want, 1,
				       CS_TIMEOUT_US))
		return 0;
	ntrace_comp_err(comp, "%s at %pa: bits 0x%x of register 0x%x did not become 0x%x within %u us (reads 0x%08x)",
			comp->ops->name, &comp->addr, mask, offset, want,
			CS_TIMEOUT_US, val);
	return -ETIMEDOUT;
}

/*
 * Claim a component. Claim tags show whether a debugger or the kernel uses it. Each user sets its
 * tag, and then checks that no other tag is set (CoreSight Architecture Specification, chapter
 * B2.3.5).
 */
static int ntrace_cs_claim(struct ntrace_comp *comp)
{
	u32 tags = ntrace_read(comp, CS_CLAIMCLR);

	/* A read of CLAIMSET returns the tags that exist */
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
		comp->ops->name, &comp->addr,
		tags & CS_CLAIM_EXTERNAL ? "an external debugger" : "something else", tags);
	return -EBUSY;
}

static void ntrace_cs_unlock(struct ntrace_comp *comp)
{
	ntrace_write(comp, CS_LAR, CS_LAR_KEY);
}

/*
 * Write all registers, even those whose values do not change. The registers are undefined if the
 * component has lost its power. If the component did not answer earlier, it has missed writes.
 */
static int ntrace_cs_funnel_revive(struct ntrace_comp *comp)
{
	ntrace_cs_unlock(comp);
	ntrace_write(comp, CS_FUNNEL_PRIORITY, 0);
	ntrace_write(comp, CS_FUNNEL_CTRL,
		     FIELD_PREP(CS_FUNNEL_HOLD, CS_FUNNEL_HOLD_TIME) |
		     FIELD_PREP(CS_FUNNEL_PORTS, to_ntrace_csfunnel(comp)->used));
	return 0;
}

/* Enable @input for a path. Inputs that no path uses stay disabled. */
static void ntrace_cs_funnel_open(struct ntrace_comp *comp, unsigned int input)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&comp->lock, flags);
	to_ntrace_csfunnel(comp)->used |= BIT(input);
	ntrace_cs_funnel_revive(comp);
	raw_spin_unlock_irqrestore(&comp->lock, flags);
}

static void ntrace_cs_funnel_quiesce(struct ntrace_comp *comp)
{
	ntrace_cs_unlock(comp);
	ntrace_write(comp, CS_FUNNEL_CTRL, 0);
	ntrace_write(comp, CS_CLAIMCLR, CS_CLAIM_SELF_HOSTED);
}

/* Stop a TMC after it has forwarded all trace that it and the components before it hold */
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

/* Set up the ETF, which is a FIFO that is always enabled */
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

	/* Writes of the CPU to the window must reach memory before those of the sink */
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
	ntrace_comp_err(comp, "%s at %pa: its registers cannot be set to a buffer at %pad",
			comp->ops->name, &comp->addr, &win->start);
	return -EIO;
}

/* Enable the ETR. Set all pointers, because some hardware keeps them between captures. */
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

	/* Mark the ETR as loose, because it may still write to its memory. */
	if (ret) {
		sink->loose = true;
		return ret;
	}
	if (unlikely(sts & TMC_STS_MEMERR)) {
		ntrace_comp_err(comp, "%s at %pa: a write to memory caused a bus error (STS 0x%08x)",
				comp->ops->name, &comp->addr, sts);
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

static int ntrace_etr_revive(struct ntrace_comp *comp)
{
	struct ntrace_sink *sink = to_ntrace_sink(comp);
	int ret;

	sink->holds = NULL;
	sink->loose = false;
	ntrace_cs_unlock(comp);
	ret = ntrace_tmc_stop(comp);
	ntrace_tmc_disable(comp);
	return ret;
}

/* Set up the ETR. The lock of the sink is not in use at this time. */
static int ntrace_etr_setup(struct ntrace_comp *comp)
{
	struct ntrace_sink *sink = to_ntrace_sink(comp);
	struct ntrace_ram_area *area = &sink->areas[TR_RAM_MODE_SMEM];
	int ret = ntrace_etr_revive(comp);

	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(comp->dev, DMA_BIT_MASK(40));
	if (ret) {
		dev_err(comp->dev, "%s at %pa: no memory has an address of at most 40 bits (%d)\n",
			comp->ops->name, &comp->addr, ret);
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

static void ntrace_tmc_quiesce(struct ntrace_comp *comp)
{
	ntrace_cs_unlock(comp);
	ntrace_tmc_stop(comp);
	ntrace_tmc_disable(comp);
	ntrace_write(comp, CS_CLAIMCLR, CS_CLAIM_SELF_HOSTED);
}

/*
 * Check that a component of kind @comp->ops exists, and claim it. Return -EBUSY if a debugger uses
 * it.
 */
static int ntrace_cs_check(struct ntrace_comp *comp, u32 major)
{
	u32 devtype = ntrace_read(comp, CS_DEVTYPE);
	u32 auth = ntrace_read(comp, CS_AUTHSTATUS);

	comp->type = comp->ops->type;
	if (FIELD_GET(CS_DEVTYPE_MAJOR, devtype) != major) {
		dev_err(comp->dev, "no %s at %pa (DEVTYPE 0x%08x)\n", comp->ops->name,
			&comp->addr, devtype);
		return -ENODEV;
	}
	if (FIELD_GET(CS_AUTHSTATUS_NSNID, auth) == CS_AUTHSTATUS_DISABLED)
		dev_warn(comp->dev, "%s at %pa: the system forbids debug (AUTHSTATUS 0x%08x), so trace may be missing\n",
			 comp->ops->name, &comp->addr, auth);
	ntrace_cs_unlock(comp);
	return ntrace_cs_claim(comp);
}

static int ntrace_cs_funnel_identify(struct ntrace_comp *comp)
{
	comp->impl = ntrace_read(comp, CS_DEVID);
	return ntrace_cs_check(comp, CS_DEVTYPE_LINK);
}

static const struct ntrace_reg ntrace_csfunnel_regs[] = {
	{ CS_FUNNEL_CTRL,	"CTRL" },
	{ CS_FUNNEL_PRIORITY,	"PRIORITY" },
	{ CS_CLAIMCLR,		"CLAIMCLR" },
	{ CS_AUTHSTATUS,	"AUTHSTATUS" },
	{ CS_DEVID,		"DEVID" },
	{ CS_DEVTYPE,		"DEVTYPE" },
	{ }
};

const struct ntrace_comp_ops ntrace_csfunnel_comp_ops = {
	.type		= NTRACE_COMP_CSFUNNEL,
	.name		= "CoreSight funnel",
	.prefix		= "",
	.foreign	= true,
	.inputs		= GENMASK(7, 0),
	.regs		= ntrace_csfunnel_regs,
	.identify	= ntrace_cs_funnel_identify,
	.setup		= ntrace_cs_funnel_revive,
	.revive		= ntrace_cs_funnel_revive,
	.open		= ntrace_cs_funnel_open,
	.quiesce	= ntrace_cs_funnel_quiesce,
};

static const struct ntrace_reg ntrace_tmc_regs[] = {
	{ TMC_RSZ,		"RSZ" },
	{ TMC_STS,		"STS" },
	{ TMC_RRP,		"RRP" },
	{ TMC_RWP,		"RWP" },
	{ TMC_CTL,		"CTL" },
	{ TMC_MODE,		"MODE" },
	{ TMC_BUFWM,		"BUFWM" },
	{ TMC_FFCR,		"FFCR" },
	{ CS_CLAIMCLR,		"CLAIMCLR" },
	{ CS_AUTHSTATUS,	"AUTHSTATUS" },
	{ CS_DEVID,		"DEVID" },
	{ CS_DEVTYPE,		"DEVTYPE" },
	{ }
};

static const struct ntrace_comp_ops ntrace_etf_comp_ops = {
	.type		= NTRACE_COMP_ETF,
	.name		= "CoreSight ETF",
	.prefix		= "",
	.foreign	= true,
	.regs		= ntrace_tmc_regs,
	.setup		= ntrace_etf_revive,
	.revive		= ntrace_etf_revive,
	.quiesce	= ntrace_tmc_quiesce,
};

static const struct ntrace_comp_ops ntrace_etr_comp_ops = {
	.type		= NTRACE_COMP_ETR,
	.name		= "CoreSight ETR",
	.prefix		= "",
	.is_sink	= true,
	.foreign	= true,
	.regs		= ntrace_tmc_regs,
	.setup		= ntrace_etr_setup,
	.revive		= ntrace_etr_revive,
	.quiesce	= ntrace_tmc_quiesce,
};

/* Return -EOPNOTSUPP if the TMC is configured as neither a FIFO nor a sink */
static int ntrace_tmc_identify(struct ntrace_comp *comp)
{
	comp->impl = ntrace_read(comp, CS_DEVID);
	switch (FIELD_GET(TMC_DEVID_CONFIG, comp->impl)) {
	case TMC_DEVID_ETR:
		comp->ops = &ntrace_etr_comp_ops;
		return ntrace_cs_check(comp, CS_DEVTYPE_SINK);
	case TMC_DEVID_ETF:
		comp->ops = &ntrace_etf_comp_ops;
		return ntrace_cs_check(comp, CS_DEVTYPE_LINK);
	default:
		dev_err(comp->dev, "TMC at %pa is neither ETR nor ETF (DEVID 0x%08x)\n",
			&comp->addr, comp->impl);
		return -EOPNOTSUPP;
	}
}

const struct ntrace_comp_ops ntrace_tmc_comp_ops = {
	.name		= "CoreSight TMC",
	.prefix		= "",
	.foreign	= true,
	.identify	= ntrace_tmc_identify,
};
