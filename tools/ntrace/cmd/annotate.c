// SPDX-License-Identifier: GPL-2.0-only
/* ntrace annotate - print the code of a function with the exact number of executions of each instruction. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json-text.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "ntrace.h"
#include "page/source.h"
#include "session/code/lines.h"
#include "session/counts/loops.h"
#include "session/counts/profile.h"
#include "views/disasm.h"

#define MARGIN	44	/* number of columns before the branch and loop notes of an instruction */

static const char usage[] =
	"usage: ntrace annotate [OPTIONS] FUNCTION\n\n"
	"Print the source and the instructions of a function, with the exact number of times that each\n"
	"was executed, how often branches were taken, where indirect jumps went, and how often loops\n"
	"iterated. FUNCTION may be a pattern such as 'foo::*'.\n";

struct annotate {
	/* options of the recording; its argument is the name of the function to print, or a pattern of names */
	struct recording_options recording;
	bool		json;
};

/* A branch, or one destination of an indirect jump or of a trap */
struct jump {
	const char	*object;	/* object of the jump (see struct nt_place) */
	uint64_t	address;
	unsigned int	how;		/* kind of the jump, enum nt_end */
	uint64_t	count, not_taken;
	const char	*to;		/* function that contains the destination; NULL: none */
	uint64_t	to_offset;	/* offset of the destination in @to, or its address if @to is NULL */
};

struct view {
	const struct annotate *annotate;
	struct nt_session *session;
	struct nt_lines	*lines;
	struct nt_loops	*loops;
	/* first executed instruction of each function that is printed */
	NS_ARRAY(const struct nt_profile_insn *) functions;
	const struct nt_profile_insn *insns, *end;
	NS_ARRAY(struct jump) jumps;	/* jumps, sorted by the address of the instruction */
	const char	*file;		/* path of the source file in @text */
	char		*text;		/* text of the source file; NULL: the file was not found */
	int		line;		/* line of @file that was printed last */
};

/* ---- Find functions and jumps ---- */

static bool is_same_function(const struct nt_profile_insn *a, const struct nt_profile_insn *b)
{
	return a->object == b->object && a->symbol == b->symbol &&
	       a->address - a->offset == b->address - b->offset;
}

static bool find_functions(struct view *v)
{
	const struct nt_profile_insn *insn;

	for (insn = v->insns; insn < v->end; insn++) {
		if (insn > v->insns && is_same_function(insn, insn - 1))
			continue;
		if (!insn->symbol || !nt_filter_has_object(&v->annotate->recording.filter, insn->object) ||
		    !nt_session_is(v->session, insn->object, insn->address, v->annotate->recording.argument))
			continue;
		if (!ns_array_add(&v->functions, insn) || !nt_loops_add(v->loops, insn->space, insn->addr))
			return false;
	}
	return true;
}

static int jump_cmp(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	return strcmp(x->object ?: "", y->object ?: "") ?: ns_order(x->address, y->address) ?:
		ns_order(x->how, y->how) ?: strcmp(x->to ?: "", y->to ?: "") ?: ns_order(x->to_offset, y->to_offset);
}

static bool add_jump(struct view *v, const struct nt_count *count)
{
	struct jump jump = { .how = count->how, .count = count->count, .not_taken = count->not_taken };
	struct nt_place place;
	size_t i;

	if (count->type == NT_COUNT_BLOCK || count->how == NT_END_RETURN)
		return true;
	nt_session_where(v->session, count->space, count->from, &place);
	for (i = 0; i < v->functions.nr && v->functions.at[i]->symbol != place.symbol; i++)
		;
	if (i == v->functions.nr)
		return true;
	jump.object = place.object;
	jump.address = place.address;
	if (count->type == NT_COUNT_EDGE) {
		nt_session_where(v->session, count->space, count->to, &place);
		jump.to = place.symbol;
		jump.to_offset = place.symbol ? place.offset : count->to;
	}
	return ns_array_add(&v->jumps, jump);
}

static bool find_jumps(struct view *v, const struct nt_profile *profile)
{
	struct nt_count count;
	uint64_t at = 0;

	while (nt_profile_count(profile, &at, &count)) {
		if (!add_jump(v, &count))
			return false;
	}
	/* add up equal jumps, because several processes execute the same file */
	ns_array_join(&v->jumps, jump_cmp, (a->count += b->count, a->not_taken += b->not_taken));
	return true;
}

/* ---- Print functions, jumps and loops ---- */

