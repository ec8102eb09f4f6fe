// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compute the counts of source lines, branches and functions from those of instructions
 * (profile.h).
 */
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/*
 * Lines of the start of a function. @start is the line with the function's name, and @line is the
 * line of the function's start address, which may be that of the opening brace.
 */
struct entry {
	const char	*file;
	int		line, start;
};

struct making {
	struct profile_source *source;
	struct profile	*profile;
	const char	*object;
	NS_ARRAY(struct entry) entries;	/* entries, sorted by file, then line */
};

/* ---- Compare entries, to sort them ---- */

static int place_cmp(const char *file, int line, const char *other_file, int other_line)
{
	return file == other_file ? ns_order(line, other_line) : strcmp(file, other_file) ?: ns_order(line, other_line);
}

static int line_cmp(const void *a, const void *b)
{
	const struct profile_line *x = a, *y = b;

	return place_cmp(x->file, x->line, y->file, y->line) ?: ns_order(x->copy, y->copy);
}

static int branch_cmp(const void *a, const void *b)
{
	const struct profile_branch *x = a, *y = b;

	return place_cmp(x->file, x->line, y->file, y->line) ?: ns_order(x->address, y->address);
}

static int function_cmp(const void *a, const void *b)
{
	const struct profile_function *x = a, *y = b;

	return place_cmp(x->file, x->line, y->file, y->line) ?: strcmp(x->name, y->name);
}

/* ---- Lines ---- */

/*
 * Return a hash of the function that contains a line, and of the functions into which it is
 * inlined. Different functions have the same hash only with a probability of 2^-63.
 */
static uint64_t copy_of(const struct nt_profile_insn *insn, const struct nt_frame *frames, size_t nr)
{
	uint64_t hash = (uintptr_t)insn->symbol * 0x9e3779b97f4a7c15ULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		hash = (hash ^ (uintptr_t)frames[i].linkage) * 0xff51afd7ed558ccdULL;
		if (i)
			hash = (hash ^ frames[i].line ^ (uint64_t)frames[i].discriminator << 32) *
			       0xc4ceb9fe1a85ec53ULL;
	}
	/* never return 0, which is the value of lines that were not executed */
	return hash | 1;
}

static bool add_executed(struct making *m)
{
	const struct nt_profile_insn *insns;
	struct nt_frame frames[PROFILE_FRAMES];
	struct profile_line line;
	size_t nr, n, i;

	insns = nt_profile_insns(m->profile->counts, &nr);
	for (i = 0; i < nr; i++) {
		if (!profile_wants(m->profile, insns[i].object))
			continue;
		n = nt_lines_at(m->profile->lines, insns[i].object, insns[i].address, frames,
				PROFILE_FRAMES);
		if (!frames[0].file || frames[0].line <= 0)
			continue;
		line = (struct profile_line){
			.file = frames[0].file, .line = frames[0].line, .count = insns[i].count,
			.copy = copy_of(&insns[i], frames, n),
		};
		if (!ns_array_add(&m->source->lines, line))
			return false;
	}
	return true;
}

/*
 * Set the count of each line. The count of a copy (profile_line::copy) is that of its most frequent
 * instruction. Add up the counts of all copies of a line.
 */
static void join_lines(struct profile_source *source)
{
	ns_array_join(&source->lines, line_cmp, a->count = b->count > a->count ? b->count : a->count);
	ns_array_join_sorted(&source->lines, place_cmp(a->file, a->line, b->file, b->line), a->count += b->count);
}

/* ---- All lines and functions of the debug information ---- */

/*
 * Add the count of a function's first instruction to the line with the function's name. This
 * instruction may belong to an inlined function, so that it has another line.
 */
static bool add_calls(struct making *m, const struct nt_line *function, const struct nt_profile_insn *first)
{
	struct profile_line line = { .file = function->file, .line = function->line };
	struct nt_frame frames[PROFILE_FRAMES];
	size_t n;

	if (!first)
		return true;
	n = nt_lines_at(m->profile->lines, m->object, function->address, frames, PROFILE_FRAMES);
	line.count = first->count;
	line.copy = copy_of(first, &frames[n - 1], 1);
	return ns_array_add(&m->source->lines, line);
}

