// SPDX-License-Identifier: GPL-2.0-only
/* This program mostly calls and returns. Tests use it to measure how fast perf finds calls. */
__attribute__((noinline, noclone)) static unsigned int fib(unsigned int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	return fib(20) == 1;
}
