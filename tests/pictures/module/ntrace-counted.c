// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module that counts how often its lines are executed. Tests compare these counts with the
 * coverage from a trace. "echo 500 >/sys/module/ntrace_counted/parameters/run" executes the lines. Each
 * line of the file "lines" in the same folder has a line number and a count. Without the headers of
 * Linux, this file is a program for qemu-user.
 */
#ifdef __KERNEL__
#include <linux/module.h>
#else
#include <stdio.h>
#define noinline	__attribute__((noinline))
#define __cold		__attribute__((cold))
#define __init		__attribute__((section(".init.text")))
#define WRITE_ONCE(x, value)	(*(volatile typeof(x) *)&(x) = (value))
#endif

#define LINES	100	/* elements of lines[], at least the number of lines in this file */
#define COUNT	WRITE_ONCE(lines[__LINE__], lines[__LINE__] + 1)

static unsigned int lines[LINES];

/* This function is inlined into two functions. */
static inline unsigned int half(unsigned int n)
{
	COUNT;
	if (n & 1)
		COUNT;
	return n / 2;
}

/* The code of this function is in a separate section. */
static noinline __cold unsigned int rare(unsigned int n)
{
	COUNT;
	while (n % 7) {
		COUNT;
		n = half(n);
	}
	return n;
}

static noinline unsigned int steps(unsigned int n)
{
	unsigned int nr;

	for (nr = 0; n > 1; nr++) {
		COUNT;
		n = n & 1 ? 3 * n + 1 : half(n);
	}
	COUNT;
	return nr;
}

static noinline unsigned int never(unsigned int n)
{
	COUNT;
	return n + 1;
}

static noinline unsigned int work(unsigned int times)
{
	unsigned int i, sum = 0;

	for (i = 1; i <= times; i++) {
		COUNT;
		sum += steps(i);
		if (i % 100 == 0)
			sum += rare(i);
		if (sum == 1)
			sum += never(sum);
	}
	COUNT;
	return sum;
}

#ifdef __KERNEL__
static unsigned int last;

static int set_run(const char *text, const struct kernel_param *param)
{
	unsigned int times;
	int err = kstrtouint(text, 0, &times);

	if (!err)
		last = work(times);
	return err;
}

static int get_lines(char *text, const struct kernel_param *param)
{
	int n = 0, i;

	for (i = 0; i < LINES; i++) {
		if (lines[i])
			n += scnprintf(text + n, PAGE_SIZE - n, "%d %u\n", i, lines[i]);
	}
	return n;
}

static const struct kernel_param_ops run_ops = { .set = set_run };
static const struct kernel_param_ops lines_ops = { .get = get_lines };

module_param_cb(run, &run_ops, NULL, 0200);
module_param_cb(lines, &lines_ops, NULL, 0400);
MODULE_PARM_DESC(run, "how much to do");
MODULE_PARM_DESC(lines, "line numbers, and how often each was executed");

static int __init begin(void)
{
	work(1);
	return 0;
}
module_init(begin);

static void __exit end(void)
{
}
module_exit(end);
MODULE_DESCRIPTION("Lines that count how often they are executed");
MODULE_LICENSE("GPL");
#else
static __init int begin(void)
{
	return work(1);
}

int main(void)
{
	int i = begin() + work(500);

	for (i = 0; i < LINES; i++) {
		if (lines[i])
			printf("%d %u\n", i, lines[i]);
	}
	return 0;
}
#endif
