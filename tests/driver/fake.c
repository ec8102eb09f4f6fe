// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/board/model/coresight.h"
#include "../../tools/board/model/regs_te.h"
#include "../../tools/board/model/sifive.h"
#include "fake.h"

uint8_t fake_mem[FAKE_MEM_SIZE];
unsigned int fake_outside, fake_reports;

union any {
	struct nb_dev dev;
	struct nb_te te;
	struct nb_ram ram;
	struct nb_funnel funnel;
	struct nb_atb atb;
	struct nb_cs_funnel csfunnel;
	struct nb_tmc tmc;
	struct nb_sf_funnel sf_funnel;
};

#define MAX_DEVS 8
static char pages[MAX_DEVS][4096] __attribute__((aligned(4096)));
static union any devs[MAX_DEVS];
static unsigned int nr_devs;
static uint64_t now;

void (*fake_on_write)(void *base, unsigned int offset, uint32_t value);
void (*fake_on_read)(void *base, unsigned int offset);

uint32_t fake_readl(const volatile void *addr);
void fake_writel(uint32_t val, volatile void *addr);
uint64_t fake_cycles(void);

struct ntrace_comp;
void ntrace_keep_awake(void);
void ntrace_let_sleep(void);
bool ntrace_serves_active(const struct ntrace_comp *comp);
bool ntrace_has_power(const struct ntrace_comp *comp);
int ntrace_power_get(struct ntrace_comp *comp);
void ntrace_power_put(struct ntrace_comp *comp);
int fake_power_users;

/* In these tests, no component loses its power, so only count the callers that need power */
int ntrace_power_get(struct ntrace_comp *comp)
{
	fake_power_users++;
	return 0;
}

void ntrace_power_put(struct ntrace_comp *comp)
{
	fake_power_users--;
}

void ntrace_keep_awake(void)
{
}

void ntrace_let_sleep(void)
{
}

/* All CPUs stay online in these tests, so always return true. */
bool ntrace_serves_active(const struct ntrace_comp *comp)
{
	return true;
}

bool ntrace_has_power(const struct ntrace_comp *comp)
{
	return true;
}

static union any *find(const volatile void *addr)
{
	return &devs[((const volatile char *)addr - pages[0]) / 4096];
}

/* Bits that are always 1 in the first register of each component */
static uint32_t always[MAX_DEVS];

uint32_t fake_readl(const volatile void *addr)
{
	uint32_t offset = (uintptr_t)addr & 4095;

	now++;
	if (fake_on_read)
		fake_on_read(pages[find(addr) - devs], offset);
	nb_dev_refresh(&find(addr)->dev);
	return nb_dev_read(&find(addr)->dev, offset) | (offset ? 0 : always[find(addr) - devs]);
}

void fake_writel(uint32_t val, volatile void *addr)
{
	now++;
	if (fake_on_write)
		fake_on_write(pages[find(addr) - devs], (uintptr_t)addr & 4095, val);
	nb_dev_write(&find(addr)->dev, (uintptr_t)addr & 4095, val);
}

uint64_t fake_cycles(void)
{
	return ++now;
}

uint32_t fake_peek(void *base, unsigned int offset)
{
	return find(base)->dev.shadow[offset / 4];
}

static uint64_t clock_now(void *opaque)
{
	return now;
}

static void report(void *opaque, struct nb_dev *dev, enum nb_report what, unsigned int offset,
		   uint32_t value)
{
	printf("# %s: offset 0x%x value 0x%x: %s\n", dev->name, offset, value,
	       nb_report_text(what));
	fake_reports++;
}

static void *add(const char *name)
{
	union any *any = &devs[nr_devs];

	any->dev.name = name;
	any->dev.report = report;
	any->dev.undef = 0x5eed;
	return pages[nr_devs++];
}

static bool mem_write(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len)
{
	if (addr < FAKE_MEM_BASE || addr + len > FAKE_MEM_BASE + FAKE_MEM_SIZE) {
		fake_outside++;
		return false;
	}
	memcpy(fake_mem + (addr - FAKE_MEM_BASE), bytes, len);
	return true;
}

void fake_init(void)
{
	unsigned int i;

	for (i = 0; i < nr_devs; i++) {
		if (devs[i].dev.name && !strcmp(devs[i].dev.name, "etf"))
			nb_tmc_fini(&devs[i].tmc);
		if (devs[i].dev.name && !strcmp(devs[i].dev.name, "ram"))
			nb_ram_fini(&devs[i].ram);
	}
	memset(devs, 0, sizeof(devs));
	memset(always, 0, sizeof(always));
	nr_devs = 0;
	fake_on_write = NULL;
	fake_on_read = NULL;
	now = 1000;
	fake_outside = 0;
	fake_reports = 0;
	memset(fake_mem, 0, sizeof(fake_mem));
}

