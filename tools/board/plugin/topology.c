// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The components of the board and their connections, from a list that
 * tools/board/devicetree also converts to the device tree. A line is one of:
 *
 *	encoder NAME ADDRESS hart=N to=NAME[,NAME]
 *	funnel NAME ADDRESS to=NAME
 *	ramsink NAME ADDRESS [mode=smem|sram|both] [sram=BYTES] [align=BYTES] [burst=BYTES] [irq=N]
 *	atbbridge NAME ADDRESS hart=N to=NAME
 *	csfunnel NAME ADDRESS to=NAME
 *	etf NAME ADDRESS to=NAME
 *	etr NAME ADDRESS
 *	power NAME ADDRESS
 *	sifive-encoder NAME ADDRESS hart=N to=NAME [clock=HZ]
 *	sifive-funnel NAME ADDRESS
 *
 * domain=N, from 1, assigns a component to a domain of the power controller.
 * Inputs of a funnel are numbered in the order of the lines that connect to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

/* Constants of the virt machine with aia=aplic */
#define TIMEBASE	10000000	/* ticks of the time CSR per second */
#define APLIC_S		0x0d000000ULL
#define APLIC_SETIPNUM	0x1cdc
#define APLIC_SOURCES	96
#define ICOUNT_BACK	10000		/* in ticks; longer than a block of instructions */

/* Maximum number of outputs of a component */
static const uint8_t outputs[DEV_KINDS] = {
	[DEV_ENCODER] = BOARD_MAX_OUTS, [DEV_FUNNEL] = 1, [DEV_ATBBRIDGE] = 1, [DEV_CSFUNNEL] = 1, [DEV_ETF] = 1,
	[DEV_SF_ENCODER] = 1,
};

struct board_dev *topology_find(uint64_t addr)
{
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (addr - board.devs[i].addr < BOARD_DEV_SIZE)
			return &board.devs[i];
	return NULL;
}

static bool is_encoder(const struct board_dev *d)
{
	return d->kind == DEV_ENCODER || d->kind == DEV_SF_ENCODER;
}

/*
 * Let all encoders send the messages that they hold, because a component may accept messages now.
 * All harts are stopped.
 */
void topology_drain(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (is_encoder(d))
			nb_te_drain(d->te);
}

/* Find the components at the outputs of @dev; NULL if the list does not contain one. */
static void find_outs(struct board_dev *dev)
{
	for (unsigned int i = 0; i < dev->n_outs; i++)
		for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
			if (!dev->out[i].dev && !strcmp(d->name, dev->out[i].to))
				dev->out[i].dev = d;
}

static bool locked_out(void *opaque, const uint8_t *bytes, size_t len)
{
	struct board_out *out = opaque;
	bool ok;

	pthread_mutex_lock(out->lock);
	ok = out->next(out->opaque, bytes, len);
	pthread_mutex_unlock(out->lock);
	return ok;
}

static bool send_to(struct board_out *out, const uint8_t *bytes, size_t len)
{
	return out->lock ? locked_out(out, bytes, len) : out->next(out->opaque, bytes, len);
}

/*
 * Send a message of an encoder with two outputs to both. An output that is not enabled accepts
 * nothing, and does not block the message. The encoder offers the message again until all enabled
 * outputs have accepted it.
 */
static bool forked_out(void *opaque, const uint8_t *bytes, size_t len)
{
	struct board_dev *dev = opaque;
	bool all = true, some = false;

	if (dev->forked_len != len || memcmp(dev->forked, bytes, len)) {
		dev->forked_len = len;
		dev->forked_taken = 0;
		memcpy(dev->forked, bytes, len);
	}
	for (unsigned int i = 0; i < dev->n_outs; i++) {
		if (!(dev->out[i].dev->dev->shadow[TR_CONTROL / 4] & TR_ENABLE))
			continue;
		if (!(dev->forked_taken >> i & 1) && send_to(&dev->out[i], bytes, len))
			dev->forked_taken |= 1U << i;
		if (dev->forked_taken >> i & 1)
			some = true;
		else
			all = false;
	}
	if (!some || !all)
		return false;
	dev->forked_len = 0;
	return true;
}

