// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the encoder with the examples of RISC-V N-Trace 1.0, from which the quotations are. If the
 * specification contains the bytes of a trace, a test compares these bytes. Otherwise a test compares a
 * text that describes the messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "encoder.h"

/* ---- Conversion of a trace to text, which shares no code with the decoder ---- */

struct trace {
	struct nb_encoder enc;
	uint8_t		bytes[1 << 16];
	size_t		n;
	uint64_t	time;
	uint64_t	pc;
	uint8_t		priv;
	unsigned int	accept;		/* number of messages after which take() refuses messages; 0 accepts all */
	unsigned int	taken;		/* number of accepted messages */
	char		text[1 << 16];
};

static struct trace t;

static bool take(void *opaque, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	if (t.accept && t.taken >= t.accept)
		return false;
	assert_true(t.n + len <= sizeof(t.bytes));
	memcpy(t.bytes + t.n, bytes, len);
	t.n += len;
	t.taken++;
	return true;
}

static uint64_t now(void *opaque)
{
	(void)opaque;
	return t.time;
}

/*
 * Fields of messages. The first character is the number of bits of a fixed field, or 'v' for a variable field.
 * The other characters are the name.
 */
static const struct layout {
	uint8_t		tcode;
	const char	*name;
	const char	*fields[6];
} layouts[] = {
	{ 2, "Own", { "vPROCESS" } },
	{ 3, "DB", { "vI" } },
	{ 4, "IB", { "2B", "vI", "vU" } },
	{ 8, "Error", { "4ETYPE", "vECODE" } },
	{ 9, "Sync", { "4S", "vI", "vF" } },
	{ 11, "DBS", { "4S", "vI", "vF" } },
	{ 12, "IBS", { "4S", "2B", "vI", "vF" } },
	{ 27, "RF", { "4R", "vD", "vREP" } },
	{ 28, "IBH", { "2B", "vI", "vU", "vH" } },
	{ 29, "IBHS", { "4S", "2B", "vI", "vF", "vH" } },
	{ 30, "Rep", { "vN" } },
	{ 33, "Corr", { "4EV", "2CDF", "vI", "vH" } },
};

struct cursor {
	size_t		pos;
	unsigned int	bit;	/* number of bits of the MDO at @pos that were read */
	bool		end;	/* the last field of the message was read */
};

static uint64_t fixed(struct cursor *c, unsigned int width)
{
	uint64_t value = 0;
	unsigned int i;

	for (i = 0; i < width; i++) {
		if (c->bit == 6) {
			assert_int_equal(t.bytes[c->pos] & 3, 0);	/* MSEO within fixed fields is 0 */
			c->pos++;
			c->bit = 0;
		}
		value |= (uint64_t)(t.bytes[c->pos] >> (2 + c->bit++) & 1) << i;
	}
	return value;
}

static uint64_t variable(struct cursor *c)
{
	unsigned __int128 value = 0;
	unsigned int shift = 0, mseo;

	if (c->bit == 6) {
		assert_int_equal(t.bytes[c->pos] & 3, 0);
		c->pos++;
		c->bit = 0;
	}
	do {
		assert_true(c->pos < t.n);
		value |= (unsigned __int128)(t.bytes[c->pos] >> (2 + c->bit)) << shift;
		shift += 6 - c->bit;
		mseo = t.bytes[c->pos++] & 3;
		c->bit = 0;
	} while (mseo == 0);
	assert_true(mseo == 1 || mseo == 3);
	c->end = mseo == 3;
	assert_true(value >> 64 == 0);
	return value;
}

static void say(const char *fmt, ...)
{
	size_t len = strlen(t.text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t.text + len, sizeof(t.text) - len, fmt, ap);
	va_end(ap);
}

static void say_message(struct cursor *c, unsigned int src_bits)
{
	const struct layout *l = layouts;
	uint64_t tcode, value;
	unsigned int i;

	c->end = false;
	c->bit = 0;
	tcode = fixed(c, 6);
	while (l < layouts + 12 && l->tcode != tcode)
		l++;
	assert_true(l < layouts + 12);
	say("%s%s", t.text[0] ? "; " : "", l->name);
	if (src_bits)
		say(" SRC=%x", (unsigned int)fixed(c, src_bits));
	for (i = 0; i < 6 && l->fields[i] && !c->end; i++) {
		const char *f = l->fields[i];

		value = *f == 'v' ? variable(c) : fixed(c, *f - '0');
		say(" %s=%llx", f + 1, (unsigned long long)value);
	}
	if (!c->end)
		say(" T=%llx", (unsigned long long)variable(c));
	assert_true(c->end);
}

static const char *words(unsigned int src_bits)
{
	struct cursor c = { 0 };

	t.text[0] = '\0';
	while (c.pos < t.n)
		say_message(&c, src_bits);
	t.n = 0;
	return t.text;
}

