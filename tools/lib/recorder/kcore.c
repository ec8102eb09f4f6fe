// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file copies the current kernel code, like perf record --kcore. The copy has the parts of
 * /proc/kcore that contain code, and the lists of symbols and modules.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder-priv.h"

#define PAGE		4096ULL
#define COPY_SIZE	(256 << 10)
#define MAX_SEGMENTS	256
/*
 * The symbols of code that the kernel generates at run time have no size. Up to MAX_GAP bytes
 * between two such symbols are copied, and TAIL bytes after the last one.
 */
#define MAX_GAP		(256 << 10)
#define TAIL		(64 << 10)

struct range {
	uint64_t from, to;
};

struct kcore {
	int		fd;		/* file descriptor of /proc/kcore */
	Elf64_Ehdr	ehdr;
	Elf64_Phdr	phdrs[MAX_SEGMENTS];
	NS_ARRAY(struct range) ranges;	/* ranges of code, without overlaps */
	Elf64_Phdr	out[MAX_SEGMENTS];	/* segments of the copy */
	unsigned int	nr_out;
};

/* ---- Copy files ---- */

/*
 * Copy @size bytes from offset @at of file @from. If @at is UINT64_MAX, copy from the current offset
 * up to the end of the file. Return 0, or -1 on failure.
 */
static int copy_bytes(int from, uint64_t at, int to, uint64_t size, char *buf)
{
	ssize_t n;

	while (size) {
		n = size < COPY_SIZE ? size : COPY_SIZE;
		n = at == UINT64_MAX ? read(from, buf, n) : pread(from, buf, n, at);
		if (n <= 0)
			return n < 0 || at != UINT64_MAX ? -1 : 0;
		if (write(to, buf, n) != n)
			return -1;
		if (at != UINT64_MAX)
			at += n;
		size -= n;
	}
	return 0;
}

static int copy_failed(struct nt_recorder *r, const char *path)
{
	return rec_fail(r, "the kernel's code cannot be copied to %s: %s. --no-kcore records without it",
			path, strerror(errno ? errno : ENOSPC));
}

/* Copy a file of /proc up to its end, because its size is reported as 0. */
static int copy_file(struct nt_recorder *r, const char *from, const char *folder)
{
	char path[PATH_MAX], *buf = malloc(COPY_SIZE);
	int in = open(from, O_RDONLY | O_CLOEXEC), out, err;

	snprintf(path, sizeof(path), "%s/%s", folder, strrchr(from, '/') + 1);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0400);
	err = in < 0 || out < 0 || !buf || copy_bytes(in, UINT64_MAX, out, UINT64_MAX, buf);
	if (err)
		copy_failed(r, path);
	free(buf);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return err ? -1 : 0;
}

/* ---- Find the address ranges of the kernel's code ---- */

static bool add_range(struct kcore *k, uint64_t from, uint64_t to)
{
	const struct range range = { from & ~(PAGE - 1), (to + PAGE - 1) & ~(PAGE - 1) };

	return from >= to || ns_array_add(&k->ranges, range);
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Join ranges of code that overlap, or that are close to each other. */
static void join_ranges(struct kcore *k)
{
	ns_array_sort(&k->ranges, compare);
	ns_array_join_sorted(&k->ranges, b->from > a->to + MAX_GAP, a->to = b->to > a->to ? b->to : a->to);
}

FILE *rec_kallsyms(const struct nt_recorder *r)
{
	char path[PATH_MAX + sizeof("/kcore_dir/kallsyms")];

	snprintf(path, sizeof(path), "%s/kcore_dir/kallsyms", r->folder);
	return fopen(*r->folder ? path : "/proc/kallsyms", "re");
}

/* Add the kernel's own code, and code generated at run time, whose symbols end with "[NAME]". */
static bool find_symbols(const struct nt_recorder *r, struct kcore *k)
{
	char line[512], type, name[256], module[2];
	uint64_t addr, begin = 0, end = 0;
	FILE *f = rec_kallsyms(r);
	bool ok = true;
	int n;

	while (f && ok && fgets(line, sizeof(line), f)) {
		/* Call sscanf() for few lines only, because it is slow. */
		if (!strchr(line, '[') && !strstr(line, "_stext") && !strstr(line, "_etext"))
			continue;
		n = sscanf(line, "%" SCNx64 " %c %255s %1[[]", &addr, &type, name, module);
		if (n < 3 || !addr)
			continue;
		if (n == 4)
			ok = (type != 't' && type != 'T') || add_range(k, addr, addr + TAIL);
		else if (!strcmp(name, "_stext"))
			begin = addr;
		else if (!strcmp(name, "_etext"))
			end = addr;
	}
	if (f)
		fclose(f);
	return ok && add_range(k, begin, end);
}

static bool find_modules(struct kcore *k)
{
	FILE *f = fopen("/proc/modules", "re");
	uint64_t addr, size;
	char line[1024];
	bool ok = true;

	while (f && ok && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, &size, &addr) == 2 && addr)
			ok = add_range(k, addr, addr + size);
	}
	if (f)
		fclose(f);
	return ok;
}

