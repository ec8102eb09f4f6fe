// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code of the kernel that crashed, from the kernel that runs: they are the same build. KASLR and
 * the order in which modules were loaded have moved each part by an amount of its own.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "flight.h"
#include "session/array.h"

#define PAGE		4096ULL
#define MAX_SEGMENTS	256

/* A part of the kernel: where it is now, and where it was */
struct part {
	char		name[64];	/* of a module; empty: the kernel itself */
	uint64_t	now, then, size;
};

struct kernel {
	const struct ns_flight *f;
	NS_ARRAY(struct part) parts;
	int		kcore;
	Elf64_Phdr	phdrs[MAX_SEGMENTS];
	unsigned int	nr_phdrs;
	char		folder[PATH_MAX];
};

static int no_kernel(const char *why)
{
	fprintf(stderr, "ntrace: the kernel's code is left out: %s. Decoding needs its vmlinux then\n",
		why);
	return 0;
}

static int failed(const char *path)
{
	fprintf(stderr, "ntrace: %s: %s\n", path, strerror(errno));
	return -1;
}

/* ---- Is it the same kernel? ---- */

/* The build id in /sys/kernel/notes, as hexadecimal digits */
static bool running_id(char *text, size_t room)
{
	unsigned char notes[4096], *end, *at = notes;
	FILE *f = fopen("/sys/kernel/notes", "re");
	uint32_t head[3], i;
	size_t n;

	if (!f)
		return false;
	n = fread(notes, 1, sizeof(notes), f);
	fclose(f);
	for (end = notes + n; end - at >= 16; ) {
		memcpy(head, at, sizeof(head));
		if (head[0] > 256 || head[1] > 4096)
			return false;
		if (head[0] == 4 && head[2] == 3 && !memcmp(at + 12, "GNU", 4) && head[1] <= 64 &&
		    end - at >= 16 + (long)head[1] && 2 * head[1] < room) {
			for (i = 0; i < head[1]; i++)
				sprintf(text + 2 * i, "%02x", at[16 + i]);
			return true;
		}
		at += 12 + ((head[0] + 3) & ~3U) + ((head[1] + 3) & ~3U);
	}
	return false;
}

static bool is_same_kernel(const struct ns_flight *f)
{
	char then[160], now[160];

	return ns_flight_line(f, "BUILD-ID", then, sizeof(then)) && running_id(now, sizeof(now)) &&
	       !strcmp(then, now);
}

/* ---- Parts ---- */

static uint64_t symbol(const char *wanted)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], type;
	uint64_t addr, found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) == 3 &&
		    !strcmp(name, wanted))
			found = addr;
	}
	if (f)
		fclose(f);
	return found;
}

static const struct ntrace_flight_module *module_then(const struct ns_flight *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->nr_modules; i++) {
		if (!strcmp((const char *)f->modules[i].name, name))
			return &f->modules[i];
	}
	return NULL;
}

static bool add_modules(struct kernel *k)
{
	FILE *f = fopen("/proc/modules", "re");
	const struct ntrace_flight_module *then;
	struct part part;
	char line[1024];
	bool ok = true;

	while (f && ok && fgets(line, sizeof(line), f)) {
		memset(&part, 0, sizeof(part));
		if (sscanf(line, "%63s %*s %*s %*s %*s 0x%" SCNx64, part.name, &part.now) != 2)
			continue;
		then = module_then(k->f, part.name);
		if (!then || !part.now)
			continue;
		part.then = then->text;
		part.size = then->text_size;
		ok = ns_array_add(&k->parts, part);
	}
	if (f)
		fclose(f);
	return ok;
}

static bool find_parts(struct kernel *k)
{
	uint64_t start = symbol("_start"), text = symbol("_text"), end = symbol("_etext");
	/* /proc/kcore begins with _text, which is not the first byte */
	const struct part kernel = {
		.then = k->f->machine.text + (text - start), .now = text, .size = end - text,
	};

	if (!start || text < start || end <= text)
		return false;
	return ns_array_add(&k->parts, kernel) && add_modules(k);
}

