// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * vmcore LEVELS FOLDER: make a crash dump with page tables of LEVELS levels. Copy the kernel's code and symbols from
 * the dump to FOLDER, and compare each byte of the copies with the dump. vmcore damage N FOLDER: read N dumps with
 * damaged page tables and headers. The reader must not crash.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flight/flight.h"

#define RAM		0x80200000ULL
#define RAM_SIZE	(8ULL << 20)
#define HOLE		(RAM + (7ULL << 20))	/* address of a page that the dump lacks */
#define IMAGE		0xffffffff80000000ULL
#define IMAGE_OFFSET	(IMAGE - RAM)
#define STEXT		(IMAGE + 0x2000)
#define ETEXT		(IMAGE + 0x12340)
#define IMAGE_SIZE	0x200000ULL
#define PAGE		4096ULL
#define NR_MODULES	4

enum { IN_NAMES = 0x20000, IN_NUM = 0x40000, IN_OFFSETS = 0x50000, IN_BASE = 0x60000,
       IN_TOKENS = 0x70000, IN_INDEX = 0x80000, IN_ROOT = 0x100000 };

static const struct module {
	const char	*name;
	uint64_t	text, size;
	bool		left_out;
} modules[NR_MODULES] = {
	{ "small", 0xffffffff02001000, 0x2800, false },
	{ "huge", 0xffffffff02200000, 0x8000, false },
	{ "napot", 0xffffffff02410000, 0xf000, false },
	{ "holed", 0xffffffff02600000, 0x3000, true },
};

static const char *const names[] = { "T_start", "T_stext", "tdo_it", "T_etext", "Rdata", NULL };
static const uint64_t addresses[] = { IMAGE, STEXT, STEXT + 0x100, ETEXT, ETEXT + 0x1000 };

static uint8_t ram[RAM_SIZE];
static uint64_t next_table;
static char text[2048];
static char long_name[300];

static void *at(uint64_t pa)
{
	if (pa < RAM || pa >= RAM + RAM_SIZE)
		abort();
	return ram + (pa - RAM);
}

/* Map @size bytes at @va, with leaf entries at @level. If @napot is set, one entry maps 16 pages (Svnapot) */
static void map(int levels, uint64_t va, uint64_t pa, int level, bool napot)
{
	uint64_t table = RAM + IN_ROOT, *pte;

	for (int l = levels - 1; ; l--) {
		pte = (uint64_t *)at(table) + (va >> (12 + 9 * l) & 511);
		if (l == level)
			break;
		if (!*pte) {
			*pte = next_table >> 12 << 10 | 1;
			next_table += PAGE;
		}
		table = (*pte >> 10 & ((1ULL << 44) - 1)) << 12;
	}
	/* Map executable memory (V, R, X and A). Also set a Svpbmt bit, which a reader must not use in an address */
	*pte = pa >> 12 << 10 | 0x4b | 1ULL << 61;
	if (napot)
		*pte = (pa >> 12 & ~0xfULL) << 10 | 8 << 10 | 0x4b | 1ULL << 63;
}

static void put_symbols(void)
{
	uint8_t *to = at(RAM + IN_NAMES), *tokens = at(RAM + IN_TOKENS);
	uint16_t *index = at(RAM + IN_INDEX), n = 0;
	uint32_t *offsets = at(RAM + IN_OFFSETS), nr = 0;

	/* Write the tokens that compress names of kallsyms. Token N is character N, but 1 is "T_" and 255 is "ext" */
	for (int i = 0; i < 256; i++) {
		index[i] = n;
		if (i == 1 || i == 255)
			n += sprintf((char *)tokens + n, "%s", i == 1 ? "T_" : "ext") + 1;
		else
			tokens[n++] = i, tokens[n++] = '\0';
	}
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[0] = 't';
	for (; names[nr]; nr++) {
		const char *name = names[nr];
		uint8_t *length = to++;

		offsets[nr] = addresses[nr] - IMAGE;
		for (; *name; length[0]++) {
			if (!strncmp(name, "T_", 2))
				*to++ = 1, name += 2;
			else if (!strncmp(name, "ext", 3))
				*to++ = 255, name += 3;
			else
				*to++ = *name++;
		}
	}
	offsets[nr++] = ETEXT + 0x2000 - IMAGE;
	*to++ = 0x80 | (strlen(long_name) & 0x7f);
	*to++ = strlen(long_name) >> 7;
	memcpy(to, long_name, strlen(long_name));
	*(uint32_t *)at(RAM + IN_NUM) = nr;
	*(uint64_t *)at(RAM + IN_BASE) = IMAGE;
}

