// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "array.h"
#include "lines.h"

/* A file, and what elfutils knows of it */
struct module {
	const char	*object;	/* as the recording names it */
	Dwfl_Module	*dwfl;		/* NULL: the file is not there, or is none of ELF */
	Dwarf_Addr	bias;		/* what elfutils adds to the file's addresses */
};

struct nt_lines {
	struct nt_session *session;
	Dwfl		*dwfl;
	NS_ARRAY(struct module) modules;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

struct nt_lines *nt_lines_new(struct nt_session *session)
{
	struct nt_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->session = session;
	lines->dwfl = dwfl_begin(&callbacks);
	if (lines->dwfl)
		return lines;
	free(lines);
	return NULL;
}

void nt_lines_free(struct nt_lines *lines)
{
	if (!lines)
		return;
	dwfl_end(lines->dwfl);
	free(lines->modules.at);
	free(lines);
}

static Dwfl_Module *open_module(struct nt_lines *lines, const char *object)
{
	const char *file = nt_session_file(lines->session, object);
	Dwfl_Module *module;

	if (!file)
		return NULL;
	dwfl_report_begin_add(lines->dwfl);
	module = dwfl_report_offline(lines->dwfl, object, file, -1);
	dwfl_report_end(lines->dwfl, NULL, NULL);
	return module;
}

static const struct module *module_of(struct nt_lines *lines, const char *object)
{
	struct module module = { .object = object };
	GElf_Addr bias;
	size_t i;

	for (i = lines->modules.nr; i--; ) {
		if (lines->modules.at[i].object == object)
			return &lines->modules.at[i];
	}
	module.dwfl = open_module(lines, object);
	if (module.dwfl && dwfl_module_getelf(module.dwfl, &bias))
		module.bias = bias;
	if (!ns_array_add(&lines->modules, module))
		return NULL;
	return &lines->modules.at[lines->modules.nr - 1];
}

/* ---- Frames ---- */

static const char *line_of(const struct module *module, Dwarf_Addr addr, int *line)
{
	Dwfl_Line *found = dwfl_module_getsrc(module->dwfl, addr);

	return found ? dwfl_lineinfo(found, NULL, line, NULL, NULL, NULL) : NULL;
}

/* Where a function was inlined: the file and line of the call */
static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct nt_frame *frame)
{
	Dwarf_Word value;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t nr;

	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &value))
		frame->line = value;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &value) &&
	    !dwarf_getsrcfiles(cu, &files, &nr) && value < nr)
		frame->file = dwarf_filesrc(files, value, NULL, NULL);
}

static size_t add_scopes(Dwarf_Die *cu, Dwarf_Die *scopes, int nr, struct nt_frame *frames,
			 size_t max)
{
	size_t n = 0;
	int i;

	for (i = 0; i < nr; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		frames[n].function = dwarf_diename(&scopes[i]);
		frames[n].inlined = tag == DW_TAG_inlined_subroutine && n + 1 < max;
		if (!frames[n].inlined)
			return n + 1;
		n++;
		frames[n] = (struct nt_frame){ 0 };
		call_site(cu, &scopes[i], &frames[n]);
	}
	/* what was inlined is in a function, even if nothing names that */
	return n + 1;
}

size_t nt_lines_at(struct nt_lines *lines, const char *object, uint64_t address,
		   struct nt_frame *frames, size_t max)
{
	const struct module *module = object ? module_of(lines, object) : NULL;
	Dwarf_Die *cu, *inner = NULL, *scopes = NULL;
	Dwarf_Addr bias;
	size_t n = 1;
	int nr = 0;

	frames[0] = (struct nt_frame){ 0 };
	if (!module || !module->dwfl)
		return 1;
	frames[0].file = line_of(module, address + module->bias, &frames[0].line);
	cu = dwfl_module_addrdie(module->dwfl, address + module->bias, &bias);
	/* around an inlined function are the scopes that it is written in; where it is, is wanted */
	if (cu && dwarf_getscopes(cu, address + module->bias - bias, &inner) > 0)
		nr = dwarf_getscopes_die(&inner[0], &scopes);
	if (nr > 0)
		n = add_scopes(cu, scopes, nr, frames, max);
	free(scopes);
	free(inner);
	return n;
}
