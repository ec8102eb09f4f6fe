// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script: the branches of a recording, one a line, as perf script prints them. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "options.h"
#include "recording.h"
#include "session/branch.h"

static const char help[] =
	"usage: ntrace script [OPTIONS]\n\n"
	"Print each branch that was taken in a recording of perf: who, when, from where to where,\n"
	"in the order of time. Exits 1 if the trace or the code has errors.\n\n"
	RECORDING_HELP
	"  -F, --fields LIST    of comm,pid,tid,cpu,time,flags,ip,sym,dso,addr (all)\n";

enum field {
	F_COMM, F_PID, F_TID, F_CPU, F_TIME, F_FLAGS, F_IP, F_SYM, F_DSO, F_ADDR, F_MAX,
};

static const char *const field_names[F_MAX] = {
	"comm", "pid", "tid", "cpu", "time", "flags", "ip", "sym", "dso", "addr",
};

#define NS_PER_S	1000000000ULL

/* The lines of one AUX buffer that are done; those of all buffers are merged at the end. */
struct output {
	FILE		*file;
	uint64_t	time;		/* of the next line, when they are merged */
	char		*line;
	size_t		room, len;
};

struct script {
	struct nt_session *session;
	unsigned int	fields;		/* bit N: enum field N */
	struct output	*outputs;
	unsigned int	nr_outputs;
	bool		errors;
};

/* The lines of one stretch, each with its time before it */
struct lines {
	struct script	*script;
	char		*text;
	size_t		len, room;
	bool		errors, no_memory;
	struct nt_place	from, to;	/* of the last branch: often the next one's too */
	uint64_t	space;
};

/* What stands before each line in a stretch's text */
struct line_head {
	uint64_t	time;
	uint32_t	len;
};

/* ---- Text ---- */

static bool reserve(struct lines *l, size_t n)
{
	char *text;

	if (l->len + n <= l->room)
		return true;
	text = realloc(l->text, 2 * l->room + n);
	if (!text) {
		l->no_memory = true;
		return false;
	}
	l->text = text;
	l->room = 2 * l->room + n;
	return true;
}

static void add(struct lines *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!reserve(l, 512))
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, l->room - l->len, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < l->room - l->len) {
		l->len += n;
		return;
	}
	/* a name of more than 500 characters */
	if (n < 0 || !reserve(l, n + 1))
		return;
	va_start(ap, fmt);
	l->len += vsnprintf(l->text + l->len, l->room - l->len, fmt, ap);
	va_end(ap);
}

static size_t line_begin(struct lines *l)
{
	size_t at = l->len;

	if (reserve(l, sizeof(struct line_head)))
		l->len += sizeof(struct line_head);
	return at;
}

static int line_end(struct lines *l, size_t at, uint64_t time)
{
	struct line_head head = { .time = time };

	if (l->no_memory)
		return -1;
	head.len = l->len - at - sizeof(head);
	memcpy(l->text + at, &head, sizeof(head));
	return 0;
}

/* ---- Fields ---- */

static bool has(const struct lines *l, enum field field)
{
	return l->script->fields >> field & 1;
}

static void find_place(struct lines *l, uint64_t space, uint64_t addr, struct nt_place *place)
{
	if (space == l->space && place->symbol && addr >= place->start && addr < place->end)
		place->offset = addr - place->start;
	else
		nt_session_where(l->script->session, space, addr, place);
}

static void print_place(struct lines *l, uint64_t space, uint64_t addr, struct nt_place *place)
{
	add(l, " %16" PRIx64, addr);
	if (!has(l, F_SYM) && !has(l, F_DSO))
		return;
	if (addr)
		find_place(l, space, addr, place);
	else
		memset(place, 0, sizeof(*place));
	if (has(l, F_SYM))
		add(l, " %s", place->symbol ? place->symbol : "[unknown]");
	if (has(l, F_DSO))
		add(l, " (%s)", place->object ? place->object : "[unknown]");
}

