// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script --branches: lines as perf script prints them */
#include <inttypes.h>
#include <string.h>

#include "script.h"

/* Words of perf script */
static const char *const kind_names[] = {
	[NT_BRANCH_CONDITIONAL] = "jcc", [NT_BRANCH_JUMP] = "jmp", [NT_BRANCH_CALL] = "call",
	[NT_BRANCH_RETURN] = "return", [NT_BRANCH_SYSCALL] = "syscall",
	[NT_BRANCH_EXCEPTION] = "int", [NT_BRANCH_INTERRUPT] = "hw int",
	[NT_BRANCH_TRAP_RETURN] = "iret", [NT_BRANCH_NONE] = "jmp",
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
		script_json_place(p, "from", nt_who_space(who, branch->from), branch->from,
				  &p->from, &p->from_space);
	if (!(branch->flags & NT_BRANCH_END))
		script_json_place(p, "to", nt_who_space(who, branch->to), branch->to, &p->to,
				  &p->to_space);
	lines_add(&p->lines, "}\n");
	return lines_end(&p->lines, branch->time);
}

static int print_branch(void *part, const struct nt_who *who, const struct nt_branch *branch)
{
	const char *trace = branch->flags & NT_BRANCH_BEGIN ? "tr strt " :
			    branch->flags & NT_BRANCH_END ? "tr end  " : "";
	struct script_part *p = part;
	const struct script *s = p->script;
	bool before, after;

	if (script_inside(p, who, branch, &before, &after))
		return -1;
	if (!before && !after)
		return 0;
	if (!nt_filter_passes(&s->filter, branch->time, who->cpu, who->tid))
		return 0;
	lines_begin(&p->lines, who->cpu);
	if (s->json)
		return print_json(p, who, branch);
	script_add_who(p, who, branch->time);
	if (script_has(s, F_FLAGS)) {
		lines_add_text(&p->lines, "  ");
		lines_add_text(&p->lines, trace);
		lines_add_left(&p->lines, kind_names[branch->kind], 14 - strlen(trace));
	}
	if (script_has(s, F_IP))
		script_add_place(p, nt_who_space(who, branch->from), branch->from, &p->from,
				 &p->from_space);
	if (script_has(s, F_IP) && script_has(s, F_ADDR))
		lines_add_text(&p->lines, " =>");
	if (script_has(s, F_ADDR))
		script_add_place(p, nt_who_space(who, branch->to), branch->to, &p->to,
				 &p->to_space);
	lines_add_text(&p->lines, "\n");
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