/* Print the source line of an instruction. If the previous instruction has the same line, print nothing. */
static void print_source(struct view *v, const struct nt_frame *frame)
{
	const char *at;
	int line;

	if (!frame->file || frame->line <= 0 || (frame->line == v->line && v->file && !strcmp(frame->file, v->file)))
		return;
	if (!v->file || strcmp(frame->file, v->file)) {
		free(v->text);
		v->text = source_text(v->annotate->recording.session.symfs, frame->file);
	}
	v->file = frame->file;
	v->line = frame->line;
	at = v->text;
	for (line = 1; at && line < v->line; line++) {
		at = strchr(at, '\n');
		at += !!at;
	}
	printf("%s:%d\t%.*s\n", nt_base_name(frame->file), frame->line, at ? (int)strcspn(at, "\n") : 0, at ?: "");
}

/* Return the minimum number of iterations of a loop's runs that by_size[n] of struct nt_loop counts. */
static uint64_t least_of(unsigned int n)
{
	return n ? UINT64_C(1) << (n - 1) : 0;
}

static uint64_t most_of(unsigned int n)
{
	return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Print the number of runs of a loop for each range of iterations. */
static void print_sizes(const struct nt_loop *loop, const char *format)
{
	const char *before = "";
	unsigned int i;

	for (i = 0; i < 65; i++) {
		if (!loop->by_size[i])
			continue;
		fputs(before, stdout);
		printf(format, least_of(i), most_of(i), loop->by_size[i]);
		before = ", ";
	}
}

/* Return the index in loop->by_size of the median run, if the runs are sorted by their number of iterations. */
static unsigned int median_of(const struct nt_loop *loop)
{
	unsigned int n = 0;
	uint64_t runs;

	for (runs = loop->by_size[0]; n < 64 && 2 * runs < loop->runs; runs += loop->by_size[n])
		n++;
	return n;
}

static void print_loop(const struct view *v, const struct nt_loop *loop)
{
	unsigned int median = median_of(loop);

	if (v->annotate->json) {
		printf("{");
		json_print("object", loop->object);
		printf("\"loop\": \"0x%" PRIx64 "\", \"last\": \"0x%" PRIx64 "\", \"runs\": %" PRIu64 ", \"iterations\": %" PRIu64,
		       loop->head, loop->last, loop->runs, loop->iterations);
		if (loop->runs)
			printf(", \"min\": %" PRIu64 ", \"max\": %" PRIu64, loop->least, loop->most);
		printf(", \"sizes\": [");
		print_sizes(loop, "{\"from\": %" PRIu64 ", \"to\": %" PRIu64 ", \"runs\": %" PRIu64 "}");
		puts("]}");
		return;
	}
	printf("%14s loop up to %" PRIx64, "", loop->last);
	if (!loop->runs) {
		puts(": no complete run");
		return;
	}
	printf(": %" PRIu64 " runs, of %" PRIu64 " to %" PRIu64 " iterations, mean %.1f, median %" PRIu64 " to %" PRIu64 "; runs by iterations: ",
	       loop->runs, loop->least, loop->most, (double)loop->iterations / loop->runs,
	       least_of(median), most_of(median));
	print_sizes(loop, "%" PRIu64 "-%" PRIu64 ": %" PRIu64);
	putchar('\n');
}

static void print_loops_at(const struct view *v, const char *object, uint64_t address)
{
	const struct nt_loop *loop;
	size_t i;

	for (i = 0; (loop = nt_loops_at(v->loops, i)); i++) {
		if (loop->object == object && loop->head == address)
			print_loop(v, loop);
	}
}

static void print_jump(const struct jump *jump)
{
	uint64_t all = jump->count + jump->not_taken;

	if (jump->how == NT_END_BRANCH)
		printf("%*s taken %" PRIu64 " of %" PRIu64 ", %.2f %%\n", MARGIN, "", jump->count, all, percent(jump->count, all));
	else
		printf("%*s %s to %s%s0x%" PRIx64 ": %" PRIu64 "\n", MARGIN, "", nt_end_name(jump->how), jump->to ?: "",
		       jump->to ? "+" : "", jump->to_offset, jump->count);
}

static void print_jump_json(const struct jump *jump, const char *before)
{
	if (jump->how == NT_END_BRANCH) {
		printf(", \"taken\": %" PRIu64 ", \"not_taken\": %" PRIu64, jump->count, jump->not_taken);
		return;
	}
	printf("%s{", before);
	json_print("to", jump->to);
	printf("\"offset\": \"0x%" PRIx64 "\", \"how\": \"%s\", \"count\": %" PRIu64 "}", jump->to_offset,
	       nt_end_name(jump->how), jump->count);
}

/* Print how often the branch at an address was taken, or the destinations of the jump at this address. */
static void print_jumps(const struct view *v, const char *object, uint64_t address)
{
	const struct jump *jump = v->jumps.at, *end = jump + v->jumps.nr;
	const char *before = ", \"targets\": [";

	for (; jump < end; jump++) {
		if (jump->object != object || jump->address != address)
			continue;
		if (!v->annotate->json) {
			print_jump(jump);
			continue;
		}
		print_jump_json(jump, before);
		before = jump->how == NT_END_BRANCH ? before : ", ";
	}
	if (v->annotate->json)
		puts(*before && before[2] ? "}" : "]}");
}

static void print_insn(struct view *v, const struct nt_profile_insn *insn, const uint8_t *code, unsigned int size)
{
	uint32_t word = code[0] | code[1] << 8 | (size > 2 ? code[2] << 16 | (uint32_t)code[3] << 24 : 0);
	struct nt_frame frame;
	char text[96] = "";

	nt_lines_at(v->lines, insn->object, insn->address, &frame, 1);
	disasm(insn->addr, code, size, text, sizeof(text));
	print_loops_at(v, insn->object, insn->address);
	if (!v->annotate->json) {
		print_source(v, &frame);
		printf("%14" PRIu64 " %16" PRIx64 "  %0*x%s%s\n", insn->count, insn->address, 2 * (int)size, word,
		       *text ? size > 2 ? "  " : "      " : "", text);
	} else {
		printf("{");
		json_print("function", insn->symbol);
		json_print("object", insn->object);
		json_print("file", frame.file);
		printf("\"line\": %d, \"address\": \"0x%" PRIx64 "\", \"code\": \"%0*x\", \"count\": %" PRIu64, frame.line,
		       insn->address, 2 * (int)size, word, insn->count);
	}
	print_jumps(v, insn->object, insn->address);
}

/* Print all instructions of a function, even instructions that were not executed. */
static void print_function(struct view *v, const struct nt_profile_insn *first)
{
	const struct nt_profile_insn *next = first;
	struct nt_profile_insn insn = *first;
	struct nt_place place;
	unsigned int size;
	uint8_t code[8] = { 0 };
	size_t got;

	nt_session_where(v->session, first->space, first->addr, &place);
	if (!v->annotate->json)
		printf("%s%s [%s]\n", first == v->functions.at[0] ? "" : "\n", first->symbol, nt_base_name(first->object) ?: "unknown");
	for (insn.addr = place.start; insn.addr < place.end; insn.addr += size) {
		got = nt_session_read(v->session, first->space, insn.addr, code, sizeof(code));
		size = nt_code_length(code[0]);
		if (got < size)
			break;
		insn.address = first->address - first->offset + (insn.addr - place.start);
		while (next < v->end && next->object == first->object && next->address < insn.address)
			next++;
		insn.count = next < v->end && next->object == first->object && next->address == insn.address ? next->count : 0;
		print_insn(v, &insn, code, size);
	}
}

static int print_all(struct view *v)
{
	size_t i;

	if (!v->functions.nr)
		return nothing_matched(&v->annotate->recording, v->session, v->annotate->recording.argument);
	for (i = 0; i < v->functions.nr; i++)
		print_function(v, v->functions.at[i]);
	return EXIT_CLEAN;
}

static int annotate_print(void *ctx, struct nt_session *session)
{
	const struct annotate *annotate = ctx;
	struct view v = { .annotate = annotate, .session = session };
	struct nt_profile *profile = nt_profile_new(session, &annotate->recording.filter);
	int status = EXIT_USAGE;
	size_t nr;

	v.lines = nt_lines_new(session);
	v.loops = nt_loops_new(session, &annotate->recording.filter);
	if (!profile || !v.lines || !v.loops || nt_profile_run(profile))
		goto out;
	v.insns = nt_profile_insns(profile, &nr);
	v.end = v.insns + nr;
	if (find_functions(&v) && find_jumps(&v, profile) && !nt_loops_run(v.loops))
		status = print_all(&v);
out:
	if (status == EXIT_USAGE)
		recording_failed(session);
	recording_report_lines(v.lines);
	free(v.text);
	free(v.functions.at);
	free(v.jumps.at);
	nt_loops_free(v.loops);
	nt_lines_free(v.lines);
	nt_profile_free(profile);
	return status;
}

int cmd_annotate(int argc, char **argv)
{
	struct annotate annotate = { .recording.argument_is = "the name of one function" };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&annotate.recording),
		FILTER_OPTIONS(&annotate.recording),
		OPTION_FLAG(0, "json", &annotate.json, "one JSON object a line for each instruction and each loop"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &annotate, NULL, annotate_print);
}
