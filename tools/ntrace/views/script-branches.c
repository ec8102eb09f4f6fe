// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script --branches - print one line for each branch, in the format that perf script uses. */
#include <inttypes.h>
#include <string.h>

#include "cli/put-text.h"
#include "script.h"

#define NAME(kind, name)	[kind] = { name, sizeof(name) - 1 }

/* Words that perf script prints for the kinds of branches */
static const struct {
	char	text[8];
	uint8_t	size;
} kind_names[] = {
	NAME(NT_BRANCH_CONDITIONAL, "jcc"), NAME(NT_BRANCH_JUMP, "jmp"), NAME(NT_BRANCH_CALL, "call"),
	NAME(NT_BRANCH_RETURN, "return"), NAME(NT_BRANCH_SYSCALL, "syscall"), NAME(NT_BRANCH_EXCEPTION, "int"),
	NAME(NT_BRANCH_INTERRUPT, "hw int"), NAME(NT_BRANCH_TRAP_RETURN, "iret"), NAME(NT_BRANCH_NONE, "jmp"),
};

static const char *const json_names[] = {
	[NT_BRANCH_CONDITIONAL] = "branch", [NT_BRANCH_JUMP] = "jump", [NT_BRANCH_CALL] = "call",
	[NT_BRANCH_RETURN] = "return", [NT_BRANCH_SYSCALL] = "system call",
	[NT_BRANCH_EXCEPTION] = "exception", [NT_BRANCH_INTERRUPT] = "interrupt",
	[NT_BRANCH_TRAP_RETURN] = "trap return", [NT_BRANCH_NONE] = "none",
};

static int print_json(struct script_part *p, const struct nt_who *who,
		      const struct nt_branch *branch)
{
	script_json_who(p, who, branch->time);
	lines_add(&p->lines, ", \"kind\": \"%s\", \"insns\": %" PRIu64, json_names[branch->kind],
		  branch->insns);
	if (!(branch->flags & NT_BRANCH_BEGIN))
		script_json_place(p, "from", SCRIPT_FROM, who, branch->from);
	if (!(branch->flags & NT_BRANCH_END))
		script_json_place(p, "to", SCRIPT_TO, who, branch->to);
	lines_add(&p->lines, "}\n");
	return lines_end(&p->lines, branch->time);
}

static char *put_flags(char *at, const struct nt_branch *branch)
{
	const char *trace = branch->flags & NT_BRANCH_BEGIN ? "tr strt " :
			    branch->flags & NT_BRANCH_END ? "tr end  " : "";
	size_t traced = *trace ? 8 : 0, size = traced + kind_names[branch->kind].size;

	at = PUT(at, "  ");
	memcpy(at, "                ", 16);
	memcpy(at, trace, traced);
	memcpy(at + traced, kind_names[branch->kind].text, size - traced);
	return at + (size < 14 ? 14 : size);
}

/*
 * Add the line of a branch, except its start with the thread and the time. The function writes all
 * columns directly to the buffer, because a recording has millions of lines.
 */
static void add_branch(struct script_part *p, const struct nt_who *who, const struct nt_branch *branch)
{
	const struct script_place *from = script_place(p, SCRIPT_FROM, who, branch->from);
	const struct script_place *to = script_place(p, SCRIPT_TO, who, branch->to);
	const struct script *s = p->script;
	char *at = lines_room(&p->lines, 3 * SCRIPT_PLACE_SIZE + from->symbol_len + from->object_len +
					 to->symbol_len + to->object_len);

	if (!at)
		return;
	if (script_has(s, F_FLAGS))
		at = put_flags(at, branch);
	if (script_has(s, F_IP))
		at = script_put_place(p, at, SCRIPT_FROM, from, branch->from);
	if (script_has(s, F_IP) && script_has(s, F_ADDR))
		at = PUT(at, " =>");
	if (script_has(s, F_ADDR))
		at = script_put_place(p, at, SCRIPT_TO, to, branch->to);
	lines_done(&p->lines, PUT(at, "\n"));
}

static int print_branch(void *part, const struct nt_who *who, const struct nt_branch *branch)
{
	struct script_part *p = part;
	const struct script *s = p->script;
	bool before, after;

	if (p->chain && script_inside(p, who, branch, &before, &after))
		return -1;
	if (p->chain && !before && !after)
		return 0;
	if (!nt_filter_passes(&s->filter, branch->time, who->cpu, who->tid) ||
	    !nt_filter_has_code(&s->filter, nt_who_space(who, branch->from ?: branch->to), branch->from ?: branch->to))
		return 0;
	if (script_line(p, who, branch->time))
		return -1;
	if (s->json)
		return print_json(p, who, branch);
	script_add_who(p, who, branch->time);
	add_branch(p, who, branch);
	return lines_end(&p->lines, branch->time);
}

int script_branches(struct script *script)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = script_begin, .branch = print_branch,
		.error = script_error, .end = script_end, .windows = &script->filter.time,
		.nr_windows = script->filter.time.to ? 1 : 0,
	};

	return nt_session_branches(script->session, &sink, script);
}