void *fake_ram(const struct fake_ram_options *opt)
{
	struct nb_ram *ram = &devs[nr_devs].ram;
	struct nb_ram_caps caps;

	nb_ram_caps_full(&caps);
	caps.sram = opt->sram;
	caps.smem = !opt->sram;
	caps.sram |= opt->both;
	if (opt->sram_size)
		caps.sram_size = opt->sram_size;
	if (opt->align)
		caps.align = opt->align;
	caps.start_align = opt->start_align;
	if (opt->highest) {
		caps.smem_lowest = opt->lowest;
		caps.smem_highest = opt->highest;
	}
	caps.smem_fixed = opt->fixed;
	caps.stop_on_wrap = !opt->no_stop;
	caps.stop_fixed = opt->stop_fixed;
	caps.limit_fixed = opt->limit_fixed;
	caps.keeps_rest = opt->keeps_rest;
	caps.sizes = opt->sizes;
	if (nb_ram_init(ram, &caps))
		abort();
	always[nr_devs] = TR_RAM_MEM_FORMAT / 3 * opt->format;
	ram->mem_write = mem_write;
	ram->dev.active_delay = opt->active_delay;
	ram->dev.empty_delay = opt->empty_delay;
	ram->dev.enable_delay = opt->enable_delay;
	return add("ram");
}

void *fake_funnel(void *out, unsigned int inputs, unsigned int fifo)
{
	struct nb_funnel_caps caps = {
		.inputs = inputs, .fifo = fifo, .dis_input = true, .ver_major = 1,
		/*
		 * Support all clock modes. A real funnel does not have the mode for the clock of a core
		 */
		.ts_modes = 0x1f, .ts_width = 40, .ts_prescale = true,
	};

	nb_funnel_init(&devs[nr_devs].funnel, &caps, nb_ram_input, &find(out)->ram);
	devs[nr_devs].funnel.ts.clock = clock_now;
	return add("funnel");
}

void *fake_encoder(void *out, unsigned int input, const struct fake_encoder_options *opt)
{
	struct nb_te *te = &devs[nr_devs].te;
	struct nb_te_caps caps;
	union any *to = find(out);

	if (opt->minimal)
		nb_te_caps_minimal(&caps);
	else
		nb_te_caps_full(&caps);
	if (opt->btm_only)
		caps.htm = false;
	if (opt->ver_major || opt->old)
		caps.ver_major = opt->ver_major;
	caps.ver_minor = opt->ver_minor;
	caps.both_formats = opt->both_formats;
	caps.features_fixed = opt->features_fixed;
	caps.fifo_depth = opt->fifo_depth;
	caps.fifo_rate = 1;
	if (!opt->minimal && !caps.ext_in)
		caps.ext_in = 2;
	caps.control_fixed = opt->control_fixed;
	caps.etrace_only = opt->etrace;
	if (opt->ir_modes)
		caps.implicit_return = opt->ir_modes;
	if (opt->sync_max)
		caps.sync_max_highest = opt->sync_max;
	if (opt->ts_modes) {
		caps.ts_modes = opt->ts_modes;
		caps.ts_prescale = false;
	}
	if (opt->protocol_major)
		caps.protocol_major = opt->protocol_major;
	if (!strcmp(to->dev.name, "ram"))
		nb_te_init(te, &caps, nb_ram_input, &to->ram);
	else if (!strcmp(to->dev.name, "bridge"))
		nb_te_init(te, &caps, nb_atb_input, &to->atb);
	else
		nb_te_init(te, &caps, nb_funnel_input, &to->funnel.port[input]);
	if (!opt->minimal && !opt->no_clock)
		te->ts.clock = clock_now;
	te->dev.active_delay = opt->active_delay;
	te->dev.ts_active_delay = opt->ts_active_delay;
	te->dev.empty_delay = opt->empty_delay;
	te->dev.enable_delay = opt->enable_delay;
	return add("encoder");
}

void *fake_etr(uint64_t highest)
{
	const struct nb_tmc_caps caps = { .highest = highest, .id_every = 8, .lock = true };
	struct nb_tmc *tmc = &devs[nr_devs].tmc;

	if (nb_tmc_init(tmc, &caps))
		abort();
	tmc->mem_write = mem_write;
	return add("etr");
}

static void flush_etf(void *etf)
{
	nb_tmc_drain(etf);
}

void *fake_etf(void *out)
{
	const struct nb_tmc_caps caps = { .etf = true, .fifo = 1024, .lock = true };
	struct nb_tmc *tmc = &devs[nr_devs].tmc;

	if (nb_tmc_init(tmc, &caps))
		abort();
	tmc->out = nb_tmc_input;
	tmc->out_opaque = &find(out)->tmc;
	find(out)->tmc.flush = flush_etf;
	find(out)->tmc.opaque = tmc;
	return add("etf");
}

