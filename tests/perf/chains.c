// SPDX-License-Identifier: GPL-2.0-only
/*
 * This program calls and returns in different ways. At each mark_X(), a comment lists the active calls, and
 * tests/perf/chains.expected has the same list.
 */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))
#define MARK(name) FUNCTION void mark_##name(void); void mark_##name(void) { done++; }

static volatile int done;
static jmp_buf buf;

int catcher(void (*fn)(void));
void *__cxa_allocate_exception(size_t size);
void __cxa_throw(void *exception, void *type, void (*destructor)(void *));
extern char _ZTIi[];

MARK(deep)
MARK(behind_recursion)
MARK(tail)
MARK(behind_tail)
MARK(jump)
MARK(behind_longjmp)
MARK(handler)
MARK(behind_signal)
MARK(throw)
MARK(behind_catch)

FUNCTION static int recurse(int n)
{
	if (n)
		return recurse(n - 1) + done;
	mark_deep();
	return done;
}

FUNCTION static void recursion(void)
{
	recurse(100);
	mark_behind_recursion();
	done++;
}

FUNCTION static void tail_last(void)
{
	mark_tail();
	done++;
}

FUNCTION static void tail_first(void)
{
	done++;
	tail_last();		/* A tail call: the compiler replaces a call at the end of a function by a jump */
}

FUNCTION static void tails(void)
{
	tail_first();
	mark_behind_tail();
	done++;
}

FUNCTION static void jumper(int n)
{
	if (n) {
		jumper(n - 1);
		done++;
		return;
	}
	mark_jump();
	longjmp(buf, 1);
}

FUNCTION static void jumps(void)
{
	if (!setjmp(buf))
		jumper(10);
	mark_behind_longjmp();
	done++;
}

static void handler(int nr)
{
	done += nr;
	mark_handler();
	done++;
}

FUNCTION static void signals(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	mark_behind_signal();
	done++;
}

FUNCTION static void thrower(void)
{
	mark_throw();
	__cxa_throw(__cxa_allocate_exception(8), _ZTIi, NULL);
}

FUNCTION static void throw_through(void)
{
	thrower();
	done++;
}

FUNCTION static void exceptions(void)
{
	if (catcher(throw_through))
		mark_behind_catch();
	done++;
}

int main(void)
{
	recursion();
	tails();
	jumps();
	signals();
	exceptions();
	return 0;
}
