// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace report --functions, --lines and --insns - print how often each function, source line or
 * instruction was executed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disasm.h"
#include "ntrace.h"
#include "cli/json-text.h"
#include "cli/nothing.h"
#include "report.h"
#include "session/array.h"
#include "session/code/lines.h"
#include "session/counts/profile.h"

#define MAX_FRAMES	16

/* A line of the table */
struct row {
	const struct nt_profile_insn *insn;	/* first of the instructions that this line counts */
	uint64_t	count;
	/* functions that contain the instruction; NULL: the table does not need them */
	struct nt_frame	*frames;
	size_t		nr_frames;
};

struct table {
	const struct report *report;
	struct nt_session *session;
	struct nt_lines	*lines;
	NS_ARRAY(struct row) rows;
	uint64_t	all;
};

/* ---- Lines ---- */

static bool add_frames(struct table *table, struct row *row)
{
	const struct nt_profile_insn *insn = row->insn;
	struct nt_frame *fitting;

	if (!table->lines)
		table->lines = nt_lines_new(table->session);
	row->frames = calloc(MAX_FRAMES, sizeof(*row->frames));
	if (!table->lines || !row->frames)
		return false;
	row->nr_frames = nt_lines_at(table->lines, insn->object, insn->address, row->frames,
				     MAX_FRAMES);
	if (!row->frames[0].function)
		row->frames[0].function = insn->symbol;
	fitting = realloc(row->frames, row->nr_frames * sizeof(*fitting));
	if (fitting)
		row->frames = fitting;
	return true;
}

static void end_lines(struct table *table)
{
	recording_report_lines(table->lines);
	nt_lines_free(table->lines);
}

/* ---- Rows ---- */

static int compare_frames(const struct row *a, const struct row *b)
{
	const struct nt_frame *x = a->frames, *y = b->frames;
	int order = ns_order(a->nr_frames, b->nr_frames);

	for (; !order && x < a->frames + a->nr_frames; x++, y++)
		order = strcmp(x->file ?: "", y->file ?: "") ?: ns_order(x->line, y->line) ?:
			strcmp(x->function ?: "", y->function ?: "");
	return order;
}

/*
 * Compare two rows for qsort(). Equal rows have the same source line or function of an object, and
 * are joined to one line of the table.
 */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->insn->object ?: "", y->insn->object ?: "") ?:
	       (x->frames && y->frames ? compare_frames(x, y) : strcmp(x->insn->symbol ?: "", y->insn->symbol ?: ""));
}

static int compare_counts(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return ns_order(y->count, x->count) ?: ns_order(x->insn, y->insn);
}

static void merge_rows(struct row *to, struct row *from)
{
	to->count += from->count;
	free(from->frames);
}

static bool is_wanted(const struct table *table, const struct row *row)
{
	const struct report *report = table->report;
	size_t i;

	if (!nt_filter_has_object(&report->recording.filter, row->insn->object))
		return false;
	if (!report->function ||
	    nt_session_is(table->session, row->insn->object, row->insn->address, report->function))
		return true;
	for (i = 0; i < row->nr_frames; i++) {
		if (row->frames[i].function && nt_name_matches(row->frames[i].function, report->function))
			return true;
	}
	return false;
}

static bool add_row(struct table *table, const struct nt_profile_insn *insn)
{
	struct row row = { .insn = insn, .count = insn->count };

	table->all += insn->count;
	if (table->report->kind != REPORT_FUNCTIONS && !add_frames(table, &row))
		return false;
	if (!is_wanted(table, &row)) {
		free(row.frames);
		return true;
	}
	if (table->report->kind == REPORT_LINES && !table->report->inlined && row.nr_frames > 1)
		row.nr_frames = 1;
	return ns_array_add(&table->rows, row);
}

/* ---- Text ---- */

static void print_object(const struct nt_profile_insn *insn)
{
	/* the names of the kernel, its modules and the vDSO already have brackets */
	if (insn->object && insn->object[0] == '[')
		printf(" %s\n", insn->object);
	else
		printf(" [%s]\n", nt_base_name(insn->object) ?: "unknown");
}

static void print_place(const struct nt_frame *frame)
{
	if (frame->file && frame->line)
		printf("%s:%d", nt_base_name(frame->file), frame->line);
	else
		printf("[no line]");
}

static void print_line(const struct row *row)
{
	const struct nt_frame *frame;

	print_place(&row->frames[0]);
	printf("  %s", row->frames[0].function ? row->frames[0].function : "[unknown]");
	print_object(row->insn);
	for (frame = row->frames + 1; frame < row->frames + row->nr_frames; frame++) {
		printf("%22s inlined into %s at ", "", frame->function ? frame->function : "[unknown]");
		print_place(frame);
		putchar('\n');
	}
}

