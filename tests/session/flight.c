// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of a flight recorder whose bits are wrong: whatever is damaged is said, or changes
 * nothing.
 *
 *	flight N SEED		damage N records; prints how many were refused, noted, harmless, and
 *				silently wrong
 *	flight record FILE	write an undamaged record
 *	flight half FILE	... whose header was being written
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "flight.h"

#define CPUS		2
#define SWITCHES	32
#define META		65536
#define AREA		8192
#define REGION		(META + CPUS * AREA)

static uint8_t record[REGION];
static uint64_t next_part;

static uint32_t crc32(const void *data, size_t size)
{
	const uint8_t *byte = data;
	uint32_t crc = ~0U;

	while (size--) {
		crc ^= *byte++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static void *part(uint32_t type, size_t entry, unsigned int nr)
{
	struct ntrace_flight_header *head = (void *)record;
	struct ntrace_flight_part *p = &head->parts[head->nr_parts++];

	p->type = type;
	p->entry = entry;
	p->offset = next_part;
	p->size = entry * nr;
	next_part = (next_part + p->size + 63) & ~63ULL;
	return record + p->offset;
}

static void seal(void)
{
	struct ntrace_flight_header *head = (void *)record;
	struct ntrace_flight_part *p = &head->parts[head->nr_parts - 1];

	p->crc = crc32(record + p->offset, p->size);
}

#define CHECK(entry, type, nth) \
	((entry)->check = ntrace_flight_check(entry, sizeof(*(entry)), NTRACE_FLIGHT_SEED(type, nth)))

static void make_sealed(void)
{
	static const char kernel[] = "OSRELEASE=6.12.0\nBUILD-ID=0123456789abcdef0123456789abcdef01234567\n";
	struct ntrace_flight_machine *m = part(NTRACE_FLIGHT_MACHINE, sizeof(*m), 1);
	struct ntrace_flight_sink *sinks;
	struct ntrace_flight_cpu *cpus;

	m->timebase = 10000000;
	m->time = 1000;
	m->text = 0xffffffff80000000;
	m->text_size = 0x1000000;
	m->nr_cpus = CPUS;
	m->xlen = 64;
	strcpy((char *)m->release, "6.12.0");
	seal();
	memcpy(part(NTRACE_FLIGHT_KERNEL, 1, sizeof(kernel)), kernel, sizeof(kernel));
	seal();
	cpus = part(NTRACE_FLIGHT_CPUS, sizeof(*cpus), CPUS);
	for (int i = 0; i < CPUS; i++) {
		cpus[i].words[NTRACE_INFO_CPU_ID] = i;
		cpus[i].words[NTRACE_INFO_CPU_CONFIG] = 0x10ac3b;
		cpus[i].words[NTRACE_INFO_CPU_XLEN] = 64;
		cpus[i].words[NTRACE_INFO_CPU_TS_WIDTH] = 64;
		cpus[i].words[NTRACE_INFO_CPU_TS_FREQ] = 10000000;
		cpus[i].sink = i;
	}
	seal();
	sinks = part(NTRACE_FLIGHT_SINKS, sizeof(*sinks), CPUS);
	for (int i = 0; i < CPUS; i++) {
		sinks[i].offset = META + i * AREA;
		sinks[i].size = AREA;
		snprintf((char *)sinks[i].name, sizeof(sinks[i].name), "ram%d", i);
	}
	seal();
}

static void make_entries(void)
{
	struct ntrace_flight_module *mod = part(NTRACE_FLIGHT_MODULES, sizeof(*mod), 8);
	struct ntrace_flight_pointer *p = part(NTRACE_FLIGHT_POINTERS, sizeof(*p), 2 * CPUS);
	struct ntrace_flight_gap *gap = part(NTRACE_FLIGHT_GAPS, sizeof(*gap), 4);
	struct ntrace_flight_switch *sw = part(NTRACE_FLIGHT_SWITCHES, sizeof(*sw), CPUS * SWITCHES);
	struct ntrace_flight_cause *cause = part(NTRACE_FLIGHT_CAUSE, sizeof(*cause), 1);
	int i;

	for (i = 0; i < 5; i++) {
		mod[i].text = 0xffffffff01000000 + i * 0x10000;
		mod[i].text_size = 0x8000;
		snprintf((char *)mod[i].name, sizeof(mod[i].name), "module%d", i);
		CHECK(&mod[i], NTRACE_FLIGHT_MODULES, i);
	}
	for (i = 0; i < 2 * CPUS; i++) {
		p[i].number = 10 + i;
		p[i].time = 2000 + i;
		p[i].offset = 512 * (i + 1);
		p[i].flags = i & 1 ? NTRACE_FLIGHT_POINTER_STOPPED | NTRACE_FLIGHT_POINTER_WRAPPED : 0;
		CHECK(&p[i], NTRACE_FLIGHT_POINTERS, i);
	}
	gap[1].from = 1100;
	gap[1].to = 1200;
	gap[1].number = 1;
	CHECK(&gap[1], NTRACE_FLIGHT_GAPS, 1);
	for (i = 0; i < CPUS * SWITCHES; i++) {
		sw[i].time = 1000 + 7 * i;
		sw[i].tid = 100 + i % 5;
		sw[i].pid = 100;
		snprintf((char *)sw[i].comm, sizeof(sw[i].comm), "thread%d", i % 5);
		sw[i].number = i % SWITCHES + 1;
		CHECK(&sw[i], NTRACE_FLIGHT_SWITCHES, i);
	}
	cause->time = 2001;
	cause->code = NTRACE_FLIGHT_CAUSE_PANIC;
	cause->tid = cause->pid = 100;
	strcpy((char *)cause->comm, "thread0");
	strcpy((char *)cause->text, "it panics");
	CHECK(cause, NTRACE_FLIGHT_CAUSE, 0);
}

static void make_record(void)
{
	struct ntrace_flight_header *head = (void *)record;

	next_part = (sizeof(*head) + 63) & ~63ULL;
	make_sealed();
	make_entries();
	for (int i = META; i < REGION; i++)
		record[i] = rand() >> 8;
	head->magic = NTRACE_FLIGHT_MAGIC;
	head->version = NTRACE_FLIGHT_VERSION_MAJOR << 16;
	head->size = sizeof(*head);
	head->region = REGION;
	head->data_offset = META;
	head->crc = crc32(head, offsetof(struct ntrace_flight_header, crc));
}

/* What ntrace flight save writes, into memory; -1: the record was refused, 1: damage was noted */
static int saved(const uint8_t *data, char **text, size_t *size)
{
	struct flight_output output;
	struct ns_flight flight;
	char path[64];
	FILE *f;
	int ret = -1;

	snprintf(path, sizeof(path), "/dev/shm/flight-%d", getpid());
	output = (struct flight_output){ .path = path };
	if (!ns_flight_open(&flight, data, REGION)) {
		ret = flight.damaged ? 1 : 0;
		if (flight_save(&flight, &output))
			abort();
		f = fopen(path, "r");
		*text = malloc(1 << 20);
		*size = fread(*text, 1, 1 << 20, f);
		fclose(f);
		unlink(path);
	}
	ns_flight_close(&flight);
	return ret;
}

/* One bit, or a few that are near each other, as a cell of memory loses them; where parts are */
static void damage(uint8_t *copy)
{
	size_t at = (size_t)rand() % next_part;
	int bits = 1 + rand() % 3;

	while (bits--)
		copy[(at + (size_t)rand() % 8) % next_part] ^= 1 << rand() % 8;
}

static int damage_all(int n)
{
	static uint8_t copy[REGION];
	int refused = 0, noted = 0, harmless = 0, wrong = 0, ret;
	char *right = NULL, *text;
	size_t size, got;

	if (saved(record, &right, &size))
		return 1;
	while (n--) {
		memcpy(copy, record, REGION);
		damage(copy);
		text = NULL;
		got = 0;
		ret = saved(copy, &text, &got);
		if (ret < 0)
			refused++;
		else if (ret)
			noted++;
		else if (got == size && !memcmp(text, right, size))
			harmless++;
		else
			wrong++;
		free(text);
	}
	free(right);
	printf("refused %d noted %d harmless %d wrong %d\n", refused, noted, harmless, wrong);
	return 0;
}

static int write_record(const char *path)
{
	FILE *f = fopen(path, "w");
	int err = !f || fwrite(record, sizeof(record), 1, f) != 1;

	return (f && fclose(f)) || err;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	srand(strtoul(argv[2], NULL, 0));
	make_record();
	if (!strcmp(argv[1], "half"))
		((struct ntrace_flight_header *)record)->magic = NTRACE_FLIGHT_MAGIC_WRITING;
	if (!strcmp(argv[1], "half") || !strcmp(argv[1], "record"))
		return write_record(argv[2]);
	return damage_all(atoi(argv[1]));
}
