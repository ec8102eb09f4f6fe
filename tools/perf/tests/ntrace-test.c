// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of N-Trace messages and metadata with tables of the expected results. The bytes were
 * assembled from the RISC-V N-Trace Specification 1.0, chapters 3 and 6.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <string.h>

#include "debug.h"
#include "ntrace-priv.h"
#include "tests.h"

static const struct message_test {
	u8		bytes[16];
	int		size;
	int		ret;		/* result of nt_message_decode() */
	const char	*text;
} message_tests[] = {
	{ { 0x08, 0x08, 0xa4, 0x27 }, 4, 1, "Ownership PROCESS=0x9a42 FORMAT=2 PRV=U scontext=0x4d2" },
	{ { 0x08, 0x13 }, 2, 1, "Ownership PROCESS=0x4 FORMAT=0 PRV=S" },
	{ { 0x0c, 0x17 }, 2, 1, "DirectBranch I-CNT=5" },
	{ { 0x10, 0x31, 0x57 }, 3, 1, "IndirectBranch B-TYPE=0 (Indirect) I-CNT=3 U-ADDR=0x15" },
	{ { 0x20, 0x00, 0x0b }, 3, 1, "Error ETYPE=0 (FIFO overrun) ECODE=0x8" },
	{ { 0x24, 0x15, 0x00, 0x00, 0x23 }, 5, 1,
	  "ProgTraceSync SYNC=5 (Trace Enable) I-CNT=0 F-ADDR=0x8000 (0x10000)" },
	{ { 0x2c, 0x08, 0x05, 0x04, 0x00, 0x00, 0x00, 0x00, 0xfc, 0xfc, 0xfc, 0xfc, 0x7f }, 13, 1,
	  "DirectBranchSync SYNC=2 (Periodic Synchronization) I-CNT=4" },
	{ { 0x6c, 0x44, 0x00, 0x00, 0x00, 0x00, 0x83 }, 7, 1, "ResourceFull RCODE=1" },
	{ { 0x70, 0x75, 0x0d, 0x17 }, 4, 1,
	  "IndirectBranchHist B-TYPE=1 (Exception or interrupt) I-CNT=7 U-ADDR=0x3 HIST=0x5" },
	{ { 0x74, 0x08, 0x1d, 0xd0, 0x20, 0x05, 0x1b }, 7, 1,
	  "IndirectBranchHistSync SYNC=2 (Periodic Synchronization) B-TYPE=0 (Indirect) I-CNT=7 F-ADDR=0x1234 (0x2468) HIST=0x6" },
	{ { 0x78, 0x27 }, 2, 1, "RepeatBranch B-CNT=9" },
	{ { 0x84, 0x50, 0x09, 0x07 }, 4, 1,
	  "ProgTraceCorrelation EVCODE=4 (Program Trace Disabled) CDF=1 I-CNT=2 HIST=0x1" },
	/* idle bytes (chapter 3.1.3) before a message */
	{ { 0xff, 0xff, 0x0c, 0x17 }, 4, 1, "DirectBranch I-CNT=5" },
	/* incomplete messages */
	{ { 0x10, 0x31 }, 2, 0, NULL },
	{ { 0xff, 0xff }, 2, 0, NULL },
	/* MSEO 10 is reserved */
	{ { 0x0c, 0x16, 0x17 }, 3, NT_E_MSEO, NULL },
	/* a message with one field too many, and a message with one field too few */
	{ { 0x0c, 0x15, 0x17, }, 3, NT_E_EXTRA, NULL },
	{ { 0x10, 0x33 }, 2, NT_E_MISSING, NULL },
	/* HIST is 0, so it lacks the stop-bit: the highest 1, which ends the history */
	{ { 0x70, 0x75, 0x0d, 0x03 }, 4, NT_E_HIST_ZERO, NULL },
};

static int test_message(const struct nt_config *config, const struct message_test *t)
{
	struct nt_message msg = { .offset = 0 };
	char text[256];
	int ret = nt_message_decode(config, t->bytes, t->size, &msg);

	if (ret != t->ret) {
		pr_debug("%02x %02x %02x: %d (%s), not %d\n", t->bytes[0], t->bytes[1], t->bytes[2],
			 ret, nt_error_name(ret), t->ret);
		return TEST_FAIL;
	}
	if (ret <= 0)
		return TEST_OK;
	nt_message_desc(&msg, text, sizeof(text));
	if (!strncmp(text, t->text, strlen(t->text)))
		return TEST_OK;
	pr_debug("'%s', not '%s'\n", text, t->text);
	return TEST_FAIL;
}

static int test__ntrace_messages(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct nt_config config = NT_CONFIG_INIT;
	int ret = TEST_OK;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(message_tests); i++) {
		if (test_message(&config, &message_tests[i]))
			ret = TEST_FAIL;
	}
	return ret;
}

#define WORDS	(NTRACE_INFO_HEADER_MAX + 2 * NTRACE_INFO_CPU_MAX)

