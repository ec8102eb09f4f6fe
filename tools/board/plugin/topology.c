// SPDX-License-Identifier: GPL-2.0-or-later
/* Create the components of the board, and connect them (topology-list.c reads their list). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

/* Constants of the virt machine with aia=aplic */
#define APLIC_S		0x0d000000ULL
#define APLIC_SETIPNUM	0x1cdc
#define ICOUNT_BACK	10000		/* maximum step back of the time CSR without a reset, ticks; a TB takes less */

struct board_dev *topology_find(uint64_t addr)
{
	for (unsigned int i = 0; i < board.n_devs; i++)
		if (addr - board.devs[i].addr < BOARD_DEV_SIZE)
			return &board.devs[i];
	return NULL;
}

/*
 * Let all encoders offer their refused messages again, because a component may accept messages now.
 * The caller has stopped all harts.
 */
void topology_drain(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (board_is_encoder(d))
			nb_te_drain(d->te);
}

/* Set dev->out[].dev to the components at the outputs of @dev. It stays NULL if the list lacks the component. */
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
 * Send a message of an encoder with two outputs to both outputs. An output that is not enabled is
 * ignored if the other output is enabled. Return true if all enabled outputs have accepted the
 * message. If the function returns false, the encoder offers the message a second time later.
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
 * Return the time CSR. With -icount, QEMU counts the instructions of a block when the block starts,
 * and subtracts the instructions that a trap skips, so that the time of a hart can step back a little.
 * A timestamp must not step back, so the function returns the last time instead. A large step back is
 * a reset, which sets the time to 0.
 */
static uint64_t time_csr(void *opaque)
{
	static _Atomic uint64_t last;
	uint64_t now;

	/* Before the first instruction and after the last one, QEMU has no hart whose time can be read */
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
 * Request the interrupt of a sink. topology_raise() raises it later, because the caller may hold
 * locks. With -icount, the interrupt is raised at the next trap, because QEMU accepts no interrupt in
 * the middle of a block.
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

/* Raise the requested interrupts by writing their numbers to setipnum of the supervisor's APLIC. */
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
		board_fatal("out of memory for %s", dev->name);
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
 * Return the number of inputs of @to that are connected to components before @dev in the list of all
 * components. If @dev is NULL, return the number of inputs that are connected to any component.
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
 * takes[from][to] is true if a component of kind @to accepts the data that a component of kind @from
 * sends. The data are messages, ATB transfers, or messages of SiFive encoders. A funnel forwards
 * messages or, in a K3, ATB transfers. A SiFive funnel is a sink.
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

/*
 * Set @out to the function that accepts the data of output @at of @dev, and @opaque to its argument. All
 * components are already allocated.
 */
static void connect_out(struct board_dev *dev, unsigned int at, nb_out_fn *out, void **opaque)
{
	struct board_dev *to = at < dev->n_outs ? dev->out[at].dev : NULL;
	unsigned int input;

	if (!to || board_is_encoder(to) || to->kind == DEV_POWER || to == dev)
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
 * Create the lock of a component to which several harts send. Encoders take the lock of the last such
 * component on their path.
 */
static void make_lock(struct board_dev *dev)
{
	dev->lock = malloc(sizeof(*dev->lock));
	if (!dev->lock)
		board_fatal("no memory");
	pthread_mutex_init(dev->lock, NULL);
}

/* Make the ETF that leads to an ETR send its trace, because the ETR requests a flush. */
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
		board_fatal("out of memory for %s", dev->name);
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
		board_fatal("out of memory for %s", dev->name);
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
		board_fatal("topology: funnel %s has %u inputs, but needs 1 to %u", dev->name, caps.inputs, NB_MAX_INPUTS);
	connect_out(dev, 0, &out, &opaque);
	nb_funnel_init(dev->funnel, &caps, out, opaque);
	dev->funnel->ts.clock = time_csr;
	dev->dev = &dev->funnel->dev;
	make_lock(dev);
}

/* Return the last component of @kind on the path that starts at @to, or NULL if the path has none. */
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
	/* forked_out() reads tr??Control of each output to find whether the output is enabled */
	if (dev->n_outs > 1 && out->dev->kind != DEV_FUNNEL && out->dev->kind != DEV_RAMSINK)
		board_fatal("topology: %s has two outputs, so neither may lead to '%s'", dev->name, out->to);
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

/* Create an encoder of version 0. SRC has two bits, like in an EIC7700X. */
static void make_sf_encoder(struct board_dev *dev)
{
	const struct nb_sf_te_caps caps = { .hart = dev->hart, .src_bits = 2, .src_id = dev->hart };
	struct board_out *out = &dev->out[0];
	struct board_dev *funnel = last_on_way(out->dev, DEV_SF_FUNNEL);
	struct hart *h = hart_of(dev);

	if (dev->hart >= 4 || !funnel)
		board_fatal("topology: %s: this encoder needs a sifive-funnel as its sink, and its SRC can distinguish only 4 harts", dev->name);
	connect_out(dev, 0, &out->next, &out->opaque);
	out->lock = funnel->lock;
	nb_sf_te_init(dev->te, &board.te_caps, &caps, locked_out, out);
	dev->te->ts.shared = &funnel->sf_funnel->ts;
	finish_encoder(dev, h);
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

/* Functions that create components. Components with a lower order are created first. */
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
	topology_read_list();
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		find_outs(d);
		allocate(d);
	}
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		refuse_circles(d);
	/*
	 * Create sinks first, because other components need to know whether a sink writes to a file. Create
	 * encoders last, because they need the locks of funnels.
	 */
	for (unsigned int order = 0; order < 3; order++)
		for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
			if (makers[d->kind].order == order)
				makers[d->kind].make(d);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		dev_common(d);
}

/* Return true if the path of a hart that has power contains @dev. */
bool topology_is_used(const struct board_dev *dev)
{
	if (board_is_encoder(dev))
		return !board.harts[dev->hart].off;
	for (const struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		for (unsigned int i = 0; i < d->n_outs; i++)
			if (d->out[i].dev == dev && topology_is_used(d))
				return true;
	return false;
}