#define assert_trace(expected) assert_string_equal(words(t.enc.cfg.src_bits), expected)

/* ---- Functions that emulate a hart, which passes blocks to the encoder ---- */

static void begin(struct nb_encoder_config cfg, enum nb_sync sync, uint64_t pc)
{
	memset(&t, 0, sizeof(t));
	nb_encoder_init(&t.enc, &cfg, take, NULL);
	t.enc.now = now;
	t.priv = NB_PRIV_S;
	t.pc = pc;
	nb_encoder_start(&t.enc, sync);
}

#define BEGIN(pc, ...) \
	begin((struct nb_encoder_config){ __VA_ARGS__ }, NB_SYNC_EXIT_DEBUG, pc)

/*
 * Retire a block of @n half-words. Its last instruction has @last half-words and the type @itype. The next
 * block is at address @next.
 */
static void block(uint32_t n, uint8_t last, enum nb_itype itype, uint64_t next)
{
	struct nb_ingress blk = { .iaddr = t.pc, .iretire = n, .ninsn = n ? (n + 1) / 2 : 0,
				  .ilastsize = last, .itype = itype, .priv = t.priv };

	nb_encoder_ingress(&t.enc, &blk);
	t.pc = next;
}

static void linear(uint32_t n)
{
	block(n, n > 1 ? 2 : 1, NB_ITYPE_NONE, t.pc + 2 * n);
}

static void stop(enum nb_evcode evcode)
{
	nb_encoder_stop(&t.enc, evcode);
}

/* ---- Chapter "N-Trace Message Example" ---- */

static void test_message_example(void **state)
{
	static const uint8_t expected[] = { 0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff };
	int i;

	(void)state;
	BEGIN(0x1000, .mode = NB_MODE_HTM);
	for (i = 0; i < 10; i++)
		block(8, 2, NB_ITYPE_TAKEN, 0x1000);
	block(8, 2, NB_ITYPE_NOT_TAKEN, 0x1010);
	t.n = 0;
	block(0x7d - 88, 1, NB_ITYPE_INDIRECT_JUMP, 0x1000 ^ 0xe);
	linear(1);
	assert_int_equal(t.n, sizeof(expected));
	assert_memory_equal(t.bytes, expected, sizeof(expected));
}

/* ---- Section "Address XOR Calculation Examples" ---- */

static void test_address_xor(void **state)
{
	static const uint8_t sync[] = { 0x24, 0x0d, 0x08, 0xe0, 0x7f };

	(void)state;
	BEGIN(0x3fc04, .mode = NB_MODE_BTM);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x3f368);
	assert_int_equal(t.n, sizeof(sync));
	assert_memory_equal(t.bytes, sync, sizeof(sync));
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x3e100);
	linear(1);
	assert_trace("Sync S=3 I=0 F=1fe02; IB B=0 I=2 U=7b6; IB B=0 I=2 U=934");
}

/* ---- Examples of the field PROCESS of Ownership messages ---- */

static void test_process(void **state)
{
	static const uint8_t vu[] = { 0x08, 0xc8, 0x3b };

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .context = true);
	t.priv = NB_PRIV_VU;
	nb_encoder_context(&t.enc, 0x1d, 0);
	block(2, 2, NB_ITYPE_EXCEPTION, 0x200);
	assert_memory_equal(t.bytes + t.n - 3, vu, 3);
	t.priv = NB_PRIV_M;
	linear(2);
	assert_trace("Sync S=3 I=0 F=80; Own PROCESS=3b2; IB B=1 I=2 U=180; Own PROCESS=c");
}

/* ---- Section "Example of I-CNT Handling", whose three paths are traced in BTM and HTM ---- */

static void run_example(int run)
{
	linear(1);
	if (run == 1) {
		block(2, 2, NB_ITYPE_TAKEN, 0x200);
		linear(1);
		return;
	}
	block(2, 2, NB_ITYPE_NOT_TAKEN, 0x106);
	linear(2);
	if (run == 2) {
		block(2, 2, NB_ITYPE_TAKEN, 0x300);
		linear(2);
		return;
	}
	block(2, 2, NB_ITYPE_NOT_TAKEN, 0x10e);
	linear(1);
	linear(2);
}

static void test_icnt_btm(void **state)
{
	static const char *const expected[] = {
		"Sync S=3 I=0 F=80; DB I=3; Corr EV=0 CDF=0 I=1",
		"Sync S=3 I=0 F=80; DB I=7; Corr EV=0 CDF=0 I=2",
		"Sync S=3 I=0 F=80; Corr EV=0 CDF=0 I=a",
	};
	int run;

	(void)state;
	for (run = 1; run <= 3; run++) {
		BEGIN(0x100, .mode = NB_MODE_BTM);
		run_example(run);
		nb_encoder_debug(&t.enc, true);
		assert_trace(expected[run - 1]);
	}
}

