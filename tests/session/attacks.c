/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `attacks COUNT` starts COUNT children, each of which overwrites a return address or a function pointer. A seed
 * selects the address. Each child prints the KIND of the attack, and its new destination as NAME+0xOFFSET.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;
static int seed;
static void *back;	/* address to which outer's call of middle returns */

static int random_below(int n)
{
	seed = (seed * 1103515245u + 12345) & 0x7fffffff;
	return seed / 16 % n;
}

/*
 * An attacker may want to reach these functions. Each function ends the child if it is called at its start.
 */
NOINLINE static void leave(int n) { sink = n; _exit(0); }
NOINLINE static int gadget_a(int n) { sink = n; if (n == 12345) return sink; leave(1); return n * sink; }
NOINLINE static int gadget_b(int n) { for (int i = 0; i < 3; i++) sink += n * i; leave(2); return sink; }
NOINLINE static int gadget_c(int n) { switch (n) { case 1: sink = 3; break; case 2: sink = 5; break; default: leave(3); } return sink; }
NOINLINE static int harmless(int n) { sink = n; return n + 1; }

static int (*const gadgets[])(int) = { gadget_a, gadget_b, gadget_c };
static const char *const names[] = { "gadget_a", "gadget_b", "gadget_c" };
static int (*volatile pointer)(int) = harmless;

static void say(const char *kind, const char *name, const char *function, const char *to)
{
	printf("%s %s+0x%zx\n", kind, name, (size_t)(to - function));
	fflush(stdout);
}

/* Return the address of instruction @nth of the function. The first instruction has number 0. */
static char *instruction(const char *function, int nth)
{
	for (; nth; nth--)
		function += (*function & 3) == 3 ? 4 : 2;
	return (char *)function;
}

NOINLINE static int victim(int kind)
{
	void *volatile *saved = (void *volatile *)__builtin_frame_address(0) - 1;
	int n = random_below(3), nth = 1 + random_below(6);
	char *gadget = (char *)gadgets[n];
	static int attacked;
	extern int outer(int kind);

	/* each child overwrites one address, and then ends */
	if (attacked++)
		_exit(0);
	harmless(kind);
	if (kind == 0) {		/* return to the start of a function */
		say("return", names[n], gadget, gadget);
		*saved = gadget;
	} else if (kind == 1) {		/* return to the middle of a function */
		*saved = instruction(gadget, nth);
		say("return", names[n], gadget, *saved);
	} else if (kind == 2) {		/* return to outer instead of middle, the caller */
		*saved = back;
		say("return", "outer", (char *)outer, back);
	} else if (kind == 3) {		/* return to another instruction of outer */
		*saved = instruction((char *)outer, 3 + nth);
		say("return", "outer", (char *)outer, *saved);
	} else {			/* overwrite a pointer to a function that is called later */
		pointer = (void *)instruction(gadget, nth);
		say(kind == 4 ? "call" : "jump", names[n], gadget, (char *)pointer);
	}
	return kind;
}

NOINLINE static int jumps(int n) { return pointer(n); }
NOINLINE static int middle(int kind)
{
	back = __builtin_return_address(0);
	sink += victim(kind);
	if (kind == 4)
		sink += pointer(sink);
	if (kind == 5)
		sink += jumps(sink) + 1;
	return sink;
}
NOINLINE int outer(int kind)
{
	sink += harmless(kind);
	sink += middle(kind);
	sink += harmless(kind);
	leave(sink);
	return sink;
}

int main(int argc, char **argv)
{
	/* some of the wrong returns lead to endless loops */
	const struct itimerval limit = { .it_value.tv_usec = 40000 };
	int count = atoi(argv[1]), i;

	for (i = 0; i < 2 * count; i++) {
		if (!fork()) {
			seed = 1000 + i;
			setitimer(ITIMER_VIRTUAL, &limit, NULL);
			outer(i % 2 ? 4 + i / 2 % 2 : i / 2 % 4);
		}
		wait(NULL);
	}
	return 0;
}