/*
 * Return the time CSR without its small backward steps. With -icount, QEMU counts the instructions
 * of a block when the block starts, and subtracts the instructions that a trap skips, so that the
 * time of a hart can step back a little. A timestamp cannot. A reset sets the time to 0.
 */
static uint64_t time_csr(void *opaque)
{
	static _Atomic uint64_t last;
	uint64_t now;

	/*
	 * Before the first instruction and after the last one, there is not a hart to read the time
	 * from
	 */
	if (!board.regs[REG_TIME] || board.exiting)
		return last;
	now = board_time();
	if (!board.icount || now > last || last - now > ICOUNT_BACK)
		last = now;
	return last;
}

static uint64_t bus_clock(void *opaque)
{
	return time_csr(opaque) * board.bus_ratio;
}

static void te_gate(void *opaque, struct nb_te *te, bool on)
{
	stream_gate(opaque, on);
}

static void te_stall(void *opaque, struct nb_te *te)
{
	struct hart *h = opaque;

	h->score->gate |= GATE_STALL;
	h->quick = false;
}

static void dev_report(void *opaque, struct nb_dev *dev, enum nb_report what, unsigned int offset,
		       uint32_t value)
{
	if (board.reports[what]++ < 16)
		board_warn("%s: offset %#x, value %#x: %s", dev->name, offset, value, nb_report_text(what));
}

static void dev_common(struct board_dev *dev)
{
	dev->dev->name = dev->name;
	dev->dev->report = dev_report;
	dev->dev->faults = board.faults;
	dev->dev->active_delay = board.active_delay;
	dev->dev->enable_delay = board.enable_delay;
	dev->dev->ts_active_delay = board.ts_active_delay;
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
 * Request the interrupt, which is raised later because the caller may hold locks. With -icount,
 * QEMU accepts no interrupt in the middle of a block, so it waits for the next trap.
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

/* Raise interrupts at the supervisor's APLIC by writing their number to setipnum */
void topology_raise(void)
{
	atomic_fetch_and(&board.claimed, ~CLAIM_IRQ);
	board.irq_due = false;
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		uint32_t irq = d->irq;

		if (d->irq && atomic_exchange(&d->irq_due, false) &&
		    !board_mem_write(APLIC_S + APLIC_SETIPNUM, &irq, sizeof(irq)))
			board_warn("%s: no APLIC is connected to its interrupt", d->name);
	}
}

static void make_ramsink(struct board_dev *dev)
{
	struct nb_ram_caps caps = board.ram_caps;

	if (dev->mode) {
		caps.sram = dev->mode != MODE_SMEM;
		caps.smem = dev->mode != MODE_SRAM;
	}
	if (dev->sram)
		caps.sram_size = dev->sram;
	if (dev->align)
		caps.align = dev->align;
	if (dev->burst)
		caps.burst = dev->burst;
	dev->stage = malloc(BOARD_STAGE_SIZE);
	if (!dev->stage || nb_ram_init(dev->ram, &caps))
		board_fatal("%s: cannot be made", dev->name);
	dev->ram->mem_write = memory_sink_write;
	dev->ram->mem_read = memory_sink_read;
	dev->ram->mem_opaque = dev;
	if (dev->irq)
		dev->ram->irq = sink_irq;
	dev->dev = &dev->ram->dev;
	if (board.boot_trace)
		open_boot_trace(dev);
}

/*
 * Return the number of inputs of @to from components before @dev in the list; from all components
 * if @dev is NULL
 */
static unsigned int nr_inputs(const struct board_dev *to, const struct board_dev *dev)
{
	unsigned int n = 0;

	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs && d != dev; d++)
		for (unsigned int i = 0; i < d->n_outs; i++)
			n += d->out[i].dev == to;
	return n;
}

/*
 * takes[from][to] is set if component @to accepts the data that component @from sends. The data are
 * messages, ATB transfers, or messages of SiFive encoders, whose sink is the funnel. A funnel
 * forwards messages or, like that of a K3, ATB transfers.
 */
