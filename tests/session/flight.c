// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read damaged records of a flight recorder. ntrace must report each damage, unless the damage does not change the
 * result.
 *
 *	flight N SEED		damage N records; prints how many were refused, noted, harmless, and
 *				silently wrong
 *	flight record FILE	write an undamaged record
 *	flight half FILE	write a record whose header is incomplete
 *	flight core FILE	write a crash dump with a copy of the record, and the record itself,
 *				divided among several segments
 *	flight dumps N		search N crash dumps with random headers for the record
 *	flight rings SEED	find the end of rings whose sink was not stopped
 *	flight clocks SEED	check the clock of a perf event whose ts_mode is not the recorder's
 *	flight hostile N	read N records with right CRCs and checks, and hostile values
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "flight/flight.h"

#define CPUS		2
#define SWITCHES	32
#define META		65536
#define AREA		8192
#define REGION		(META + CPUS * AREA)
#define ADDRESS		0x90000000ULL

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
	struct ntrace_flight_session *perf = part(NTRACE_FLIGHT_SESSIONS, sizeof(*perf), CPUS);
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
	perf[1].config = 0x10ac3a;
	perf[1].tid = perf[1].pid = 77;
	strcpy((char *)perf[1].comm, "perf");
	perf[1].sink = 1;
	CHECK(&perf[1], NTRACE_FLIGHT_SESSIONS, 1);
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
	head->version = NTRACE_FLIGHT_VERSION_MAJOR << 16 | NTRACE_FLIGHT_VERSION_MINOR;
	head->size = sizeof(*head);
	head->region = REGION;
	head->address = ADDRESS;
	head->data_offset = META;
	head->crc = crc32(head, offsetof(struct ntrace_flight_header, crc));
}

/* ---- Messages in the ring buffers ---- */

/*
 * Write a field of variable length, with 6 bits in each byte. @mseo is the MSEO of the last byte: 1 if other fields
 * follow, and 3 if the message ends here
 */
static size_t put_field(uint8_t *to, uint64_t value, unsigned int mseo)
{
	size_t n = 0;

	do {
		to[n] = (value & 63) << 2;
		value >>= 6;
		to[n++] |= value ? 0 : mseo;
	} while (value);
	return n;
}

/*
 * Write ProgTraceSync with SYNC 2 (Periodic) and I-CNT 0. This message has 9 bytes, because the times in this test
 * have 17 or 18 bits
 */
#define SYNC_BYTES	9
static void put_sync(uint8_t to[SYNC_BYTES], uint64_t time)
{
	size_t n = 2;

	to[0] = 9 << 2;
	to[1] = 2 << 2 | 1;
	n += put_field(to + n, 0x12345 << 3, 1);
	n += put_field(to + n, time, 3);
	if (n != SYNC_BYTES)
		abort();
}

/*
 * Write @nr messages around the end of CPU 0's area. Return the number of the oldest whole message.
 */
static int fill_ring(int nr)
{
	uint8_t message[SYNC_BYTES];

	for (int i = 0; i < nr; i++) {
		put_sync(message, 0x10000 + i);
		for (int k = 0; k < SYNC_BYTES; k++)
			record[META + (i * SYNC_BYTES + k) % AREA] = message[k];
	}
	return (nr * SYNC_BYTES - AREA + SYNC_BYTES - 1) / SYNC_BYTES;
}

/* Set the last known offset of CPU 0's sink to @offset, or to unknown if it is -1 */
static void set_pointer(int offset)
{
	struct ntrace_flight_header *head = (void *)record;
	struct ntrace_flight_pointer *p = NULL;

	for (unsigned int i = 0; i < head->nr_parts; i++)
		if (head->parts[i].type == NTRACE_FLIGHT_POINTERS)
			p = (void *)(record + head->parts[i].offset);
	memset(p, 0, 2 * sizeof(*p));
	if (offset < 0)
		return;
	p->number = 1;
	p->offset = offset;
	p->flags = NTRACE_FLIGHT_POINTER_WRAPPED;
	CHECK(p, NTRACE_FLIGHT_POINTERS, 0);
}

