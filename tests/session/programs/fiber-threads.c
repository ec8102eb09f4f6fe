/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -pthread */
/* Three threads, each of which switches between its own two coroutines. */
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct fiber { ucontext_t self, *back; };
static __thread struct fiber *starts;
NOINLINE static void turn(struct fiber *f, int n) { leaf(n); swapcontext(&f->self, f->back); leaf(n); }
static void body(void) { struct fiber *f = starts; for (int i = 0; i < 40; i++) turn(f, i); }
static void make(struct fiber *f)
{
	getcontext(&f->self);
	f->self.uc_stack.ss_sp = malloc(1 << 18);
	f->self.uc_stack.ss_size = 1 << 18;
	makecontext(&f->self, body, 0);
}
NOINLINE static void resume(struct fiber *f) { ucontext_t here; starts = f; f->back = &here; swapcontext(&here, &f->self); leaf(1); }
static void *thread(void *arg)
{
	struct fiber f[2];

	for (int i = 0; i < 2; i++) make(&f[i]);
	for (int i = 0; i < 10; i++) { resume(&f[i & 1]); leaf(i); }
	return arg;
}
int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	return 0;
}
