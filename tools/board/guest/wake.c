// SPDX-License-Identifier: GPL-2.0-only
/*
 * Set the time and mix new random bytes into the random numbers of a guest that starts from a snapshot.
 *
 *	wake DATE SEED
 *
 * The file DATE contains the seconds since 1970, such as 1767225600.250000000. The file SEED contains 64 random bytes.
 * Without them, all guests that start from one snapshot would get the same random numbers.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <linux/random.h>

static int set_time(const char *file)
{
	struct timespec now;
	FILE *f = fopen(file, "r");
	int n;

	if (!f)
		return -1;
	n = fscanf(f, "%ld.%9ld", &now.tv_sec, &now.tv_nsec);
	fclose(f);
	return n == 2 ? clock_settime(CLOCK_REALTIME, &now) : -1;
}

static int mix(const char *file)
{
	struct {
		struct rand_pool_info info;
		char bytes[64];
	} seed;
	int random = open("/dev/urandom", O_RDWR);
	FILE *f = fopen(file, "r");

	if (random < 0 || !f || fread(seed.info.buf, sizeof(seed.bytes), 1, f) != 1)
		return -1;
	fclose(f);
	seed.info.buf_size = sizeof(seed.bytes);
	seed.info.entropy_count = 8 * sizeof(seed.bytes);
	if (ioctl(random, RNDADDENTROPY, &seed))
		return -1;
	/* Without this ioctl, Linux might wait for up to a minute before it uses the new random bytes. */
	return ioctl(random, RNDRESEEDCRNG);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	return set_time(argv[1]) || mix(argv[2]) ? 1 : 0;
}