/* ---- /proc/kcore ---- */

static bool open_kcore(struct kernel *k, Elf64_Ehdr *ehdr)
{
	ssize_t size;

	k->kcore = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (k->kcore < 0 || pread(k->kcore, ehdr, sizeof(*ehdr), 0) != sizeof(*ehdr) ||
	    memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_phnum > MAX_SEGMENTS ||
	    ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return false;
	k->nr_phdrs = ehdr->e_phnum;
	size = k->nr_phdrs * sizeof(Elf64_Phdr);
	return pread(k->kcore, k->phdrs, size, ehdr->e_phoff) == size;
}

/* Where an address is in /proc/kcore, if all of the part is there */
static bool in_kcore(const struct kernel *k, const struct part *part, uint64_t *at)
{
	const Elf64_Phdr *p;

	for (p = k->phdrs; p < k->phdrs + k->nr_phdrs; p++) {
		if (p->p_type == PT_LOAD && part->now >= p->p_vaddr &&
		    part->now - p->p_vaddr < p->p_filesz &&
		    part->size <= p->p_filesz - (part->now - p->p_vaddr)) {
			*at = p->p_offset + (part->now - p->p_vaddr);
			return true;
		}
	}
	return false;
}

/* ---- Calls from one part into another ---- */

#define AUIPC(word)	(((word) & 0x7f) == 0x17)
#define JALR(word)	(((word) & 0x707f) == 0x67)
#define RD(word)	((word) >> 7 & 31)
#define RS1(word)	((word) >> 15 & 31)

static uint32_t get32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static const struct part *part_at(const struct kernel *k, uint64_t now)
{
	size_t i;

	for (i = 0; i < k->parts.nr; i++) {
		if (now - k->parts.at[i].now < k->parts.at[i].size)
			return &k->parts.at[i];
	}
	return NULL;
}

/*
 * auipc and jalr reach 2 GiB far: the distance between two parts is in the instructions, and was
 * another one then.
 */
static void move_call(const struct kernel *k, const struct part *part, uint64_t offset,
		      uint8_t *code)
{
	uint32_t high = get32(code), low = get32(code + 4);
	uint64_t pc = part->now + offset, target;
	const struct part *to;
	int64_t distance;

	if (!AUIPC(high) || !JALR(low) || RS1(low) != RD(high))
		return;
	target = pc + (int32_t)(high & 0xfffff000) + ((int32_t)low >> 20);
	to = part_at(k, target);
	if (!to || to == part)
		return;
	distance = (int64_t)(target - to->now + to->then - (part->then + offset));
	if (distance != (int32_t)distance)
		return;
	high = (high & 0xfff) | (uint32_t)((distance + 0x800) & 0xfffff000);
	low = (low & 0xfffff) | (uint32_t)distance << 20;
	memcpy(code, &high, sizeof(high));
	memcpy(code + 4, &low, sizeof(low));
}

static int copy_part(const struct kernel *k, const struct part *part, uint64_t from, FILE *out)
{
	uint8_t *code = malloc(part->size);
	uint64_t done = 0, i;
	ssize_t n = 1;
	int err;

	while (code && done < part->size && n > 0) {
		n = pread(k->kcore, code + done, part->size - done, from + done);
		done += n > 0 ? n : 0;
	}
	for (i = 0; code && i + 8 <= done; i += 2)
		move_call(k, part, i, code + i);
	err = !code || done != part->size || fwrite(code, done, 1, out) != 1;
	free(code);
	return err ? -1 : 0;
}

static int write_parts(struct kernel *k, FILE *out, Elf64_Ehdr *ehdr)
{
	Elf64_Phdr phdr = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = PAGE };
	const struct part *p;
	uint64_t at = 0, data;
	int err = 0;

	ehdr->e_phoff = sizeof(*ehdr);
	ehdr->e_shnum = ehdr->e_shstrndx = ehdr->e_shoff = 0;
	ehdr->e_phnum = k->parts.nr;
	data = (sizeof(*ehdr) + k->parts.nr * sizeof(phdr) + PAGE - 1) & ~(PAGE - 1);
	err = fwrite(ehdr, sizeof(*ehdr), 1, out) != 1;
	phdr.p_offset = data;
	for (p = k->parts.at; !err && p < k->parts.at + k->parts.nr; p++) {
		phdr.p_vaddr = p->then;
		phdr.p_filesz = phdr.p_memsz = p->size;
		err = fwrite(&phdr, sizeof(phdr), 1, out) != 1;
		phdr.p_offset += (p->size + PAGE - 1) & ~(PAGE - 1);
	}
	for (p = k->parts.at; !err && p < k->parts.at + k->parts.nr; p++) {
		err = fseek(out, data, SEEK_SET) || !in_kcore(k, p, &at) ||
		      copy_part(k, p, at, out);
		data += (p->size + PAGE - 1) & ~(PAGE - 1);
	}
	return err ? -1 : 0;
}

