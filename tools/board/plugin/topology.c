// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The components of the board and what they are connected to, from the list
 * that tools/board/devicetree makes the device tree from too. A line of it:
 *
 *	encoder NAME ADDRESS hart=N to=NAME
 *	funnel NAME ADDRESS to=NAME
 *	ramsink NAME ADDRESS [mode=smem|sram|both] [sram=BYTES] [align=BYTES] [burst=BYTES] [irq=N]
 *
 * Inputs of a funnel are numbered in the order of the lines that lead to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

/* of the virt machine with aia=aplic */
#define APLIC_S		0x0d000000ULL
#define APLIC_SETIPNUM	0x1cdc

struct board_dev *topology_find(uint64_t addr)
{
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (addr - board.devs[i].addr < BOARD_DEV_SIZE)
			return &board.devs[i];
	return NULL;
}

static struct board_dev *by_name(const char *name)
{
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (!strcmp(board.devs[i].name, name))
			return &board.devs[i];
	return NULL;
}

/* Writes of a sink to memory are gathered: one call into QEMU for each costs more than the rest. */
static void stage_flush(struct board_dev *dev)
{
	if (dev->stage_len && !board_mem_write(dev->stage_addr, dev->stage, dev->stage_len))
		dev->bus_errors++;
	dev->stage_len = 0;
}

/* Before software can look: what a write pointer says is written must be in memory. */
void topology_sync(void)
{
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (board.devs[i].kind == DEV_RAMSINK && !board.devs[i].boot_trace)
			stage_flush(&board.devs[i]);
}

static bool is_ram(uint64_t addr, size_t len)
{
	uint8_t first, last;

	/* a write to a device or to nowhere is a bus error, not a store to it */
	return addr >= 0x80000000ULL && board_mem_read(addr, &first, 1) && board_mem_read(addr + len - 1, &last, 1);
}

static bool sink_write(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;

	if (dev->stage_len && (addr != dev->stage_addr + dev->stage_len || dev->stage_len + len > BOARD_STAGE_SIZE))
		stage_flush(dev);
	if (!dev->stage_len) {
		if (!is_ram(addr, len))
			return false;
		dev->stage_addr = addr;
	}
	if (len > BOARD_STAGE_SIZE)
		return board_mem_write(addr, bytes, len);
	memcpy(dev->stage + dev->stage_len, bytes, len);
	dev->stage_len += len;
	return true;
}

static bool locked_out(void *opaque, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;
	bool ok;

	pthread_mutex_lock(dev->lock);
	ok = dev->next(dev->next_opaque, bytes, len);
	pthread_mutex_unlock(dev->lock);
	return ok;
}

static void boot_trace_flush(struct board_dev *dev)
{
	fwrite(dev->stage, 1, dev->stage_len, dev->boot_trace);
	dev->stage_len = 0;
}

/* A few bytes each time: not worth a call of stdio */
static bool boot_trace_out(void *opaque, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;

	if (dev->stage_len + len > BOARD_STAGE_SIZE)
		boot_trace_flush(dev);
	memcpy(dev->stage + dev->stage_len, bytes, len);
	dev->stage_len += len;
	return true;
}

static uint64_t time_csr(void *opaque)
{
	static _Atomic uint64_t last;

	(void)opaque;
	/* before the first instruction and after the last one there is no hart to ask */
	if (board.regs[REG_TIME] && !board.exiting)
		last = board_reg_read(REG_TIME);
	return last;
}

static void te_gate(void *opaque, struct nb_te *te, bool on)
{
	(void)te;
	stream_gate(opaque, on);
}

static void dev_report(void *opaque, struct nb_dev *dev, enum nb_report what, unsigned int offset,
		       uint32_t value)
{
	(void)opaque;
	if (board.reports[what]++ < 16)
		board_warn("%s: offset %#x, value %#x: %s", dev->name, offset, value, nb_report_text(what));
}

static void dev_common(struct board_dev *dev)
{
	dev->dev->name = dev->name;
	dev->dev->report = dev_report;
	dev->dev->faults = board.faults;
	dev->dev->active_delay = board.active_delay;
	dev->dev->empty_delay = board.empty_delay;
	dev->dev->undef = board.undef;
}

static void open_boot_trace(struct board_dev *dev)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.ntrace", board.boot_trace, dev->name);
	dev->boot_trace = fopen(path, "wb");
	if (!dev->boot_trace)
		board_fatal("%s: %s", path, strerror(errno));
}

/*
 * Not at once: the caller may hold locks. Under -icount QEMU takes no interrupt
 * in the middle of a block, so that it waits for the next trap.
 */
static void sink_irq(void *opaque)
{
	struct board_dev *dev = opaque;

	dev->interrupts++;
	dev->irq_due = true;
	board.irq_due = true;
	if (!board.icount)
		atomic_fetch_or(&board.claimed, CLAIM_IRQ);
}

