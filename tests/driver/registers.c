// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the driver's register logic against a model of the hardware. The model reports each access
 * that the Trace Control Interface does not allow.
 *
 * The tests run on a host with cmocka, and in a kernel as KUnit tests (see kunit/).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel.h"
#include "fabric/coresight.h"
#include "fabric/fabric.h"
#include "route.h"
#include "fake.h"

char shim_log[16384];
#ifdef __KERNEL__
unsigned long shim_timebase = 10000000;
#else
unsigned long riscv_timebase = 10000000;
#endif

static unsigned int locked, said_locked;

void shim_printk(const char *fmt, ...)
{
	size_t len = strlen(shim_log);
	va_list args;

	/* A console may need a lock that the caller of the driver holds */
	said_locked += locked;
	va_start(args, fmt);
	vsnprintf(shim_log + len, sizeof(shim_log) - len, fmt, args);
	va_end(args);
}

#ifndef __KERNEL__
static struct irq_work *shim_works;

void irq_work_queue(struct irq_work *work)
{
	work->next = shim_works;
	shim_works = work;
}

void shim_irq_work_run(void)
{
	struct irq_work *work;

	while ((work = shim_works)) {
		shim_works = work->next;
		work->func(work);
	}
}
#endif

static struct device dev;
static struct ntrace_encoder enc, enc2;
static struct ntrace_funnel funnel;
static struct ntrace_sink sink;
static struct ntrace_comp bridge, bridge2;
static struct ntrace_csfunnel csfunnel;
static struct ntrace_comp etf;
static unsigned int funnel_fifo;
static const struct ntrace_filter all;

static int setup(void **state)
{
	fake_init();
	locked = 0;
	said_locked = 0;
	shim_log[0] = 0;
	memset(&enc, 0, sizeof(enc));
	memset(&enc2, 0, sizeof(enc2));
	memset(&funnel, 0, sizeof(funnel));
	memset(&sink, 0, sizeof(sink));
	memset(&bridge, 0, sizeof(bridge));
	memset(&bridge2, 0, sizeof(bridge2));
	memset(&csfunnel, 0, sizeof(csfunnel));
	memset(&etf, 0, sizeof(etf));
	funnel_fifo = 0;
	raw_spin_lock_init(&sink.lock);
	raw_spin_lock_init(&funnel.comp.lock);
	sink.scrap = FAKE_MEM_BASE + FAKE_MEM_SIZE - PAGE_SIZE;
	INIT_LIST_HEAD(&sink.held);
	INIT_LIST_HEAD(&enc.held);
	INIT_LIST_HEAD(&enc2.held);
	return 0;
}

/* Fail each test in which the model reported wrong programming or a write outside of its memory */
static int teardown(void **state)
{
	if (shim_log[0])
		printf("# %s", shim_log);
	return fake_reports || fake_outside || said_locked ? -1 : 0;
}

static void settle(void);

static int bring_up(struct ntrace_comp *comp, void *base)
{
	int ret;

	ntrace_comp_init(comp, &ntrace_riscv_comp_ops, &dev, base, 0xc000000);
	comp->powered = true;
	ret = ntrace_comp_recognise(comp);
	settle();
	if (ret)
		return ret;
	ret = ntrace_comp_reset(comp);
	settle();
	comp->state = ret ? NTRACE_COMP_NEW : NTRACE_COMP_READY;
	return ret;
}

/* Make the only route of @e, and use it */
static void take_route(struct ntrace_encoder *e)
{
	e->route = &e->routes[0];
	e->sink = e->routes[0].sink;
	e->nr_routes = 1;
}

static void connect(struct ntrace_encoder *e, struct ntrace_comp *via)
{
	struct ntrace_route *route = &e->routes[0];

	*route = (struct ntrace_route){ .path = { &e->comp }, .len = 1, .sink = &sink };
	if (via)
		route->path[route->len++] = via;
	route->path[route->len++] = &sink.comp;
	take_route(e);
}

/* Set up an encoder with a private sink */
static void direct(const struct fake_encoder_options *eo, const struct fake_ram_options *ro)
{
	void *ram = fake_ram(ro);

	assert_int_equal(bring_up(&sink.comp, ram), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), 0);
	assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, eo)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	connect(&enc, NULL);
}

/* Print the message that the driver has queued */
static void settle(void)
{
#ifdef __KERNEL__
	struct ntrace_comp *comps[] = { &enc.comp, &enc2.comp, &funnel.comp, &sink.comp };
	int i;

	for (i = 0; i < ARRAY_SIZE(comps); i++)
		if (comps[i]->dev)
			irq_work_sync(&comps[i]->say);
#else
	shim_irq_work_run();
#endif
}

/* The driver calls these functions with the sink locked, and with interrupts disabled */
#ifdef __KERNEL__
#define with_interrupts_off(flags)	local_irq_save(flags)
#define with_interrupts_as(flags)	local_irq_restore(flags)
#else
#define with_interrupts_off(flags)	((flags) = 0)
#define with_interrupts_as(flags)	((void)(flags))
#endif

#define LOCKED(call)				\
({						\
	unsigned long _flags;			\
	int _ret;				\
						\
	with_interrupts_off(_flags);		\
	raw_spin_lock(&sink.lock);		\
	locked = 1;				\
	_ret = (call);				\
	locked = 0;				\
	raw_spin_unlock(&sink.lock);		\
	with_interrupts_as(_flags);		\
	settle();				\
	_ret;					\
})

/* Let an encoder use the sink alone */
static int start(struct ntrace_encoder *e, struct ntrace_window *win, bool paused)
{
	int ret;

	INIT_LIST_HEAD(&sink.members);
	e->paused = paused;
	list_add(&e->member, &sink.members);
	ret = LOCKED(ntrace_sink_start(&sink, win));
	if (ret)
		list_del_init(&e->member);
	return ret;
}

static int stop(struct ntrace_encoder *e)
{
	int ret = LOCKED(ntrace_sink_stop(&sink));

	list_del_init(&e->member);
	return ret;
}

static struct ntrace_window window(unsigned int offset, unsigned int size)
{
	return (struct ntrace_window){
		.start = FAKE_MEM_BASE + offset, .wp = FAKE_MEM_BASE + offset,
		.end = FAKE_MEM_BASE + offset + size, .stop = true,
	};
}

/* Start the trace, execute @n branches, and stop */
static void traced(struct ntrace_window *win, unsigned int n)
{
	assert_int_equal(start(&enc, win, false), 0);
	fake_run(enc.comp.base, n);
	assert_int_equal(stop(&enc), 0);
}

static void full_encoder_has_it_all(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.modes, BIT(3) | BIT(6));
	assert_int_equal(enc.caps.sync_modes, 0xf);
	assert_int_equal(enc.caps.sync_max, 0xffff);
	assert_int_equal(enc.caps.config | NTRACE_CONFIG_MODE | NTRACE_CONFIG_SYNC_MODE |
			 NTRACE_CONFIG_SYNC_MAX | NTRACE_CONFIG_TS_MODE |
			 NTRACE_CONFIG_TS_PRESCALE | NTRACE_CONFIG_FIRMWARE |
			 NTRACE_CONFIG_SRAM, NTRACE_CONFIG_VALID);
	assert_int_equal(enc.caps.ir_mode, 3);
	assert_int_equal(enc.caps.src_bits, 12);
	assert_int_equal(enc.caps.ts_modes, 0x1e);
	assert_int_equal(enc.caps.ts_prescale, 0xf);
	assert_int_equal(enc.caps.ts_width, 63);
	assert_int_equal(enc.caps.filters, 0xffff);
	assert_int_equal(enc.caps.comparators, 0xff);
	assert_int_equal(enc.caps.priv & 0xb, 0xb);
	assert_true(enc.ts_is_time);
	assert_int_equal(enc.ts_freq, riscv_timebase);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_string_equal(shim_log, "");
}

static void minimal_encoder_has_nothing_more(void **state)
{
	direct(&(struct fake_encoder_options){ .minimal = true }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.modes, BIT(6));
	assert_int_equal(enc.caps.config, 0);
	assert_int_equal(enc.caps.sync_modes, BIT(1));
	assert_int_equal(enc.caps.sync_max, BIT(8));
	assert_int_equal(enc.caps.ts_modes, 0);
	assert_int_equal(enc.caps.filters, 0);
	assert_int_equal(enc.caps.priv, 0);
	assert_int_equal(enc.ts_freq, 0);
	assert_int_equal(enc.default_config, NTRACE_CONFIG_FIRMWARE |
			 6ULL << NTRACE_CONFIG_MODE_SHIFT | 1ULL << NTRACE_CONFIG_SYNC_MODE_SHIFT |
			 8ULL << NTRACE_CONFIG_SYNC_MAX_SHIFT);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
}

static void minimal_encoder_refuses_the_rest(void **state)
{
	struct ntrace_filter user = { .priv = NTRACE_PRIV_U };
	struct ntrace_filter range = { .nr_ranges = 1 };
	u64 config;
	unsigned int bit;

	direct(&(struct fake_encoder_options){ .minimal = true }, &(struct fake_ram_options){ });
	config = enc.default_config;
	for (bit = 0; bit < 24; bit++) {
		u64 mask = 1ULL << bit, free = NTRACE_CONFIG_FIRMWARE | NTRACE_CONFIG_TS_MODE |
			NTRACE_CONFIG_TS_PRESCALE;

		if (config & mask || mask & free)
			continue;
		assert_int_equal(ntrace_encoder_check(&enc, config | mask, &all), -EOPNOTSUPP);
	}
	assert_int_equal(ntrace_encoder_check(&enc, config & ~NTRACE_CONFIG_SYNC_MODE, &all),
			 -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, config, &user), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, config, &range), -EOPNOTSUPP);
}

static void best_mode_is_what_there_is(void **state)
{
	direct(&(struct fake_encoder_options){ .btm_only = true }, &(struct fake_ram_options){ });
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_MODE, ntrace_encoder_resolve(&enc, 0)), 3);
}

/*
 * The counter runs in the mode of the default configuration. An event that chooses no mode uses it.
 * A new default configuration chooses the best mode.
 */
static void event_without_ts_mode_has_that_of_the_default(void **state)
{
	u64 best, other;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	best = FIELD_GET(NTRACE_CONFIG_TS_MODE, enc.default_config);
	for (other = 1; other == best || !(enc.caps.ts_modes & BIT(other)); other++)
		;
	enc.default_config &= ~NTRACE_CONFIG_TS_MODE;
	enc.default_config |= other << NTRACE_CONFIG_TS_MODE_SHIFT;
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_TS_MODE,
				   ntrace_encoder_resolve(&enc, NTRACE_CONFIG_TIMESTAMP)), other);
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_TS_MODE, ntrace_encoder_resolve_default(
				   &enc, NTRACE_CONFIG_TIMESTAMP)), best);
}

/* "Prescale timestamp clock [...] Internal System or Core timestamp only" */
static void prescaler_is_of_internal_clocks(void **state)
{
	static const struct ntrace_filter all;
	u64 mode, config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (mode = 0; mode <= TR_TS_MODE_SHARED; mode++) {
		if (mode && !(enc.caps.ts_modes & BIT(mode)))
			continue;
		config = NTRACE_CONFIG_TIMESTAMP | mode << NTRACE_CONFIG_TS_MODE_SHIFT;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
		config |= 1ULL << NTRACE_CONFIG_TS_PRESCALE_SHIFT;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all),
				 mode == TR_TS_MODE_INTERNAL_SYSTEM ||
				 mode == TR_TS_MODE_INTERNAL_CORE ? 0 : -EOPNOTSUPP);
	}
}