static void put_modules(int levels)
{
	uint64_t pa = RAM + (5ULL << 20), i;

	for (i = 0; i < modules[0].size; i += PAGE, pa += 3 * PAGE)
		map(levels, modules[0].text + i, pa, 0, false);
	map(levels, modules[1].text, 0x80400000, 1, false);
	for (i = 0; i < modules[2].size; i += PAGE)
		map(levels, modules[2].text + i, 0x80710000, 0, true);
	for (i = 0; i < modules[3].size; i += PAGE)
		map(levels, modules[3].text + i, HOLE - PAGE + i, 0, false);
}

static void make_ram(int levels)
{
	for (size_t i = 0; i < sizeof(ram); i++)
		ram[i] = rand() >> 8;
	next_table = RAM + (3ULL << 20);
	memset(at(next_table), 0, 1 << 20);
	memset(at(RAM + IN_ROOT), 0, PAGE);
	memset(at(RAM + IN_NAMES), 0, 0x1000);
	put_symbols();
	put_modules(levels);
	snprintf(text, sizeof(text), "OSRELEASE=6.12\nBUILD-ID=none\nSYMBOL(swapper_pg_dir)=%llx\n"
		 "SYMBOL(_stext)=%llx\nNUMBER(VA_BITS)=%d\nNUMBER(va_kernel_pa_offset)=0x%llx\n"
		 "SYMBOL(kallsyms_names)=%llx\nSYMBOL(kallsyms_num_syms)=%llx\nSYMBOL(kallsyms_offsets)=%llx\n"
		 "SYMBOL(kallsyms_relative_base)=%llx\nSYMBOL(kallsyms_token_table)=%llx\n"
		 "SYMBOL(kallsyms_token_index)=%llx\n", IMAGE + IN_ROOT, STEXT, 12 + 9 * levels, IMAGE_OFFSET,
		 IMAGE + IN_NAMES, IMAGE + IN_NUM, IMAGE + IN_OFFSETS, IMAGE + IN_BASE, IMAGE + IN_TOKENS,
		 IMAGE + IN_INDEX);
}

/* Write an ELF core of two segments in descending order. Between the segments, the page at HOLE is missing. */
static uint8_t *make_core(size_t *size)
{
	uint64_t first = HOLE - RAM, second = RAM_SIZE - first - PAGE, data = 64 + 3 * 56 + 8;
	uint8_t *core = calloc(1, data + first + second);
	Elf64_Phdr phdrs[3] = {
		{ .p_type = PT_NOTE, .p_offset = 1 },
		{ .p_type = PT_LOAD, .p_offset = data + first, .p_paddr = HOLE + PAGE, .p_filesz = second },
		{ .p_type = PT_LOAD, .p_offset = data, .p_paddr = RAM, .p_filesz = first },
	};
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE, .e_phoff = 64, .e_phentsize = 56, .e_phnum = 3,
	};

	memcpy(core, &head, sizeof(head));
	memcpy(core + 64, phdrs, sizeof(phdrs));
	memcpy(core + data, ram, first);
	memcpy(core + data + first, ram + first + PAGE, second);
	*size = data + first + second;
	return core;
}

static int take(uint8_t *core, size_t size, const char *folder)
{
	struct ntrace_flight_module list[NR_MODULES] = { 0 };
	struct ns_flight flight = {
		.kernel = text, .modules = list, .nr_modules = NR_MODULES,
		.machine = { .text = IMAGE, .text_size = IMAGE_SIZE },
	};
	struct ns_dump dump;

	for (int i = 0; i < NR_MODULES; i++) {
		strcpy((char *)list[i].name, modules[i].name);
		list[i].text = modules[i].text;
		list[i].text_size = modules[i].size;
	}
	ns_dump_open(&dump, core, size);
	return flight_kernel(&flight, &dump, folder);
}

