// SPDX-License-Identifier: GPL-2.0-only
/* Find the source code that was executed, and the executed instructions of each line (source.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

#include "cli/json-text.h"
#include "session/array.h"
#include "session/code/lines.h"
#include "session/counts/profile.h"
#include "session/file/whole-file.h"

#define FRAMES_MAX	16
#define FILE_MAX	(1 << 20)	/* maximum size of one file in bytes */
#define ALL_MAX		(16 << 20)	/* maximum size of all files in bytes */

struct line {
	const char	*file;
	int		line;
	uint64_t	insns;
};

struct source {
	const char	*file;
	size_t		first, nr;	/* index in sources::executed of the file's first line; number of its lines */
	uint64_t	insns;
};

struct sources {
	struct nt_session *session;
	const char	*symfs;
	struct nt_profile *profile;
	struct nt_lines	*lines;
	NS_ARRAY(struct line) executed;	/* executed lines, sorted by file, then line */
	NS_ARRAY(struct source) files;	/* source files, sorted by path */
};

/* ---- Lines ---- */

static int line_cmp(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->file == y->file ? 0 : strcmp(x->file, y->file)) ?: ns_order(x->line, y->line);
}

static bool add_lines(struct sources *sources)
{
	struct nt_frame frames[FRAMES_MAX];
	const struct nt_profile_insn *insns;
	struct line line;
	size_t nr, i;

	insns = nt_profile_insns(sources->profile, &nr);
	for (i = 0; i < nr; i++) {
		nt_lines_at(sources->lines, insns[i].object, insns[i].address, frames, FRAMES_MAX);
		if (!frames[0].file || frames[0].line <= 0)
			continue;
		line = (struct line){ frames[0].file, frames[0].line, insns[i].count };
		if (!ns_array_add(&sources->executed, line))
			return false;
	}
	return true;
}

static bool add_files(struct sources *sources)
{
	const struct line *line = sources->executed.at, *end = line + sources->executed.nr;
	struct source *file = NULL, new;

	for (; line < end; line++) {
		if (!file || strcmp(file->file, line->file)) {
			new = (struct source){
				.file = line->file, .first = line - sources->executed.at,
			};
			if (!ns_array_add(&sources->files, new))
				return false;
			file = &sources->files.at[sources->files.nr - 1];
		}
		file->nr++;
		file->insns += line->insns;
	}
	return true;
}

struct sources *sources_new(struct nt_session *session, const struct nt_filter *filter,
			    const char *symfs)
{
	struct sources *sources = calloc(1, sizeof(*sources));

	if (!sources)
		return NULL;
	sources->session = session;
	sources->symfs = symfs;
	sources->profile = nt_profile_new(session, filter);
	sources->lines = nt_lines_new(session);
	if (sources->profile && sources->lines && !nt_profile_run(sources->profile) &&
	    add_lines(sources)) {
		ns_array_join(&sources->executed, line_cmp, a->insns += b->insns);
		if (add_files(sources))
			return sources;
	}
	sources_free(sources);
	return NULL;
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	nt_profile_free(sources->profile);
	nt_lines_free(sources->lines);
	free(sources->executed.at);
	free(sources->files.at);
	free(sources);
}

static int file_cmp(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return strcmp(x->file, y->file);
}

int sources_find(struct sources *sources, const struct nt_function *function, int *line)
{
	struct nt_frame frames[FRAMES_MAX];
	struct source key = { 0 };
	const struct source *found;
	size_t nr;

	if (!function->object || !function->symbol || !sources->files.nr)
		return -1;
	nr = nt_lines_at(sources->lines, function->object, function->address, frames, FRAMES_MAX);
	key.file = frames[nr - 1].file;
	*line = frames[nr - 1].line;
	if (!key.file)
		return -1;
	found = bsearch(&key, sources->files.at, sources->files.nr, sizeof(key), file_cmp);
	return found ? found - sources->files.at : -1;
}

/* ---- Text ---- */

/*
 * Return true if the file looks like source code. Debug information may name any file of the
 * machine, but only source code is copied to the page.
 */
static bool is_source(const char *file)
{
	static const char *const endings[] = {
		".c", ".h", ".S", ".s", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inc", ".ipp",
		".tcc", ".rs", ".go", ".f", ".f90", ".d", ".zig", ".nim", ".pas", ".adb", ".ads", ".ml",
	};
	const char *ending = strrchr(file, '.');
	size_t i;

	for (i = 0; ending && i < sizeof(endings) / sizeof(*endings); i++) {
		if (!strcmp(ending, endings[i]))
			return true;
	}
	return false;
}

char *source_text(const char *symfs, const char *file)
{
	char *text = NULL, *path;

	if (!is_source(file))
		return NULL;
	if (symfs && asprintf(&path, "%s/%s", symfs, file) >= 0) {
		text = whole_file_text(path, FILE_MAX);
		free(path);
	}
	return text ? text : whole_file_text(file, FILE_MAX);
}

static bool write_source(const struct sources *sources, FILE *file, size_t nth, size_t *all)
{
	const struct source *source = &sources->files.at[nth];
	const struct line *line = sources->executed.at + source->first, *end = line + source->nr;
	char *text = *all < ALL_MAX ? source_text(sources->symfs, source->file) : NULL;
	bool ok;

	*all += text ? strlen(text) : 0;
	fprintf(file, "<script type=\"application/json\" id=\"s%zu\">{\"file\":", nth);
	ok = json_write(file, source->file);
	fputs(",\"text\":", file);
	ok = ok && json_write(file, text);
	fprintf(file, ",\"lines\":[");
	for (; line < end; line++)
		fprintf(file, "%d,%" PRIu64 "%s", line->line, line->insns, line + 1 < end ? "," : "");
	free(text);
	return fputs("]}</script>\n", file) >= 0 && ok;
}

bool sources_write(const struct sources *sources, FILE *file)
{
	size_t i, all = 0;

	for (i = 0; i < sources->files.nr; i++) {
		if (!write_source(sources, file, i, &all))
			return false;
	}
	return true;
}