static const bool takes[DEV_KINDS][DEV_KINDS] = {
	[DEV_ENCODER] = { [DEV_FUNNEL] = true, [DEV_RAMSINK] = true, [DEV_ATBBRIDGE] = true },
	[DEV_FUNNEL] = {
		[DEV_FUNNEL] = true, [DEV_RAMSINK] = true, [DEV_ATBBRIDGE] = true,
		[DEV_CSFUNNEL] = true, [DEV_ETF] = true, [DEV_ETR] = true,
	},
	[DEV_ATBBRIDGE] = { [DEV_FUNNEL] = true, [DEV_CSFUNNEL] = true, [DEV_ETF] = true, [DEV_ETR] = true },
	[DEV_CSFUNNEL] = { [DEV_CSFUNNEL] = true, [DEV_ETF] = true, [DEV_ETR] = true },
	[DEV_ETF] = { [DEV_CSFUNNEL] = true, [DEV_ETF] = true, [DEV_ETR] = true },
	[DEV_SF_ENCODER] = { [DEV_SF_FUNNEL] = true },
};

/* Find the input function for output @at of @dev. All components are already allocated. */
static void connect_out(struct board_dev *dev, unsigned int at, nb_out_fn *out, void **opaque)
{
	struct board_dev *to = at < dev->n_outs ? dev->out[at].dev : NULL;
	unsigned int input;

	if (!to || is_encoder(to) || to->kind == DEV_POWER || to == dev)
		board_fatal("topology: %s leads to '%s', which is not a funnel or sink", dev->name,
			    dev->out[at].to);
	if (!takes[dev->kind][to->kind])
		board_fatal("topology: %s leads to '%s', which does not accept its messages", dev->name, to->name);
	input = nr_inputs(to, dev);
	if (input >= (to->kind == DEV_CSFUNNEL ? CS_FUNNEL_INPUTS : NB_MAX_INPUTS))
		board_fatal("topology: %s has more than %u inputs", to->name, input);
	*opaque = to;
	switch (to->kind) {
	case DEV_RAMSINK:
		*out = to->boot_trace ? memory_boot_trace_out : nb_ram_input;
		*opaque = to->boot_trace ? (void *)to : to->ram;
		break;
	case DEV_ETR:
		*out = to->boot_trace ? memory_boot_trace_atb : nb_tmc_input;
		*opaque = to->boot_trace ? (void *)to : to->tmc;
		break;
	case DEV_ETF:
		*out = nb_tmc_input;
		*opaque = to->tmc;
		break;
	case DEV_CSFUNNEL:
		*out = nb_cs_funnel_input;
		*opaque = &to->csfunnel->port[input];
		break;
	case DEV_ATBBRIDGE:
		*out = nb_atb_input;
		*opaque = to->atb;
		break;
	case DEV_SF_FUNNEL:
		*out = to->boot_trace ? memory_boot_trace_out : nb_sf_funnel_input;
		*opaque = to->boot_trace ? (void *)to : &to->sf_funnel->port[input];
		if (dev->kind == DEV_SF_ENCODER)
			to->sf_funnel->port[input].te = dev->te;
		break;
	default:
		*out = nb_funnel_input;
		*opaque = &to->funnel->port[input];
	}
}

/*
 * Create the lock of a component that several harts share. The last such component on their path
 * has the lock.
 */
static void make_lock(struct board_dev *dev)
{
	dev->lock = malloc(sizeof(*dev->lock));
	if (!dev->lock)
		board_fatal("no memory");
	pthread_mutex_init(dev->lock, NULL);
}

/* Drain the ETF in front of an ETR. */
static void etr_flush(void *opaque)
{
	struct board_dev *dev = opaque;

	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind == DEV_ETF && d->out[0].dev == dev)
			nb_tmc_drain(d->tmc);
}

/* Create an ETR, which writes frames of 16 bytes to memory or to a file. */
static void make_etr(struct board_dev *dev)
{
	const struct nb_tmc_caps caps = { .highest = (1ULL << 40) - 1, .id_every = 8, .lock = true };

	dev->stage = malloc(BOARD_STAGE_SIZE);
	if (!dev->stage || nb_tmc_init(dev->tmc, &caps))
		board_fatal("%s: cannot be made", dev->name);
	dev->tmc->mem_write = memory_sink_write;
	dev->tmc->opaque = dev;
	dev->tmc->flush = etr_flush;
	dev->dev = &dev->tmc->cs.dev;
	if (!board.boot_trace)
		return;
	open_boot_trace(dev);
	dev->formatter = malloc(sizeof(*dev->formatter));
	if (!dev->formatter)
		board_fatal("no memory");
	nb_formatter_init(dev->formatter, caps.id_every, memory_boot_trace_frame, dev);
}