static uint8_t *read_file(const char *folder, const char *name, size_t *size)
{
	static uint8_t data[1 << 20];
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/kcore_dir/%s", folder, name);
	f = fopen(path, "r");
	*size = f ? fread(data, 1, sizeof(data) - 1, f) : 0;
	data[*size] = '\0';
	if (f)
		fclose(f);
	return data;
}

static bool holds(const uint8_t *kcore, size_t size, uint64_t va, uint64_t length, uint64_t pa, uint64_t step)
{
	const Elf64_Ehdr *head = (const void *)kcore;
	const Elf64_Phdr *p = (const void *)(kcore + head->e_phoff);

	for (int i = 0; i < head->e_phnum; i++, p++) {
		if (p->p_vaddr != va)
			continue;
		if (p->p_filesz != length || p->p_offset > size || length > size - p->p_offset)
			return false;
		for (uint64_t done = 0; done < length; done += PAGE, pa += step) {
			uint64_t n = length - done < PAGE ? length - done : PAGE;

			if (memcmp(kcore + p->p_offset + done, at(pa), n))
				return false;
		}
		return true;
	}
	return false;
}

#define EXPECT(what) do { if (!(what)) { printf("not so: %s\n", #what); ret = 1; } } while (0)

static int compare(int levels, const char *folder)
{
	char line[400];
	size_t size;
	uint8_t *core, *got;
	int ret = 0;

	make_ram(levels);
	core = make_core(&size);
	EXPECT(take(core, size, folder) == 1);
	got = read_file(folder, "kcore", &size);
	EXPECT(size > sizeof(Elf64_Ehdr) && ((Elf64_Ehdr *)got)->e_phnum == 4);
	if (ret)
		return ret;
	EXPECT(holds(got, size, STEXT, ETEXT - STEXT, STEXT - IMAGE_OFFSET, PAGE));
	EXPECT(holds(got, size, modules[0].text, modules[0].size, RAM + (5ULL << 20), 3 * PAGE));
	EXPECT(holds(got, size, modules[1].text, modules[1].size, 0x80400000, PAGE));
	EXPECT(holds(got, size, modules[2].text, modules[2].size, 0x80710000, PAGE));
	got = read_file(folder, "kallsyms", &size);
	for (int i = 0; names[i]; i++) {
		snprintf(line, sizeof(line), "%016llx %c %s\n", (unsigned long long)addresses[i], *names[i],
			 names[i] + 1);
		EXPECT(strstr((char *)got, line));
	}
	snprintf(line, sizeof(line), " t %s\n", long_name + 1);
	EXPECT(strstr((char *)got, line));
	free(core);
	return ret;
}

static int damage_all(int n, const char *folder)
{
	int taken = 0, none = 0;

	while (n--) {
		uint64_t spots[] = { IN_NAMES, IN_NUM, IN_OFFSETS, IN_BASE, IN_TOKENS, IN_INDEX, IN_ROOT, 3 << 20 };
		uint8_t *core;
		size_t size;

		make_ram(3 + rand() % 3);
		for (int k = rand() % 8; k; k--) {
			uint64_t spot = spots[(size_t)rand() % 8] + (size_t)rand() % 0x1000;

			ram[spot] = rand() % 3 ? ram[spot] ^ 1 << rand() % 8 : rand() >> 8;
		}
		/* Let a page table refer to itself, and change numbers in the text of the dump */
		if (!(rand() % 4))
			*(uint64_t *)at(RAM + IN_ROOT + 511 * 8) = (RAM + IN_ROOT) >> 12 << 10 | 1;
		if (!(rand() % 4))
			text[40 + (size_t)rand() % (strlen(text) - 40)] ^= 1 << rand() % 7;
		core = make_core(&size);
		if (!(rand() % 4))
			((uint64_t *)core)[(size_t)8 + rand() % 21] ^= 1ULL << rand() % 64;
		if (!(rand() % 8))
			size = (size_t)rand() % (size + 1);
		/* Use a buffer of exactly this size, so that the sanitizer detects a read beyond the end */
		core = realloc(core, size ? size : 1);
		*(take(core, size, folder) > 0 ? &taken : &none) += 1;
		free(core);
	}
	printf("taken %d none %d\n", taken, none);
	return !taken || !none;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "damage"))
		return damage_all(atoi(argv[2]), argv[3]);
	return argc == 3 ? compare(atoi(argv[1]), argv[2]) : 2;
}
