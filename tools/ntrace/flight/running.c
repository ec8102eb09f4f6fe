// SPDX-License-Identifier: GPL-2.0-only
/*
 * Get the code of the crashed kernel from the running kernel, which is the same build. KASLR and
 * the order in which modules were loaded have moved each part (the kernel itself, or a module) by a
 * different distance.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "code.h"

#define MAX_SEGMENTS	256

/*
 * The recorder's tracepoints are patched jumps in the code. A driver that has a record keeps them enabled. If
 * the driver of the running kernel has no memory for a record, they are disabled. This file then opens a perf
 * event on each tracepoint to enable it.
 */
static const char *const hooks[] = {
	"sched/sched_switch", "printk/console", "sched/sched_process_hang", "task/task_rename",
};

#define NR_HOOKS	(sizeof(hooks) / sizeof(*hooks))

/*
 * File descriptors of events that make the kernel patch its code; -1: not open, so some code may be missing
 */
struct patches {
	int	perf, hooks[NR_HOOKS];
};

struct running {
	int		kcore;
	Elf64_Phdr	phdrs[MAX_SEGMENTS];
	unsigned int	nr_phdrs;
	struct patches	patches;
};

/* ---- Check that the running kernel is the build that crashed ---- */

/* Get the build id in /sys/kernel/notes as hexadecimal digits. */
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

bool flight_is_running(const struct ns_flight *f)
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

bool flight_running_modules(struct flight_code *code)
{
	FILE *f = fopen("/proc/modules", "re");
	const struct ntrace_flight_module *then;
	struct flight_part part;
	char line[1024];
	bool ok = true;

	while (f && ok && fgets(line, sizeof(line), f)) {
		memset(&part, 0, sizeof(part));
		if (sscanf(line, "%63s %*s %*s %*s %*s 0x%" SCNx64, part.name, &part.now) != 2)
			continue;
		then = module_then(code->f, part.name);
		if (!then || !part.now)
			continue;
		part.then = then->text;
		part.size = then->text_size;
		ok = ns_array_add(&code->parts, part);
	}
	if (f)
		fclose(f);
	return ok;
}

static bool find_parts(struct flight_code *code)
{
	uint64_t start = symbol("_start"), text = symbol("_text"), end = symbol("_etext");
	/*
	 * begin at _text, and not at _start, which is the first byte of the kernel, because /proc/kcore also
	 * begins at _text
	 */
	const struct flight_part kernel = {
		.then = code->f->machine.text + (text - start), .now = text, .size = end - text,
	};

	if (!start || text < start || end <= text)
		return false;
	return ns_array_add(&code->parts, kernel) && flight_running_modules(code);
}

/* ---- /proc/kcore ---- */