/* Return true if CPU 0's trace consists of idle bytes and all messages from @oldest to @nr */
static bool ring_is(int oldest, int nr)
{
	size_t used = (size_t)(nr - oldest) * SYNC_BYTES;
	const struct ns_flight_trace *t;
	uint8_t message[SYNC_BYTES];
	struct ns_flight flight;
	bool good;

	good = !ns_flight_open(&flight, record, REGION);
	t = flight.traces;
	good = good && t->end == NS_FLIGHT_END_FOUND && t->size >= used;
	for (size_t i = 0; good && i < t->size - used; i++)
		good = t->bytes[i] == 0xff;
	for (int i = oldest; good && i < nr; i++) {
		put_sync(message, 0x10000 + i);
		good = !memcmp(t->bytes + t->size - (size_t)(nr - i) * SYNC_BYTES, message, SYNC_BYTES);
	}
	ns_flight_close(&flight);
	return good;
}

static int find_rings(void)
{
	int bad = 0, oldest;

	for (int nr = 1000; nr < 3000; nr += 37) {
		oldest = fill_ring(nr);
		for (int at = -1; at < AREA; at += at < 0 ? 1 : 501) {
			set_pointer(at);
			if (!ring_is(oldest, nr) && !bad++)
				printf("%d messages, sink last seen at %d\n", nr, at);
		}
		/*
		 * The driver saves the offset of the sink four times per second, so that 5 messages follow the saved
		 * offset
		 */
		set_pointer((nr - 5) * SYNC_BYTES % AREA);
		if (!ring_is(oldest, nr) && !bad++)
			printf("%d messages, sink last seen before the last 5\n", nr);
	}
	return bad != 0;
}

/*
 * Return the timestamp frequency of CPU 1, whose sink a perf event used with @ts_mode and @prescale
 */
static uint64_t frequency_of_event(uint64_t ts_mode, uint64_t prescale)
{
	struct ntrace_flight_header *head = (void *)record;
	struct ntrace_flight_session *perf = NULL;
	struct ns_flight flight;
	uint64_t frequency = 1;

	for (unsigned int i = 0; i < head->nr_parts; i++)
		if (head->parts[i].type == NTRACE_FLIGHT_SESSIONS)
			perf = (void *)(record + head->parts[i].offset);
	perf[1].config &= ~(NTRACE_CONFIG_TS_MODE | NTRACE_CONFIG_TS_PRESCALE);
	perf[1].config |= ts_mode << NTRACE_CONFIG_TS_MODE_SHIFT | prescale << NTRACE_CONFIG_TS_PRESCALE_SHIFT;
	CHECK(&perf[1], NTRACE_FLIGHT_SESSIONS, 1);
	if (!ns_flight_open(&flight, record, REGION))
		frequency = flight.cpus[1].words[NTRACE_INFO_CPU_TS_FREQ];
	ns_flight_close(&flight);
	return frequency;
}

/* Check that the record has the frequency of the recorder's ts_mode, which is 1 here, without a prescaler */
static int check_clocks(void)
{
	int bad = 0;

	for (uint64_t i = 0; i < 8; i++) {
		uint64_t mode = 1 + i % 4, prescale = i / 4;
		uint64_t frequency = frequency_of_event(mode, prescale), wanted = i ? 0 : 10000000;

		if (frequency == wanted)
			continue;
		bad = 1;
		printf("ts_mode %" PRIu64 ", ts_prescale %" PRIu64 ": %" PRIu64 " Hz, not %" PRIu64 "\n", mode,
		       prescale, frequency, wanted);
	}
	return bad;
}

/* This function replaces the function that copies the kernel's code, because the test has no kernel. */
int flight_kernel(const struct ns_flight *flight, const struct ns_dump *dump, const char *folder)
{
	return 0;
}