static void print_insn(const struct table *table, const struct row *row)
{
	const struct nt_profile_insn *insn = row->insn;
	char text[96] = "";
	uint8_t code[8] = { 0 };
	size_t n = nt_session_read(table->session, insn->space, insn->addr, code, sizeof(code));

	if (n >= nt_code_length(code[0]) && disasm_available())
		disasm(insn->addr, code, nt_code_length(code[0]), text, sizeof(text));
	printf("%16" PRIx64 "  %-28s %s+0x%" PRIx64, insn->address, text,
	       insn->symbol ? insn->symbol : "[unknown]", insn->offset);
	if (row->nr_frames && row->frames[0].file) {
		printf(" ");
		print_place(&row->frames[0]);
	}
	print_object(insn);
}

static void print_row_json(const struct table *table, const struct row *row)
{
	const struct nt_profile_insn *insn = row->insn;

	putchar('{');
	json_print("function", insn->symbol);
	json_print("object", insn->object);
	if (table->report->kind != REPORT_FUNCTIONS && row->nr_frames && row->frames[0].file) {
		json_print("file", row->frames[0].file);
		printf("\"line\": %d, ", row->frames[0].line);
	}
	if (table->report->kind == REPORT_INSNS)
		printf("\"address\": \"0x%" PRIx64 "\", ", insn->address);
	printf("\"%s\": %" PRIu64 "}\n", table->report->kind == REPORT_INSNS ? "count" : "self_insns", row->count);
}

static void print_row(const struct table *table, const struct row *row)
{
	if (table->report->json) {
		print_row_json(table, row);
		return;
	}
	printf("%14" PRIu64 " %6.2f  ", row->count, percent(row->count, table->all));
	switch (table->report->kind) {
	case REPORT_LINES:
		print_line(row);
		break;
	case REPORT_INSNS:
		print_insn(table, row);
		break;
	default:
		printf("%s", row->insn->symbol ? row->insn->symbol : "[unknown]");
		print_object(row->insn);
	}
}

static void print_table(const struct table *table)
{
	static const char *const names[] = {
		[REPORT_FUNCTIONS] = "function", [REPORT_LINES] = "line", [REPORT_INSNS] = "instruction",
	};
	size_t shown = table->rows.nr, i;

	if (table->report->limit && table->report->limit < shown)
		shown = table->report->limit;
	if (!table->report->json)
		printf("%14s %6s  %s\n", table->report->kind == REPORT_INSNS ? "times" : "instructions", "%",
		       names[table->report->kind]);
	for (i = 0; i < shown; i++)
		print_row(table, &table->rows.at[i]);
	if (shown < table->rows.nr && !table->report->json)
		printf("... and %zu more: --limit 0 shows all\n", table->rows.nr - shown);
}

/* ---- Report ---- */

static bool make_table(struct table *table, const struct nt_profile *profile)
{
	const struct nt_profile_insn *insns;
	size_t nr, i;

	insns = nt_profile_insns(profile, &nr);
	for (i = 0; i < nr; i++) {
		if (!add_row(table, &insns[i]))
			return false;
	}
	if (table->report->kind != REPORT_INSNS)
		ns_array_join(&table->rows, compare_rows, merge_rows(a, b));
	ns_array_sort(&table->rows, compare_counts);
	return true;
}

static bool has_lines(const struct table *table)
{
	size_t i;

	for (i = 0; i < table->rows.nr; i++) {
		if (table->rows.at[i].frames[0].file)
			return true;
	}
	return false;
}

/* Return the object that was executed most; prefer a file, because users can build it with -g. */
static const char *main_object(const struct table *table)
{
	const char *object;
	size_t i;

	for (i = 0; i < table->rows.nr; i++) {
		object = table->rows.at[i].insn->object;
		if (object && *object != '[')
			return object;
	}
	return table->rows.at[0].insn->object;
}

static void print_totals(const struct nt_profile_totals *t)
{
	fputs(COUNTED(t->insns, "instruction"), stdout);
	report_missing(t->losses, t->errors, t->gaps);
}

int report_profile(const struct report *report, struct nt_session *session)
{
	struct table table = { .report = report, .session = session };
	struct nt_profile *profile = nt_profile_new(session, &report->recording.filter);
	struct nt_profile_totals totals;
	int status = EXIT_USAGE;
	size_t i;

	if (!profile || nt_profile_run(profile) || !make_table(&table, profile)) {
		recording_failed(session);
		goto out;
	}
	nt_profile_totals(profile, &totals);
	if (report->json)
		report_json(totals.insns, totals.losses, totals.errors, totals.gaps);
	else
		print_totals(&totals);
	print_table(&table);
	if (!table.rows.nr)
		status = nothing_matched(&report->recording, session, report->function);
	else if (report->kind == REPORT_LINES && !has_lines(&table))
		status = nothing_of_lines(main_object(&table));
	else
		status = EXIT_CLEAN;
out:
	for (i = 0; i < table.rows.nr; i++)
		free(table.rows.at[i].frames);
	free(table.rows.at);
	end_lines(&table);
	nt_profile_free(profile);
	return status;
}