static bool open_kcore(struct running *r)
{
	Elf64_Ehdr ehdr;
	ssize_t size;

	r->kcore = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (r->kcore < 0 || pread(r->kcore, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_phnum > MAX_SEGMENTS ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	r->nr_phdrs = ehdr.e_phnum;
	size = r->nr_phdrs * sizeof(Elf64_Phdr);
	return pread(r->kcore, r->phdrs, size, ehdr.e_phoff) == size;
}

/* Set *at to the offset of a part in /proc/kcore. Return false if not all of the part is in this file. */
static bool in_kcore(const struct running *r, const struct flight_part *part, uint64_t *at)
{
	const Elf64_Phdr *p;

	for (p = r->phdrs; p < r->phdrs + r->nr_phdrs; p++) {
		if (p->p_type == PT_LOAD && part->now >= p->p_vaddr &&
		    part->now - p->p_vaddr < p->p_filesz &&
		    part->size <= p->p_filesz - (part->now - p->p_vaddr)) {
			*at = p->p_offset + (part->now - p->p_vaddr);
			return true;
		}
	}
	return false;
}

/* Drop the parts that /proc/kcore does not have. */
static void drop_missing(struct flight_code *code)
{
	size_t i, kept = 0;
	uint64_t at;

	for (i = 0; i < code->parts.nr; i++) {
		if (in_kcore(code->of_source, &code->parts.at[i], &at))
			code->parts.at[kept++] = code->parts.at[i];
	}
	code->parts.nr = kept;
}

/* ---- Calls from one part of the kernel into another ---- */

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

static const struct flight_part *part_at(const struct flight_code *code, uint64_t now)
{
	size_t i;

	for (i = 0; i < code->parts.nr; i++) {
		if (now - code->parts.at[i].now < code->parts.at[i].size)
			return &code->parts.at[i];
	}
	return NULL;
}

/*
 * Adjust a call to another part of the kernel. auipc and jalr reach 2 GiB and contain the distance
 * between two parts, which was different in the crashed kernel.
 */
static void move_call(const struct flight_code *code, const struct flight_part *part, uint64_t offset,
		      uint8_t *insns)
{
	uint32_t high = get32(insns), low = get32(insns + 4);
	uint64_t pc = part->now + offset, target;
	const struct flight_part *to;
	int64_t distance;

	if (!AUIPC(high) || !JALR(low) || RS1(low) != RD(high))
		return;
	target = pc + (int32_t)(high & 0xfffff000) + ((int32_t)low >> 20);
	to = part_at(code, target);
	if (!to || to == part)
		return;
	distance = (int64_t)(target - to->now + to->then - (part->then + offset));
	if (distance != (int32_t)distance)
		return;
	high = (high & 0xfff) | (uint32_t)((distance + 0x800) & 0xfffff000);
	low = (low & 0xfffff) | (uint32_t)distance << 20;
	memcpy(insns, &high, sizeof(high));
	memcpy(insns + 4, &low, sizeof(low));
}

static bool read_part(const struct flight_code *code, const struct flight_part *part, uint8_t *to)
{
	const struct running *r = code->of_source;
	uint64_t done = 0, from, i;
	ssize_t n = 1;

	if (!in_kcore(r, part, &from))
		return false;
	while (done < part->size && n > 0) {
		n = pread(r->kcore, to + done, part->size - done, from + done);
		done += n > 0 ? n : 0;
	}
	for (i = 0; i + 8 <= done; i += 2)
		move_call(code, part, i, to + i);
	return done == part->size;
}

/* ---- Symbols ---- */

static const struct flight_part *part_named(const struct flight_code *code, const char *name)
{
	size_t i;

	for (i = 0; i < code->parts.nr; i++) {
		if (!strcmp(code->parts.at[i].name, name))
			return &code->parts.at[i];
	}
	return NULL;
}

/*
 * Write the lines of /proc/kallsyms with the addresses of the crashed kernel. "[NAME]" follows the
 * symbols of modules.
 */
static bool write_symbols(const struct flight_code *code, FILE *out)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], type, name[256], module[64];
	const struct flight_part *part;
	uint64_t addr;
	int n;

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		*module = '\0';
		n = sscanf(line, "%" SCNx64 " %c %255s [%63[^]]]", &addr, &type, name, module);
		part = n >= 3 ? part_named(code, module) : NULL;
		if (!part)
			continue;
		fprintf(out, "%016" PRIx64 " %c %s", addr + part->then - part->now, type, name);
		fprintf(out, *module ? "\t[%s]\n" : "\n", module);
	}
	fclose(f);
	return !ferror(out);
}

/* ---- Code that the kernel had patched ---- */

static int open_event(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	return syscall(SYS_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Return the path of tracefs. Mount it for this process alone if it is not mounted. */
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
 * Wait until the kernel has gathered entropy, because it then patches get_random_bytes(), which system calls
 * use. The crashed kernel had patched it, but a crash kernel or a kernel that has just booted may not have
 * patched it now.
 */
static void wait_for_entropy(void)
{
	char byte;

	if (getrandom(&byte, 1, GRND_NONBLOCK) == 1 || getrandom(&byte, 1, 0) != 1)
		return;
	/* the kernel patches its code from a workqueue after getrandom() has returned, so wait for this */
	usleep(100000);
}

/*
 * Patch the code as it was in the crashed kernel. There, perf had patched it for context-switch
 * events if perf used a sink, and the recorder had patched it for its tracepoints.
 */
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

static int open_running(struct flight_code *code)
{
	struct running *r;

	if (!flight_is_running(code->f))
		return flight_no_code("the running kernel is not the recorded one");
	r = code->of_source = calloc(1, sizeof(*r));
	if (!r)
		return -1;
	patch(&r->patches, code->f);
	r->kcore = -1;
	if (!find_parts(code))
		return flight_no_code("/proc/kallsyms hides its address (kernel.kptr_restrict=0 shows it to root)");
	if (!open_kcore(r))
		return flight_no_code("/proc/kcore cannot be read");
	drop_missing(code);
	return 1;
}

static void close_running(struct flight_code *code)
{
	struct running *r = code->of_source;

	if (!r)
		return;
	if (r->kcore >= 0)
		close(r->kcore);
	unpatch(&r->patches);
	free(r);
}

const struct flight_source flight_running = {
	.open = open_running, .read = read_part, .symbols = write_symbols, .close = close_running,
};