/*
 * Save a record to memory as `ntrace flight save` does. Return 0 if the record was saved, 1 if damage was noted, and
 * -1 if the record was refused
 */
static int saved(const uint8_t *data, char **text, size_t *size)
{
	struct flight_output output;
	struct ns_flight flight;
	char path[64];
	FILE *f;
	int ret = -1;

	snprintf(path, sizeof(path), "/dev/shm/flight-%d", getpid());
	output = (struct flight_output){ .path = path, .no_kernel = true };
	if (!ns_flight_open(&flight, data, REGION)) {
		ret = flight.damaged ? 1 : 0;
		if (flight_save(&flight, NULL, &output))
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

/*
 * Flip one bit, or a few adjacent bits, in the used parts of the record, like a memory error
 */
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

/* ---- Records with random values whose checksums are right ---- */

static uint64_t hostile(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 7, 63, 64, 255, 4095, 4096, META, AREA, REGION, REGION - 1, REGION + 1, 1ULL << 20,
		1ULL << 31, (1ULL << 32) - 1, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL, -8ULL, -4096ULL,
	};

	return values[(size_t)rand() % (sizeof(values) / sizeof(values[0]))];
}

/* Overwrite 4 or 8 bytes at a random offset of a part of the record. The caller computes the part's checksums again */
static void spoil(uint8_t *at, size_t size)
{
	uint64_t value = hostile();
	size_t width = rand() % 2 ? 8 : 4;

	if (size >= width)
		memcpy(at + (size_t)rand() % (size / width) * width, &value, width);
}

static void reseal(uint8_t *copy, const struct ntrace_flight_part *p)
{
	struct ntrace_flight_header *head = (void *)copy;
	size_t i, nr = p->entry ? p->size / p->entry : 0;

	if (p->type <= NTRACE_FLIGHT_SINKS) {
		head->parts[p - ((struct ntrace_flight_header *)record)->parts].crc =
			crc32(copy + p->offset, p->size);
		return;
	}
	for (i = 0; i < nr; i++) {
		uint8_t *entry = copy + p->offset + i * p->entry;
		uint32_t check = ntrace_flight_check(entry, p->entry, NTRACE_FLIGHT_SEED(p->type, i));

		memcpy(entry + p->entry - 4, &check, 4);
	}
}

static int open_hostile(int n)
{
	const struct ntrace_flight_header *head = (void *)record;
	static uint8_t copy[REGION];
	int refused = 0, read = 0, noted;
	struct ntrace_flight_header *to = (void *)copy;
	const struct ntrace_flight_part *p;
	char *text;
	size_t size;

	while (n--) {
		memcpy(copy, record, REGION);
		for (int k = rand() % 4; k >= 0; k--) {
			p = &head->parts[(size_t)rand() % head->nr_parts];
			spoil(copy + p->offset, p->size);
			reseal(copy, p);
		}
		/* Overwrite sizes, offsets and counts in the header, so that parts of the record may overlap */
		if (!(rand() % 3))
			spoil(copy + 8, sizeof(*to) - 16);
		to->crc = crc32(to, offsetof(struct ntrace_flight_header, crc));
		text = NULL;
		noted = saved(copy, &text, &size);
		free(text);
		if (noted < 0)
			refused++;
		else
			read++;
	}
	printf("refused %d read %d\n", refused, read);
	return 0;
}

/* ---- Crash dumps of a kernel, from which ntrace reads the record ---- */

#define HOLE		32768		/* offset of the first zero byte that the dump omits */
#define HOLE_END	61440
#define SEGMENTS	4
#define COPY_AT		8192
#define CORE_SIZE	(sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr) + COPY_AT + 2 * REGION)

/* Write a crash dump, and return its size. Segments are not aligned to pages of the file. */
static size_t make_core(uint8_t *core)
{
	Elf64_Ehdr *head = (void *)core;
	Elf64_Phdr *p = (void *)(head + 1);
	uint8_t *at = (uint8_t *)(p + SEGMENTS);
	struct { uint64_t address, size; const uint8_t *from; } parts[] = {
		{ 0x88000000, COPY_AT, NULL },
		{ 0x88000000 + COPY_AT, REGION, record },
		{ ADDRESS, HOLE, record },
		{ ADDRESS + HOLE_END, REGION - HOLE_END, record + HOLE_END },
	};

	memset(core, 0, CORE_SIZE);
	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_type = ET_CORE;
	head->e_phoff = sizeof(*head);
	head->e_phentsize = sizeof(*p);
	head->e_phnum = SEGMENTS;
	for (int i = 0; i < SEGMENTS; i++, p++) {
		p->p_type = PT_LOAD;
		p->p_offset = at - core;
		p->p_paddr = parts[i].address;
		p->p_filesz = p->p_memsz = parts[i].size;
		if (parts[i].from)
			memcpy(at, parts[i].from, parts[i].size);
		at += parts[i].size;
	}
	return at - core;
}

/*
 * Give the copy of the record a different cause of the crash, and an address that differs from the address in its
 * header
 */
static int write_core(const char *path)
{
	static uint8_t core[CORE_SIZE];
	struct ntrace_flight_cause *cause = NULL;
	const struct ntrace_flight_header *head = (void *)record;
	size_t size = make_core(core);
	FILE *f = fopen(path, "w");
	int err;

	for (unsigned int i = 0; i < head->nr_parts; i++)
		if (head->parts[i].type == NTRACE_FLIGHT_CAUSE)
			cause = (void *)(core + sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr) +
					 COPY_AT + head->parts[i].offset);
	strcpy((char *)cause->text, "a copy");
	CHECK(cause, NTRACE_FLIGHT_CAUSE, 0);
	err = !f || fwrite(core, size, 1, f) != 1;
	return (f && fclose(f)) || err;
}

