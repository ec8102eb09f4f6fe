// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a record with hostile values and correct CRCs, which looks like the record of an earlier kernel. The driver
 * finds this record when it is loaded. Run this program in the guest while the driver is not loaded and Linux does
 * not use the memory:
 *
 *	hostile-record ADDRESS SIZE SEED COMPONENT...
 *
 * The program writes the record to ADDRESS. The record names the COMPONENTs (addresses of registers) as its sinks and
 * encoders. If SEED is odd, the program enables these components, as if they had continued during a reset. If SEED is
 * even, the program disables them.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/ntrace-flight.h>

#define PARTS		6
#define MAX_COMPONENTS	8
#define DATA		0x10000
#define TR_ACTIVE	1
#define TR_ENABLE	2

static uint8_t record[DATA];
static uint64_t address, size;
static int mem;

static uint32_t crc32(const void *data, size_t len)
{
	const uint8_t *byte = data;
	uint32_t crc = ~0U;

	while (len--) {
		crc ^= *byte++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static uint64_t hostile(void)
{
	const uint64_t values[] = {
		0, 1, 7, 8, 63, 4096, DATA - 8, DATA, DATA + 8, size - 1, size, size + 1, 1ULL << 31,
		(1ULL << 32) - 1, 1ULL << 32, 1ULL << 63, ~0ULL, -8ULL, -address,
	};

	return values[(size_t)rand() % (sizeof(values) / sizeof(values[0]))];
}

/* Return @value in two of three calls, and a hostile value in the third call */
static uint64_t maybe(uint64_t value)
{
	return rand() % 3 ? value : hostile();
}

static void add_part(struct ntrace_flight_header *head, uint32_t type, uint32_t entry, uint64_t offset,
		     uint64_t bytes)
{
	struct ntrace_flight_part *p = &head->parts[head->nr_parts++];

	p->type = type;
	p->entry = entry;
	p->offset = maybe(offset);
	p->size = maybe(bytes);
	if (p->offset < DATA && p->size <= DATA - p->offset)
		p->crc = crc32(record + p->offset, p->size);
}

/*
 * If an offset is hostile, parts of the record overlap. Writing a later part may then change data whose CRC was
 * already computed
 */
static void make(char **components, unsigned int nr)
{
	struct ntrace_flight_header *head = (void *)record;
	struct ntrace_flight_sink *sinks = (void *)(record + 4096);
	struct ntrace_flight_cpu *cpus = (void *)(record + 8192);

	for (unsigned int i = 0; i < nr; i++) {
		sinks[i].address = cpus[i].address = strtoull(components[i], NULL, 0);
		sinks[i].offset = maybe(DATA);
		sinks[i].size = maybe(DATA);
		sinks[i].flags = maybe(0);
		cpus[i].sink = maybe(0);
	}
	memset(record + 12288, rand(), 2 * nr * sizeof(struct ntrace_flight_pointer));
	add_part(head, NTRACE_FLIGHT_SINKS, sizeof(*sinks), 4096, nr * sizeof(*sinks));
	add_part(head, NTRACE_FLIGHT_CPUS, sizeof(*cpus), 8192, nr * sizeof(*cpus));
	add_part(head, NTRACE_FLIGHT_POINTERS, sizeof(struct ntrace_flight_pointer), 12288,
		 2 * nr * sizeof(struct ntrace_flight_pointer));
	head->nr_parts = maybe(head->nr_parts);
	head->magic = NTRACE_FLIGHT_MAGIC;
	head->version = NTRACE_FLIGHT_VERSION_MAJOR << 16;
	head->size = sizeof(*head);
	head->region = maybe(size);
	head->address = rand() % 8 ? address : hostile();
	head->data_offset = maybe(DATA);
	head->crc = crc32(head, offsetof(struct ntrace_flight_header, crc));
}

static volatile void *map(uint64_t at, size_t len)
{
	void *to = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, mem, at);

	if (to == MAP_FAILED) {
		perror("/dev/mem");
		exit(1);
	}
	return to;
}

int main(int argc, char **argv)
{
	volatile uint64_t *to;
	volatile uint32_t *control;

	if (argc < 5 || argc - 4 > MAX_COMPONENTS)
		return 2;
	address = strtoull(argv[1], NULL, 0);
	size = strtoull(argv[2], NULL, 0);
	srand(atoi(argv[3]));
	mem = open("/dev/mem", O_RDWR | O_SYNC);
	make(argv + 4, argc - 4);
	to = map(address, DATA);
	for (size_t i = 0; i < DATA / 8; i++)
		to[i] = ((uint64_t *)record)[i];
	for (int i = 4; i < argc; i++) {
		control = map(strtoull(argv[i], NULL, 0), 4096);
		*control = TR_ACTIVE;
		if (atoi(argv[3]) % 2)
			*control = TR_ACTIVE | TR_ENABLE;
	}
	return 0;
}