static void make_etf(struct board_dev *dev)
{
	const struct nb_tmc_caps caps = { .etf = true, .fifo = 4096, .lock = true };

	if (nb_tmc_init(dev->tmc, &caps))
		board_fatal("%s: cannot be made", dev->name);
	connect_out(dev, 0, &dev->tmc->out, &dev->tmc->out_opaque);
	dev->dev = &dev->tmc->cs.dev;
}

/* A SiFive funnel is also a sink. */
static void make_sf_funnel(struct board_dev *dev)
{
	dev->stage = malloc(BOARD_STAGE_SIZE);
	if (!dev->stage)
		board_fatal("no memory");
	nb_sf_funnel_init(dev->sf_funnel);
	dev->sf_funnel->mem_write = memory_sink_write;
	dev->sf_funnel->mem_opaque = dev;
	dev->sf_funnel->ts.clock = bus_clock;
	dev->dev = &dev->sf_funnel->dev;
	make_lock(dev);
	if (board.boot_trace)
		open_boot_trace(dev);
}

static void make_csfunnel(struct board_dev *dev)
{
	nb_out_fn out;
	void *opaque;

	connect_out(dev, 0, &out, &opaque);
	nb_cs_funnel_init(dev->csfunnel, nr_inputs(dev, NULL), true, out, opaque);
	dev->dev = &dev->csfunnel->cs.dev;
	make_lock(dev);
}

static void make_atb(struct board_dev *dev)
{
	const struct nb_atb_caps caps = { .ver_major = 1 };
	nb_out_fn out;
	void *opaque;

	connect_out(dev, 0, &out, &opaque);
	nb_atb_init(dev->atb, &caps, out, opaque);
	dev->dev = &dev->atb->dev;
}

static void make_funnel(struct board_dev *dev)
{
	struct nb_funnel_caps caps = board.funnel_caps;
	nb_out_fn out;
	void *opaque;

	caps.inputs = nr_inputs(dev, NULL);
	if (!caps.inputs || caps.inputs > NB_MAX_INPUTS)
		board_fatal("topology: %s has %u inputs", dev->name, caps.inputs);
	connect_out(dev, 0, &out, &opaque);
	nb_funnel_init(dev->funnel, &caps, out, opaque);
	dev->funnel->ts.clock = time_csr;
	dev->dev = &dev->funnel->dev;
	make_lock(dev);
}

/* Return the last component of @kind on the path that starts at @to, or NULL */
static struct board_dev *last_on_way(struct board_dev *to, enum dev_kind kind)
{
	struct board_dev *last = NULL;

	for (; to; to = to->n_outs ? to->out[0].dev : NULL)
		if (to->kind == kind)
			last = to;
	return last;
}

/*
 * Connect an output of an encoder. Return the funnel whose timestamp the encoder may share, or
 * NULL.
 */
static struct board_dev *connect_encoder(struct board_dev *dev, struct board_out *out)
{
	struct board_dev *funnel = last_on_way(out->dev, DEV_FUNNEL);
	struct board_dev *shared = last_on_way(out->dev, DEV_CSFUNNEL);

	connect_out(dev, out - dev->out, &out->next, &out->opaque);
	if (!shared)
		shared = funnel;
	out->lock = shared ? shared->lock : NULL;
	/* Only components with tr??Control show whether they accept messages */
	if (dev->n_outs > 1 && out->dev->kind != DEV_FUNNEL && out->dev->kind != DEV_RAMSINK)
		board_fatal("topology: one of two outputs of %s leads to '%s'", dev->name, out->to);
	return funnel;
}

static struct hart *hart_of(const struct board_dev *dev)
{
	if (dev->hart >= board.n_harts || board.harts[dev->hart].te)
		board_fatal("topology: %s: hart=%u does not exist, or already has an encoder", dev->name, dev->hart);
	return &board.harts[dev->hart];
}

