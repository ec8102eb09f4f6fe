// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of a C library that tests/lib/unpredictable.c needs. The host's compiler has no C
 * library for RV32, and none for programs that can be loaded anywhere. The programs run under QEMU's
 * user emulation.
 */
#include <stdarg.h>
#include <stddef.h>

#define SYS_WRITE	64
#define SYS_EXIT	93
#define HEAP_SIZE	(32u << 20)

int main(int argc, char **argv);
void start(long *stack);
long strtol(const char *s, char **end, int base);
void *malloc(size_t size);
void *calloc(size_t nr, size_t size);
int printf(const char *format, ...);
void qsort(void *base, size_t nr, size_t size, int (*compare)(const void *, const void *));

static char heap[HEAP_SIZE] __attribute__((aligned(16)));
static size_t used;

static long call(long nr, long a, long b, long c)
{
	register long a0 asm("a0") = a;
	register long a1 asm("a1") = b;
	register long a2 asm("a2") = c;
	register long a7 asm("a7") = nr;

	asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	return a0;
}

asm(".globl _start\n_start:\n\tmv a0, sp\n\tandi sp, sp, -16\n\tcall start\n");

void start(long *stack)
{
	call(SYS_EXIT, main(stack[0], (char **)(stack + 1)), 0, 0);
}

/* The compiler calls this function for atoi() */
long strtol(const char *s, char **end, int base)
{
	long n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * base + *s++ - '0';
	if (end)
		*end = (char *)s;
	return n;
}

/* Memory is never freed, so that it is always zero */
void *malloc(size_t size)
{
	void *p = heap + used;

	size = (size + 15) & ~(size_t)15;
	if (size > HEAP_SIZE - used)
		return NULL;
	used += size;
	return p;
}

void *calloc(size_t nr, size_t size)
{
	return malloc(nr * size);
}

static size_t put_number(char *out, unsigned long n)
{
	size_t len = n >= 10 ? put_number(out, n / 10) : 0;

	out[len] = '0' + n % 10;
	return len + 1;
}

/* Print a text. Only %u and %lu are supported. */
int printf(const char *format, ...)
{
	char text[128];
	size_t len = 0;
	int is_long;
	va_list args;

	va_start(args, format);
	for (; *format && len < sizeof(text) - 12; format++) {
		if (*format != '%') {
			text[len++] = *format;
			continue;
		}
		is_long = *++format == 'l';
		format += is_long;
		len += put_number(text + len, is_long ? va_arg(args, unsigned long) :
				  va_arg(args, unsigned int));
	}
	va_end(args);
	return call(SYS_WRITE, 1, (long)text, len);
}

static void swap(char *a, char *b, size_t size)
{
	while (size--) {
		char c = a[size];

		a[size] = b[size];
		b[size] = c;
	}
}

void qsort(void *base, size_t nr, size_t size, int (*compare)(const void *, const void *))
{
	char *first = base, *last = first, *p;

	if (nr < 2)
		return;
	swap(first, first + nr / 2 * size, size);
	for (p = first + size; p < first + nr * size; p += size) {
		if (compare(p, first) >= 0)
			continue;
		last += size;
		swap(p, last, size);
	}
	swap(first, last, size);
	qsort(first, (last - first) / size, size, compare);
	qsort(last + size, nr - 1 - (last - first) / size, size, compare);
}
