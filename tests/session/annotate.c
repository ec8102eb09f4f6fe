// SPDX-License-Identifier: GPL-2.0-only
/*
 * This program has nested loops, loops that a jump leaves in the middle, and indirect jumps. annotate.t counts its
 * instructions.
 */
static volatile unsigned int sum;

static __attribute__((noinline)) void one(unsigned int n) { sum += n; }
static __attribute__((noinline)) void two(unsigned int n) { sum += n * n; }
static __attribute__((noinline)) void three(unsigned int n) { sum ^= n; }

static void (*const volatile table[])(unsigned int) = { one, two, one, three };

static __attribute__((noinline)) unsigned int nested(unsigned int n)
{
	unsigned int i, k, found = 0;

	for (i = 0; i < n; i++) {
		for (k = 0; k < i; k++) {
			if (k * k > 3 * n)
				break;
			table[(i + k) & 3](k);
		}
		found += k;
	}
	return found;
}

static __attribute__((noinline)) unsigned int find(unsigned int wanted)
{
	unsigned int n = 7;

	for (;;) {
		if (n % 16 == wanted)
			return n;
		n = n * 5 + 3;
	}
}

static __attribute__((noinline)) unsigned int choose(unsigned int n)
{
	switch (n) {
	case 0: return sum + 3;
	case 1: return sum * 5;
	case 2: return sum ^ 77;
	case 3: return sum - 9;
	case 4: return sum / 3;
	case 5: return sum << 4;
	}
	return 1;
}

static __attribute__((noreturn)) void leave(void)
{
	register long status asm("a0") = 0;
	register long call asm("a7") = 93;

	asm volatile("ecall" : : "r"(status), "r"(call));
	__builtin_unreachable();
}

void _start(void)
{
	unsigned int i;

	for (i = 0; i < 9; i++)
		sum += nested(i) + find(i) + choose(i % 7);
	leave();
}