static void test_icnt_htm(void **state)
{
	static const char *const expected[] = {
		"Sync S=3 I=0 F=80; Corr EV=0 CDF=1 I=4 H=3",
		"Sync S=3 I=0 F=80; Corr EV=0 CDF=1 I=9 H=5",
		"Sync S=3 I=0 F=80; Corr EV=0 CDF=1 I=a H=4",
	};
	int run;

	(void)state;
	for (run = 1; run <= 3; run++) {
		BEGIN(0x100, .mode = NB_MODE_HTM);
		run_example(run);
		nb_encoder_debug(&t.enc, true);
		assert_trace(expected[run - 1]);
	}
}

/* "I-CNT=1" reports "an exception (or interrupt) at an instruction at address 0x102". */
static void test_icnt_exception(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM);
	block(1, 1, NB_ITYPE_EXCEPTION, 0x800);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=1 I=1 U=480");
	BEGIN(0x100, .mode = NB_MODE_BTM, .btype_extended = true);
	block(0, 0, NB_ITYPE_INTERRUPT, 0x800);	/* before any instruction: "pending before we started the code" */
	block(0, 0, NB_ITYPE_EXCEPTION, 0x900);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=3 I=0 U=480; IB B=2 I=0 U=80");
}

/* ---- Section "Examples of I-CNT Field Full Generation", in which I-CNT has 4 bits ---- */

static void full_example(void)
{
	int i;

	linear(1);
	block(2, 2, NB_ITYPE_NOT_TAKEN, 0x106);
	for (i = 0; i < 5; i++)
		linear(2);
	linear(1);
	nb_encoder_debug(&t.enc, true);
}

static void test_icnt_full(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .icnt_bits = 4);
	full_example();
	assert_trace("Sync S=3 I=0 F=80; RF R=0 D=9; Corr EV=0 CDF=1 I=5 H=2");
	BEGIN(0x100, .mode = NB_MODE_BTM, .icnt_bits = 4, .icnt_sync = true);
	full_example();
	assert_trace("Sync S=3 I=0 F=80; Sync S=4 I=9 F=89; Corr EV=0 CDF=0 I=5");
}

/* ---- Section "HIST Field Generation" ---- */

static void test_hist_examples(void **state)
{
	static const struct { const char *branches, *expected; } cases[] = {
		{ "01", "Corr EV=4 CDF=1 I=4 H=5" },
		{ "111", "Corr EV=4 CDF=1 I=6 H=f" },
		{ "0000", "Corr EV=4 CDF=1 I=8 H=10" },
		{ "", "Corr EV=4 CDF=1 I=1 H=1" },
	};
	unsigned int i;
	const char *b;

	(void)state;
	for (i = 0; i < 4; i++) {
		BEGIN(0x100, .mode = NB_MODE_HTM);
		block(0, 0, NB_ITYPE_NONE, 0x100);
		t.n = 0;
		for (b = cases[i].branches; *b; b++)
			block(2, 2, *b == '1' ? NB_ITYPE_TAKEN : NB_ITYPE_NOT_TAKEN, 0x100);
		if (!*cases[i].branches)
			linear(1);
		stop(NB_EVCODE_DISABLED);
		assert_trace(cases[i].expected);
	}
}

static void test_hist_full(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .hist_bits = 5);
	for (i = 0; i < 6; i++)
		block(2, 2, i & 1 ? NB_ITYPE_TAKEN : NB_ITYPE_NOT_TAKEN, 0x100);
	stop(NB_EVCODE_DISABLED);
	/* ResourceFull with RCODE 1 does not reset I-CNT */
	assert_trace("Sync S=3 I=0 F=80; RF R=1 D=15; Corr EV=4 CDF=1 I=c H=5");
}

/* If I-CNT and HIST are full at the same time, two successive ResourceFull messages are sent. */
static void test_both_full(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .hist_bits = 5, .icnt_bits = 4);
	for (i = 0; i < 4; i++)
		block(2, 2, NB_ITYPE_TAKEN, 0x100);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; RF R=1 D=1f; RF R=0 D=8; Corr EV=4 CDF=1 I=0 H=1");
}

/* ---- Section "Repeated History Optimization" ---- */

static void test_repeated_history(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .repeated_history = true);
	for (i = 0; i < 300; i++)
		block(2, 2, i & 1 ? NB_ITYPE_TAKEN : NB_ITYPE_NOT_TAKEN, 0x100);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; RF R=2 D=55555555 REP=a; Corr EV=4 CDF=1 I=258 H=1");
	/* Without the optimisation, HIST has room for 31 branches */
	BEGIN(0x100, .mode = NB_MODE_HTM);
	for (i = 0; i < 31; i++)
		block(2, 2, NB_ITYPE_TAKEN, 0x100);
	assert_trace("Sync S=3 I=0 F=80; RF R=1 D=ffffffff");
	/* A single full HIST is not a repetition, so its RCODE is 1 */
	BEGIN(0x100, .mode = NB_MODE_HTM, .repeated_history = true);
	for (i = 0; i < 30; i++)
		block(2, 2, NB_ITYPE_TAKEN, 0x100);
	block(2, 2, NB_ITYPE_NOT_TAKEN, 0x104);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; RF R=1 D=7fffffff; Corr EV=4 CDF=1 I=3e H=2");
}