static void damage_core(uint8_t *core, size_t *size)
{
	static const uint64_t hostile[] = { 0, 1, 7, 4095, 4096, 1ULL << 31, 1ULL << 63, ~0ULL, -4096ULL };
	size_t words = (sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr)) / 8;
	uint64_t *word = (uint64_t *)core;

	for (int n = 1 + rand() % 4; n; n--) {
		size_t nth = 2 + (size_t)rand() % (words - 2);

		word[nth] = rand() % 2 ? hostile[(size_t)rand() % (sizeof(hostile) / 8)] :
					 word[nth] ^ 1ULL << rand() % 64;
	}
	if (!(rand() % 4))
		*size = (size_t)rand() % (*size + 1);
}

static int search_dumps(int n)
{
	int found = 0, opened = 0, none = 0;

	while (n--) {
		uint8_t *core = malloc(CORE_SIZE), *got, *fit;
		size_t size = make_core(core), got_size;
		struct ns_flight flight;

		damage_core(core, &size);
		/* use a buffer of exactly this size, so that the sanitizer detects a read beyond the end */
		fit = malloc(size ? size : 1);
		memcpy(fit, core, size);
		free(core);
		if (ns_flight_find(fit, size, &got, &got_size)) {
			none++;
		} else {
			found++;
			opened += !ns_flight_open(&flight, got, got_size);
			ns_flight_close(&flight);
			free(got);
		}
		free(fit);
	}
	printf("found %d of these read %d none %d\n", found, opened, none);
	return 0;
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
	if (!strcmp(argv[1], "core"))
		return write_core(argv[2]);
	if (!strcmp(argv[1], "dumps"))
		return search_dumps(atoi(argv[2]));
	if (!strcmp(argv[1], "rings"))
		return find_rings();
	if (!strcmp(argv[1], "clocks"))
		return check_clocks();
	if (!strcmp(argv[1], "hostile"))
		return open_hostile(atoi(argv[2]));
	return damage_all(atoi(argv[1]));
}
