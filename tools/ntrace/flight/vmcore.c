// SPDX-License-Identifier: GPL-2.0-only
/*
 * Get the code of the crashed kernel from its crash dump, with all patches, so that any machine can
 * read the dump. The record contains the kernel's vmcoreinfo with the addresses of its page tables
 * and of the tables of kallsyms. Each byte of the dump may be damaged.
 *
 * Modules need the page tables. kexec-tools leaves out memory that was reserved early, which
 * includes the upper page tables. Modules are then taken from the running kernel, if that is the
 * same build. The dump of a kernel that was loaded by kexec_file_load (kexec -s) is complete.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "session/file/dump.h"

#define MAX_SYMBOLS	(1U << 22)
#define MAX_NAME	1024		/* bytes of a name including its type; KSYM_NAME_LEN is 512 */
#define MAX_TEXT	(1ULL << 30)
#define NR_TOKENS	256

/* Tables of names, which are sequences of tokens written by scripts/kallsyms.c of the kernel */
struct kallsyms {
	uint32_t	nr;
	uint64_t	names, offsets, base;
	uint16_t	at[NR_TOKENS];	/* offset of each token in @text */
	char		text[1 << 16];
};

struct vmcore {
	struct ns_dump_tables tables;
	struct kallsyms	syms;
	struct flight_code running;	/* @running.f: NULL if the running kernel is another build or not needed */
	char		missing[256];	/* names of the modules without code */
};

/* A symbol name in kallsyms of the crashed kernel; @next is the address at which the name after it is stored */
struct name {
	uint64_t	next;
	char		text[MAX_NAME];	/* type character of /proc/kallsyms, then the name */
};

static bool info(const struct ns_flight *f, const char *name, uint64_t *value)
{
	char text[64], *end;

	if (!ns_flight_line(f, name, text, sizeof(text)))
		return false;
	/*
	 * in vmcoreinfo, addresses are hexadecimal without 0x, and numbers are decimal, or hexadecimal with
	 * 0x
	 */
	errno = 0;
	*value = strtoull(text, &end, strncmp(name, "SYMBOL(", 7) ? 0 : 16);
	return !errno && end != text && !*end;
}

static bool find_tables(const struct ns_flight *f, struct ns_dump_tables *tables)
{
	uint64_t root, bits;

	if (!info(f, "SYMBOL(swapper_pg_dir)", &root) || !info(f, "SYMBOL(_stext)", &tables->image) ||
	    !info(f, "NUMBER(va_kernel_pa_offset)", &tables->image_offset) ||
	    !info(f, "NUMBER(VA_BITS)", &bits) || (bits != 39 && bits != 48 && bits != 57))
		return false;
	tables->image_end = f->machine.text + f->machine.text_size;
	tables->root = root - tables->image_offset;
	tables->levels = (bits - 12) / 9;
	return true;
}

static bool get(const struct flight_code *code, uint64_t address, void *to, uint64_t size)
{
	const struct vmcore *v = code->of_source;

	return ns_dump_read(code->dump, &v->tables, address, to, size);
}

/* ---- kallsyms ---- */

static bool open_symbols(const struct flight_code *code)
{
	struct kallsyms *s = &((struct vmcore *)code->of_source)->syms;
	uint64_t nr, base, text, index;
	size_t last;

	if (!info(code->f, "SYMBOL(kallsyms_num_syms)", &nr) ||
	    !info(code->f, "SYMBOL(kallsyms_names)", &s->names) ||
	    !info(code->f, "SYMBOL(kallsyms_token_table)", &text) ||
	    !info(code->f, "SYMBOL(kallsyms_token_index)", &index) ||
	    !info(code->f, "SYMBOL(kallsyms_offsets)", &s->offsets) ||
	    !info(code->f, "SYMBOL(kallsyms_relative_base)", &base) ||
	    !get(code, nr, &s->nr, sizeof(s->nr)) || s->nr > MAX_SYMBOLS ||
	    !get(code, base, &s->base, sizeof(s->base)) || !get(code, index, s->at, sizeof(s->at)))
		return false;
	/* the text ends with the last token and its NUL */
	last = s->at[NR_TOKENS - 1] + 1;
	for (; last < sizeof(s->text); last++) {
		if (!get(code, text + last - 1, s->text + last - 1, 1))
			return false;
		if (!s->text[last - 1])
			break;
	}
	return get(code, text, s->text, last);
}

/* Read the next name. Return false if the table is damaged. */
static bool next_name(const struct flight_code *code, struct name *n)
{
	const struct kallsyms *s = &((const struct vmcore *)code->of_source)->syms;
	uint8_t length[2], tokens[MAX_NAME];
	size_t nr, i, at = 0, size;

	if (!get(code, n->next, length, 1))
		return false;
	nr = length[0];
	n->next++;
	/* the length of a name with more than 127 tokens is stored in two bytes, the low seven bits first */
	if (nr & 0x80) {
		if (!get(code, n->next, length, 1))
			return false;
		nr = (nr & 0x7f) | (size_t)length[0] << 7;
		n->next++;
	}
	if (!nr || nr > sizeof(tokens) || !get(code, n->next, tokens, nr))
		return false;
	n->next += nr;
	for (i = 0; i < nr; i++) {
		size = strnlen(s->text + s->at[tokens[i]], sizeof(s->text) - s->at[tokens[i]]);
		if (size >= sizeof(n->text) - at)
			return false;
		memcpy(n->text + at, s->text + s->at[tokens[i]], size);
		at += size;
	}
	n->text[at] = '\0';
	return at > 1;
}