static void finish_encoder(struct board_dev *dev, struct hart *h)
{
	dev->te->ts.core_cycles = &dev->te->enc.cycles;
	dev->te->gate = te_gate;
	dev->te->stall = te_stall;
	dev->te->gate_opaque = h;
	dev->dev = &dev->te->dev;
	h->te = dev->te;
}

static void make_encoder(struct board_dev *dev)
{
	struct hart *h = hart_of(dev);
	struct board_out *out = &dev->out[0];
	struct board_dev *funnel, *other = NULL;

	funnel = connect_encoder(dev, out);
	if (dev->n_outs > 1) {
		other = connect_encoder(dev, &dev->out[1]);
		nb_te_init(dev->te, &board.te_caps, forked_out, dev);
	} else if (out->lock) {
		nb_te_init(dev->te, &board.te_caps, locked_out, out);
	} else {
		nb_te_init(dev->te, &board.te_caps, out->next, out->opaque);
	}
	if (!funnel)
		funnel = other;
	dev->te->ts.clock = time_csr;
	dev->te->ts.shared = funnel ? &funnel->funnel->ts : NULL;
	finish_encoder(dev, h);
}

/* Create an encoder with two bits of SRC, like in an EIC7700X */
static void make_sf_encoder(struct board_dev *dev)
{
	const struct nb_sf_te_caps caps = { .hart = dev->hart, .src_bits = 2, .src_id = dev->hart };
	struct board_out *out = &dev->out[0];
	struct board_dev *funnel = last_on_way(out->dev, DEV_SF_FUNNEL);
	struct hart *h = hart_of(dev);

	if (dev->hart >= 4 || !funnel)
		board_fatal("topology: %s: a sifive-funnel must be its sink, and SRC can distinguish only 4 harts", dev->name);
	connect_out(dev, 0, &out->next, &out->opaque);
	out->lock = funnel->lock;
	nb_sf_te_init(dev->te, &board.te_caps, &caps, locked_out, out);
	dev->te->ts.shared = &funnel->sf_funnel->ts;
	finish_encoder(dev, h);
}

/* Parse to=NAME or to=NAME,NAME */
static void parse_outs(struct board_dev *dev, char *names)
{
	char *save, *name = strtok_r(names, ",", &save);

	for (; name; name = strtok_r(NULL, ",", &save)) {
		if (dev->n_outs == outputs[dev->kind])
			board_fatal("topology: %s has too many outputs", dev->name);
		snprintf(dev->out[dev->n_outs++].to, sizeof(dev->out[0].to), "%s", name);
	}
}

#define KIND(kind)	(1U << DEV_##kind)
#define ANY_KIND	(~KIND(POWER))

/* Numbers that a line may specify, with the kinds of components that have them */
static const struct key {
	const char	*name;
	size_t		offset;		/* offset of an unsigned int in struct board_dev */
	uint32_t	kinds, least, most;
} keys[] = {
#define KEY(field)	#field, offsetof(struct board_dev, field)
	{ KEY(hart), KIND(ENCODER) | KIND(SF_ENCODER) | KIND(ATBBRIDGE), 0, BOARD_MAX_HARTS - 1 },
	{ KEY(irq), KIND(RAMSINK), 1, APLIC_SOURCES - 1 },
	{ KEY(domain), ANY_KIND, 1, BOARD_DEV_SIZE / 4 - 1 },
	{ KEY(clock), KIND(SF_ENCODER), TIMEBASE, UINT32_MAX },
	{ KEY(sram), KIND(RAMSINK), 64, 1U << 28 },
	{ KEY(align), KIND(RAMSINK), 4, 4096 },
	{ KEY(burst), KIND(RAMSINK), 1, 1U << 20 },
};

/* Return false if @text is not a number from @least to @most. */
static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text && *text != '-' && !*end && !errno && *value >= least && *value <= most;
}

static void parse_mode(struct board_dev *dev, const char *name)
{
	static const char *const names[] = { [MODE_SMEM] = "smem", [MODE_SRAM] = "sram", [MODE_BOTH] = "both" };

	for (dev->mode = MODE_SMEM; dev->mode <= MODE_BOTH; dev->mode++)
		if (!strcmp(name, names[dev->mode]))
			return;
	board_fatal("topology: %s: mode=%s is not smem, sram or both", dev->name, name);
}