/* After a loss of power, forget the base of an internal counter, which has restarted */
static void counter_that_began_anew(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_base_time = 1;
	ntrace_encoder_revive(&enc);
	assert_int_equal(enc.ts_base_time, 1);
	enc.default_config &= ~NTRACE_CONFIG_TS_MODE;
	enc.default_config |= (u64)TR_TS_MODE_INTERNAL_SYSTEM << NTRACE_CONFIG_TS_MODE_SHIFT;
	ntrace_encoder_revive(&enc);
	assert_int_equal(enc.ts_base_time, 0);
	assert_int_equal(enc.ts_freq, 0);
}

static void component_that_never_becomes_active(void **state)
{
	void *ram = fake_ram(&(struct fake_ram_options){ });

	fake_fault(ram, true, false);
	assert_int_equal(bring_up(&sink.comp, ram), -ETIMEDOUT);
	assert_true(sink.comp.stuck);
	assert_non_null(strstr(shim_log, "did not become"));
}

#ifndef __KERNEL__
static void slow_component_is_waited_for(void **state)
{
	direct(&(struct fake_encoder_options){ .active_delay = 50, .empty_delay = 50 },
	       &(struct fake_ram_options){ .active_delay = 50, .empty_delay = 50 });
	assert_string_equal(shim_log, "");
}
#endif

static void versions(void **state)
{
	static const struct {
		struct fake_encoder_options opt;
		int ret;
		const char *say;
	} tests[] = {
		{ { .old = true }, -ENODEV, "pre-ratified" },
		{ { .ver_major = 1, .ver_minor = 3 }, 0, "newer" },
		{ { .ver_major = 1, .ver_minor = 15 }, 0, "experimental" },
		{ { .ver_major = 2 }, -ENODEV, "not compatible" },
		{ { .ver_major = 15 }, -ENODEV, "not compatible" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		void *ram;

		setup(state);
		ram = fake_ram(&(struct fake_ram_options){ });
		assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, &tests[i].opt)),
				 tests[i].ret);
		assert_non_null(strstr(shim_log, tests[i].say));
	}
	setup(state);
}

static void other_protocol_is_refused(void **state)
{
	void *ram = fake_ram(&(struct fake_ram_options){ });
	struct fake_encoder_options opt = { .protocol_major = 2 };

	assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, &opt)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), -ENODEV);
	assert_non_null(strstr(shim_log, "protocol"));
}

static void other_components(void **state)
{
	assert_int_equal(bring_up(&sink.comp, fake_other(0xa01)), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "PIB"));
	assert_int_equal(bring_up(&sink.comp, fake_other(0x501)), -ENODEV);
	assert_non_null(strstr(shim_log, "unknown type 0x5"));
	assert_int_equal(bring_up(&sink.comp, fake_other(0)), -ENODEV);
}

static unsigned int writes;
static u32 last_write;

static void count_write(void *base, unsigned int offset, uint32_t value)
{
	writes++;
	last_write = offset;
}

/*
 * The driver writes nothing to this component, except that it sets Active to read tr??Impl, and
 * clears it
 */
static void nothing_is_written_to_what_is_not_supported(void **state)
{
	void *pib = fake_other(0xa01), *active = fake_other(0xa01);

	writel_relaxed(TR_CONTROL_ACTIVE | TR_CONTROL_ENABLE, active + TR_CONTROL);
	writes = 0;
	fake_on_write = count_write;
	assert_int_equal(bring_up(&sink.comp, pib), -EOPNOTSUPP);
	assert_int_equal(writes, 2);
	assert_int_equal(last_write, TR_CONTROL);
	assert_int_equal(fake_peek(pib, TR_CONTROL) & TR_CONTROL_ACTIVE, 0);
	writes = 0;
	assert_int_equal(bring_up(&sink.comp, active), -EOPNOTSUPP);
	assert_int_equal(writes, 0);
	fake_on_write = NULL;
}

/*
 * Do not access a component that runtime PM has suspended. Restore its registers when it resumes.
 */
static void suspended_component_is_left_alone(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	writel_relaxed(0, enc.comp.base + TR_CONTROL);
	enc.comp.powered = false;
	writes = 0;
	fake_on_write = count_write;
	ntrace_path_restore(&enc);
	assert_int_equal(writes, 0);
	fake_on_write = NULL;
	enc.comp.powered = true;
	ntrace_path_restore_comp(&enc.comp);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & TR_CONTROL_ACTIVE, 1);
}

static void alignment_is_found(void **state)
{
	static const unsigned int aligns[] = { 4, 8, 16, 64, 4096 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(aligns); i++) {
		struct fake_ram_options opt = { .align = aligns[i] };

		setup(state);
		assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
		assert_int_equal(ntrace_ramsink_setup(&sink), 0);
		assert_int_equal(sink.area->align, aligns[i]);
		assert_true(sink.area->start_align >= sink.area->align);
	}
}

static void range_is_found(void **state)
{
	struct fake_ram_options opt = { .lowest = 0x80000000, .highest = 0xfffffffc, .align = 4 };

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), 0);
	assert_int_equal(sink.area->min, 0x80000000);
	assert_int_equal(sink.area->max, 0xfffffffc);
}

/* The decoder does not know trace that the sink formats, such as with a custom trRamMemFormat */
static void other_memory_formats_are_refused(void **state)
{
	struct fake_ram_options opt = { .format = 3 };

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "trRamMemFormat is 3, and the driver supports only 0"));
}

/* trRamLimit has 32 low bits that are 0 */
static void granule_of_4_gib_is_refused(void **state)
{
	struct fake_ram_options opt = {
		.lowest = 0x100000000, .highest = 0x100000003, .align = 4, .fixed = true,
	};

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "too coarse"));
}

static void fixed_buffer_is_refused(void **state)
{
	struct fake_ram_options opt = {
		.lowest = 0x80000000, .highest = 0x8000fffc, .fixed = true,
	};

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "fixed"));
}

static u64 plain_config(void)
{
	return enc.default_config & ~(NTRACE_CONFIG_CONTEXT | NTRACE_CONFIG_EXTEND_ADDR);
}

/* Set up an encoder with a private sink, ready to start */
static void programmed(void)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
}

/* Copy trace from fixed memory that the device tree reserves, and do not write its address */
static void fixed_buffer_that_is_reserved(void **state)
{
	struct fake_ram_options opt = {
		.lowest = FAKE_MEM_BASE + 0x4000, .highest = FAKE_MEM_BASE + 0x7fff, .fixed = true,
	};
	struct ntrace_window win;
	static u8 buf[64];
	bool wrapped;
	u32 n;

	sink.mem = fake_mem;
	sink.mem_start = FAKE_MEM_BASE;
	sink.mem_end = FAKE_MEM_BASE + FAKE_MEM_SIZE;
	direct(&(struct fake_encoder_options){ }, &opt);
	assert_true(sink.area->copied);
	assert_int_equal(sink.area->min, opt.lowest);
	assert_int_equal(sink.area->max + sink.area->align, opt.highest + 1);
	win = (struct ntrace_window){
		.start = sink.area->min, .wp = sink.area->min, .end = opt.highest + 1, .stop = true,
	};
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 20);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_in_range(n, 20, 4096);
	ntrace_ramsink_read(&sink, 0, buf, sizeof(buf));
	assert_memory_equal(buf, fake_mem + 0x4000, sizeof(buf));
	assert_int_equal(buf[0] >> 2, 9);
	/* The sink's memory is not within the reserved memory */
	setup(state);
	sink.mem = fake_mem;
	sink.mem_start = FAKE_MEM_BASE + 0x5000;
	sink.mem_end = FAKE_MEM_BASE + FAKE_MEM_SIZE;
	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EINVAL);
}

/* The sink could write anywhere, but must stay in the memory that is reserved */
static void reserved_memory_is_kept_to(void **state)
{
	sink.mem = fake_mem;
	sink.mem_start = FAKE_MEM_BASE + 0x1000;
	sink.mem_end = FAKE_MEM_BASE + 0x9000;
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_true(sink.area->copied);
	assert_int_equal(sink.area->min, FAKE_MEM_BASE + 0x1000);
	assert_int_equal(sink.area->max + sink.area->align, FAKE_MEM_BASE + 0x9000);
}

/*
 * The sink accepts only powers of two, but the reserved memory has another size. The driver uses a
 * part of the memory, and a circular window fills this part.
 */
static void reserved_memory_of_a_size_that_is_not_taken(void **state)
{
	unsigned int sizes;

	for (sizes = 1; sizes <= 2; sizes++) {
		struct fake_ram_options opt = { .sizes = sizes };
		struct ntrace_window win;

		sink.mem = fake_mem;
		sink.mem_start = FAKE_MEM_BASE + 0x1000;
		sink.mem_end = FAKE_MEM_BASE + 0xd000;
		direct(&(struct fake_encoder_options){ }, &opt);
		assert_int_equal(sink.area->min, FAKE_MEM_BASE + 0x1000);
		assert_int_equal(sink.area->max + sink.area->align, FAKE_MEM_BASE + 0x9000);
		win = (struct ntrace_window){
			.start = sink.area->min, .wp = sink.area->min,
			.end = sink.area->max + sink.area->align, .circular = true,
		};
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
		assert_int_equal(start(&enc, &win, true), 0);
		assert_int_equal(stop(&enc), 0);
		setup(state);
	}
}

/* The event chooses the memory of a sink that supports both SRAM and SMEM */
static void sram_can_be_chosen(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .both = true, .sram_size = 4096 });
	assert_false(sink.area->copied);
	assert_int_equal(LOCKED(ntrace_ramsink_choose(&sink, true)), 0);
	assert_true(sink.area->copied);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_RAM_MODE, 0);
	assert_int_equal(sink.area->max, 4092);
	assert_int_equal(LOCKED(ntrace_ramsink_choose(&sink, false)), 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_RAM_MODE, TR_RAM_MODE);
}

static void trace_arrives_in_the_window(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	bool wrapped;
	u32 n;

	programmed();
	traced(&win, 100);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x1000);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1000] & 3, 0);
	assert_int_equal(fake_mem[0x1000 + n], 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	assert_string_equal(shim_log, "");
}

static void second_session_begins_anew(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;
	u32 n;

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 5000);
	stop(&enc);
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);

	win = window(0x2000, 0x1000);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 10);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 10, 0x1000);
	/* The data begins with a synchronising message, not with the rest of an old message */
	assert_int_equal(fake_mem[0x2000] >> 2, 9);
}

static void full_window_stops_the_sink(void **state)
{
	struct ntrace_window win = window(0x4000, 0x800);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_true(sink.stop_on_wrap);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 5000);
	stop(&enc);
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	assert_int_equal(fake_mem[0x3fff], 0);
	assert_int_equal(fake_mem[0x4800], 0);
	assert_int_equal(fake_mem[0x4000] >> 2, 9);
}

static void write_pointer_in_the_middle(void **state)
{
	struct ntrace_window win = window(0x4000, 0x800);
	bool wrapped;
	u32 n;

	win.wp += 0x100;
	programmed();
	traced(&win, 5);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(n > 0x100);
	assert_int_equal(fake_mem[0x40ff], 0);
	assert_int_not_equal(fake_mem[0x4100], 0);
}

static void window_it_does_not_take(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .align = 64 });
	win.wp += 4;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
}

static void sram_is_read_back(void **state)
{
	struct fake_ram_options opt = { .sram = true, .sram_size = 4096 };
	struct ntrace_window win;
	static u8 buf[4096], rest[4096];
	bool wrapped;
	u32 n;

	direct(&(struct fake_encoder_options){ }, &opt);
	assert_false((sink.area == &sink.areas[TR_RAM_MODE_SMEM]));
	assert_int_equal(sink.area->max - sink.area->min + 4, 4096);
	win = (struct ntrace_window){
		.start = sink.area->min, .wp = sink.area->min, .end = sink.area->max + 4, .circular = true,
	};
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 20);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_in_range(n, 20, 4096);
	ntrace_ramsink_read(&sink, 0, buf, n);
	assert_int_equal(buf[0] >> 2, 9);
	ntrace_ramsink_read(&sink, 8, rest, n - 8);
	assert_memory_equal(rest, buf + 8, n - 8);
}