/* The supervisor's APLIC: a write of the number to setipnum makes it pending */
void topology_raise(void)
{
	atomic_fetch_and(&board.claimed, ~CLAIM_IRQ);
	board.irq_due = false;
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		uint32_t irq = d->irq;

		if (d->irq && atomic_exchange(&d->irq_due, false) &&
		    !board_mem_write(APLIC_S + APLIC_SETIPNUM, &irq, sizeof(irq)))
			board_warn("%s: no APLIC takes its interrupt", d->name);
	}
}

static void make_ramsink(struct board_dev *dev, const char *mode, const char *sram, const char *align,
			 const char *burst)
{
	struct nb_ram_caps caps = board.ram_caps;

	if (mode) {
		caps.sram = strcmp(mode, "smem");
		caps.smem = strcmp(mode, "sram");
	}
	if (sram)
		caps.sram_size = strtoul(sram, NULL, 0);
	if (align)
		caps.align = strtoul(align, NULL, 0);
	if (burst)
		caps.burst = strtoul(burst, NULL, 0);
	dev->ram = calloc(1, sizeof(*dev->ram));
	dev->stage = malloc(BOARD_STAGE_SIZE);
	if (!dev->ram || !dev->stage || nb_ram_init(dev->ram, &caps))
		board_fatal("%s: cannot be made", dev->name);
	dev->ram->mem_write = sink_write;
	dev->ram->mem_opaque = dev;
	if (dev->irq)
		dev->ram->irq = sink_irq;
	dev->dev = &dev->ram->dev;
	dev->next = nb_ram_input;
	dev->next_opaque = dev->ram;
	if (board.boot_trace)
		open_boot_trace(dev);
}

/* What @dev sends its messages to; the sink and funnels are made first. */
static void connect_out(struct board_dev *dev, nb_out_fn *out, void **opaque)
{
	struct board_dev *to = by_name(dev->to);
	unsigned int input = 0;

	if (!to || to->kind == DEV_ENCODER || to == dev)
		board_fatal("topology: %s leads to '%s', which is no funnel or sink", dev->name, dev->to);
	if (to->kind == DEV_RAMSINK) {
		*out = to->boot_trace ? boot_trace_out : nb_ram_input;
		*opaque = to->boot_trace ? (void *)to : to->ram;
		return;
	}
	for (struct board_dev *d = board.devs; d != dev; d++)
		if (!strcmp(d->to, dev->to))
			input++;
	if (input >= NB_MAX_INPUTS)
		board_fatal("topology: %s has more than %d inputs", to->name, NB_MAX_INPUTS);
	*out = nb_funnel_input;
	*opaque = &to->funnel->port[input];
}

static void make_funnel(struct board_dev *dev)
{
	struct nb_funnel_caps caps = board.funnel_caps;
	nb_out_fn out;
	void *opaque;

	caps.inputs = 0;
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (!strcmp(board.devs[i].to, dev->name))
			caps.inputs++;
	if (!caps.inputs || caps.inputs > NB_MAX_INPUTS)
		board_fatal("topology: %s has %u inputs", dev->name, caps.inputs);
	connect_out(dev, &out, &opaque);
	nb_funnel_init(dev->funnel, &caps, out, opaque);
	dev->funnel->ts.clock = time_csr;
	dev->dev = &dev->funnel->dev;
	dev->lock = malloc(sizeof(*dev->lock));
	if (!dev->lock)
		board_fatal("no memory");
	pthread_mutex_init(dev->lock, NULL);
}

static struct board_dev *outer_funnel(struct board_dev *dev)
{
	struct board_dev *to = by_name(dev->to), *outer = NULL;

	for (; to && to->kind == DEV_FUNNEL; to = by_name(to->to))
		outer = to;
	return outer;
}

static void make_encoder(struct board_dev *dev)
{
	struct hart *h = &board.harts[dev->hart];
	struct board_dev *funnel = outer_funnel(dev);
	nb_out_fn out;
	void *opaque;

	if (dev->hart >= board.n_harts || h->te)
		board_fatal("topology: %s: hart %u is not there or has an encoder", dev->name, dev->hart);
	connect_out(dev, &out, &opaque);
	if (funnel) {
		/* harts that share a way share its lock, the outermost funnel's */
		dev->lock = funnel->lock;
		dev->next = out;
		dev->next_opaque = opaque;
		out = locked_out;
		opaque = dev;
	}
	dev->te = calloc(1, sizeof(*dev->te));
	if (!dev->te)
		board_fatal("no memory");
	nb_te_init(dev->te, &board.te_caps, out, opaque);
	dev->te->ts.clock = time_csr;
	dev->te->ts.shared = funnel ? &funnel->funnel->ts : NULL;
	dev->te->ts.core_cycles = &dev->te->enc.cycles;
	dev->te->gate = te_gate;
	dev->te->gate_opaque = h;
	dev->dev = &dev->te->dev;
	h->te = dev->te;
}

