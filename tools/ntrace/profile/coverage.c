// SPDX-License-Identifier: GPL-2.0-only
/* ntrace profile --lcov and --gcov - write how often lines, functions and branches were executed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page/source.h"
#include "profile.h"

/*
 * The lines, functions and branches of one file, as ranges in the arrays of struct profile_source,
 * and the argument of --symfs
 */
struct of_file {
	const char *symfs;
	const struct profile_line *line, *line_end;
	const struct profile_branch *branch, *branch_end;
	const struct profile_function *function, *function_end;
};

#define TAKE(source, of, array, name) do {						\
	__typeof__((source)->array.at) end_ = (source)->array.at + (source)->array.nr;	\
											\
	(of)->name = (of)->name ## _end ? (of)->name ## _end : (source)->array.at;	\
	while ((of)->name < end_ && strcmp((of)->name->file, file) < 0)			\
		(of)->name++;								\
	(of)->name ## _end = (of)->name;						\
	while ((of)->name ## _end < end_ && !strcmp((of)->name ## _end->file, file))	\
		(of)->name ## _end++;							\
} while (0)

/* Call @fn for each source file that has lines, in the order of their paths. Return 0, or -1 with errno. */
static int each_file(struct profile *profile, void (*fn)(FILE *out, const char *file, struct of_file *of))
{
	struct profile_source source = { 0 };
	struct of_file of = { .symfs = profile->recording.session.symfs };
	const char *file;
	int err = profile_source_make(&source, profile);

	while (!err && source.lines.nr) {
		of.line = of.line_end ? of.line_end : source.lines.at;
		if (of.line == source.lines.at + source.lines.nr)
			break;
		file = of.line->file;
		TAKE(&source, &of, lines, line);
		TAKE(&source, &of, functions, function);
		TAKE(&source, &of, branches, branch);
		fn(profile->file, file, &of);
	}
	profile_source_free(&source);
	return err;
}

/* Write a name. Replace control characters, because a newline would start another record. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' ? '?' : *name, out);
}

/* ---- Write lcov's format, see section "FILES" of the manual page geninfo(1) ---- */

static void lcov_functions(FILE *out, const struct of_file *of)
{
	const struct profile_function *f;
	size_t hit = 0;

	for (f = of->function; f < of->function_end; f++) {
		fprintf(out, "FN:%d,", f->line);
		put_name(out, f->name);
		fputc('\n', out);
	}
	for (f = of->function; f < of->function_end; f++) {
		fprintf(out, "FNDA:%" PRIu64 ",", f->count);
		put_name(out, f->name);
		fputc('\n', out);
		hit += f->count > 0;
	}
	fprintf(out, "FNF:%zu\nFNH:%zu\n", (size_t)(of->function_end - of->function), hit);
}

static void lcov_branches(FILE *out, const struct of_file *of)
{
	const struct profile_branch *b;
	size_t hit = 0, nth = 0;

	for (b = of->branch; b < of->branch_end; b++) {
		nth = b > of->branch && b[-1].line == b->line ? nth + 1 : 0;
		fprintf(out, "BRDA:%d,%zu,0,%" PRIu64 "\nBRDA:%d,%zu,1,%" PRIu64 "\n", b->line, nth,
			b->not_taken, b->line, nth, b->taken);
		hit += (b->taken > 0) + (b->not_taken > 0);
	}
	fprintf(out, "BRF:%zu\nBRH:%zu\n", 2 * (size_t)(of->branch_end - of->branch), hit);
}

static void lcov_file(FILE *out, const char *file, struct of_file *of)
{
	const struct profile_line *l;
	size_t hit = 0;

	fputs("TN:\nSF:", out);
	put_name(out, file);
	fputc('\n', out);
	lcov_functions(out, of);
	lcov_branches(out, of);
	for (l = of->line; l < of->line_end; l++) {
		fprintf(out, "DA:%d,%" PRIu64 "\n", l->line, l->count);
		hit += l->count > 0;
	}
	fprintf(out, "LF:%zu\nLH:%zu\nend_of_record\n", (size_t)(of->line_end - of->line), hit);
}

static int lcov_write(struct profile *profile)
{
	return each_file(profile, lcov_file);
}

/* ---- gcov's text (COUNT:LINE:SOURCE, "Invoking gcov" of gcc's manual) ---- */

static void gcov_branches(FILE *out, struct of_file *of, int line)
{
	unsigned int nth = 0;

	for (; of->branch < of->branch_end && of->branch->line <= line; of->branch++) {
		if (of->branch->line != line)
			continue;
		fprintf(out, "branch %2u taken %" PRIu64 "\n", nth++, of->branch->not_taken);
		fprintf(out, "branch %2u taken %" PRIu64 "\n", nth++, of->branch->taken);
	}
}

static void gcov_line(FILE *out, struct of_file *of, int number, const char *text)
{
	while (of->function < of->function_end && of->function->line <= number) {
		if (of->function->line == number) {
			fputs("function ", out);
			put_name(out, of->function->name);
			fprintf(out, " called %" PRIu64 "\n", of->function->count);
		}
		of->function++;
	}
	if (of->line == of->line_end || of->line->line != number) {
		fprintf(out, "%9s:%5d:%s\n", "-", number, text);
		return;
	}
	if (of->line->count)
		fprintf(out, "%9" PRIu64 ":%5d:%s\n", of->line->count, number, text);
	else
		fprintf(out, "%9s:%5d:%s\n", "#####", number, text);
	of->line++;
	gcov_branches(out, of, number);
}

/* Write a source file with the counts of its lines. If the file cannot be read, list only the lines that have code. */
static void gcov_file(FILE *out, const char *file, struct of_file *of)
{
	char *text = source_text(of->symfs, file), *line, *rest = text;
	int number;

	fprintf(out, "%9s:%5d:Source:", "-", 0);
	put_name(out, file);
	fputc('\n', out);
	for (number = 1; rest && *rest; number++) {
		line = strsep(&rest, "\n");
		gcov_line(out, of, number, line);
	}
	while (of->line < of->line_end)
		gcov_line(out, of, of->line->line, "/*EOF*/");
	free(text);
}

static int gcov_write(struct profile *profile)
{
	return each_file(profile, gcov_file);
}

const struct profile_format profile_lcov = { .name = "lcov", .needs_lines = true, .write = lcov_write };
const struct profile_format profile_gcov = { .name = "gcov", .needs_lines = true, .write = gcov_write };