/* Use only a part of a large SRAM, because it is read word by word with interrupts disabled */
static void sram_is_read_in_parts(void **state)
{
	struct fake_ram_options opt = { .sram = true, .sram_size = 1 << 20 };

	direct(&(struct fake_encoder_options){ }, &opt);
	assert_int_equal(sink.area->max + sink.area->align - sink.area->min, 64 << 10);
	assert_true(sink.area->trims);
	assert_string_equal(shim_log, "");
	/* If trRamLimit is fixed, the driver would have to use the whole memory. */
	setup(state);
	opt.limit_fixed = true;
	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "its buffer has 1024 KiB, the driver copies at most 64 KiB"));
	setup(state);
	opt.sram_size = 64 << 10;
	direct(&(struct fake_encoder_options){ }, &opt);
	assert_false(sink.area->trims);
	assert_string_equal(shim_log, "");
}

/* The driver must choose the behaviour at the end of the window before it enables the sink */
static void set_before_enable(void *base, unsigned int offset, u32 value)
{
	u32 was = fake_peek(base, TR_CONTROL);

	if (base == sink.comp.base && offset == TR_CONTROL && value & ~was & TR_CONTROL_ENABLE)
		assert_int_equal((value ^ was) & ~TR_CONTROL_EMPTY, TR_CONTROL_ENABLE);
}

static void stop_on_wrap_is_verified(void **state)
{
	struct ntrace_window win = window(0, 0x1000), around = win;

	around.stop = false;
	programmed();
	fake_on_write = set_before_enable;
	traced(&win, 10);
	traced(&around, 10);
	traced(&win, 10);
	fake_on_write = NULL;
	/* The sink would overwrite the memory before the window */
	fake_no_stop(sink.comp.base);
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	assert_non_null(strstr(shim_log, "trRamStopOnWrap cannot be set to 1"));
}

/* A sink that always stops cannot be circular, and an encoder that stalls cannot use it */
static void sink_that_always_stops(void **state)
{
	const struct ntrace_want stall = { .config = NTRACE_CONFIG_STALL }, plain = { };
	struct ntrace_window win = window(0, 0x1000);

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .stop_fixed = true });
	assert_true(sink.stop_on_wrap && sink.stop_fixed);
	assert_null(ntrace_route_find(&enc, &stall));
	assert_non_null(ntrace_route_find(&enc, &plain));
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 10);
	setup(state);
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_false(sink.stop_fixed);
	assert_non_null(ntrace_route_find(&enc, &stall));
}

static void filters_are_written(void **state)
{
	struct ntrace_window win = window(0, 0x8000);
	static const struct ntrace_filter user = { .priv = NTRACE_PRIV_U };
	static const struct ntrace_filter kernel = { .priv = NTRACE_PRIV_S };
	static const struct ntrace_filter here = { .nr_ranges = 1, .ranges = { { 0x10000, 0x10002 } } };
	static const struct ntrace_filter there = { .nr_ranges = 1, .ranges = { { 0x90000, 0x90002 } } };
	static const struct ntrace_filter from = { .nr_ranges = 1, .latch = 1, .no_stop = true,
						   .ranges = { { 0x10000, 0 } } };
	static const struct ntrace_filter never = { .nr_ranges = 1, .latch = 2, .ranges = { { 0x90000, 0 } } };
	static const struct ntrace_filter until = { .nr_ranges = 1, .latch = 3, .no_start = true,
						    .ranges = { { 0, 0x10000 } } };
	const struct ntrace_filter *filters[] = { &user, &kernel, &here, &there, &from, &never, &until };
	u32 n[ARRAY_SIZE(filters)];
	bool wrapped;
	int i;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		assert_int_equal(ntrace_encoder_check(&enc, plain_config(), filters[i]), 0);
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), filters[i]), 0);
		traced(&win, 100);
		n[i] = ntrace_ramsink_written(&sink, &win, &wrapped);
	}
	assert_true(n[0] > 100);
	assert_true(n[1] < 16);		/* The hart is in user mode */
	assert_true(n[2] > 100);
	assert_true(n[3] < 16);
	assert_true(n[4] > n[2]);	/* The hart has executed code outside of the filter */
	assert_true(n[5] < 16);
	assert_in_range(n[6], 1, 64);	/* There is one block of trace, followed by idle bytes */
	enc.caps.latches = 0;
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &here), 0);
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &from), -EOPNOTSUPP);
}

/* Refuse a filter that also chooses code that the event must not see */
static void filters_that_choose_more(void **state)
{
	static const struct ntrace_filter user = {
		.priv = NTRACE_PRIV_U, .nr_ranges = 2, .ranges = { { 0x10000, 0x10002 }, { 0x20000, 0x20002 } } };

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &user), 0);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &user), 0);
	/* The filter could choose only this level when it was probed */
	fake_other_levels(enc.comp.base, NTRACE_PRIV_S);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &user), -EIO);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	assert_true(enc.caps.priv & NTRACE_PRIV_U);
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &user), -EOPNOTSUPP);
}

/* Return the bytes of 100 blocks at 0x10000 and elsewhere, with @filter */
static u32 traced_with(const struct ntrace_filter *filter, u64 config)
{
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;

	assert_int_equal(ntrace_encoder_check(&enc, config, filter), 0);
	assert_int_equal(ntrace_encoder_program(&enc, config, filter), 0);
	traced(&win, 100);
	return ntrace_ramsink_written(&sink, &win, &wrapped);
}

static void ranges_are_left_out(void **state)
{
	struct ntrace_filter none = { .exclude = true };
	struct ntrace_filter here = { .exclude = true, .nr_ranges = 3, .ranges = {
		{ 0x1000, 0x2000 }, { 0x3000, 0x4000 }, { 0x10000, 0x11000 } } };
	struct ntrace_filter all_of_it = { .exclude = true, .nr_ranges = 1, .ranges = { { 0, ~0ULL } } };
	u64 config;
	u32 n;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	config = plain_config() | NTRACE_CONFIG_EXCLUDE;
	n = traced_with(&none, config);
	/* Half of the blocks are traced */
	assert_in_range(traced_with(&here, config), n / 4, n - 64);
	assert_true(traced_with(&all_of_it, config) < 16);
	here.nr_ranges = 4;
	assert_int_equal(ntrace_encoder_check(&enc, config, &here), -EOPNOTSUPP);
	here.nr_ranges = 2;
	assert_int_equal(ntrace_encoder_check(&enc, config, &here), 0);
}

static void triggers_switch_tracing(void **state)
{
	struct ntrace_filter filter = { .trig_in = 2 | 3 << 4 };
	struct ntrace_window win = window(0, 0x8000);
	u32 n[4];
	bool wrapped;
	u64 config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.trig_in & 3, 3);
	config = plain_config() | NTRACE_CONFIG_TRIGGER;
	assert_int_equal(ntrace_encoder_check(&enc, config, &filter), 0);
	assert_int_equal(ntrace_encoder_program(&enc, config, &filter), 0);
	assert_int_equal(start(&enc, &win, true), 0);
	fake_run(enc.comp.base, 50);
	n[0] = ntrace_ramsink_written(&sink, &win, &wrapped);
	fake_trigger(enc.comp.base, 0);
	fake_run(enc.comp.base, 500);
	n[1] = ntrace_ramsink_written(&sink, &win, &wrapped);
	fake_trigger(enc.comp.base, 1);
	fake_run(enc.comp.base, 500);
	n[2] = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_int_equal(stop(&enc), 0);
	assert_int_equal(n[0], 0);
	assert_true(n[1] > 500);
	assert_true(n[2] < n[1] + 600);
	/* Ask for features that do not exist */
	filter.trig_in = 2U << 28;
	enc.caps.trig_in = 3;
	assert_int_equal(ntrace_encoder_check(&enc, config, &filter), -EOPNOTSUPP);
}

static void overflow_is_counted(void **state)
{
	direct(&(struct fake_encoder_options){ .fifo_depth = 64 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.overflows, 0);
	traced_with(&all, plain_config());
	assert_int_equal(enc.overflows, 1);
}

/* A window whose size the sink does not accept becomes smaller, and never larger */
static void window_of_a_power_of_two(void **state)
{
	unsigned int sizes;

	for (sizes = 1; sizes <= 2; sizes++) {
		struct ntrace_window win = window(0x1000, 0x3000);

		setup(state);
		direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .sizes = sizes });
		win.wp += 0x40;
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
		assert_int_equal(start(&enc, &win, false), 0);
		assert_int_equal(win.end - win.start, 0x2000);
		fake_run(enc.comp.base, 5000);
		assert_int_equal(fake_mem[0x3000], 0);
		stop(&enc);
		assert_false(sink.comp.stuck);
	}
}

static void paused_traces_nothing(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;
	u32 before;

	programmed();
	assert_int_equal(start(&enc, &win, true), 0);
	fake_run(enc.comp.base, 100);
	before = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(before < 16);
	ntrace_encoder_tracing(&enc, true);
	fake_run(enc.comp.base, 100);
	ntrace_encoder_tracing(&enc, false);
	assert_int_equal(stop(&enc), 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > before + 100);
}

/* Set up two encoders, a funnel and one sink */
static void shared(void)
{
	struct fake_encoder_options opt = { };
	void *ram = fake_ram(&(struct fake_ram_options){ });
	void *f = fake_funnel(ram, 2, funnel_fifo);

	sink.encoders = 2;
	assert_int_equal(bring_up(&sink.comp, ram), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), 0);
	assert_int_equal(bring_up(&funnel.comp, f), 0);
	ntrace_funnel_setup(&funnel);
	assert_int_equal(bring_up(&enc.comp, fake_encoder(f, 0, &opt)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	assert_int_equal(bring_up(&enc2.comp, fake_encoder(f, 1, &opt)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc2), 0);
	assert_int_equal(ntrace_encoder_set_src(&enc, 1, 0), 0);
	assert_int_equal(ntrace_encoder_set_src(&enc2, 1, 1), 0);
	connect(&enc, &funnel.comp);
	connect(&enc2, &funnel.comp);
	ntrace_funnel_open(&funnel, 0, true);
	ntrace_funnel_open(&funnel, 1, true);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc2, plain_config(), &all), 0);
}

static void funnel_is_on_while_an_encoder_is(void **state)
{
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;
	u32 n, m;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(funnel.comp.users, 1);
	fake_run(enc.comp.base, 100);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);

	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	assert_int_equal(funnel.comp.users, 2);
	fake_run(enc2.comp.base, 100);
	m = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(m > n + 100);

	assert_int_equal(LOCKED(ntrace_sink_leave(&sink, &enc2)), 0);
	assert_int_equal(funnel.comp.users, 1);
	assert_int_not_equal(fake_peek(funnel.comp.base, TR_CONTROL) & 2, 0);
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(fake_peek(funnel.comp.base, TR_CONTROL) & 2, 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > m + 100);
}

/*
 * The first encoder can also send to a private sink. While it does, it sends nothing to the shared
 * sink.
 */