/* ---- Example encodings of section "Virtual Addresses Optimization" ---- */

static void test_extended_address(void **state)
{
	static const struct { uint64_t addr; uint8_t bytes[11]; unsigned int n; } cases[] = {
		{ 0xffffffffeULL, { 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0x7f }, 6 },
		{ 0xfffffffe3ffffffeULL, { 0xfc, 0xfc, 0xfc, 0xfc, 0x7c, 0xf3 }, 6 },
		{ 0x1ffffffffeULL, { 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0x03 }, 7 },
		{ 0xbffffffffffffffeULL,
		  { 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0x17 }, 11 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		BEGIN(cases[i].addr, .mode = NB_MODE_BTM, .extend_addr = true);
		linear(1);
		/* MSEO is 11, but 01 in the example, because F-ADDR is the last field of this message */
		assert_int_equal(t.n, 2 + cases[i].n);
		assert_memory_equal(t.bytes + 2, cases[i].bytes, cases[i].n);
	}
	/* Without the optimisation, address 0xffff_ffff_8000_31f4 is encoded as F-ADDR 0x7fff_ffff_c000_18fa */
	BEGIN(0xffffffff800031f4ULL, .mode = NB_MODE_BTM);
	linear(1);
	assert_int_equal(t.n, 2 + 11);
	assert_trace("Sync S=3 I=0 F=7fffffffc00018fa");
}

static void test_extended_rv32(void **state)
{
	(void)state;
	BEGIN(0xfffff000, .mode = NB_MODE_BTM, .extend_addr = true, .xlen = 32);
	linear(1);
	assert_trace("Sync S=3 I=0 F=800");	/* a decoder copies the highest bit of 0x800 to all bits up to 31 */
	BEGIN(0x80000000, .mode = NB_MODE_BTM, .extend_addr = true, .xlen = 32);
	linear(1);
	assert_trace("Sync S=3 I=0 F=40000000");
}

/* ---- Table "Corner Cases" ---- */

static void test_back_to_back_returns(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM);
	block(5, 2, NB_ITYPE_RETURN, 0x200);
	block(1, 1, NB_ITYPE_RETURN, 0x300);
	block(2, 2, NB_ITYPE_RETURN, 0x400);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=5 U=180; IB B=0 I=1 U=80; IB B=0 I=2 U=380");
}

static void test_trap_at_interrupt_target(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .btype_extended = true);
	block(2, 2, NB_ITYPE_INTERRUPT, 0x800);
	block(0, 0, NB_ITYPE_EXCEPTION, 0xa00);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=3 I=2 U=480; IB B=2 I=0 U=100");
}

static void test_halt_while_disabled(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .priv_mask = 1 << NB_PRIV_U);
	linear(2);
	nb_encoder_debug(&t.enc, true);
	assert_trace("Corr EV=0 CDF=0 I=0");
}

static void test_trap_after_trap_return(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .context = true, .btype_extended = true);
	block(4, 2, NB_ITYPE_TRAP_RETURN, 0x2000);
	t.priv = NB_PRIV_U;
	block(0, 0, NB_ITYPE_INTERRUPT, 0x100);
	t.priv = NB_PRIV_S;
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; Own PROCESS=6; IB B=0 I=4 U=1080; Own PROCESS=0; "
		     "IB B=3 I=0 U=1080; Own PROCESS=4");
}

/* ---- Trace filters. After a gap, SYNC is 5, "re-enabled after a gap caused by trace filters" ---- */

static void test_privilege_filter(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .priv_mask = 1 << NB_PRIV_S | 1 << NB_PRIV_U);
	block(2, 2, NB_ITYPE_NOT_TAKEN, 0x104);
	block(3, 1, NB_ITYPE_EXCEPTION, 0x80000000);
	t.priv = NB_PRIV_M;
	linear(10);
	assert_int_equal(t.enc.state.session, 0);
	block(2, 2, NB_ITYPE_TRAP_RETURN, 0x10e);
	t.priv = NB_PRIV_S;
	linear(2);
	assert_int_equal(t.enc.state.session, 2);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=4 CDF=1 I=5 H=2; Sync S=5 I=0 F=87; "
		     "Corr EV=4 CDF=1 I=2 H=1");
}

