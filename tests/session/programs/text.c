/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* Call functions of the C library, such as printf, string functions and qsort with a callback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static int cmp(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
int main(void)
{
	char *v[40], text[64];

	for (int i = 0; i < 40; i++) { snprintf(text, sizeof(text), "%d %s %.3f", i * 17 % 40, "word", i / 7.0); v[i] = strdup(text); }
	qsort(v, 40, sizeof(*v), cmp);
	for (int i = 0; i < 40; i++) { leaf(strlen(v[i])); fprintf(stderr, "%.1s", strchr(v[i], 'z') ?: ""); free(v[i]); }
	return 0;
}
