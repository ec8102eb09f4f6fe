// SPDX-License-Identifier: GPL-2.0-only
/* Write the code of the crashed kernel for perf, as kcore_dir of a recording that is a folder. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "code.h"

#define PAGE		4096ULL

struct output {
	const struct flight_source *source;
	struct flight_code code;
	char		folder[PATH_MAX];
};

int flight_no_code(const char *why)
{
	fprintf(stderr, "ntrace: the kernel's code is left out: %s. Decoding will need the vmlinux of this kernel\n",
		why);
	return 0;
}

static int failed(const char *path)
{
	fprintf(stderr, "ntrace: %s: %s\n", path, strerror(errno));
	return -1;
}

/* ---- Files ---- */

static bool write_header(const struct output *o, FILE *out)
{
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE, .e_machine = EM_RISCV, .e_version = EV_CURRENT,
		.e_phoff = sizeof(head), .e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = o->code.parts.nr,
	};

	return fwrite(&head, sizeof(head), 1, out) == 1;
}

static uint64_t whole_pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(PAGE - 1);
}

static bool copy_part(const struct output *o, const struct flight_part *part, FILE *out)
{
	uint8_t *insns = malloc(part->size);
	bool ok = insns && o->source->read(&o->code, part, insns) &&
		  fwrite(insns, part->size, 1, out) == 1;

	free(insns);
	return ok;
}

static bool write_kcore(const struct output *o, FILE *out)
{
	const struct flight_part *p, *end = o->code.parts.at + o->code.parts.nr;
	Elf64_Phdr phdr = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = PAGE };
	uint64_t data = whole_pages(sizeof(Elf64_Ehdr) + o->code.parts.nr * sizeof(phdr));
	bool ok = write_header(o, out);

	phdr.p_offset = data;
	for (p = o->code.parts.at; ok && p < end; p++) {
		phdr.p_vaddr = p->then;
		phdr.p_filesz = phdr.p_memsz = p->size;
		ok = fwrite(&phdr, sizeof(phdr), 1, out) == 1;
		phdr.p_offset += whole_pages(p->size);
	}
	for (p = o->code.parts.at; ok && p < end; p++) {
		ok = !fseek(out, data, SEEK_SET) && copy_part(o, p, out);
		data += whole_pages(p->size);
	}
	return ok;
}

static bool write_symbols(const struct output *o, FILE *out)
{
	return o->source->symbols(&o->code, out);
}

static bool write_modules(const struct output *o, FILE *out)
{
	const struct ntrace_flight_module *m = o->code.f->modules;
	size_t i;

	for (i = 0; i < o->code.f->nr_modules; i++, m++)
		fprintf(out, "%s %" PRIu64 " 0 - Live 0x%016" PRIx64 "\n", (const char *)m->name,
			(uint64_t)m->text_size, (uint64_t)m->text);
	return !ferror(out);
}

/* ---- Write all files ---- */

static int write_file(const struct output *o, const char *name,
		      bool (*put)(const struct output *o, FILE *out))
{
	char path[PATH_MAX];
	FILE *out;
	bool ok;

	if (snprintf(path, sizeof(path), "%s/%s", o->folder, name) >= PATH_MAX)
		return failed(o->folder);
	out = fopen(path, "we");
	if (!out)
		return failed(path);
	ok = put(o, out);
	if (fclose(out) || !ok)
		return failed(path);
	return 0;
}

static int write_all(struct output *o, const char *folder)
{
	if (mkdir(folder, 0700) && errno != EEXIST)
		return failed(folder);
	if (snprintf(o->folder, sizeof(o->folder), "%s/kcore_dir", folder) >= PATH_MAX)
		return failed(folder);
	if (mkdir(o->folder, 0700) && errno != EEXIST)
		return failed(o->folder);
	if (write_file(o, "kcore", write_kcore) || write_file(o, "kallsyms", write_symbols) ||
	    write_file(o, "modules", write_modules))
		return -1;
	return 1;
}

int flight_kernel(const struct ns_flight *flight, const struct ns_dump *dump, const char *folder)
{
	struct output o = {
		.source = dump ? &flight_vmcore : &flight_running,
		.code = { .f = flight, .dump = dump },
	};
	int ret = o.source->open(&o.code);

	if (ret < 0)
		fputs("ntrace: out of memory\n", stderr);
	else if (ret > 0)
		ret = write_all(&o, folder);
	o.source->close(&o.code);
	free(o.code.parts.at);
	return ret;
}