void *fake_csfunnel(void *out)
{
	nb_cs_funnel_init(&devs[nr_devs].csfunnel, 4, true, nb_tmc_input, &find(out)->tmc);
	return add("csfunnel");
}

void *fake_bridge(void *out, unsigned int input)
{
	const struct nb_atb_caps caps = { .ver_major = 1 };

	nb_atb_init(&devs[nr_devs].atb, &caps, nb_cs_funnel_input, &find(out)->csfunnel.port[input]);
	return add("bridge");
}

void *fake_sifive_funnel(void)
{
	struct nb_sf_funnel *funnel = &devs[nr_devs].sf_funnel;

	nb_sf_funnel_init(funnel);
	funnel->mem_write = mem_write;
	funnel->ts.clock = clock_now;
	return add("sifive-funnel");
}

void *fake_sifive_encoder(void *out, unsigned int hart, unsigned int src_id)
{
	const struct nb_sf_te_caps sf = { .hart = hart, .src_bits = 2, .src_id = src_id };
	struct nb_sf_funnel *funnel = &find(out)->sf_funnel;
	struct nb_te *te = &devs[nr_devs].te;
	struct nb_te_caps caps;

	nb_te_caps_full(&caps);
	nb_sf_te_init(te, &caps, &sf, nb_sf_funnel_input, &funnel->port[hart]);
	te->ts.shared = &funnel->ts;
	funnel->port[hart].te = te;
	return add("encoder");
}

void fake_claim(void *coresight)
{
	struct nb_dev *dev = &find(coresight)->dev;

	nb_dev_write(dev, CS_LAR, CS_LAR_KEY);
	nb_dev_write(dev, CS_CLAIMSET, 1);
}

void fake_bus_error(void *base, bool on)
{
	find(base)->dev.faults.bus_error = on;
}

void fake_power_off(void *base)
{
	nb_dev_power_off(&find(base)->dev);
}

static void nothing(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	if (offset == TR_CONTROL)
		dev->shadow[0] = value | TR_EMPTY;
}

static void no_load(struct nb_dev *dev, unsigned int offset)
{
}

static void no_change(struct nb_dev *dev)
{
}

void *fake_other(uint32_t impl)
{
	static const struct nb_dev_ops ops = {
		.write = nothing, .loaded = no_load, .refresh = no_change,
		.activate = no_change, .reset = no_change,
	};
	union any *any = &devs[nr_devs];

	any->dev.ops = &ops;
	any->dev.shadow[TR_IMPL / 4] = impl;
	any->dev.shadow[0] = TR_EMPTY;
	return add("other");
}

void fake_never_enabled(void *encoder)
{
	find(encoder)->dev.faults.enable_stuck = true;
}

void fake_set_time(uint64_t time)
{
	now = time;
}

static uint64_t frozen;

static uint64_t clock_frozen(void *opaque)
{
	return frozen;
}

static unsigned int lag;

static uint64_t clock_late(void *opaque)
{
	return now - lag;
}

void fake_lag(void *encoder, unsigned int ticks)
{
	lag = ticks;
	find(encoder)->te.ts.clock = clock_late;
}

void fake_other_levels(void *encoder, unsigned int levels)
{
	find(encoder)->te.caps.other_levels = levels;
}

void fake_lose(void *encoder, enum fake_lost what)
{
	struct nb_te_caps *caps = &find(encoder)->te.caps;

	switch (what) {
	case FAKE_SYNC_MAX:
		caps->sync_max_highest = 3;
		break;
	case FAKE_CONTEXT:
		caps->context = false;
		break;
	case FAKE_TS_MODES:
		find(encoder)->te.ts.modes = 1 << NB_TS_EXTERNAL;
		break;
	case FAKE_COMPARATORS:
		caps->comps = 0;
		break;
	}
}

void fake_no_stop(void *ram)
{
	find(ram)->ram.caps.stop_on_wrap = false;
}

void fake_freeze(void *encoder, uint64_t value)
{
	frozen = value;
	find(encoder)->te.ts.clock = clock_frozen;
}

void fake_fault(void *base, bool active_stuck, bool not_empty)
{
	find(base)->dev.faults.active_stuck = active_stuck;
	find(base)->dev.faults.not_empty = not_empty;
}

/* Handle a write of the hart to scontext */
void fake_context(void *encoder, uint64_t scontext)
{
	nb_te_context(&find(encoder)->te, scontext, 0);
}

void fake_run(void *encoder, unsigned int n)
{
	struct nb_ingress blk = {
		.iaddr = 0x10000, .iretire = 16, .ninsn = 8, .ilastsize = 2,
		.itype = NB_ITYPE_INDIRECT_JUMP, .priv = NB_PRIV_U,
	};

	while (n--) {
		nb_te_ingress(&find(encoder)->te, &blk, NULL);
		blk.iaddr ^= 0x5a5a0;
	}
}