/* If the traced code ends with a taken branch, the branch is reported. The target of a jump is not reported. */
static void test_stop_at_branch(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM);
	block(2, 2, NB_ITYPE_TAKEN, 0x200);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; DB I=2; Corr EV=4 CDF=0 I=0");
	BEGIN(0x100, .mode = NB_MODE_BTM, .sync_mode = 3);
	linear(20);
	block(2, 2, NB_ITYPE_TAKEN, 0x200);	/* without stop(), a DirectBranchSync would be sent here */
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; Sync S=2 I=14 F=94; DB I=2; Corr EV=4 CDF=0 I=0");
	BEGIN(0x100, .mode = NB_MODE_BTM);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x200);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=4 CDF=0 I=2");
}

/* ---- Synchronizing messages ---- */

static void test_periodic_sync(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .sync_mode = 3);	/* a sync every 16 half-words of code */
	block(16, 2, NB_ITYPE_TAKEN, 0x100);
	block(16, 2, NB_ITYPE_TAKEN, 0x100);
	block(16, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; DB I=10; Sync S=2 I=0 F=80; DB I=10; Sync S=2 I=0 F=80; "
		     "IBS S=2 B=0 I=10 F=80");
	BEGIN(0x100, .mode = NB_MODE_HTM, .sync_mode = 3);
	block(16, 2, NB_ITYPE_TAKEN, 0x100);
	block(16, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	block(16, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IBHS S=2 B=0 I=10 F=80 H=3; IBS S=2 B=0 I=10 F=80; "
		     "IBS S=2 B=0 I=10 F=80");
}

/* A periodic sync may wait for a branch message ("Next available Branch message upgraded"). */
static void test_delayed_sync(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .sync_mode = 3, .sync_delayed = true);
	linear(18);
	linear(2);
	block(2, 2, NB_ITYPE_TAKEN, 0x100);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; DBS S=2 I=16 F=80");
}

/* Periods, timestamps and FIFOs depend on cycles. In variant CYCLES, an instruction takes several cycles. */
static void test_cycles_are_no_instructions(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .sync_mode = 2);	/* a synchronising message every 16 cycles */
	linear(5);
	linear(5);
	linear(5);
	assert_trace("Sync S=3 I=0 F=80");
	BEGIN(0x100, .mode = NB_MODE_BTM, .sync_mode = 2, .variant = NB_VARIANT_CYCLES);
	linear(5);
	linear(5);
	linear(5);
	assert_trace("Sync S=3 I=0 F=80; Sync S=2 I=a F=8a");
}

static void test_sync_by_messages(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .sync_mode = 1);	/* a sync every 16 messages */
	linear(1);
	t.n = 0;
	for (i = 0; i < 17; i++)
		block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	assert_trace("IB B=0 I=3 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; "
		     "IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; "
		     "IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; "
		     "IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0; IB B=0 I=2 U=0");
	linear(1);
	assert_trace("IBS S=2 B=0 I=2 F=80");
}

static void test_ownership_after_sync(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .context = true, .hcontext = true);
	nb_encoder_context(&t.enc, 5, 3);
	linear(2);
	/* The encoder reports a new context after the block whose code wrote the context */
	nb_encoder_context(&t.enc, 6, 3);
	linear(2);
	linear(2);
	assert_trace("Sync S=3 I=0 F=80; Own PROCESS=67; Own PROCESS=a6; Own PROCESS=67; "
		     "Own PROCESS=c6");
}

static void test_trigger(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM);
	block(2, 2, NB_ITYPE_TAKEN, 0x200);
	nb_encoder_notify(&t.enc, NB_SYNC_TRACE_EVENT);
	linear(2);
	nb_encoder_notify(&t.enc, NB_SYNC_EXT_TRIGGER);
	linear(2);
	assert_trace("Sync S=3 I=0 F=80; IBHS S=6 B=0 I=2 F=100 H=3; Sync S=0 I=2 F=102");
}

/* ---- Section "Timestamp Reporting", and the field SRC ---- */

static void test_timestamps(void **state)
{
	(void)state;
	t.time = 0;
	BEGIN(0x100, .mode = NB_MODE_BTM, .timestamp = true, .context = true, .src_bits = 5, .src_id = 17);
	t.time = 0x1000;
	linear(2);
	t.time = 0x1010;
	block(2, 2, NB_ITYPE_TAKEN, 0x100);
	t.time = 0x1015;
	nb_encoder_notify(&t.enc, NB_SYNC_TRACE_EVENT);
	linear(2);
	assert_trace("Sync SRC=11 S=3 I=0 F=80 T=1000; Own SRC=11 PROCESS=6 T=0; "
		     "DB SRC=11 I=4 T=10; Sync SRC=11 S=6 I=0 F=80 T=1015; "
		     "Own SRC=11 PROCESS=6 T=0");
}

/* ---- Optimisations that reduce the number of messages ---- */