/* Parts that /proc/kcore does not have are left out */
static void drop_missing(struct kernel *k)
{
	size_t i, kept = 0;
	uint64_t at;

	for (i = 0; i < k->parts.nr; i++) {
		if (in_kcore(k, &k->parts.at[i], &at))
			k->parts.at[kept++] = k->parts.at[i];
	}
	k->parts.nr = kept;
}

/* ---- Symbols ---- */

static const struct part *part_named(const struct kernel *k, const char *name)
{
	size_t i;

	for (i = 0; i < k->parts.nr; i++) {
		if (!strcmp(k->parts.at[i].name, name))
			return &k->parts.at[i];
	}
	return NULL;
}

/* Lines of /proc/kallsyms with the addresses of then; "[NAME]" stands after those of modules */
static int write_symbols(struct kernel *k, FILE *out)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], type, name[256], module[64];
	const struct part *part;
	uint64_t addr;
	int n;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		*module = '\0';
		n = sscanf(line, "%" SCNx64 " %c %255s [%63[^]]]", &addr, &type, name, module);
		part = n >= 3 ? part_named(k, module) : NULL;
		if (!part)
			continue;
		fprintf(out, "%016" PRIx64 " %c %s", addr + part->then - part->now, type, name);
		fprintf(out, *module ? "\t[%s]\n" : "\n", module);
	}
	fclose(f);
	return ferror(out) ? -1 : 0;
}

static int write_modules(struct kernel *k, FILE *out)
{
	const struct ntrace_flight_module *m = k->f->modules;
	size_t i;

	for (i = 0; i < k->f->nr_modules; i++, m++)
		fprintf(out, "%s %" PRIu64 " 0 - Live 0x%016" PRIx64 "\n", (const char *)m->name,
			(uint64_t)m->text_size, (uint64_t)m->text);
	return ferror(out) ? -1 : 0;
}

/* ---- All ---- */

static FILE *create(const struct kernel *k, const char *name, char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/%s", k->folder, name) >= PATH_MAX)
		return NULL;
	return fopen(path, "we");
}

static int write_file(struct kernel *k, const char *name, int (*put)(struct kernel *k, FILE *out))
{
	char path[PATH_MAX];
	FILE *out = create(k, name, path);
	int err;

	if (!out)
		return failed(path);
	err = put(k, out);
	if (fclose(out) || err)
		return failed(path);
	return 0;
}

static Elf64_Ehdr kcore_header;

static int write_kcore(struct kernel *k, FILE *out)
{
	Elf64_Ehdr ehdr = kcore_header;

	return write_parts(k, out, &ehdr);
}

