// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Read and write counts of files as text, in the format that sums.h describes. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sums-priv.h"
#include "session/file/whole-file.h"

/* ---- Write a file of sums ---- */

struct writing {
	struct nt_sums	*sums;
	FILE		*file;
	uint64_t	lines;
};

/* Write a path. Control characters, blanks and backslashes are escaped as \ooo. */
static void put_path(FILE *file, const char *path)
{
	for (; *path; path++) {
		if ((unsigned char)*path <= ' ' || *path == '\\' || *path == 0x7f)
			fprintf(file, "\\%03o", (unsigned char)*path);
		else
			fputc(*path, file);
	}
	fputc('\n', file);
}

static void put_shards(struct writing *w)
{
	const struct sums_set *set = w->sums->sets.at, *end = set + w->sums->sets.nr;
	uint32_t i;

	for (; set < end; set++) {
		if (set->nr == set->of)
			continue;
		for (i = 0; i < set->of; i++) {
			if (!set->here[i])
				continue;
			fprintf(w->file, "shard %016" PRIx64 " %u %u ", set->id, i + 1, set->of);
			put_path(w->file, set->name);
			w->lines++;
		}
	}
}

static void put_files(struct writing *w)
{
	const struct sums_file *file = w->sums->files.at, *end = file + w->sums->files.nr;
	unsigned int i;

	for (; file < end; file++) {
		fputs("file ", w->file);
		for (i = 0; i < file->build_id_size; i++)
			fprintf(w->file, "%02x", file->build_id[i]);
		fputs(file->build_id_size ? " " : "- ", w->file);
		put_path(w->file, file->path);
		w->lines++;
	}
}

static void put_entry(struct writing *w, const struct sums_entry *e)
{
	switch (e->type) {
	case NT_COUNT_BLOCK:
		fprintf(w->file, "b %u %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", e->file,
			e->from, e->to, e->count, e->insns);
		break;
	case NT_COUNT_BRANCH:
		fprintf(w->file, "c %u %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", e->file, e->from,
			e->count, e->not_taken);
		break;
	default:
		fprintf(w->file, "e %u %" PRIx64 " %u %" PRIx64 " %u %" PRIu64 "\n", e->file,
			e->from, e->to_file, e->to, e->how, e->count);
	}
	w->lines++;
}

int nt_sums_write(struct nt_sums *sums, FILE *file)
{
	const struct nt_profile_totals *t = &sums->totals;
	struct writing w = { .sums = sums, .file = file, .lines = 3 };
	size_t i;

	if (sums_order(sums)) {
		errno = ENOMEM;
		return -1;
	}
	fprintf(file, SUMS_MAGIC "xlen %u\nlost %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sums->xlen,
		t->losses, t->errors, t->gaps);
	put_shards(&w);
	put_files(&w);
	for (i = 0; i < sums->entries.nr; i++)
		put_entry(&w, &sums->entries.at[i]);
	fprintf(file, "end %" PRIu64 "\n", w.lines);
	return ferror(file) ? -1 : 0;
}

/* ---- Read counts from a text file ---- */

struct reading {
	struct nt_sums	*sums;
	const char	*path;
	uint64_t	line;		/* number of the current line */
	const char	*at;		/* position of the next character in the line */
	NS_ARRAY(uint32_t) files;	/* indices in nt_sums::files of the files that were read */
	bool		ended;
};

static int damaged(const struct reading *r)
{
	return sums_fail(r->sums, "%s: line %" PRIu64 " is damaged", r->path, r->line);
}

/* Read a number in base 10 or 16, up to @most, which follows one blank. */
static bool take_number(struct reading *r, int base, uint64_t most, uint64_t *number)
{
	char *end;

	if (*r->at != ' ' || !isxdigit((unsigned char)r->at[1]))
		return false;
	errno = 0;
	*number = strtoull(r->at + 1, &end, base);
	if (end == r->at + 1 || errno || *number > most)
		return false;
	r->at = end;
	return true;
}

static bool take_small(struct reading *r, uint32_t most, uint32_t *number)
{
	uint64_t value;
	bool ok = take_number(r, 10, most, &value);

	*number = ok ? value : 0;
	return ok;
}

static bool at_end(const struct reading *r)
{
	return *r->at == '\n' && !r->at[1];
}

/* Set *path to the rest of the line, in which escaped bytes are replaced. */
static bool take_path(struct reading *r, char **path)
{
	char *from, *to;
	unsigned int i;

	if (*r->at != ' ')
		return false;
	*path = from = to = (char *)r->at + 1;
	for (; *from != '\n'; to++) {
		if (!*from)
			return false;
		if (*from != '\\') {
			*to = *from++;
			continue;
		}
		for (*to = 0, i = 1; i <= 3; i++) {
			if (from[i] < '0' || from[i] > '7')
				return false;
			*to = *to << 3 | (from[i] - '0');
		}
		if (!*to)
			return false;
		from += 4;
	}
	*to = '\0';
	return !from[1];
}

static int read_xlen(struct reading *r)
{
	uint32_t xlen;

	if (!take_small(r, 64, &xlen) || (xlen && xlen != 32 && xlen != 64) || !at_end(r))
		return damaged(r);
	return sums_put_xlen(r->sums, xlen);
}

static int read_lost(struct reading *r)
{
	struct nt_profile_totals t;

	if (!take_number(r, 10, UINT64_MAX, &t.losses) ||
	    !take_number(r, 10, UINT64_MAX, &t.errors) ||
	    !take_number(r, 10, UINT64_MAX, &t.gaps) || !at_end(r))
		return damaged(r);
	r->sums->totals.losses += t.losses;
	r->sums->totals.errors += t.errors;
	r->sums->totals.gaps += t.gaps;
	return 0;
}