static void encoder_chooses_between_sinks(void **state)
{
	static struct ntrace_sink own;
	struct ntrace_window win = window(0, 0x8000);
	struct ntrace_want want = { .sink = 2 };
	bool wrapped;
	u32 n;

	shared();
	own = (struct ntrace_sink){ .encoders = 1, .number = 2, .comp.type = TR_COMP_RAMSINK };
	INIT_LIST_HEAD(&own.members);
	INIT_LIST_HEAD(&own.held);
	INIT_LIST_HEAD(&enc.member);
	enc.routes[1] = (struct ntrace_route){
		.path = { &enc.comp, &own.comp }, .len = 2, .sink = &own,
	};
	enc.nr_routes = 2;
	assert_ptr_equal(ntrace_route_find(&enc, &want), &enc.routes[1]);
	want.sink = 3;
	assert_null(ntrace_route_find(&enc, &want));
	want = (struct ntrace_want){ .config = NTRACE_CONFIG_SRAM };
	assert_null(ntrace_route_find(&enc, &want));
	own.areas[TR_RAM_MODE_SRAM].there = true;
	assert_ptr_equal(ntrace_route_find(&enc, &want), &enc.routes[1]);

	enc.session = (void *)&enc;
	sink.holds = enc.session;
	enc.ready = 5;
	ntrace_path_choose(&enc, &enc.routes[1]);
	assert_ptr_equal(enc.sink, &own);
	assert_int_equal(enc.route->len, 2);
	assert_int_equal(enc.ready, 0);
	assert_null(sink.holds);
	assert_ptr_equal(own.members.next, &enc.member);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 1);

	want = (struct ntrace_want){ };
	ntrace_path_choose(&enc, ntrace_route_find(&enc, &want));
	assert_ptr_equal(enc.sink, &sink);
	assert_ptr_equal(own.members.next, &own.members);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 100);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_int_equal(stop(&enc), 0);
	assert_true(n > 100);
}

/* Let both encoders be members of the sink, whose window is @win */
static void start_both(struct ntrace_window *win)
{
	assert_int_equal(start(&enc, win, false), 0);
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
}

static void stop_both(void)
{
	assert_int_equal(LOCKED(ntrace_sink_stop(&sink)), 0);
	list_del_init(&enc.member);
	list_del_init(&enc2.member);
}

/* Encoders that stall and trace user mode stay enabled while their sink gets another window */
static void members_stand_still(void **state)
{
	static const struct ntrace_filter user = { .priv = NTRACE_PRIV_U }, kernel = { .priv = NTRACE_PRIV_S };
	const struct ntrace_filter *filters[] = { &user, &kernel };
	u64 config;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct ntrace_window win = window(0, 0x8000);

		setup(NULL);
		shared();
		config = plain_config() | NTRACE_CONFIG_STALL;
		assert_int_equal(ntrace_encoder_program(&enc, config, filters[i]), 0);
		assert_int_equal(ntrace_encoder_program(&enc2, config, filters[i]), 0);
		start_both(&win);
		assert_int_equal(LOCKED(ntrace_sink_hold(&sink, &enc)), 0);
		assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
		assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
		assert_int_equal(fake_peek(enc2.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE,
				 i ? 0 : TR_CONTROL_ENABLE);
		assert_int_equal(enc2.on, !i);
		win = window(0x9000, 0x1000);
		assert_int_equal(LOCKED(ntrace_sink_start(&sink, &win)), 0);
		assert_true(enc.on && enc2.on);
		stop_both();
	}
}

/* An encoder was left enabled for an event that has ended. Program it for the new event. */
static void encoder_left_enabled(void **state)
{
	static const struct ntrace_filter kernel = { .priv = NTRACE_PRIV_S };
	struct ntrace_want want = { .id = 1, .filter = { .priv = NTRACE_PRIV_U } };
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	want.config = plain_config();
	assert_int_equal(ntrace_encoder_program(&enc, want.config, &kernel), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	/* The encoder's sink has stopped by itself */
	ntrace_write(&sink.comp, TR_CONTROL, TR_CONTROL_ACTIVE);
	ntrace_encoder_want(&enc, &want);
	assert_int_equal(start(&enc, &win, false), 0);
	/* The hart is in user mode */
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > 100);
}

/*
 * Each hart may emit a quarter of a byte in a nanosecond. All harts together must not fill the
 * other half of the window between two checks of the write pointer.
 */
static void period_suits_all_members(void **state)
{
	struct ntrace_window win = window(0, 0x80000), small = window(0, 0x1000);
	u32 one, two;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	one = LOCKED(ntrace_sink_period(&sink, &win));
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	two = LOCKED(ntrace_sink_period(&sink, &win));
	assert_true(one / 4 <= 0x80000 / 2);
	assert_true(two * 2 / 4 <= 0x80000 / 2);
	assert_int_equal(two, one / 2);
	assert_int_equal(LOCKED(ntrace_sink_leave(&sink, &enc2)), 0);
	assert_int_equal(LOCKED(ntrace_sink_period(&sink, &win)), one);
	/* The period is not shorter than this minimum. */
	assert_int_equal(LOCKED(ntrace_sink_period(&sink, &small)), NTRACE_PERIOD_MIN);
	win.circular = true;
	assert_int_equal(LOCKED(ntrace_sink_period(&sink, &win)), NTRACE_PERIOD_MAX);
	assert_int_equal(stop(&enc), 0);
}

/*
 * Both encoders can be traced into a window at @offset, which begins with a synchronising message
 */
static void both_can_be_traced(unsigned int offset)
{
	struct ntrace_window win = window(offset, 0x4000);
	bool wrapped;

	assert_false(enc.comp.stuck || enc2.comp.stuck || funnel.comp.stuck || sink.comp.stuck);
	if (!enc.programmed)
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	start_both(&win);
	fake_run(enc.comp.base, 100);
	fake_run(enc2.comp.base, 100);
	stop_both();
	assert_in_range(ntrace_ramsink_written(&sink, &win, &wrapped), 200, 0x4000);
	assert_false(wrapped);
	assert_int_equal(fake_mem[offset] >> 2 & 63, 9);
}

/*
 * An encoder has two outputs. Trace from the output that its path does not use must reach no event
 */
static void input_that_no_path_uses_is_disabled(void **state)
{
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;
	u32 n;

	shared();
	ntrace_funnel_setup(&funnel);
	ntrace_funnel_open(&funnel, 0, true);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 2);
	start_both(&win);
	fake_run(enc.comp.base, 10);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	fake_run(enc2.comp.base, 100);
	assert_int_equal(ntrace_ramsink_written(&sink, &win, &wrapped), n);
	stop_both();
	/* The driver disables the input again after a loss of power */
	ntrace_write(&funnel.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 2);
}

static void drained_funnel_keeps_its_setup(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	bool wrapped;

	funnel_fifo = 256;
	shared();
	assert_int_equal(ntrace_funnel_set_ts(&funnel, TR_TS_MODE_INTERNAL_SYSTEM, 2), 0);
	start_both(&win);
	fake_run(enc.comp.base, 300);
	fake_run(enc2.comp.base, 300);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 2);
	assert_int_equal(FIELD_GET(TR_TS_PRESCALE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 2);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 0);
	both_can_be_traced(0x10000);
	assert_string_equal(shim_log, "");
}

/*
 * If a window gets full, the trace that did not fit must not appear in the next window. A reset
 * would discard it, but would also reset the counters of encoders and funnels, so that all later
 * times would be wrong.
 */
static void counters_go_on_after_a_full_window(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	u64 config;
	u32 before[3], i;
	bool wrapped;

	funnel_fifo = 256;
	shared();
	config = plain_config() & ~NTRACE_CONFIG_TS_MODE;
	config |= NTRACE_CONFIG_TIMESTAMP | (u64)TR_TS_MODE_INTERNAL_SYSTEM << NTRACE_CONFIG_TS_MODE_SHIFT;
	assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc2, config, &all), 0);
	assert_int_equal(ntrace_funnel_set_ts(&funnel, TR_TS_MODE_INTERNAL_SYSTEM, 0), 0);
	start_both(&win);
	for (i = 0; i < 300; i++) {
		fake_run(enc.comp.base, 1);
		fake_run(enc2.comp.base, 1);
	}
	before[0] = ntrace_read(&enc.comp, TR_TS_COUNTER_LOW);
	before[1] = ntrace_read(&enc2.comp, TR_TS_COUNTER_LOW);
	before[2] = ntrace_read(&funnel.comp, TR_TS_COUNTER_LOW);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	both_can_be_traced(0x10000);
	assert_true(ntrace_read(&enc.comp, TR_TS_COUNTER_LOW) >= before[0] && before[0]);
	assert_true(ntrace_read(&enc2.comp, TR_TS_COUNTER_LOW) >= before[1] && before[1]);
	assert_true(ntrace_read(&funnel.comp, TR_TS_COUNTER_LOW) >= before[2] && before[2]);
	assert_string_equal(shim_log, "");
}

/* Trace more with both encoders than the window has room for */
static void full_window(void)
{
	struct ntrace_window win = window(0, 0x100);
	bool wrapped;

	start_both(&win);
	fake_run(enc.comp.base, 300);
	fake_run(enc2.comp.base, 300);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
}

/*
 * The trace that did not fit is not written to memory that belongs to another user or holds older
 * trace. The end of a ring stays as it is until new trace overwrites it.
 */
static void next_window_has_no_more_than_its_own(void **state)
{
	unsigned int ring, n, i;
	bool wrapped;

	funnel_fifo = 256;
	shared();
	for (ring = 0; ring < 2; ring++) {
		struct ntrace_window next = window(0x10000, 0x1000);

		full_window();
		memset(fake_mem + 0x10000, 0xaa, 0x1000);
		next.circular = ring;
		next.stop = !ring;
		start_both(&next);
		stop_both();
		n = ntrace_ramsink_written(&sink, &next, &wrapped);
		assert_false(wrapped);
		for (i = n; i < 0x1000; i++)
			assert_int_equal(fake_mem[0x10000 + i], 0xaa);
		both_can_be_traced(0x20000);
	}
	assert_string_equal(shim_log, "");
}

/*
 * A reset of the sink discards the trace that did not fit if the sink has no page for it or refuses
 * the page
 */
static void full_window_without_a_page(void **state)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		setup(state);
		funnel_fifo = 256;
		shared();
		/* No sink of this board can write there */
		sink.scrap = i ? 1ULL << 60 : 0;
		full_window();
		both_can_be_traced(0x10000);
		assert_int_equal(!!strstr(shim_log, "cannot be set to"), i);
	}
}

static unsigned int enc2_accesses;

static void count_enc2(void *base, unsigned int offset)
{
	enc2_accesses += base == enc2.comp.base;
}

static void count_enc2_write(void *base, unsigned int offset, u32 value)
{
	count_enc2(base, offset);
}

/*
 * If the hart of an encoder idles and both lose their power, starting the sink must not access that
 * encoder
 */
static void encoder_that_rests_is_left_alone(void **state)
{
	struct ntrace_window next = window(0x10000, 0x4000);
	bool wrapped, first = true;
	unsigned int i, n;

	funnel_fifo = 256;
	shared();
	full_window();
	ntrace_path_rest(&enc2);
	enc2_accesses = 0;
	fake_on_read = count_enc2;
	fake_on_write = count_enc2_write;
	assert_int_equal(start(&enc, &next, false), 0);
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	fake_on_read = NULL;
	fake_on_write = NULL;
	assert_int_equal(enc2_accesses, 0);
	n = ntrace_ramsink_written(&sink, &next, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x4000);
	/* SRC has one bit and follows TCODE, the first byte of a message. Idle bytes are 0xff. */
	for (i = 0; i + 1 < n; i++) {
		if (first && fake_mem[0x10000 + i] != 0xff)
			assert_int_equal(fake_mem[0x10000 + i + 1] >> 2 & 1, 0);
		first = (fake_mem[0x10000 + i] & 3) == 3;
	}
	assert_int_equal(ntrace_encoder_program(&enc2, plain_config(), &all), 0);
	both_can_be_traced(0x20000);
	assert_string_equal(shim_log, "");
}