static void test_implicit_return(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 3);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	block(2, 2, NB_ITYPE_INDIRECT_CALL, 0x300);
	block(2, 1, NB_ITYPE_RETURN, 0x204);	/* needs no message, because the return stack contains 0x204 */
	block(2, 1, NB_ITYPE_RETURN, 0x500);	/* needs a message, because the return stack contains 0x108 */
	block(2, 1, NB_ITYPE_RETURN, 0x600);	/* needs a message, because the return stack is empty */
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=6 U=100; IB B=0 I=4 U=300; IB B=0 I=2 U=180");
	/* The return stack is "reset to 0 whenever a synchronizing message is sent" */
	BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 3);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	nb_encoder_notify(&t.enc, NB_SYNC_TRACE_EVENT);
	block(2, 1, NB_ITYPE_RETURN, 0x108);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; Sync S=6 I=4 F=100; IB B=0 I=2 U=184");
}

/*
 * "Returns can only be treated as inferable if the associated call has already been reported in an earlier
 * message". A strict encoder follows this sentence literally, so that the target of a return is sent if the
 * same message reports the call and the return.
 */
static void test_strict_return(void **state)
{
	int strict;

	(void)state;
	for (strict = 0; strict < 2; strict++) {
		BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 3,
		      .variant = strict ? NB_VARIANT_RETURN_STRICT : 0);
		block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
		block(2, 1, NB_ITYPE_RETURN, 0x108);
		block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
		block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x300);	/* its message also reports the call to 0x200 above */
		block(2, 1, NB_ITYPE_RETURN, 0x110);
		stop(NB_EVCODE_DISABLED);
		assert_trace(strict ?
			     "Sync S=3 I=0 F=80; IB B=0 I=6 U=4; IB B=0 I=6 U=104; Corr EV=4 CDF=1 I=2 H=1" :
			     "Sync S=3 I=0 F=80; IB B=0 I=c U=100; Corr EV=4 CDF=1 I=2 H=1");
	}
}

/* In this variant, a full return stack ignores further calls. */
static void test_stack_stops(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 3, .stack_depth = 1,
	      .variant = NB_VARIANT_STACK_STOPS);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x300);
	block(2, 1, NB_ITYPE_RETURN, 0x208);	/* the return stack contains only 0x108, of the first call */
	block(2, 1, NB_ITYPE_RETURN, 0x108);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=a U=184; IB B=0 I=2 U=180");
}

static void test_counted_return(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .implicit_return = 1, .stack_depth = 1);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x300);	/* the call counter stays at its maximum: "will not overflow" */
	block(2, 1, NB_ITYPE_RETURN, 0x208);
	block(2, 1, NB_ITYPE_RETURN, 0x108);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=c U=4");
}

/* In mode 2, a return is expected if "some least significant part" of its target matches the return stack. */
static void test_partial_return(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 2, .stack_bits = 16);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	block(2, 1, NB_ITYPE_RETURN, 0x10108);
	linear(1);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=4 CDF=1 I=7 H=1");

	BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 2, .stack_bits = 17);
	block(4, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	block(2, 1, NB_ITYPE_RETURN, 0x10108);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=6 U=8004");
}

static void test_co_routine_swap(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .implicit_return = 3);
	block(2, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	block(2, 2, NB_ITYPE_SWAP, 0x104);		/* pops 0x104 from the return stack, and pushes 0x204 */
	block(2, 2, NB_ITYPE_SWAP, 0x204);
	block(2, 2, NB_ITYPE_RETURN, 0x108);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=4 CDF=1 I=8 H=1");
}

static void sijump(uint32_t n, uint64_t next)
{
	struct nb_ingress blk = { .iaddr = t.pc, .iretire = n, .ninsn = n / 2, .ilastsize = 2,
				  .itype = NB_ITYPE_INDIRECT_JUMP, .priv = t.priv, .sijump = true };

	nb_encoder_ingress(&t.enc, &blk);
	t.pc = next;
}

static void test_sequential_jump(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .sequential_jump = true);
	sijump(4, 0x200);
	linear(2);		/* an auipc that computes the target of the next jump */
	sijump(2, 0x300);	/* no message, because the target of this jump is known from the auipc */
	linear(2);
	nb_encoder_notify(&t.enc, NB_SYNC_TRACE_EVENT);
	sijump(2, 0x400);	/* needs a message, because the event was reported after the auipc */
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; Sync S=6 I=a F=182; IB B=0 I=2 U=382");
}

static void test_all_jumps(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .all_jumps = true);
	block(2, 2, NB_ITYPE_DIRECT_JUMP, 0x200);
	block(2, 2, NB_ITYPE_NOT_TAKEN, 0x204);
	block(2, 2, NB_ITYPE_DIRECT_CALL, 0x200);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=4 CDF=1 I=6 H=d");
	BEGIN(0x100, .mode = NB_MODE_BTM, .all_jumps = true);
	block(2, 2, NB_ITYPE_OTHER_DIRECT, 0x200);
	assert_trace("Sync S=3 I=0 F=80; DB I=2");
}