static void parse_line(char *line, char *extra[4])
{
	static const char *const kinds[] = { "encoder", "funnel", "ramsink" };
	static const char *const keys[] = { "mode=", "sram=", "align=", "burst=" };
	struct board_dev *dev = &board.devs[board.n_devs];
	char *save, *word = strtok_r(line, " \t\n", &save);
	char *name = strtok_r(NULL, " \t\n", &save), *addr = strtok_r(NULL, " \t\n", &save);

	for (dev->kind = 0; dev->kind < 3 && strcmp(word, kinds[dev->kind]); dev->kind++)
		;
	if (dev->kind == 3 || !name || !addr || board.n_devs == BOARD_MAX_DEVS)
		board_fatal("topology: '%s %s' is not understood", word, name ? name : "");
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	dev->addr = strtoull(addr, NULL, 0);
	while ((word = strtok_r(NULL, " \t\n", &save))) {
		if (!strncmp(word, "hart=", 5))
			dev->hart = strtoul(word + 5, NULL, 0);
		else if (!strncmp(word, "to=", 3))
			snprintf(dev->to, sizeof(dev->to), "%s", word + 3);
		else if (!strncmp(word, "irq=", 4))
			dev->irq = strtoul(word + 4, NULL, 0);
		for (int i = 0; i < 4; i++)
			if (!strncmp(word, keys[i], strlen(keys[i])))
				extra[i] = strdup(word + strlen(keys[i]));
	}
	board.n_devs++;
}

void topology_build(void)
{
	char *extra[BOARD_MAX_DEVS][4] = { { NULL } };
	char line[256];
	FILE *f = fopen(board.topology, "r");

	if (!f)
		board_fatal("no topology: %s cannot be read", board.topology);
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && line[0] != '\n' && board.n_devs < BOARD_MAX_DEVS)
			parse_line(line, extra[board.n_devs]);
	fclose(f);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind == DEV_RAMSINK)
			make_ramsink(d, extra[d - board.devs][0], extra[d - board.devs][1],
				     extra[d - board.devs][2], extra[d - board.devs][3]);
		if (d->kind == DEV_FUNNEL && !(d->funnel = calloc(1, sizeof(*d->funnel))))
			board_fatal("no memory");
	}
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_FUNNEL)
			make_funnel(d);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind == DEV_ENCODER)
			make_encoder(d);
		dev_common(d);
	}
}

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

	/* sources that share a sink are told apart: N, N + 1, ... */
	if (d->lock)
		features += d->hart << 16;
	/* the stream begins when the hart does, which is not there yet */
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
	d->te->gate = te_gate;
}

/* Trace from reset on: "Enabling and Disabling", as a driver does it; the sinks are files. */
void topology_boot_trace(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind != DEV_FUNNEL)
			continue;
		boot_activate(d->dev);
		nb_dev_write(d->dev, TR_FUNNEL_DIS_INPUT, 0);
		nb_dev_write(d->dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE);
	}
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_ENCODER)
			boot_start_encoder(d);
}

static void boot_trace_close(struct board_dev *dev)
{
	bool bad;

	boot_trace_flush(dev);
	bad = ferror(dev->boot_trace);
	if (fclose(dev->boot_trace) || bad)
		board_warn("%s: the trace is not complete: %s", dev->name, strerror(errno));
}

/* Harts that are on send to @dev, or may */
static bool is_used(const struct board_dev *dev)
{
	if (dev->kind == DEV_ENCODER)
		return !board.harts[dev->hart].off;
	for (const struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (!strcmp(d->to, dev->name) && is_used(d))
			return true;
	return false;
}

/* A hart has been switched off: so are the components that serve no other */
void topology_power(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (!is_used(d))
			nb_dev_power_off(d->dev);
}

/* The run ends. */
void topology_close(void)
{
	topology_sync();
	/* with a limit it is the board that ends it */
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_RAMSINK && !board.limit && !board.boot_trace)
			nb_ram_end(d->ram);
	if (!board.boot_trace)
		return;
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_ENCODER)
			nb_encoder_stop(&d->te->enc, NB_EVCODE_DISABLED);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->boot_trace)
			boot_trace_close(d);
}

void topology_report(FILE *f)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind == DEV_RAMSINK)
			fprintf(f, "%s bytes=%llu refused=%llu bus_errors=%llu interrupts=%llu\n", d->name,
				(unsigned long long)d->ram->bytes, (unsigned long long)d->ram->refused,
				(unsigned long long)(d->ram->bus_errors + d->bus_errors),
				(unsigned long long)d->interrupts);
		if (d->kind == DEV_ENCODER) {
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