/* The trace that did not fit is discarded immediately if this needs no reset */
static void rest_goes_when_the_window_is_taken(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	unsigned long flags;
	u32 before;

	funnel_fifo = 256;
	shared();
	full_window();
	assert_false(list_empty(&sink.held));
	before = ntrace_read(&enc.comp, TR_TS_COUNTER_LOW);
	local_irq_save(flags);
	ntrace_sink_lock(&sink);
	ntrace_sink_discard(&sink, &win);
	ntrace_sink_unlock(&sink);
	local_irq_restore(flags);
	assert_true(list_empty(&sink.held) && list_empty(&enc.held) && list_empty(&enc2.held));
	assert_true(before && ntrace_read(&enc.comp, TR_TS_COUNTER_LOW) >= before);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	both_can_be_traced(0x10000);
	assert_string_equal(shim_log, "");
}

static void sink_that_fills_in_the_flush(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	bool wrapped;

	funnel_fifo = 1024;
	shared();
	start_both(&win);
	/* All of the trace is in the funnel, and it is more than the window holds */
	fake_run(enc.comp.base, 60);
	fake_run(enc2.comp.base, 60);
	assert_int_equal(ntrace_ramsink_written(&sink, &win, &wrapped), 0);
	assert_int_not_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	both_can_be_traced(0x10000);
	assert_string_equal(shim_log, "");
}

static void sink_that_keeps_the_rest(void **state)
{
	struct ntrace_window win = window(0x4000, 0x800), next = window(0x8000, 0x800);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .keeps_rest = true });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 5000);
	assert_false(sink.comp.stuck);
	assert_true(sink.full);
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	if (!enc.programmed)
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &next, false), 0);
	fake_run(enc.comp.base, 20);
	assert_int_equal(stop(&enc), 0);
	assert_in_range(ntrace_ramsink_written(&sink, &next, &wrapped), 20, 0x800);
	assert_false(wrapped);
	assert_string_equal(shim_log, "");
}

static void encoder_of_two_formats(void **state)
{
	direct(&(struct fake_encoder_options){ .both_formats = true }, &(struct fake_ram_options){ });
	assert_int_equal(FIELD_GET(TR_TE_PROTOCOL_MAJOR, enc.comp.impl), 1);
	assert_string_equal(shim_log, "");
}

static void __attribute__((unused)) timestamp_unit_that_wakes_late(void **state)
{
	direct(&(struct fake_encoder_options){ .ts_active_delay = 5 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ts_modes, 0x1e);
	assert_int_equal(enc.caps.ts_width, 63);
	assert_true(enc.caps.config & NTRACE_CONFIG_TIMESTAMP);
	assert_true(enc.ts_is_time);
	/* The driver restores the mode after a loss of power */
	ntrace_write(&enc.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(enc.comp.base, TR_TS_CONTROL)),
			 TR_TS_MODE_EXTERNAL);
}

static void features_that_are_always_on(void **state)
{
	struct fake_encoder_options opt = {
		.features_fixed = TR_TE_INST_EN_SEQUENTIAL_JUMP, .control_fixed = TR_TE_CONTEXT,
	};
	u64 fixed = NTRACE_CONFIG_SEQUENTIAL_JUMP | NTRACE_CONFIG_CONTEXT;

	direct(&opt, &(struct fake_ram_options){ });
	assert_int_equal(enc.default_config & fixed, fixed);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	/* An event that does not enable these features would misread their trace */
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config &
					      ~NTRACE_CONFIG_SEQUENTIAL_JUMP, &all), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config & ~NTRACE_CONFIG_CONTEXT,
					      &all), -EOPNOTSUPP);
}

/*
 * The field for the mode of implicit returns may be fixed, because trTeInstEnImplicitReturn enables
 * them
 */
static void return_mode_that_is_fixed(void **state)
{
	unsigned int mode;

	for (mode = 1; mode <= 3; mode++) {
		struct fake_encoder_options opt = { .ir_modes = BIT(mode) };
		u64 config;

		direct(&opt, &(struct fake_ram_options){ });
		assert_int_equal(enc.caps.ir_mode, mode);
		config = enc.default_config;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
		assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
		config ^= NTRACE_CONFIG_IMPLICIT_RETURN;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
		assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
		setup(state);
	}
}

/* One trigger always starts the trace, and the others can be chosen */
static void trigger_that_is_fixed(void **state)
{
	struct ntrace_filter filter = { };

	direct(&(struct fake_encoder_options){ .ext_in_fixed = 2 << 4 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.trig_in & 3, 1);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &filter), 0);
	filter.trig_in = 3;
	assert_int_equal(ntrace_encoder_check(&enc, plain_config() | NTRACE_CONFIG_TRIGGER, &filter), 0);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config() | NTRACE_CONFIG_TRIGGER, &filter), 0);
	filter.trig_in = 3 << 4;
	assert_int_equal(ntrace_encoder_check(&enc, plain_config() | NTRACE_CONFIG_TRIGGER, &filter), -EOPNOTSUPP);
}

static void not_used_yet(void *base, unsigned int offset, u32 value)
{
	if (base == enc.comp.base)
		assert_true(enc.comp.stuck);
}

static void recovered_component_is_set_up_before_it_is_used(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	enc.comp.stuck = true;
	fake_on_write = not_used_yet;
	assert_int_equal(ntrace_path_recover(&enc, enc.routes), 0);
	fake_on_write = NULL;
	assert_false(enc.comp.stuck);
	/* Starting succeeds, because it first sets up the component */
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
}

static void funnel_has_a_timestamp_unit(void **state)
{
	struct ntrace_window win = window(0, 0x8000);

	shared();
	assert_int_equal(funnel.ts.modes, 0x16);
	assert_int_equal(funnel.ts.prescale, 0xf);
	assert_int_equal(funnel.ts.width, 40);
	assert_int_equal(funnel.inputs, 3);
	assert_int_equal(funnel.ts_mode, TR_TS_MODE_EXTERNAL);
	assert_int_equal(ntrace_funnel_set_ts(&funnel, TR_TS_MODE_INTERNAL_SYSTEM, 2), 0);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 2);
	assert_int_equal(ntrace_funnel_set_ts(&funnel, TR_TS_MODE_INTERNAL_CORE, 0), -EOPNOTSUPP);
	assert_int_equal(ntrace_funnel_set_ts(&funnel, TR_TS_MODE_NONE, 0), -EOPNOTSUPP);
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(ntrace_funnel_set_ts(&funnel, TR_TS_MODE_EXTERNAL, 0), -EBUSY);
	assert_int_equal(stop(&enc), 0);

	/* The driver restores the timestamp settings */
	ntrace_write(&funnel.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 2);
	assert_int_equal(FIELD_GET(TR_TS_PRESCALE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 2);
	/* A funnel before another funnel shares its timestamp */
	ntrace_funnel_connect(&funnel, true);
	assert_int_equal(funnel.ts_mode, TR_TS_MODE_SHARED);
}

static void new_window_for_all_members(void **state)
{
	struct ntrace_window win = window(0, 0x8000), next = window(0x10000, 0x8000);
	bool wrapped;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	fake_run(enc2.comp.base, 10);
	assert_int_equal(LOCKED(ntrace_sink_stop(&sink)), 0);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(LOCKED(ntrace_sink_start(&sink, &next)), 0);
	assert_int_equal(funnel.comp.users, 2);
	fake_run(enc.comp.base, 100);
	fake_run(enc2.comp.base, 100);
	assert_int_equal(LOCKED(ntrace_sink_stop(&sink)), 0);
	assert_true(ntrace_ramsink_written(&sink, &next, &wrapped) > 200);
	assert_int_equal(fake_mem[0x10000] & 3, 0);
}

static void failing_member_stops_all(void **state)
{
	struct ntrace_window win = window(0, 0x8000);

	shared();
	enc2.comp.stuck = true;
	INIT_LIST_HEAD(&sink.members);
	list_add_tail(&enc.member, &sink.members);
	list_add_tail(&enc2.member, &sink.members);
	assert_int_equal(LOCKED(ntrace_sink_start(&sink, &win)), -EIO);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
}

static void sink_that_does_not_empty(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	fake_fault(sink.comp.base, false, true);
	assert_int_equal(stop(&enc), -ETIMEDOUT);
	assert_true(sink.comp.stuck);
	assert_true(sink.loose);
	assert_non_null(strstr(shim_log, "trRamControl"));
	/* The sink is not used again, and the error is reported only once */
	shim_log[0] = 0;
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_string_equal(shim_log, "");
	fake_fault(sink.comp.base, true, true);
	assert_int_equal(ntrace_path_recover(&enc, enc.routes), -EIO);
	settle();
	assert_string_equal(shim_log, "");

	/* the sink is used again after a successful reset */
	fake_fault(sink.comp.base, false, false);
	assert_int_equal(ntrace_path_recover(&enc, enc.routes), 0);
	assert_non_null(strstr(shim_log, "answers again"));
	traced(&win, 10);
}

static void power_was_off(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;

	programmed();
	ntrace_write(&enc.comp, TR_CONTROL, 0);
	ntrace_write(&sink.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	traced(&win, 100);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > 100);
	assert_string_equal(shim_log, "");
}

/*
 * With some bits of a comparator set, an encoder reports each instruction, even if no filter uses
 * the comparator.
 */
static void comparators_are_off_after_a_reset(void **state)
{
	unsigned int round, j;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (round = 0; round < 20; round++) {
		assert_int_equal(ntrace_encoder_drop(&enc), 0);
		for (j = 0; j < TR_TE_COMP_MAX; j++)
			assert_int_equal(fake_peek(enc.comp.base, TR_TE_COMP_CONTROL(j)), 0);
	}
}

static unsigned int reads;

static void count_read(void *base, unsigned int offset)
{
	reads++;
}

/*
 * At a task switch, the path continues in its window. Only few reads are allowed, because the hart
 * waits for each of them.
 */
static void restart_reads_three_registers(void **state)
{
	struct ntrace_want want = { .id = 1, .config = 0 };
	struct ntrace_window win = window(0, 0x1000);
	unsigned int i, used = 0;
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	want.config = plain_config();
	sink.encoders = 1;
	ntrace_encoder_want(&enc, &want);
	assert_int_equal(start(&enc, &win, false), 0);
	ntrace_path_is_ready(&enc, &want);
	assert_int_equal(enc.ready, 1);
	for (i = 0; i < 3; i++) {
		fake_run(enc.comp.base, 20);
		reads = 0;
		fake_on_read = count_read;
		assert_true(ntrace_path_halt(&enc));
		assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > used);
		ntrace_path_restart(&enc);
		fake_on_read = NULL;
		used = ntrace_ramsink_written(&sink, &win, &wrapped);
		assert_int_equal(reads, 3);
	}
	assert_int_equal(stop(&enc), 0);
}

static void closed_sink_stays_closed(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	ntrace_sink_close(&sink, true);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(stop(&enc), 0);
	assert_int_equal(start(&enc, &win, false), -EIO);
}

/*
 * Check at each write that a component is enabled after its sink, and not in one write with
 * trTeInstTracing
 */
static void in_order(void *base, unsigned int offset, u32 value)
{
	bool enables = offset == TR_CONTROL && value & TR_CONTROL_ENABLE &&
		!(fake_peek(base, TR_CONTROL) & TR_CONTROL_ENABLE);

	if (!enables || base != enc.comp.base)
		return;
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	assert_false(value & TR_TE_INST_TRACING);
}

static void each_is_awaited(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	unsigned int i;

	direct(&(struct fake_encoder_options){ .enable_delay = 3 },
	       &(struct fake_ram_options){ .enable_delay = 3 });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	fake_on_write = in_order;
	for (i = 0; i < 2; i++) {
		traced(&win, 10);
		assert_false(fake_peek(enc.comp.base, TR_CONTROL) & TR_TE_INST_TRACING);
	}
}