static const struct info_test {
	const char	*name;
	int		word;		/* index of the metadata word that the test changes; -1: none */
	u64		value;		/* value that the test writes to word number @word */
	int		cut;		/* number of words that the test removes from the end of the metadata */
	bool		good;
} info_tests[] = {
	{ "as written", -1, 0, 0, true },
	{ "another magic", NTRACE_INFO_MAGIC, 1, 0, false },
	{ "a later minor version", NTRACE_INFO_VERSION, 1ULL << 32 | 9, 0, true },
	{ "a later version", NTRACE_INFO_VERSION, 2ULL << 32, 0, false },
	{ "no CPU", NTRACE_INFO_NR_CPUS, 0, 0, false },
	{ "more CPUs than words", NTRACE_INFO_NR_CPUS, 3, 0, false },
	{ "CPUs whose words overflow", NTRACE_INFO_NR_CPUS, 1ULL << 63, 0, false },
	{ "no words for a CPU", NTRACE_INFO_CPU_WORDS, 0, 0, false },
	{ "fewer words for a CPU", NTRACE_INFO_CPU_WORDS, 2, 0, true },
	{ "a header that goes on behind the end", NTRACE_INFO_HEADER_WORDS, WORDS + 1, 0, false },
	{ "a header that ends before its length", NTRACE_INFO_HEADER_WORDS, 2, 0, false },
	{ "cut in the last CPU", -1, 0, 1, false },
	{ "cut in the header", -1, 0, WORDS - 3, false },
	{ "nothing", -1, 0, WORDS, false },
};

static int test_info(const struct info_test *t)
{
	struct {
		struct perf_record_auxtrace_info	info;
		__u64					word[WORDS];
	} event;
	struct ntrace_info info = { .cpus = NULL };
	__u64 *word = event.word;
	int ret;

	memset(&event, 0, sizeof(event));
	event.info.header.size = sizeof(event.info) + (WORDS - t->cut) * sizeof(u64);
	word[NTRACE_INFO_MAGIC] = NTRACE_INFO_MAGIC_VALUE;
	word[NTRACE_INFO_VERSION] = (u64)NTRACE_INFO_VERSION_MAJOR << 32;
	word[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	word[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_NR_CPUS] = 2;
	word[NTRACE_INFO_HEADER_MAX + NTRACE_INFO_CPU_MAX + NTRACE_INFO_CPU_ID] = 7;
	if (t->word >= 0)
		word[t->word] = t->value;
	ret = ntrace_info_parse(&info, &event.info);
	ntrace_info_exit(&info);
	if (!ret == t->good)
		return TEST_OK;
	pr_debug("%s: %d\n", t->name, ret);
	return TEST_FAIL;
}

static int test__ntrace_metadata(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	int ret = TEST_OK;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(info_tests); i++) {
		if (test_info(&info_tests[i]))
			ret = TEST_FAIL;
	}
	return ret;
}

/* Check that encoder parameters are accepted if they are valid, and rejected before they reach the decoder if not */
static int test__ntrace_config(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct ntrace_cpu cpu = { .xlen = 64, .src_bits = 4, .ts_width = 40 };
	struct nt_config config;

	TEST_ASSERT_VAL("a good one", ntrace_cpu_config(&cpu, &config));
	TEST_ASSERT_EQUAL("SRC", (int)config.src_bits, 4);
	cpu.config = NTRACE_CONFIG_INHIBIT_SRC | NTRACE_CONFIG_TIMESTAMP |
		     NTRACE_CONFIG_IMPLICIT_RETURN;
	TEST_ASSERT_VAL("inhibited SRC", ntrace_cpu_config(&cpu, &config));
	TEST_ASSERT_EQUAL("no SRC", (int)config.src_bits, 0);
	TEST_ASSERT_EQUAL("timestamp", (int)config.timestamp, 1);
	TEST_ASSERT_VAL("implicit return", config.return_depth > 0);
	cpu.config = 0;
	cpu.src_bits = 13;
	TEST_ASSERT_VAL("SRC of 13 bits", !ntrace_cpu_config(&cpu, &config));
	cpu.src_bits = 2;
	cpu.dialect = NTRACE_DIALECT_SIFIVE0;
	cpu.addr_bits = 48;
	TEST_ASSERT_VAL("SiFive's messages", ntrace_cpu_config(&cpu, &config));
	TEST_ASSERT_EQUAL("dialect", (int)config.dialect, NT_DIALECT_SIFIVE0);
	TEST_ASSERT_EQUAL("kernel address", (int)(ntrace_whole_addr(&cpu, 0xffff80000000ULL) >> 32),
			  -1);
	TEST_ASSERT_EQUAL("time that is XORed", (int)ntrace_next_tstamp(&cpu, 0x1f, 0x3f), 0x20);
	cpu.addr_bits = 65;
	TEST_ASSERT_VAL("addresses of 65 bits", !ntrace_cpu_config(&cpu, &config));
	cpu.addr_bits = 48;
	cpu.dialect = NT_DIALECT_MICROBLAZE_V + 1;
	TEST_ASSERT_VAL("messages that nobody knows", !ntrace_cpu_config(&cpu, &config));
	cpu.dialect = 0;
	cpu.addr_bits = 0;
	cpu.src_bits = 0;
	cpu.xlen = 0;
	TEST_ASSERT_VAL("no XLEN", !ntrace_cpu_config(&cpu, &config));
	return TEST_OK;
}

static struct test_case tests__ntrace[] = {
	TEST_CASE("N-Trace (ntrace): messages", ntrace_messages),
	TEST_CASE("N-Trace (ntrace): metadata", ntrace_metadata),
	TEST_CASE("N-Trace (ntrace): encoder parameters", ntrace_config),
	{ .name = NULL, }
};

struct test_suite suite__ntrace = {
	/*
	 * `perf test ntrace` and `perf test N-Trace` run this suite. perf of Linux 6.12 also searches
	 * the names of the test cases for the word after `perf test`.
	 */
	.desc = "N-Trace (ntrace)",
	.test_cases = tests__ntrace,
};
