// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program of the sample trace: it counts the primes below 200, and needs no C library.
 * samples/README.rst has the commands that made `primes` and `primes.nt` of it.
 */
static unsigned char composite[200];

static void strike_out(unsigned int prime)
{
	for (unsigned int i = prime * prime; i < sizeof(composite); i += prime)
		composite[i] = 1;
}

static unsigned int count_primes(void)
{
	unsigned int n, primes = 0;

	for (n = 2; n < sizeof(composite); n++) {
		if (composite[n])
			continue;
		strike_out(n);
		primes++;
	}
	return primes;
}

/* Linux: exit(status) is call 93 */
void _start(void)
{
	register long status asm("a0") = count_primes() != 46;
	register long call asm("a7") = 93;

	asm volatile("ecall" : : "r"(status), "r"(call));
	__builtin_unreachable();
}