/* Parse KEY=VALUE */
static void parse_word(struct board_dev *dev, char *word)
{
	size_t len = strcspn(word, "=");
	uint64_t value;

	for (const struct key *k = keys; k < keys + sizeof(keys) / sizeof(keys[0]) && word[len]; k++) {
		if (!(k->kinds >> dev->kind & 1) || strlen(k->name) != len || memcmp(word, k->name, len))
			continue;
		if (!parse_number(word + len + 1, k->least, k->most, &value))
			board_fatal("topology: %s: %s is not a number from %u to %u", dev->name, word, k->least, k->most);
		*(unsigned int *)((char *)dev + k->offset) = value;
		return;
	}
	if (!strncmp(word, "to=", 3))
		parse_outs(dev, word + 3);
	else if (!strncmp(word, "mode=", 5) && dev->kind == DEV_RAMSINK)
		parse_mode(dev, word + 5);
	else
		board_fatal("topology: %s: '%s' is not understood", dev->name, word);
}

static enum dev_kind parse_kind(const char *word, const char *name)
{
	static const char *const kinds[DEV_KINDS] = {
		"encoder", "funnel", "ramsink", "atbbridge", "csfunnel", "etf", "etr", "power",
		"sifive-encoder", "sifive-funnel",
	};
	enum dev_kind kind;

	for (kind = 0; kind < DEV_KINDS; kind++)
		if (!strcmp(word, kinds[kind]))
			return kind;
	board_fatal("topology: '%s %s' is not understood", word, name);
}

/* Parse the name, which must be valid as a file name, and the address of the page of registers. */
static void parse_name(struct board_dev *dev, const char *name, const char *addr)
{
	uint64_t value;

	if (!*name || strlen(name) >= sizeof(dev->name) || strpbrk(name, "/,."))
		board_fatal("topology: no name: '%s'", name);
	strcpy(dev->name, name);
	if (!parse_number(addr, 0, UINT64_MAX, &value) || value % BOARD_DEV_SIZE)
		board_fatal("topology: %s: no address: '%s'", name, addr);
	dev->addr = value;
	for (const struct board_dev *d = board.devs; d < dev; d++) {
		if (!strcmp(d->name, name))
			board_fatal("topology: %s is defined twice", name);
		if (d->addr == value)
			board_fatal("topology: %s has the same address as %s", name, d->name);
	}
}

static void parse_line(char *line)
{
	struct board_dev *dev = &board.devs[board.n_devs];
	char *save, *word = strtok_r(line, " \t\n", &save);
	char *name = strtok_r(NULL, " \t\n", &save), *addr = strtok_r(NULL, " \t\n", &save);

	if (!word)
		return;
	if (board.n_devs == BOARD_MAX_DEVS)
		board_fatal("topology: there are more than %d components", BOARD_MAX_DEVS);
	dev->kind = parse_kind(word, name ? name : "");
	parse_name(dev, name ? name : "", addr ? addr : "");
	while ((word = strtok_r(NULL, " \t\n", &save)))
		parse_word(dev, word);
	if (dev->clock)
		board.bus_ratio = dev->clock / TIMEBASE;
	board.n_devs++;
}

static void parse_list(void)
{
	FILE *f = fopen(board.topology, "r");
	char line[256];

	if (!f)
		board_fatal("no topology: %s cannot be read", board.topology);
	while (fgets(line, sizeof(line), f)) {
		if (strlen(line) == sizeof(line) - 1 && !strchr(line, '\n'))
			board_fatal("topology: a line is longer than %zu bytes", sizeof(line) - 2);
		if (line[0] != '#')
			parse_line(line);
	}
	fclose(f);
}

/* Reject cycles. A path that is longer than the list contains a cycle. */
static void refuse_circles(const struct board_dev *dev)
{
	for (unsigned int i = 0; i < dev->n_outs; i++) {
		const struct board_dev *to = dev->out[i].dev;

		for (unsigned int n = 0; to && n <= board.n_devs; n++) {
			if (to == dev && n)
				board_fatal("topology: %s leads to itself", dev->name);
			to = to->n_outs ? to->out[0].dev : NULL;
		}
	}
}