static void test_repeat_branch(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .repeat_branch = true);
	for (i = 0; i < 100; i++)
		block(3, 2, NB_ITYPE_TAKEN, 0x100);
	block(3, 2, NB_ITYPE_NOT_TAKEN, 0x106);
	for (i = 0; i < 3; i++) {
		block(3, 2, NB_ITYPE_INDIRECT_JUMP, 0x106);
		linear(3);
		t.pc = 0x106;
	}
	stop(NB_EVCODE_DISABLED);
	/* All indirect jumps have I-CNT 6 and the same target, so RepeatBranch (Rep) counts the last two */
	assert_trace("Sync S=3 I=0 F=80; DB I=3; Rep N=63; IB B=0 I=6 U=3; Rep N=2; "
		     "Corr EV=4 CDF=0 I=3");
}

/* ---- Section "Error Message", which is sent after an overflow of the FIFO ---- */

static void test_overflow(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .fifo_depth = 32, .fifo_rate = 16);
	for (i = 0; i < 20; i++)
		block(2, 2, NB_ITYPE_INDIRECT_JUMP, i & 1 ? 0x100 : 0x120000);
	assert_int_equal(t.enc.stats.overflows, 1);
	assert_true(t.enc.state.session == 0 && t.enc.state.evcode == NB_ENDED_LOST);
	t.n = 0;
	linear(800);		/* 800 cycles, in which the FIFO becomes empty */
	linear(2);
	assert_trace("Error ETYPE=0 ECODE=4; Sync S=7 I=0 F=3a0");
	assert_int_equal(t.enc.state.session, 2);
}

/* After an overflow before a stop, the "Error Message will be the last message in trace stream". */
static void test_overflow_last(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .fifo_depth = 4, .fifo_rate = 1 << 20);
	t.accept = 2;
	block(2, 2, NB_ITYPE_TAKEN, 0x200);
	block(2, 2, NB_ITYPE_TAKEN, 0x300);	/* the message of this block fills the FIFO */
	block(2, 2, NB_ITYPE_TAKEN, 0x400);
	t.accept = 0;
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; DB I=2; DB I=2; Error ETYPE=0 ECODE=4");
}

static void test_stall(void **state)
{
	int i;

	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .fifo_depth = 32, .fifo_rate = 16, .stall = true);
	for (i = 0; i < 100; i++)
		block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	assert_int_equal(t.enc.stats.overflows, 0);
	assert_true(t.enc.stats.stall_cycles > 0);
	assert_int_equal(t.enc.stats.messages[NB_TCODE_INDIRECT_BRANCH], 99);
}

/* ---- Tests that detect single changes of the encoder (tests/mutations) ---- */

/* A timestamp of 8 bits wraps between two messages. */
static void test_narrow_timestamp(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .timestamp = true, .ts_width = 8);
	t.time = 250;
	linear(1);
	t.time = 260;
	block(2, 2, NB_ITYPE_TAKEN, 0x200);
	assert_trace("Sync S=3 I=0 F=80 T=fa; DB I=3 T=a");
}

/* Times are relative to the last message that was sent, and not to a lost message */
static void test_time_after_overflow(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .timestamp = true, .fifo_depth = 4, .fifo_rate = 1 << 20);
	t.accept = 2;
	for (; t.time < 40; t.time += 10)
		block(2, 2, NB_ITYPE_TAKEN, t.pc + 0x100);
	t.accept = 0;
	t.time = 50;
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80 T=0; DB I=2 T=0; DB I=2 T=a; Error ETYPE=0 ECODE=4 T=28");
}

static void test_repeat_to_elsewhere(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .repeat_branch = true);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x200);
	linear(1);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=2 U=0; Rep N=1; IB B=0 I=2 U=180; Corr EV=4 CDF=0 I=1");
}

/* RepeatBranch repeats "the previous message", so it cannot repeat a branch message before a ProgTraceSync. */
static void test_repeat_after_sync(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .repeat_branch = true);
	block(2, 2, NB_ITYPE_TAKEN, 0x100);
	nb_encoder_notify(&t.enc, NB_SYNC_TRACE_EVENT);
	block(2, 2, NB_ITYPE_TAKEN, 0x100);
	stop(NB_EVCODE_DISABLED);
	assert_trace("Sync S=3 I=0 F=80; DB I=2; Sync S=6 I=0 F=80; DB I=2; Corr EV=4 CDF=0 I=0");
}

/* RepeatBranch "cannot be used in HTM mode" */
static void test_no_repeat_in_htm(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .repeat_branch = true);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	block(2, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=2 U=0; IB B=0 I=2 U=0");
}