static int read_shard(struct reading *r)
{
	struct nt_shard shard;
	char *name;

	if (!take_number(r, 16, UINT64_MAX, &shard.id) || !take_small(r, UINT32_MAX, &shard.nth) ||
	    !take_small(r, UINT32_MAX, &shard.of) || !take_path(r, &name))
		return damaged(r);
	shard.name = name;
	return sums_put_shard(r->sums, &shard);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_file(struct reading *r)
{
	uint8_t id[PD_BUILD_ID_SIZE];
	size_t size = 0;
	uint32_t number;
	char *path;

	if (*r->at++ != ' ')
		return damaged(r);
	for (; *r->at != ' ' && *r->at != '-'; r->at += 2) {
		if (size == sizeof(id) || hex_digit(r->at[0]) < 0 || hex_digit(r->at[1]) < 0)
			return damaged(r);
		id[size++] = hex_digit(r->at[0]) << 4 | hex_digit(r->at[1]);
	}
	r->at += *r->at == '-';
	if (!take_path(r, &path))
		return damaged(r);
	number = sums_file_of(r->sums, path, id, size);
	if (number == SUMS_NO_FILE || !ns_array_add(&r->files, number))
		return sums_fail(r->sums, "out of memory");
	return 0;
}

static bool take_file(struct reading *r, uint32_t *number)
{
	uint32_t n;

	if (!r->files.nr || !take_small(r, r->files.nr - 1, &n))
		return false;
	*number = r->files.at[n];
	return true;
}

static int read_block(struct reading *r)
{
	struct sums_entry e = { .type = NT_COUNT_BLOCK };

	if (!take_file(r, &e.file) || !take_number(r, 16, UINT64_MAX, &e.from) ||
	    !take_number(r, 16, UINT64_MAX, &e.to) || !take_number(r, 10, UINT64_MAX, &e.count) ||
	    !take_number(r, 10, UINT64_MAX, &e.insns) || !at_end(r) || e.to <= e.from)
		return damaged(r);
	e.to_file = e.file;
	return sums_put(r->sums, &e);
}

static int read_branch(struct reading *r)
{
	struct sums_entry e = { .type = NT_COUNT_BRANCH, .how = NT_END_BRANCH };

	if (!take_file(r, &e.file) || !take_number(r, 16, UINT64_MAX, &e.from) ||
	    !take_number(r, 10, UINT64_MAX, &e.count) ||
	    !take_number(r, 10, UINT64_MAX, &e.not_taken) || !at_end(r))
		return damaged(r);
	e.to_file = e.file;
	return sums_put(r->sums, &e);
}

static int read_edge(struct reading *r)
{
	struct sums_entry e = { .type = NT_COUNT_EDGE };
	uint32_t how;

	if (!take_file(r, &e.file) || !take_number(r, 16, UINT64_MAX, &e.from) ||
	    !take_file(r, &e.to_file) || !take_number(r, 16, UINT64_MAX, &e.to) ||
	    !take_small(r, UINT8_MAX, &how) || !take_number(r, 10, UINT64_MAX, &e.count) ||
	    !at_end(r))
		return damaged(r);
	e.how = how;
	return sums_put(r->sums, &e);
}

static int read_end(struct reading *r)
{
	uint64_t lines;

	if (!take_number(r, 10, UINT64_MAX, &lines) || !at_end(r) || lines != r->line - 1)
		return damaged(r);
	r->ended = true;
	return 0;
}

static int read_line(struct reading *r)
{
	static const struct {
		const char *key;
		int (*read)(struct reading *r);
	} lines[] = {
		{ "b", read_block }, { "c", read_branch }, { "e", read_edge }, { "file", read_file },
		{ "shard", read_shard }, { "xlen", read_xlen }, { "lost", read_lost },
		{ "end", read_end },
	};
	size_t i, size = strcspn(r->at, " \n");

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (strlen(lines[i].key) != size || memcmp(r->at, lines[i].key, size))
			continue;
		r->at += size;
		return lines[i].read(r);
	}
	return damaged(r);
}

static int read_lines(struct reading *r, FILE *file)
{
	char *line = NULL, magic[sizeof(SUMS_MAGIC)];
	size_t room = 0;
	ssize_t size;
	int err = 0;

	/* read only a short text first, because the first line of another kind of file may be very long */
	if (fgets(magic, sizeof(magic), file) && strcmp(magic, SUMS_MAGIC))
		err = sums_fail(r->sums, "%s is not a file of counts, which ntrace profile --counts writes",
				r->path);
	r->line = 1;
	while (!err && (size = getline(&line, &room, file)) > 0) {
		r->at = line;
		r->line++;
		/* refuse a NUL, because it would hide the rest of the line */
		if (r->ended || line[size - 1] != '\n' || strlen(line) != (size_t)size)
			err = damaged(r);
		else
			err = read_line(r);
	}
	free(line);
	if (!err && ferror(file))
		err = sums_fail(r->sums, "%s: %s", r->path, strerror(errno));
	if (!err && !r->ended)
		err = sums_fail(r->sums, "%s was cut short: its last line is missing", r->path);
	return err;
}

int nt_sums_read(struct nt_sums *sums, const char *path)
{
	struct reading r = { .sums = sums, .path = path };
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int err;

	if (!file)
		return sums_fail(sums, "%s: %s", path, strerror(errno));
	whole_file_input(fileno(file));
	err = read_lines(&r, file);
	if (file != stdin)
		fclose(file);
	free(r.files.at);
	return err;
}

bool nt_sums_is_file(const char *path)
{
	return whole_file_begins(path, SUMS_MAGIC);
}