static int read_headers(struct nt_recorder *r, struct kcore *k)
{
	size_t size;

	if (pread(k->fd, &k->ehdr, sizeof(k->ehdr), 0) != sizeof(k->ehdr))
		return rec_fail(r, "/proc/kcore: %s. --no-kcore leaves it out", strerror(errno));
	if (memcmp(k->ehdr.e_ident, ELFMAG, SELFMAG) || k->ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    k->ehdr.e_phentsize != sizeof(Elf64_Phdr) || k->ehdr.e_phnum > MAX_SEGMENTS)
		return rec_fail(r, "/proc/kcore has an unknown format. --no-kcore records without it");
	size = k->ehdr.e_phnum * sizeof(Elf64_Phdr);
	if (pread(k->fd, k->phdrs, size, k->ehdr.e_phoff) != (ssize_t)size)
		return rec_fail(r, "/proc/kcore: %s. --no-kcore leaves it out", strerror(errno));
	return 0;
}

/*
 * Choose the bytes of each segment that are in a range of code. Set p_offset of the new segments to
 * the offset of these bytes in /proc/kcore.
 */
static void choose(struct kcore *k)
{
	const struct range *range;
	const Elf64_Phdr *phdr;
	uint64_t from, to;

	for (phdr = k->phdrs; phdr < k->phdrs + k->ehdr.e_phnum; phdr++) {
		for (range = k->ranges.at; range < k->ranges.at + k->ranges.nr; range++) {
			from = phdr->p_vaddr > range->from ? phdr->p_vaddr : range->from;
			to = phdr->p_vaddr + phdr->p_filesz < range->to ?
			     phdr->p_vaddr + phdr->p_filesz : range->to;
			if (phdr->p_type != PT_LOAD || from >= to || k->nr_out == MAX_SEGMENTS)
				continue;
			k->out[k->nr_out] = *phdr;
			k->out[k->nr_out].p_offset += from - phdr->p_vaddr;
			k->out[k->nr_out].p_vaddr = from;
			k->out[k->nr_out++].p_filesz = to - from;
		}
	}
}

static int write_kcore(struct kcore *k, int out, char *buf)
{
	uint64_t at = (sizeof(k->ehdr) + k->nr_out * sizeof(Elf64_Phdr) + PAGE - 1) & ~(PAGE - 1);
	Elf64_Ehdr ehdr = k->ehdr;
	Elf64_Phdr phdr;
	unsigned int i;

	ehdr.e_phoff = sizeof(ehdr);
	ehdr.e_phnum = k->nr_out;
	ehdr.e_shnum = ehdr.e_shstrndx = ehdr.e_shoff = 0;
	if (write(out, &ehdr, sizeof(ehdr)) != sizeof(ehdr))
		return -1;
	for (i = 0; i < k->nr_out; i++) {
		phdr = k->out[i];
		phdr.p_offset = at;
		phdr.p_memsz = phdr.p_filesz;
		if (write(out, &phdr, sizeof(phdr)) != sizeof(phdr) ||
		    lseek(out, at, SEEK_SET) < 0 ||
		    copy_bytes(k->fd, k->out[i].p_offset, out, phdr.p_filesz, buf) ||
		    lseek(out, sizeof(ehdr) + (i + 1) * sizeof(phdr), SEEK_SET) < 0)
			return -1;
		at += phdr.p_filesz;
	}
	return 0;
}

static int copy_kcore(struct nt_recorder *r, const char *folder)
{
	struct kcore *k = calloc(1, sizeof(*k));
	char path[PATH_MAX], *buf = malloc(COPY_SIZE);
	int out = -1, err = -1;

	if (!k || !buf) {
		rec_fail(r, "out of memory");
		goto free;
	}
	k->fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (!find_symbols(r, k) || !find_modules(k)) {
		rec_fail(r, "out of memory");
		goto close;
	}
	join_ranges(k);
	if (read_headers(r, k))
		goto close;
	choose(k);
	if (!k->nr_out) {
		rec_fail(r, "/proc/kallsyms hides the addresses of the kernel's code (kernel.kptr_restrict=0 shows them). --no-kcore records without the code");
		goto close;
	}
	snprintf(path, sizeof(path), "%s/kcore", folder);
	errno = 0;
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0400);
	err = out < 0 || write_kcore(k, out, buf) ? copy_failed(r, path) : 0;
	if (out >= 0)
		close(out);
close:
	if (k->fd >= 0)
		close(k->fd);
free:
	if (k)
		free(k->ranges.at);
	free(buf);
	free(k);
	return err;
}

int rec_kcore_copy(struct nt_recorder *r, const char *folder)
{
	if (copy_file(r, "/proc/kallsyms", folder) || copy_file(r, "/proc/modules", folder))
		return -1;
	return copy_kcore(r, folder);
}