/* If I-CNT is full at a jump, the message of the jump reports I-CNT, and no ResourceFull message is sent. */
static void test_full_at_a_jump(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .icnt_bits = 4);
	block(10, 2, NB_ITYPE_INDIRECT_JUMP, 0x100);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=a U=0");
}

/* If the hart enters Debug Mode while its code is filtered, I-CNT is 0 (table "Corner Cases"). */
static void test_debug_after_silent_stop(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_BTM, .priv_mask = 1 << NB_PRIV_S, .variant = NB_VARIANT_NO_STOP);
	linear(5);
	t.priv = NB_PRIV_U;
	linear(5);
	nb_encoder_debug(&t.enc, true);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=0 CDF=0 I=0");
}

/* In these variants, the encoder deviates from the specification like known encoders. */
static void test_deviations(void **state)
{
	(void)state;
	BEGIN(0x100, .mode = NB_MODE_HTM, .sync_mode = 3, .sync_delayed = true, .variant = NB_VARIANT_XRET_INTERRUPT);
	block(4, 2, NB_ITYPE_TRAP_RETURN, 0x200);
	linear(16);
	block(4, 2, NB_ITYPE_TRAP_RETURN, 0x300);
	linear(1);
	assert_trace("Sync S=3 I=0 F=80; IB B=0 I=4 U=180; IBS S=2 B=3 I=14 F=180");

	BEGIN(0x100, .mode = NB_MODE_BTM, .timestamp = true, .fifo_depth = 4, .fifo_rate = 1 << 20,
	      .variant = NB_VARIANT_ECODE_BITS);
	t.accept = 1;
	for (; t.time < 40; t.time += 10)
		block(2, 2, NB_ITYPE_TAKEN, t.pc + 0x100);
	t.accept = 0;
	t.n = 0;
	t.time = 50;
	stop(NB_EVCODE_DISABLED);
	assert_trace("DB I=2 T=0; Error ETYPE=0 ECODE=3204");

	BEGIN(0x100, .mode = NB_MODE_HTM, .priv_mask = 1 << NB_PRIV_S, .variant = NB_VARIANT_TRAP_IN_GAP);
	linear(2);
	t.priv = NB_PRIV_M;
	linear(2);
	block(2, 2, NB_ITYPE_EXCEPTION, 0x300);
	linear(1);
	t.priv = NB_PRIV_S;
	linear(2);
	assert_trace("Sync S=3 I=0 F=80; Corr EV=4 CDF=1 I=2 H=1; IBH B=2 I=0 U=4 H=1; Sync S=5 I=0 F=181");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deviations),
		cmocka_unit_test(test_narrow_timestamp),
		cmocka_unit_test(test_time_after_overflow),
		cmocka_unit_test(test_repeat_to_elsewhere),
		cmocka_unit_test(test_repeat_after_sync),
		cmocka_unit_test(test_no_repeat_in_htm),
		cmocka_unit_test(test_full_at_a_jump),
		cmocka_unit_test(test_debug_after_silent_stop),
		cmocka_unit_test(test_message_example),
		cmocka_unit_test(test_address_xor),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_icnt_btm),
		cmocka_unit_test(test_icnt_htm),
		cmocka_unit_test(test_icnt_exception),
		cmocka_unit_test(test_icnt_full),
		cmocka_unit_test(test_hist_examples),
		cmocka_unit_test(test_hist_full),
		cmocka_unit_test(test_both_full),
		cmocka_unit_test(test_repeated_history),
		cmocka_unit_test(test_extended_address),
		cmocka_unit_test(test_extended_rv32),
		cmocka_unit_test(test_back_to_back_returns),
		cmocka_unit_test(test_trap_at_interrupt_target),
		cmocka_unit_test(test_halt_while_disabled),
		cmocka_unit_test(test_trap_after_trap_return),
		cmocka_unit_test(test_privilege_filter),
		cmocka_unit_test(test_stop_at_branch),
		cmocka_unit_test(test_periodic_sync),
		cmocka_unit_test(test_delayed_sync),
		cmocka_unit_test(test_sync_by_messages),
		cmocka_unit_test(test_cycles_are_no_instructions),
		cmocka_unit_test(test_ownership_after_sync),
		cmocka_unit_test(test_trigger),
		cmocka_unit_test(test_timestamps),
		cmocka_unit_test(test_implicit_return),
		cmocka_unit_test(test_strict_return),
		cmocka_unit_test(test_stack_stops),
		cmocka_unit_test(test_counted_return),
		cmocka_unit_test(test_partial_return),
		cmocka_unit_test(test_co_routine_swap),
		cmocka_unit_test(test_sequential_jump),
		cmocka_unit_test(test_all_jumps),
		cmocka_unit_test(test_repeat_branch),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_overflow_last),
		cmocka_unit_test(test_stall),
	};

	return cmocka_run_group_tests_name("encoder", tests, NULL, NULL);
}