static bool add_function(struct making *m, const struct nt_line *line)
{
	const struct nt_profile_insn *first = profile_executed(m->profile, m->object, line->address);
	const struct profile_function function = {
		.file = line->file, .line = line->line, .name = line->function,
		.count = first ? first->count : 0,
	};
	const struct entry entry = { .file = line->file, .start = line->line, .line = line->entry };

	return ns_array_add(&m->source->functions, function) && add_calls(m, line, first) &&
	       (entry.line <= entry.start || ns_array_add(&m->entries, entry));
}

static int add_known(void *ctx, const struct nt_line *line)
{
	struct making *m = ctx;
	const struct profile_line none = { .file = line->file, .line = line->line };

	if (line->function)
		return add_function(m, line) ? 0 : -1;
	return ns_array_add(&m->source->lines, none) ? 0 : -1;
}

static bool add_objects(struct making *m)
{
	const struct nt_profile_insn *insns;
	size_t nr, i;

	insns = nt_profile_insns(m->profile->counts, &nr);
	for (i = 0; i < nr; i++) {
		m->object = insns[i].object;
		if ((i && m->object == insns[i - 1].object) || !profile_wants(m->profile, m->object))
			continue;
		if (nt_lines_each(m->profile->lines, m->object, add_known, m))
			return false;
	}
	return true;
}

static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return place_cmp(x->file, x->line, y->file, y->line);
}

/*
 * If a function's start address has a later line than the function's name, move the count of this
 * line to the line with the name, because gcov reports it there.
 */
static void move_entries(struct making *m)
{
	const struct entry *found;
	struct profile_line *line;
	struct entry key = { 0 };

	if (!m->entries.nr)
		return;
	qsort(m->entries.at, m->entries.nr, sizeof(key), entry_cmp);
	for (line = m->source->lines.at; line < m->source->lines.at + m->source->lines.nr; line++) {
		key.file = line->file;
		key.line = line->line;
		found = bsearch(&key, m->entries.at, m->entries.nr, sizeof(key), entry_cmp);
		if (found)
			line->line = found->start;
	}
}

/* ---- Branches ---- */

static bool add_branches(struct making *m)
{
	struct nt_frame frames[PROFILE_FRAMES];
	struct profile_branch branch;
	struct nt_place place;
	struct nt_count count;
	uint64_t at = 0;

	while (nt_profile_count(m->profile->counts, &at, &count)) {
		if (count.type != NT_COUNT_BRANCH)
			continue;
		nt_session_where(m->profile->session, count.space, count.from, &place);
		if (!profile_wants(m->profile, place.object))
			continue;
		nt_lines_at(m->profile->lines, place.object, place.address, frames, PROFILE_FRAMES);
		branch = (struct profile_branch){
			.file = frames[0].file, .line = frames[0].line, .address = place.address,
			.taken = count.count, .not_taken = count.not_taken,
		};
		if (branch.file && branch.line > 0 && !ns_array_add(&m->source->branches, branch))
			return false;
	}
	return true;
}

static void merge_branches(struct profile_branch *to, const struct profile_branch *from)
{
	to->taken += from->taken;
	to->not_taken += from->not_taken;
}

int profile_source_make(struct profile_source *source, struct profile *profile)
{
	struct making m = { .source = source, .profile = profile };
	bool ok = add_executed(&m) && add_objects(&m) && add_branches(&m);

	if (ok)
		move_entries(&m);
	free(m.entries.at);
	if (!ok)
		return -1;
	join_lines(source);
	ns_array_join(&source->functions, function_cmp, a->count += b->count);
	/* add up equal branches, because several processes may execute the same file */
	ns_array_join(&source->branches, branch_cmp, merge_branches(a, b));
	return 0;
}

void profile_source_free(struct profile_source *source)
{
	free(source->lines.at);
	free(source->branches.at);
	free(source->functions.at);
}