static int write_all(struct kernel *k, const char *folder)
{
	if (mkdir(folder, 0700) && errno != EEXIST)
		return failed(folder);
	if (snprintf(k->folder, sizeof(k->folder), "%s/kcore_dir", folder) >= PATH_MAX)
		return failed(folder);
	if (mkdir(k->folder, 0700) && errno != EEXIST)
		return failed(k->folder);
	if (write_file(k, "kcore", write_kcore) || write_file(k, "kallsyms", write_symbols) ||
	    write_file(k, "modules", write_modules))
		return -1;
	return 1;
}

/* ---- Code that the kernel had patched ---- */

/*
 * The recorder's tracepoints are jumps in the code. A driver that has a record leaves them on. In a
 * crash kernel whose driver has no memory for one they are off, and an event on each turns them on.
 */
static const char *const hooks[] = {
	"sched/sched_switch", "printk/console", "sched/sched_process_hang", "task/task_rename",
};

#define NR_HOOKS	(sizeof(hooks) / sizeof(*hooks))

/* Events that are open while the code is read; -1: none, which may cost some code */
struct patches {
	int	perf, hooks[NR_HOOKS];
};

static int open_event(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	return syscall(SYS_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Tracefs, for this process alone if nobody has mounted it */
static const char *tracing(void)
{
	static const char at[] = "/sys/kernel/tracing";

	if (!access("/sys/kernel/tracing/events", F_OK))
		return at;
	if (!access("/sys/kernel/debug/tracing/events", F_OK))
		return "/sys/kernel/debug/tracing";
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tracefs", at, "tracefs", 0, NULL))
		return NULL;
	return at;
}

static int open_hook(const char *folder, const char *name)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	char path[PATH_MAX];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/events/%s/id", folder, name);
	f = fopen(path, "re");
	n = f ? fscanf(f, "%" SCNu64, (uint64_t *)&attr.config) : 0;
	if (f)
		fclose(f);
	return n == 1 ? open_event(&attr) : -1;
}

/*
 * get_random_bytes(), which system calls use, is patched when the kernel has gathered entropy. The one
 * that crashed had; a crash kernel, or one that has just booted, may not have yet.
 */
static void wait_for_entropy(void)
{
	char byte;

	if (getrandom(&byte, 1, GRND_NONBLOCK) == 1 || getrandom(&byte, 1, 0) != 1)
		return;
	/* A worker does it after that. */
	usleep(100000);
}

/* Patch the code as it was: by perf, which had a sink, for its switches of tasks, and by the recorder */
static void patch(struct patches *p, const struct ns_flight *f)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .context_switch = 1,
	};
	const char *folder = access(FLIGHT_SYSFS, F_OK) ? tracing() : NULL;
	size_t i;

	wait_for_entropy();
	p->perf = f->nr_sessions ? open_event(&attr) : -1;
	for (i = 0; i < NR_HOOKS; i++)
		p->hooks[i] = folder ? open_hook(folder, hooks[i]) : -1;
}

static void unpatch(const struct patches *p)
{
	size_t i;

	if (p->perf >= 0)
		close(p->perf);
	for (i = 0; i < NR_HOOKS; i++) {
		if (p->hooks[i] >= 0)
			close(p->hooks[i]);
	}
}

int flight_kernel(const struct ns_flight *flight, const char *folder)
{
	struct kernel k = { .f = flight, .kcore = -1 };
	struct patches patches;
	int ret;

	if (!is_same_kernel(flight))
		return no_kernel("the running kernel is another one");
	patch(&patches, flight);
	if (!find_parts(&k))
		ret = no_kernel("/proc/kallsyms does not say where it is (kernel.kptr_restrict=0 shows it to root)");
	else if (!open_kcore(&k, &kcore_header))
		ret = no_kernel("/proc/kcore cannot be read");
	else
		ret = 1;
	if (ret == 1) {
		drop_missing(&k);
		ret = write_all(&k, folder);
	}
	if (k.kcore >= 0)
		close(k.kcore);
	unpatch(&patches);
	free(k.parts.at);
	return ret;
}