/* Call @each with each symbol, until it returns false. Return false if the table is damaged. */
static bool each_symbol(const struct flight_code *code,
			bool (*each)(void *opaque, uint64_t address, const char *name), void *opaque)
{
	const struct kallsyms *s = &((const struct vmcore *)code->of_source)->syms;
	struct name name = { .next = s->names };
	uint32_t i, offset;

	for (i = 0; i < s->nr; i++) {
		if (!next_name(code, &name) || !get(code, s->offsets + 4 * (uint64_t)i, &offset, 4))
			return false;
		if (!each(opaque, s->base + offset, name.text))
			break;
	}
	return true;
}

/* ---- Parts ---- */

static bool is_end(void *opaque, uint64_t address, const char *name)
{
	if (!strcmp(name + 1, "_etext"))
		*(uint64_t *)opaque = address;
	return strcmp(name + 1, "_etext");
}

/* Return true if all of the part is in the dump. makedumpfile may have left out pages. */
static bool is_there(const struct flight_code *code, const struct flight_part *part)
{
	const struct vmcore *v = code->of_source;
	uint64_t done, left;

	if (!part->size || part->size > MAX_TEXT)
		return false;
	for (done = 0; done < part->size; done += left) {
		if (!ns_dump_virtual(code->dump, &v->tables, part->then + done, &left))
			return false;
	}
	return true;
}

/* Return the module in the running kernel, or NULL. */
static const struct flight_part *running_part(const struct flight_code *code, const char *name)
{
	const struct vmcore *v = code->of_source;
	size_t i;

	for (i = 0; i < v->running.parts.nr; i++) {
		if (!strcmp(v->running.parts.at[i].name, name))
			return &v->running.parts.at[i];
	}
	return NULL;
}

/* Use a running kernel of the same build for code that the dump lacks. */
static int open_running(struct flight_code *code)
{
	struct vmcore *v = code->of_source;

	if (v->running.f || !flight_is_running(code->f))
		return 0;
	v->running.f = code->f;
	return flight_running.open(&v->running);
}

static bool add(struct flight_code *code, struct flight_part *part)
{
	struct vmcore *v = code->of_source;
	const struct flight_part *running;
	size_t at = strlen(v->missing);

	part->now = part->then;
	part->in_dump = is_there(code, part);
	if (part->in_dump)
		return ns_array_add(&code->parts, *part);
	if (open_running(code) < 0)
		return false;
	running = running_part(code, part->name);
	if (running)
		return ns_array_add(&code->parts, *running);
	snprintf(v->missing + at, sizeof(v->missing) - at, " %s", *part->name ? part->name : "kernel");
	return true;
}

static bool add_parts(struct flight_code *code, uint64_t end)
{
	const struct ntrace_flight_module *m = code->f->modules;
	const struct vmcore *v = code->of_source;
	struct flight_part part = { .then = v->tables.image };
	size_t i;
	bool ok;

	part.size = end - part.then;
	ok = add(code, &part);
	for (i = 0; ok && i < code->f->nr_modules; i++, m++) {
		snprintf(part.name, sizeof(part.name), "%.*s", (int)sizeof(m->name), (const char *)m->name);
		part.then = m->text;
		part.size = m->text_size;
		ok = add(code, &part);
	}
	return ok;
}

/* ---- The source ---- */

static int open_vmcore(struct flight_code *code)
{
	struct vmcore *v = code->of_source = calloc(1, sizeof(*v));
	uint64_t end = 0;

	if (!v)
		return -1;
	if (!code->dump->segments)
		return flight_no_code("it can only be found in a dump that is an ELF core");
	if (!find_tables(code->f, &v->tables))
		return flight_no_code("the record lacks the address of the kernel's page tables");
	if (!open_symbols(code) || !each_symbol(code, is_end, &end) || end <= code->f->machine.text)
		return flight_no_code("the kernel's own symbols (kallsyms) are not in the crash dump");
	if (!add_parts(code, end))
		return -1;
	if (*v->missing)
		fprintf(stderr, "ntrace: code that is not in the crash dump is left out:%s. The dump has the code of modules if kexec -s loaded the crash kernel; without -s, it lacks their page tables\n",
			v->missing);
	return code->parts.nr ? 1 : flight_no_code("it is not in the crash dump");
}

static bool read_vmcore(const struct flight_code *code, const struct flight_part *part, uint8_t *to)
{
	const struct vmcore *v = code->of_source;

	if (!part->in_dump)
		return flight_running.read(&v->running, part, to);
	return get(code, part->then, to, part->size);
}

static bool print_symbol(void *out, uint64_t address, const char *name)
{
	fprintf(out, "%016" PRIx64 " %c %s\n", address, *name, name + 1);
	return true;
}

/*
 * Write the symbols. Those of modules are in structures that only debug information describes, so
 * take them from the running kernel if it is the same build.
 */
static bool vmcore_symbols(const struct flight_code *code, FILE *out)
{
	struct flight_code modules = { .f = code->f };
	bool ok = each_symbol(code, print_symbol, out);

	if (!ok || !code->f->nr_modules)
		return ok;
	if (!flight_is_running(code->f))
		return fputs("ntrace: functions of modules have no names, because the running kernel is not the recorded one\n", stderr) >= 0;
	ok = flight_running_modules(&modules) && flight_running.symbols(&modules, out);
	free(modules.parts.at);
	return ok;
}

static void close_vmcore(struct flight_code *code)
{
	struct vmcore *v = code->of_source;

	if (v && v->running.f) {
		flight_running.close(&v->running);
		free(v->running.parts.at);
	}
	free(v);
}

const struct flight_source flight_vmcore = {
	.open = open_vmcore, .read = read_vmcore, .symbols = vmcore_symbols, .close = close_vmcore,
};