static void print_who(struct lines *l, const struct nt_who *who, uint64_t time)
{
	if (has(l, F_COMM) && who->comm[0])
		add(l, "%16s ", who->comm);
	else if (has(l, F_COMM))
		add(l, "%*s:%d ", who->tid < 10 ? 14 : who->tid < 100 ? 13 : 12, "", who->tid);
	if (has(l, F_PID) && has(l, F_TID))
		add(l, "%7d/%-7d ", who->pid, who->tid);
	else if (has(l, F_PID) || has(l, F_TID))
		add(l, "%7d ", has(l, F_PID) ? who->pid : who->tid);
	if (has(l, F_CPU))
		add(l, "[%03d] ", who->cpu);
	if (has(l, F_TIME))
		add(l, "%5" PRIu64 ".%09" PRIu64 ": ", time / NS_PER_S, time % NS_PER_S);
}

/* Words of perf script */
static const char *const kind_names[] = {
	[NT_BRANCH_CONDITIONAL] = "jcc", [NT_BRANCH_JUMP] = "jmp", [NT_BRANCH_CALL] = "call",
	[NT_BRANCH_RETURN] = "return", [NT_BRANCH_SYSCALL] = "syscall",
	[NT_BRANCH_EXCEPTION] = "int", [NT_BRANCH_INTERRUPT] = "hw int",
	[NT_BRANCH_TRAP_RETURN] = "iret", [NT_BRANCH_NONE] = "jmp",
};

static int print_branch(void *part, const struct nt_who *who, const struct nt_branch *branch)
{
	struct lines *l = part;
	size_t at = line_begin(l);
	const char *trace = branch->flags & NT_BRANCH_BEGIN ? "tr strt " :
			    branch->flags & NT_BRANCH_END ? "tr end  " : "";

	print_who(l, who, branch->time);
	if (has(l, F_FLAGS))
		add(l, "  %s%-*s", trace, 14 - (int)strlen(trace), kind_names[branch->kind]);
	if (has(l, F_IP))
		print_place(l, who->space, branch->from, &l->from);
	if (has(l, F_IP) && has(l, F_ADDR))
		add(l, " =>");
	if (has(l, F_ADDR))
		print_place(l, who->space, branch->to, &l->to);
	l->space = who->space;
	add(l, "\n");
	return line_end(l, at, branch->time);
}

static int print_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	const struct nt_problem *problem = item->type == NT_ITEM_ERROR ? &item->error :
					   item->type == NT_ITEM_GAP ? &item->gap : NULL;
	struct lines *l = part;
	size_t at = line_begin(l);

	l->errors |= problem != NULL;
	add(l, " instruction trace error type 1 time %" PRIu64 ".%09" PRIu64 " cpu %d pid %d tid %d",
	    who->time / NS_PER_S, who->time % NS_PER_S, who->cpu, who->pid, who->tid);
	if (problem && problem->has_addr)
		add(l, " ip 0x%" PRIx64, problem->addr);
	else
		add(l, " ip 0");
	add(l, " code %d: %s, at 0x%" PRIx64 "\n", problem ? -problem->code : 0,
	    problem ? nt_error_text(problem->code) : nt_etype_name(item->lost.etype),
	    item->offset);
	return line_end(l, at, who->time);
}

/* ---- Stretches ---- */

static void *begin(void *ctx, uint64_t stretch)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->script = ctx;
	l->room = 4096;
	l->text = malloc(l->room);
	if (l->text)
		return l;
	free(l);
	return NULL;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct script *script = ctx;
	struct lines *l = part;
	size_t at = line_begin(l);
	int err;

	if (lost)
		add(l, " instruction trace error type 1 time %" PRIu64 ".%09" PRIu64 " cpu %d pid %d tid %d ip 0 code 1: trace was lost (try perf record -m,SIZE)\n",
		    who->time / NS_PER_S, who->time % NS_PER_S, who->cpu, who->pid, who->tid);
	if (lost)
		line_end(l, at, who->time);
	else
		l->len = at;
	err = l->no_memory ||
	      fwrite(l->text, 1, l->len, script->outputs[who->buffer].file) != l->len ? -1 : 0;
	script->errors |= l->errors || lost;
	free(l->text);
	free(l);
	return err;
}

/* ---- Merge ---- */