static void never_traces(void *base, unsigned int offset, u32 value)
{
	if (base == enc.comp.base && offset == TR_CONTROL)
		assert_false(value & TR_TE_INST_TRACING);
}

static void paused_does_not_even_begin(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	fake_on_write = never_traces;
	assert_int_equal(start(&enc, &win, true), 0);
	assert_int_equal(stop(&enc), 0);
}

/* Another event pauses this one while it starts to trace, see ntrace_sink_pause() */
static void pauses(void *base, unsigned int offset, u32 value)
{
	if (base == enc.comp.base && offset == TR_CONTROL && value & TR_TE_INST_TRACING)
		enc.paused = true;
}

static void paused_while_it_starts(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	fake_on_write = pauses;
	assert_int_equal(start(&enc, &win, false), 0);
	fake_on_write = NULL;
	assert_false(fake_peek(enc.comp.base, TR_CONTROL) & TR_TE_INST_TRACING);
	assert_int_equal(stop(&enc), 0);
}

static void encoder_that_is_not_enabled_frees_its_funnel(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	shared();
	fake_never_enabled(enc.comp.base);
	assert_int_equal(start(&enc, &win, false), -ETIMEDOUT);
	assert_int_equal(funnel.comp.users, 0);
	assert_false(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
}

/* A hart that wakes up shares a funnel and a sink with a hart that traces */
static void what_kept_its_power_goes_on(void **state)
{
	struct ntrace_comp *comps[] = { &enc.comp, &funnel.comp, &sink.comp };
	struct ntrace_window win = window(0, 0x1000);
	unsigned int i;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	ntrace_path_restore(&enc2);
	for (i = 0; i < ARRAY_SIZE(comps); i++)
		assert_true(fake_peek(comps[i]->base, TR_CONTROL) & TR_CONTROL_ENABLE);
	assert_int_equal(stop(&enc), 0);
}

static void what_others_use_is_not_reset(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	funnel.comp.stuck = true;
	assert_int_equal(ntrace_path_recover(&enc2, enc2.routes), -EIO);
	assert_true(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	funnel.comp.stuck = false;
	sink.owner = (struct ntrace_session *)&win;
	sink.comp.stuck = true;
	assert_int_equal(ntrace_path_recover(&enc2, enc2.routes), -EIO);
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	sink.comp.stuck = false;
	sink.owner = NULL;
	assert_int_equal(stop(&enc), 0);
}

/* One thread resets a funnel that stopped answering, while another starts a path through it */
static void stuck_funnel_is_left_alone(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	shared();
	funnel.comp.stuck = true;
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	assert_int_equal(ntrace_path_recover(&enc, enc.routes), 0);
	shim_log[0] = 0;
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
}

/* Check which events can start without another set-up of the encoder */
static void registers_hold_one_event(void **state)
{
	struct ntrace_filter was = { .priv = NTRACE_PRIV_U, .nr_ranges = 1, .latch = 1,
				     .ranges = { { 0x1000, 0x2000 } } }, other = was;
	u64 config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	config = plain_config();
	assert_int_equal(ntrace_encoder_program(&enc, config, &was), 0);
	assert_true(ntrace_encoder_holds(&enc, config, &was));
	assert_false(ntrace_encoder_holds(&enc, config ^ NTRACE_CONFIG_CONTEXT, &was));
	assert_false(ntrace_encoder_holds(&enc, config, &all));
	other.priv = NTRACE_PRIV_S;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	other = was;
	other.latch = 2;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	other = was;
	other.no_stop = true;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	other = was;
	other.ranges[0].end++;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	enc.programmed = false;
	assert_false(ntrace_encoder_holds(&enc, config, &was));
}

/* An impossible write pointer counts as a full window */
static void write_pointer_elsewhere(void **state)
{
	struct ntrace_window win = window(0x4000, 0x1000), other = window(0x8000, 0x1000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_ramsink_program(&sink, &win), 0);
	assert_int_equal(ntrace_ramsink_written(&sink, &win, &wrapped), 0);
	assert_false(wrapped);
	assert_int_equal(ntrace_ramsink_written(&sink, &other, &wrapped), 0);
	assert_true(wrapped);
}

/* A reset, which takes a while, discards the rest that a sink holds */
static void slow_reset_is_awaited(void **state)
{
	struct ntrace_window win = window(0, 0x800);

	direct(&(struct fake_encoder_options){ .active_delay = 3 },
	       &(struct fake_ram_options){ .keeps_rest = true, .active_delay = 3 });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 5000);
	assert_false(sink.comp.stuck);
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_EMPTY);
}

static void reset_when_disabled(void *base, unsigned int offset, u32 value)
{
	if (offset == TR_CONTROL && !(value & TR_CONTROL_ACTIVE))
		assert_false(fake_peek(base, TR_CONTROL) & TR_CONTROL_ENABLE);
}

static void quiesced_in_order(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	fake_on_write = reset_when_disabled;
	ntrace_comp_quiesce(&enc.comp);
	ntrace_comp_quiesce(&sink.comp);
	assert_false(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ACTIVE);
}

static void tried_values_do_not_stay(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	ntrace_write(&enc.comp, TR_TE_INST_FEATURES, 0);
	assert_int_equal(ntrace_try_values(&enc.comp, TR_TE_INST_FEATURES, 0, TR_TE_SRC_BITS),
			 0x1fff);
	assert_int_equal(fake_peek(enc.comp.base, TR_TE_INST_FEATURES), 0);
}

static void encoder_of_another_format(void **state)
{
	struct fake_encoder_options opt = { .etrace = true };
	void *ram = fake_ram(&(struct fake_ram_options){ });

	assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, &opt)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), -ENODEV);
	assert_non_null(strstr(shim_log, "trTeFormat cannot be set to N-Trace"));
}

/* This encoder only counts returns, so that a decoder would accept any return */
static void counted_returns_are_for_who_asks(void **state)
{
	direct(&(struct fake_encoder_options){ .ir_modes = 3 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ir_mode, 1);
	assert_true(enc.caps.config & NTRACE_CONFIG_IMPLICIT_RETURN);
	assert_false(enc.default_config & NTRACE_CONFIG_IMPLICIT_RETURN);
}

/* The encoder has implicit returns, but the field of their mode is always 0 */
static void returns_without_a_mode_are_for_who_asks(void **state)
{
	u64 config;

	direct(&(struct fake_encoder_options){ .ir_modes = BIT(0) }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ir_mode, 0);
	assert_false(enc.default_config & NTRACE_CONFIG_IMPLICIT_RETURN);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	assert_false(fake_peek(enc.comp.base, TR_TE_INST_FEATURES) & TR_TE_INST_EN_IMPLICIT_RETURN);
	config = enc.default_config | NTRACE_CONFIG_IMPLICIT_RETURN;
	assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
	assert_true(fake_peek(enc.comp.base, TR_TE_INST_FEATURES) & TR_TE_INST_EN_IMPLICIT_RETURN);
}

static void source_without_bits_is_inhibited(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	assert_true(fake_peek(enc.comp.base, TR_TE_CONTROL) & TR_TE_INHIBIT_SRC);
	assert_int_equal(ntrace_encoder_set_src(&enc, 2, 1), 0);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	assert_false(fake_peek(enc.comp.base, TR_TE_CONTROL) & TR_TE_INHIBIT_SRC);
}

static void privilege_and_range_have_to_match(void **state)
{
	struct ntrace_filter kernel = { .priv = NTRACE_PRIV_S, .nr_ranges = 1,
					.ranges = { { 0x10000, 0x10002 } } };
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &kernel), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	/* in user mode */
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) < 16);
}

static void longest_sync_period_there_is(void **state)
{
	direct(&(struct fake_encoder_options){ .sync_max = 5 }, &(struct fake_ram_options){ });
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_SYNC_MAX, enc.default_config), 5);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
}

static void fields_that_do_not_take(void **state)
{
	direct(&(struct fake_encoder_options){ .minimal = true }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_set_src(&enc, 2, 1), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_set_src(&enc, 0, 0), 0);
	enc.features = FIELD_PREP(TR_TE_SRC_BITS, 2);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), -EIO);
	assert_false(enc.programmed);
	settle();
	assert_non_null(strstr(shim_log, "trTeInstFeatures reads"));
	/* An event that asks for less can use the encoder */
	assert_false(enc.comp.stuck);
	shim_log[0] = 0;
}

/* A counter that is equal to the time once is not a clock */
static void counter_that_stands_still(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_true(enc.ts_is_time);
	fake_set_time(5000);
	fake_freeze(enc.comp.base, 5002);
	ntrace_encoder_measure(&enc);
	assert_false(enc.ts_is_time);
}

/* The time reaches the encoder through other clocks, and therefore a little late */
static void counter_that_lags(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	fake_set_time(1000000);
	fake_lag(enc.comp.base, 4);
	ntrace_encoder_measure(&enc);
	assert_true(enc.ts_is_time);
	fake_lag(enc.comp.base, 1000);
	ntrace_encoder_measure(&enc);
	assert_false(enc.ts_is_time);
}

static unsigned int held_up;

/* Firmware or a hypervisor runs for 5,000 ticks while the driver reads the counter. */
static void hold_up(void *base, unsigned int offset)
{
	if (base != enc.comp.base || !held_up)
		return;
	held_up--;
	fake_set_time(fake_cycles() + 5000);
}

/*
 * The timestamp must match the time CSR's value that it is paired with, even if the hart was
 * interrupted in between
 */
static void base_of_a_hart_that_is_held_up(void **state)
{
	unsigned int n;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_is_time = false;
	fake_on_read = hold_up;
	for (n = 0; n < 8; n++) {
		held_up = n;
		ntrace_encoder_take_base(&enc);
		assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
	}
	fake_on_read = NULL;
}

/* An event without timestamps leaves the counter in the mode in which the next event's base is read */
static void base_after_an_event_without_timestamps(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_is_time = false;
	ntrace_encoder_take_base(&enc);
	assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config & ~NTRACE_CONFIG_TIMESTAMP, &all), 0);
	/* The counter does not stop, because events of other users may be open and have a base */
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(enc.comp.base, TR_TS_CONTROL)),
			 ntrace_encoder_usual_ts_mode(&enc));
	ntrace_encoder_take_base(&enc);
	assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
}

/*
 * An event with another clock does not change the base of the next event, which uses the default
 * clock
 */
static void base_after_an_event_with_another_clock(void **state)
{
	u64 config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_is_time = false;
	ntrace_encoder_take_base(&enc);
	config = enc.default_config & ~NTRACE_CONFIG_TS_MODE;
	config |= FIELD_PREP(NTRACE_CONFIG_TS_MODE, TR_TS_MODE_INTERNAL_SYSTEM) |
		  FIELD_PREP(NTRACE_CONFIG_TS_PRESCALE, 3);
	assert_int_not_equal(enc.default_config & NTRACE_CONFIG_TS_MODE, config & NTRACE_CONFIG_TS_MODE);
	assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
	fake_set_time(fake_cycles() + 1000000);
	ntrace_encoder_take_base(&enc);
	assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
}

/* The lower half of the counter wraps between two reads */
static void counter_is_read_whole(void **state)
{
	u64 from, got;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (from = 0xfffffff0; from < 0x100000000ULL; from++) {
		fake_set_time(from);
		got = ntrace_ts_counter(&enc.comp, TR_TS_COUNTER_LOW);
		assert_in_range(got, from, from + 20);
	}
}

static void never_the_same(void *base, unsigned int offset)
{
	if (base == enc.comp.base)
		fake_set_time(fake_cycles() + (1ULL << 33));
}

/*
 * Reading a counter that returns noise, such as one without a clock, must end after a limited time
 */
static void counter_that_never_stands(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	fake_on_read = never_the_same;
	ntrace_ts_counter(&enc.comp, TR_TS_COUNTER_LOW);
	fake_on_read = NULL;
}