static const size_t sizes[DEV_KINDS] = {
	[DEV_ENCODER] = sizeof(struct nb_te), [DEV_FUNNEL] = sizeof(struct nb_funnel),
	[DEV_RAMSINK] = sizeof(struct nb_ram), [DEV_ATBBRIDGE] = sizeof(struct nb_atb),
	[DEV_CSFUNNEL] = sizeof(struct nb_cs_funnel), [DEV_ETF] = sizeof(struct nb_tmc),
	[DEV_ETR] = sizeof(struct nb_tmc), [DEV_POWER] = sizeof(struct nb_dev),
	[DEV_SF_ENCODER] = sizeof(struct nb_te), [DEV_SF_FUNNEL] = sizeof(struct nb_sf_funnel),
};

/* Functions that create components, and their order, which is from sinks to encoders */
static const struct {
	void		(*make)(struct board_dev *dev);
	unsigned int	order;
} makers[DEV_KINDS] = {
	[DEV_RAMSINK] = { make_ramsink, 0 }, [DEV_ETR] = { make_etr, 0 }, [DEV_SF_FUNNEL] = { make_sf_funnel, 0 },
	[DEV_FUNNEL] = { make_funnel, 1 }, [DEV_ATBBRIDGE] = { make_atb, 1 }, [DEV_CSFUNNEL] = { make_csfunnel, 1 },
	[DEV_ETF] = { make_etf, 1 }, [DEV_POWER] = { power_make, 1 },
	[DEV_ENCODER] = { make_encoder, 2 }, [DEV_SF_ENCODER] = { make_sf_encoder, 2 },
};

/*
 * Allocate all components before they are created, because they point to each other in any order.
 */
static void allocate(struct board_dev *dev)
{
	dev->te = calloc(1, sizes[dev->kind]);
	if (!dev->te)
		board_fatal("no memory");
}

void topology_build(void)
{
	parse_list();
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		find_outs(d);
		allocate(d);
	}
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		refuse_circles(d);
	/*
	 * Create sinks first because other components need to know whether a sink is a file, and
	 * encoders last because they need the locks
	 */
	for (unsigned int order = 0; order < 3; order++)
		for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
			if (makers[d->kind].order == order)
				makers[d->kind].make(d);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		dev_common(d);
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

	/* Sources that share a sink get consecutive numbers */
	if (d->out[0].lock)
		features += d->hart << 16;
	/* The hart does not exist yet; vcpu_init() starts its stream */
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

/*
 * Start tracing, by default in HTM with a synchronising message every 2^16 messages, and with a
 * timestamp in each message if enabled. Modes and privileges cannot be chosen.
 */
static void boot_start_sf_encoder(struct board_dev *d)
{
	uint32_t control = TR_ACTIVE | board.boot_sifive;

	d->te->gate = NULL;
	boot_activate(d->dev);
	nb_dev_write(d->dev, TR_TS_CONTROL, board.boot_timestamp ?
		     TR_TS_ACTIVE | TR_TS_ENABLE | SF_TS_BRANCH : 0);
	nb_dev_write(d->dev, TR_CONTROL, control);
	nb_dev_write(d->dev, TR_CONTROL, control | TR_ENABLE);
	nb_dev_write(d->dev, TR_CONTROL, control | TR_ENABLE | SF_TE_TRACING);
	d->te->gate = te_gate;
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

/* Start a debugger's trace, which wraps around in SRAM */
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
 * Start trace from reset, in the way that "Enabling and Disabling" describes for a driver. The
 * sinks are files, or SRAM.
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

/* Return true if harts with power can send to @dev */
bool topology_is_used(const struct board_dev *dev)
{
	if (is_encoder(dev))
		return !board.harts[dev->hart].off;
	for (const struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		for (unsigned int i = 0; i < d->n_outs; i++)
			if (d->out[i].dev == dev && topology_is_used(d))
				return true;
	return false;
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
	/* With a limit, the board ends the run */
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
		if (is_encoder(d))
			stop_boot_trace(d);
	/* A funnel may lead to another funnel that precedes it in the list */
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
		if (is_encoder(d)) {
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