static bool open_outputs(struct script *script)
{
	struct nt_session_info info;
	unsigned int i;

	nt_session_info(script->session, &info, sizeof(info));
	script->outputs = calloc(info.buffers + 1, sizeof(*script->outputs));
	if (!script->outputs)
		return false;
	script->nr_outputs = info.buffers;
	for (i = 0; i < info.buffers; i++) {
		script->outputs[i].file = tmpfile();
		if (!script->outputs[i].file)
			return false;
	}
	return true;
}

/* Read the next line of a buffer; without one, its line is NULL. */
static bool next_line(struct output *o)
{
	struct line_head head;
	char *line;

	o->len = 0;
	if (fread(&head, 1, sizeof(head), o->file) != sizeof(head)) {
		free(o->line);
		o->line = NULL;
		return !ferror(o->file);
	}
	if (head.len > o->room || !o->line) {
		line = realloc(o->line, head.len + 1);
		if (!line)
			return false;
		o->line = line;
		o->room = head.len;
	}
	o->time = head.time;
	o->len = head.len;
	return fread(o->line, 1, head.len, o->file) == head.len;
}

static bool merge(struct script *script)
{
	struct output *all = script->outputs, *o, *first;

	for (o = all; o < all + script->nr_outputs; o++) {
		if (fflush(o->file) || fseek(o->file, 0, SEEK_SET) || !next_line(o))
			return false;
	}
	while (1) {
		first = NULL;
		for (o = all; o < all + script->nr_outputs; o++) {
			if (o->line && (!first || o->time < first->time))
				first = o;
		}
		if (!first)
			return true;
		if (fwrite(first->line, 1, first->len, stdout) != first->len || !next_line(first))
			return false;
	}
}

static void close_outputs(struct script *script)
{
	unsigned int i;

	for (i = 0; i < script->nr_outputs; i++) {
		if (script->outputs[i].file)
			fclose(script->outputs[i].file);
		free(script->outputs[i].line);
	}
	free(script->outputs);
}

/* ---- Command ---- */

static int decode(struct script *script)
{
	static const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = print_branch,
		.error = print_error, .end = end,
	};
	int err;

	if (!open_outputs(script)) {
		fprintf(stderr, "ntrace: no temporary file could be made: %s\n", strerror(errno));
		return -1;
	}
	err = nt_session_branches(script->session, &sink, script);
	if (err)
		fprintf(stderr, "ntrace: %s\n", nt_session_error(script->session)[0] ?
			nt_session_error(script->session) : strerror(errno));
	if (!merge(script) || fflush(stdout)) {
		fprintf(stderr, "ntrace: writing failed: %s\n", strerror(errno));
		err = -1;
	}
	return err;
}

static int script(const struct recording_options *options, unsigned int fields)
{
	struct script s = { .session = recording_open(options), .fields = fields };
	int err;

	if (!s.session)
		return EXIT_USAGE;
	err = decode(&s);
	recording_report(s.session);
	close_outputs(&s);
	nt_session_close(s.session);
	return err || s.errors ? EXIT_TRACE : EXIT_CLEAN;
}

static bool set_fields(unsigned int *fields, const char *list)
{
	unsigned int i;
	size_t len;

	for (*fields = 0; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < F_MAX; i++) {
			if (strlen(field_names[i]) == len && !strncmp(list, field_names[i], len))
				break;
		}
		if (i == F_MAX) {
			fprintf(stderr, "ntrace: no field '%.*s'; `ntrace help script` lists them\n",
				(int)len, list);
			return false;
		}
		*fields |= 1U << i;
	}
	return *fields;
}

int cmd_script(int argc, char **argv)
{
	static const struct option long_options[] = {
		RECORDING_OPTIONS, { "fields", required_argument, NULL, 'F' }, { 0 }
	};
	unsigned int fields = (1U << F_MAX) - 1;
	struct recording_options options;
	int opt;

	recording_init(&options);
	while ((opt = getopt_long(argc, argv, "i:F:h", long_options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_CLEAN;
		}
		if (opt == '?')
			return options_hint(argv[0]);
		if (opt == 'F' ? !set_fields(&fields, optarg) :
				 !recording_set(&options, opt, optarg))
			return EXIT_USAGE;
	}
	if (optind != argc) {
		fprintf(stderr, "ntrace: script takes no '%s'; the recording is given by -i\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return script(&options, fields);
}
