/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -Wno-stringop-overflow */
/* Calls of the kernel: system calls, faults of the program and of the kernel, signals, and interrupts of a timer. */
/* event: ntrace// -C 0 */
#define NOINLINE __attribute__((noinline, noclone))
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile int sink;
NOINLINE static void leaf(int n) { sink += n; }
static void handler(int sig) { leaf(sig); }
int main(void)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	struct timespec nap = { .tv_nsec = 1000000 };
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fds[2], fd, i;
	char buf[64];

	signal(SIGALRM, handler);
	for (i = 0; i < 8; i++)
		p[i << 12] = i;
	fd = open("/proc/self/stat", O_RDONLY);
	leaf(read(fd, p + (9 << 12), 64));
	leaf(read(fd, (void *)16, 64));
	leaf(write(1, (void *)-4096, 64));
	close(fd);
	if (pipe(fds))
		return 1;
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 4; i++) {
		leaf(write(fds[1], buf, 8) + read(fds[0], buf, 8));
		nanosleep(&nap, NULL);
	}
	if (!fork()) { leaf(1); _exit(0); }
	wait(NULL);
	kill(getpid(), SIGALRM);
	return 0;
}
