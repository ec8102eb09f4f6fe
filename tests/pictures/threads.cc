// SPDX-License-Identifier: GPL-2.0-only
// A program for profile.t, with templates, inlined functions, longjmp() and several threads
#include <csetjmp>
#include <pthread.h>

static volatile unsigned long sum[4];
static pthread_barrier_t barrier;

template <typename T> T smaller(T a, T b)
{
	if (a < b)
		return a;
	return b;
}

template <int N> struct counter {
	static int step(int n)
	{
		if (n % N)
			return 0;
		return counter<N - 1>::step(n / 2) + 1;
	}
};

template <> struct counter<1> {
	static int step(int n)
	{
		return n > 3;
	}
};

static inline __attribute__((always_inline)) void add(int who, int n)
{
	sum[who] += n;
	sum[who] ^= n >> 1;
}

void deep(std::jmp_buf *back, int n)
{
	if (!n)
		std::longjmp(*back, 1);
	deep(back, n - 1);
	sum[0] = 0;
}

void *work(void *arg)
{
	int who = static_cast<int>(reinterpret_cast<long>(arg));
	std::jmp_buf back;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100 * (who + 1); i++) {
		add(who, smaller(i, 50));
		add(who, smaller(static_cast<long>(i), 70L));
		sum[who] += counter<3>::step(i);
	}
	if (!setjmp(back))
		deep(&back, who + 2);
	else
		add(who, 3);
	return nullptr;
}

int main()
{
	pthread_t threads[3];

	pthread_barrier_init(&barrier, nullptr, 4);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], nullptr, work, reinterpret_cast<void *>(i + 1));
	work(nullptr);
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	return !sum[0];
}