static void timestamp_of_one_mode(void **state)
{
	struct fake_encoder_options opt = { .ts_modes = BIT(TR_TS_MODE_EXTERNAL) };

	direct(&opt, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ts_modes, BIT(TR_TS_MODE_EXTERNAL));
	assert_int_equal(enc.caps.ts_prescale, BIT(0));
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_true(enc.default_config & NTRACE_CONFIG_TIMESTAMP);
	assert_true(ntrace_ts_count(&enc.comp, TR_TS_MODE_EXTERNAL, 0));
	assert_false(ntrace_ts_count(&enc.comp, TR_TS_MODE_INTERNAL_CORE, 0));
}

static void circular_after_one_that_stopped(void **state)
{
	struct ntrace_window win = window(0, 0x800);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
	win.stop = false;
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 5000);
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	assert_int_equal(stop(&enc), 0);
}

/*
 * trRamStart may be coarser than trRamLimit, so that a window may begin before the position of its
 * write pointer
 */
static void start_is_coarser_than_limit(void **state)
{
	struct ntrace_window win = window(0x4000, 0x1000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ },
	       &(struct fake_ram_options){ .align = 4, .start_align = 0x1000 });
	assert_int_equal(sink.area->align, 4);
	assert_int_equal(sink.area->start_align, 0x1000);
	win.wp += 0x100;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 10);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > 0x100);
	assert_int_equal(fake_mem[0x4100] >> 2 & 63, 9);
}

static void memory_of_the_system_is_preferred(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .both = true });
	assert_true((sink.area == &sink.areas[TR_RAM_MODE_SMEM]));
	assert_int_equal(FIELD_GET(TR_RAM_MODE, fake_peek(sink.comp.base, TR_RAM_CONTROL)),
			 TR_RAM_MODE_SMEM);
}

static int bring_up_cs(struct ntrace_comp *comp, void *base, bool tmc)
{
	int ret;

	ntrace_comp_init(comp, tmc ? &ntrace_tmc_comp_ops : &ntrace_csfunnel_comp_ops, &dev, base,
			 0xc000000);
	ret = comp->ops->identify(comp);
	return ret ?: comp->ops->setup(comp);
}

/* ---- SiFive's components of version 0 ---- */

static int bring_up_sifive(struct ntrace_comp *comp, void *base,
			   const struct ntrace_comp_ops *ops)
{
	int ret;

	ntrace_comp_init(comp, ops, &dev, base, 0xc000000);
	comp->powered = true;
	ret = ntrace_comp_recognise(comp) ?: ntrace_comp_reset(comp);
	settle();
	comp->state = ret ? NTRACE_COMP_NEW : NTRACE_COMP_READY;
	return ret;
}

static void *sifive_regs;

static void *sifive(void)
{
	void *funnel_regs = fake_sifive_funnel();

	sifive_regs = fake_sifive_encoder(funnel_regs, 1, 2);
	assert_int_equal(bring_up_sifive(&sink.comp, funnel_regs, &ntrace_sifive_funnel_comp_ops), 0);
	assert_int_equal(sink.comp.ops->setup(&sink.comp), 0);
	INIT_LIST_HEAD(&sink.members);
	assert_int_equal(bring_up_sifive(&enc.comp, sifive_regs, &ntrace_sifive_encoder_comp_ops), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	connect(&enc, NULL);
	INIT_LIST_HEAD(&enc.member);
	list_add(&enc.member, &sink.members);
	return funnel_regs;
}

static void sifive_is_probed(void **state)
{
	sifive();
	assert_int_equal(enc.caps.modes, BIT(6));
	assert_int_equal(enc.caps.sync_modes, BIT(0) | BIT(1));
	assert_int_equal(enc.caps.sync_max, GENMASK(12, 1));
	assert_int_equal(enc.caps.ts_modes, BIT(TR_TS_MODE_SHARED));
	assert_int_equal(enc.caps.ts_width, 40);
	assert_int_equal(enc.caps.priv, 0);
	assert_int_equal(enc.caps.config, NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_STALL |
			 NTRACE_CONFIG_INHIBIT_SRC);
	assert_int_equal(enc.src_bits, 2);
	assert_int_equal(enc.src_id, 2);
	assert_int_equal(sink.area->align, 8);
	assert_int_equal(sink.area->start_align, 8);
	assert_int_equal(sink.area->max >> 32, 0x3ff);
	assert_true(sink.area->one_line);
	assert_true(sink.stop_on_wrap);
	assert_non_null(strstr(shim_log, "mode 7 of teInstruction is not used"));
	shim_log[0] = 0;
	/* An event that asks for mode 7 is refused */
	assert_int_equal(ntrace_encoder_check(&enc, 7ULL << NTRACE_CONFIG_MODE_SHIFT, &all), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_int_equal(ntrace_encoder_check(&enc, NTRACE_CONFIG_CONTEXT, &all), -EOPNOTSUPP);
}

static void sifive_programs_what_silicon_takes(void **state)
{
	void *funnel_regs = sifive();
	struct ntrace_window win = window(0x1000, 0x1000);
	bool wrapped;
	u32 n;

	shim_log[0] = 0;
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	/* HTM, a sync every 2^12 messages, the I-CNT limit after reset, and the funnel as sink */
	assert_int_equal(fake_peek(sifive_regs, 0x000), 0x81a70069);
	assert_int_equal(fake_peek(sifive_regs, 0x040), 0x28038041);
	assert_int_equal(fake_peek(funnel_regs, 0x040), 0x28000023);
	traced(&win, 100);
	n = ntrace_sink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x1000);
	assert_int_equal(n % 8, 0);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1000] >> 2, 9);	/* ProgTraceSync */
	assert_int_equal(fake_mem[0x1001] >> 2 & 3, 2);	/* SRC */
	assert_int_equal(fake_mem[0x1000 + n], 0);
	assert_int_equal(fake_peek(funnel_regs, 0x000), 0x70004009);
	assert_string_equal(shim_log, "");
}

static void sifive_stops_when_its_window_is_full(void **state)
{
	struct ntrace_window win = window(0x1000, 0x100);
	bool wrapped;

	sifive();
	shim_log[0] = 0;
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	traced(&win, 5000);
	assert_int_equal(ntrace_sink_written(&sink, &win, &wrapped), 0);
	assert_true(wrapped);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1100], 0);
	assert_string_equal(shim_log, "");
	win = window(0x2000, 0x1000);
	traced(&win, 10);
	assert_in_range(ntrace_sink_written(&sink, &win, &wrapped), 8, 0x800);
	assert_false(wrapped);
}

static void sifive_window_across_a_line_is_refused(void **state)
{
	struct ntrace_window win = { .start = 0x1fffffff0ULL, .wp = 0x1fffffff0ULL, .end = 0x200000010ULL };

	sifive();
	shim_log[0] = 0;
	assert_int_equal(ntrace_sink_start(&sink, &win), -EIO);
	settle();
	assert_non_null(strstr(shim_log, "cannot be set to a buffer"));
	shim_log[0] = 0;
}

static void sifive_sink_error_is_reported(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	void *funnel_regs = sifive();

	shim_log[0] = 0;
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	fake_bus_error(funnel_regs, true);
	assert_int_equal(ntrace_sink_start(&sink, &win), 0);
	fake_run(sifive_regs, 100);
	assert_int_equal(ntrace_sink_stop(&sink), -EIO);
	settle();
	assert_non_null(strstr(shim_log, "a write to memory caused a bus error"));
	shim_log[0] = 0;
	/* The error does not persist */
	assert_int_equal(fake_peek(funnel_regs, 0x000) & BIT(27), 0);
}

static void sifive_power_was_off(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	void *funnel_regs = sifive();
	bool wrapped;

	shim_log[0] = 0;
	fake_power_off(funnel_regs);
	fake_power_off(sifive_regs);
	ntrace_path_restore_comp(&sink.comp);
	ntrace_path_restore_comp(&enc.comp);
	assert_int_equal(fake_peek(funnel_regs, 0x040), 0x28000023);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	traced(&win, 100);
	assert_in_range(ntrace_sink_written(&sink, &win, &wrapped), 100, 0x1000);
	assert_string_equal(shim_log, "");
}

static void nothing_is_no_version_0(void **state)
{
	void *base = fake_other(0);

	assert_int_equal(bring_up_sifive(&enc.comp, base, &ntrace_sifive_encoder_comp_ops), -ENODEV);
	assert_non_null(strstr(shim_log, "no SiFive trace encoder of version 0"));
	shim_log[0] = 0;
	assert_int_equal(bring_up_sifive(&sink.comp, base, &ntrace_sifive_funnel_comp_ops), -ENODEV);
	shim_log[0] = 0;
}

/*
 * Set up encoder, ATB bridge, CoreSight funnel, ETF and ETR. If @two is set, there are two encoders
 * and two bridges
 */
static void *fabric(bool two)
{
	void *etr_regs = fake_etr(0xffffffff), *etf_regs = fake_etf(etr_regs);
	void *funnel_regs = fake_csfunnel(etf_regs), *bridge_regs = fake_bridge(funnel_regs, 2);

	assert_int_equal(bring_up_cs(&sink.comp, etr_regs, true), 0);
	assert_int_equal(bring_up_cs(&etf, etf_regs, true), 0);
	assert_int_equal(bring_up_cs(&csfunnel.comp, funnel_regs, false), 0);
	assert_int_equal(bring_up(&bridge, bridge_regs), 0);
	assert_int_equal(bridge.ops->setup(&bridge), 0);
	csfunnel.comp.ops->open(&csfunnel.comp, 2);
	assert_int_equal(bring_up(&enc.comp, fake_encoder(bridge_regs, 0,
				  &(struct fake_encoder_options){ })), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	connect(&enc, &bridge);
	enc.routes[0].path[2] = &csfunnel.comp;
	enc.routes[0].path[3] = &etf;
	enc.routes[0].path[4] = &sink.comp;
	enc.routes[0].len = 5;
	take_route(&enc);
	if (two) {
		bridge_regs = fake_bridge(funnel_regs, 3);
		assert_int_equal(bring_up(&bridge2, bridge_regs), 0);
		assert_int_equal(bridge2.ops->setup(&bridge2), 0);
	}
	return etr_regs;
}

static void leave_fabric(void)
{
	bridge.ops->free(&bridge);
	if (bridge2.trace_id)
		bridge2.ops->free(&bridge2);
}

static void frames_arrive_in_the_window(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	bool wrapped;
	u32 n;

	fabric(false);
	win.stop = false;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 100);
	n = ntrace_sink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x1000);
	assert_int_equal(n % 16, 0);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1000], bridge.trace_id << 1 | 1);
	assert_int_equal(fake_mem[0x1000 + n], 0);
	assert_string_equal(shim_log, "");
	leave_fabric();
}

/* The next window begins with a new frame, which contains the trace ID. */
static void second_window_of_frames(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;

	fabric(false);
	win.stop = false;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 5000);
	ntrace_sink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	win = window(0x2000, 0x1000);
	traced(&win, 10);
	assert_in_range(ntrace_sink_written(&sink, &win, &wrapped), 16, 0x800);
	assert_false(wrapped);
	assert_int_equal(fake_mem[0x2000], bridge.trace_id << 1 | 1);
	leave_fabric();
}

static void debugger_holds_the_etr(void **state)
{
	void *etr_regs = fake_etr(0xffffffff);

	fake_claim(etr_regs);
	assert_int_equal(bring_up_cs(&sink.comp, etr_regs, true), -EBUSY);
	assert_non_null(strstr(shim_log, "in use by an external debugger"));
	/* The driver leaves the component alone */
	assert_int_equal(fake_peek(etr_regs, CS_CLAIMCLR), 1);
	shim_log[0] = 0;
}

