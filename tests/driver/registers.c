// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the driver's register logic against a model of the hardware. The model reports each access that violates the
 * Trace Control Interface.
 *
 * Each registers-*.c has the cases of one topic. The tests run on a host with cmocka, and in a
 * kernel as KUnit tests (see kunit/).
 */
#include "registers.h"

char shim_log[16384];
#ifdef __KERNEL__
unsigned long shim_timebase = 10000000;
#else
unsigned long riscv_timebase = 10000000;
#endif

unsigned int locked;
static unsigned int said_locked;

void shim_printk(const char *fmt, ...)
{
	size_t len = strlen(shim_log);
	va_list args;

	/* Count messages that are printed under a lock, because a console may need the same lock */
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

struct device dev;
struct ntrace_encoder enc, enc2;
struct ntrace_funnel funnel;
struct ntrace_sink sink;
struct ntrace_comp bridge, bridge2;
struct ntrace_csfunnel csfunnel;
struct ntrace_comp etf;
unsigned int funnel_fifo;
const struct ntrace_filter all;

int setup(void **state)
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

int bring_up(struct ntrace_comp *comp, void *base)
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

/* Connect encoder @e to the sink at the end of its route */
void take_route(struct ntrace_encoder *e)
{
	e->sink = e->route.sink;
}

void connect_to(struct ntrace_encoder *e, struct ntrace_comp *via)
{
	struct ntrace_route *route = &e->route;

	*route = (struct ntrace_route){ .path = { &e->comp }, .len = 1, .sink = &sink };
	if (via)
		route->path[route->len++] = via;
	route->path[route->len++] = &sink.comp;
	take_route(e);
}

/* Set up an encoder with a private sink */
void direct(const struct fake_encoder_options *eo, const struct fake_ram_options *ro)
{
	void *ram = fake_ram(ro);

	assert_int_equal(bring_up(&sink.comp, ram), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), 0);
	assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, eo)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	connect_to(&enc, NULL);
}

/* Let the driver print the messages that it has queued as irq_work, so that a test finds them in the log */
void settle(void)
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

/* Let an encoder use the sink without other encoders */
int start(struct ntrace_encoder *e, struct ntrace_window *win, bool paused)
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

int stop(struct ntrace_encoder *e)
{
	int ret = LOCKED(ntrace_sink_stop(&sink));

	list_del_init(&e->member);
	return ret;
}

struct ntrace_window window(unsigned int offset, unsigned int size)
{
	return (struct ntrace_window){
		.start = FAKE_MEM_BASE + offset, .wp = FAKE_MEM_BASE + offset,
		.end = FAKE_MEM_BASE + offset + size, .stop = true,
	};
}

/* Start the trace, execute @n branches, and stop the trace */
void traced(struct ntrace_window *win, unsigned int n)
{
	assert_int_equal(start(&enc, win, false), 0);
	fake_run(enc.comp.base, n);
	assert_int_equal(stop(&enc), 0);
}

u64 plain_config(void)
{
	return enc.default_config & ~(NTRACE_CONFIG_CONTEXT | NTRACE_CONFIG_EXTEND_ADDR);
}

/* Set up an encoder with a private sink, so that the encoder is ready to start */
void programmed(void)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
}

/* Set up two encoders, a funnel and one sink */
void shared(void)
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
	connect_to(&enc, &funnel.comp);
	connect_to(&enc2, &funnel.comp);
	funnel.comp.ops->open(&funnel.comp, 0);
	funnel.comp.ops->open(&funnel.comp, 1);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc2, plain_config(), &all), 0);
}

/* Let both encoders use the sink, whose window is @win */
void start_both(struct ntrace_window *win)
{
	assert_int_equal(start(&enc, win, false), 0);
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
}

void stop_both(void)
{
	assert_int_equal(LOCKED(ntrace_sink_stop(&sink)), 0);
	list_del_init(&enc.member);
	list_del_init(&enc2.member);
}

/*
 * Check that both encoders can be traced into a window at @offset, which must begin with a synchronising message
 */
void both_can_be_traced(unsigned int offset)
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

/* Let the timestamp unit of the funnel count its own clock, as if the funnel had no external clock */
void funnel_counts_itself(void)
{
	funnel.ts_mode = TR_TS_MODE_INTERNAL_SYSTEM;
	ntrace_funnel_revive(&funnel);
}

#ifdef __KERNEL__
struct kunit *cmocka_test;

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