static void bus_refuses_frames(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	void *etr_regs = fabric(false);

	win.stop = false;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	fake_bus_error(etr_regs, true);
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), -EIO);
	settle();
	assert_non_null(strstr(shim_log, "caused a bus error"));
	shim_log[0] = 0;
	assert_true(sink.comp.stuck);
	/* The sink has stopped nevertheless, and no longer writes to memory */
	assert_false(sink.loose);
	assert_int_equal(start(&enc, &win, false), -EIO);
	fake_bus_error(etr_regs, false);
	assert_int_equal(ntrace_path_recover(&enc, enc.routes), 0);
	shim_log[0] = 0;
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
	leave_fabric();
}

static void each_bridge_has_an_id(void **state)
{
	fabric(true);
	assert_int_not_equal(bridge.trace_id, bridge2.trace_id);
	assert_in_range(bridge2.trace_id, 1, 0x6f);
	assert_int_equal(fake_peek(bridge.base, TR_CONTROL) >> 8 & 0x7f, bridge.trace_id);
	/* The bridge has lost its power */
	ntrace_write(&bridge, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(fake_peek(bridge.base, TR_CONTROL) >> 8 & 0x7f, bridge.trace_id);
	assert_int_equal(fake_peek(bridge.base, TR_CONTROL) & 2, 2);
	leave_fabric();
}

/* Stop, and continue in another window, like at a task switch, a full window or a sample */
static u32 restart(bool paused, unsigned int offset)
{
	struct ntrace_window win = window(offset, 0x8000);
	bool wrapped;

	assert_int_equal(stop(&enc), 0);
	assert_int_equal(start(&enc, &win, paused), 0);
	fake_run(enc.comp.base, 500);
	return ntrace_ramsink_written(&sink, &win, &wrapped);
}

static void with_triggers(struct ntrace_window *win, bool paused)
{
	struct ntrace_filter filter = {
		.trig_in = TR_TE_TRIG_IN_ON | TR_TE_TRIG_IN_OFF << 4,
	};

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config() | NTRACE_CONFIG_TRIGGER,
						&filter), 0);
	assert_int_equal(start(&enc, win, paused), 0);
}

static void trace_that_a_trigger_ended_stays_off(void **state)
{
	struct ntrace_window win = window(0, 0x8000);

	with_triggers(&win, false);
	fake_run(enc.comp.base, 50);
	fake_trigger(enc.comp.base, 1);
	assert_in_range(restart(false, 0x10000), 0, 32);
	assert_in_range(restart(false, 0x18000), 0, 32);
	assert_int_equal(stop(&enc), 0);
}

static void trace_that_a_trigger_began_stays_on(void **state)
{
	struct ntrace_window win = window(0, 0x8000);

	with_triggers(&win, true);
	fake_trigger(enc.comp.base, 0);
	assert_in_range(restart(true, 0x10000), 500, 0x8000);
	assert_in_range(restart(true, 0x18000), 500, 0x8000);
	assert_int_equal(stop(&enc), 0);
}

/* A trigger ended the trace, and another event starts it */
static void trace_that_a_trigger_ended_can_be_resumed(void **state)
{
	struct ntrace_window win = window(0, 0x8000);

	with_triggers(&win, false);
	fake_trigger(enc.comp.base, 1);
	ntrace_sink_pause(&sink);
	assert_in_range(restart(false, 0x10000), 500, 0x8000);
	assert_int_equal(stop(&enc), 0);
}

/* "Set desired mode and verify if that mode is set (regardless of discovery results)" */
static void verifies(enum fake_lost lost, u64 more, const struct ntrace_filter *filter)
{
	u64 config;

	setup(NULL);
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	config = (plain_config() & ~NTRACE_CONFIG_SYNC_MAX) | more;
	assert_int_equal(ntrace_encoder_program(&enc, config, filter), 0);
	assert_string_equal(shim_log, "");
	fake_lose(enc.comp.base, lost);
	assert_int_equal(ntrace_encoder_program(&enc, config, filter), -EIO);
	settle();
}

static void setting_that_is_no_longer_taken_is_an_error(void **state)
{
	struct ntrace_filter here = { .nr_ranges = 1, .ranges = { { 0x10000, 0x10020 } } };

	verifies(FAKE_SYNC_MAX, 15ULL << NTRACE_CONFIG_SYNC_MAX_SHIFT, &all);
	assert_non_null(strstr(shim_log, "trTeControl"));
	verifies(FAKE_CONTEXT, NTRACE_CONFIG_CONTEXT, &all);
	assert_non_null(strstr(shim_log, "trTeControl"));
	verifies(FAKE_TS_MODES, NTRACE_CONFIG_TIMESTAMP |
		 (u64)TR_TS_MODE_INTERNAL_SYSTEM << NTRACE_CONFIG_TS_MODE_SHIFT, &all);
	assert_non_null(strstr(shim_log, "trTsControl"));
	verifies(FAKE_COMPARATORS, 0, &here);
	shim_log[0] = 0;
}

/* A range whose end is 2^64 has 0 as the first address after it */
static void range_ends_at_the_top_of_the_address_space(void **state)
{
	struct ntrace_filter top = { .nr_ranges = 1, .ranges = { { 0x10000, 0 } } };
	struct ntrace_filter empty = { .nr_ranges = 1, .ranges = { { 1, 1 } } };
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &top), 0);
	traced(&win, 500);
	assert_in_range(ntrace_ramsink_written(&sink, &win, &wrapped), 500, 0x8000);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &empty), 0);
	win = window(0x8000, 0x8000);
	traced(&win, 500);
	assert_in_range(ntrace_ramsink_written(&sink, &win, &wrapped), 0, 32);
}

static unsigned int counter_reads;

static void counter_is_noise(void *base, unsigned int offset)
{
	counter_reads++;
	if (counter_reads < 1000)
		fake_set_time(fake_cycles() + (1ULL << 33));
}

static void sifive_counter_that_never_stands(void **state)
{
	sifive();
	counter_reads = 0;
	fake_on_read = counter_is_noise;
	ntrace_encoder_counter(&enc);
	fake_on_read = NULL;
	assert_in_range(counter_reads, 3, 20);
}

/*
 * Register reads of the model take longer in the debug kernel than the driver waits for trTsActive
 * or Active
 */
#ifdef __KERNEL__
#define LATE(X)
#else
#define LATE(X)	X(timestamp_unit_that_wakes_late) X(slow_component_is_waited_for)
#endif

#define CASES(X) \
	X(full_encoder_has_it_all) X(minimal_encoder_has_nothing_more) \
	X(minimal_encoder_refuses_the_rest) X(best_mode_is_what_there_is) \
	X(event_without_ts_mode_has_that_of_the_default) \
	X(prescaler_is_of_internal_clocks) X(counter_that_began_anew) \
	X(component_that_never_becomes_active) \
	X(versions) X(other_protocol_is_refused) X(other_components) \
	X(nothing_is_written_to_what_is_not_supported) X(suspended_component_is_left_alone) \
	X(alignment_is_found) X(range_is_found) X(fixed_buffer_is_refused) X(other_memory_formats_are_refused) \
	X(granule_of_4_gib_is_refused) X(fixed_buffer_that_is_reserved) \
	X(reserved_memory_is_kept_to) X(reserved_memory_of_a_size_that_is_not_taken) X(sram_can_be_chosen) \
	X(trace_arrives_in_the_window) X(second_session_begins_anew) \
	X(full_window_stops_the_sink) X(write_pointer_in_the_middle) \
	X(window_it_does_not_take) X(sram_is_read_back) X(sram_is_read_in_parts) \
	X(stop_on_wrap_is_verified) X(sink_that_always_stops) X(period_suits_all_members) \
	X(filters_are_written) X(ranges_are_left_out) \
	X(triggers_switch_tracing) X(overflow_is_counted) \
	X(window_of_a_power_of_two) \
	X(paused_traces_nothing) X(funnel_is_on_while_an_encoder_is) \
	X(encoder_chooses_between_sinks) X(members_stand_still) X(encoder_left_enabled) X(filters_that_choose_more) \
	X(funnel_has_a_timestamp_unit) X(new_window_for_all_members) X(failing_member_stops_all) \
	X(sink_that_does_not_empty) X(power_was_off) X(comparators_are_off_after_a_reset) \
	X(closed_sink_stays_closed) X(restart_reads_three_registers) \
	X(input_that_no_path_uses_is_disabled) X(drained_funnel_keeps_its_setup) X(sink_that_fills_in_the_flush) \
	X(counters_go_on_after_a_full_window) X(next_window_has_no_more_than_its_own) \
	X(full_window_without_a_page) X(encoder_that_rests_is_left_alone) \
	X(rest_goes_when_the_window_is_taken) \
	X(sink_that_keeps_the_rest) X(encoder_of_two_formats) LATE(X) \
	X(frames_arrive_in_the_window) X(second_window_of_frames) X(debugger_holds_the_etr) \
	X(bus_refuses_frames) X(each_bridge_has_an_id) \
	X(features_that_are_always_on) X(return_mode_that_is_fixed) X(trigger_that_is_fixed) X(recovered_component_is_set_up_before_it_is_used) \
	X(each_is_awaited) X(paused_does_not_even_begin) X(paused_while_it_starts) \
	X(encoder_that_is_not_enabled_frees_its_funnel) X(what_kept_its_power_goes_on) \
	X(what_others_use_is_not_reset) X(stuck_funnel_is_left_alone) X(registers_hold_one_event) X(write_pointer_elsewhere) \
	X(slow_reset_is_awaited) X(quiesced_in_order) X(tried_values_do_not_stay) \
	X(encoder_of_another_format) X(counted_returns_are_for_who_asks) \
	X(returns_without_a_mode_are_for_who_asks) X(source_without_bits_is_inhibited) \
	X(privilege_and_range_have_to_match) X(longest_sync_period_there_is) \
	X(fields_that_do_not_take) X(counter_that_stands_still) X(counter_that_lags) X(base_of_a_hart_that_is_held_up) \
	X(base_after_an_event_without_timestamps) \
	X(base_after_an_event_with_another_clock) X(counter_is_read_whole) X(counter_that_never_stands) \
	X(sifive_is_probed) X(sifive_programs_what_silicon_takes) \
	X(sifive_stops_when_its_window_is_full) X(sifive_window_across_a_line_is_refused) \
	X(sifive_sink_error_is_reported) X(sifive_power_was_off) X(nothing_is_no_version_0) \
	X(timestamp_of_one_mode) X(circular_after_one_that_stopped) \
	X(memory_of_the_system_is_preferred) X(start_is_coarser_than_limit) \
	X(trace_that_a_trigger_ended_stays_off) X(trace_that_a_trigger_began_stays_on) \
	X(trace_that_a_trigger_ended_can_be_resumed) \
	X(setting_that_is_no_longer_taken_is_an_error) X(range_ends_at_the_top_of_the_address_space) \
	X(sifive_counter_that_never_stands)

#ifdef __KERNEL__
#define AS_KUNIT(f)					\
static void kunit_##f(struct kunit *test)		\
{							\
	cmocka_test = test;				\
	setup(NULL);					\
	f(NULL);					\
	KUNIT_EXPECT_EQ(test, teardown(NULL), 0);	\
}
CASES(AS_KUNIT)

#define CASE(f)	{ .run_case = kunit_##f, .name = #f },
static struct kunit_case cases[] = { CASES(CASE) { } };

static struct kunit_suite suite = {
	.name = "ntrace-registers",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of the N-Trace driver's register logic");
MODULE_LICENSE("GPL");
#else
int main(void)
{
#define CASE(f)	cmocka_unit_test_setup_teardown(f, setup, teardown),
	const struct CMUnitTest tests[] = { CASES(CASE) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
