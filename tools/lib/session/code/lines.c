// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the source line and the inlined functions of an address with elfutils (lines.h). */
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "session/array.h"
#include "kmodule.h"
#include "lines.h"

/* clang adds this attribute to an inlined call. Older versions of elfutils do not define the attribute. */
#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator	0x2136
#endif

/* Address range of a compilation unit. The addresses are those in the file, without module::dwarf_bias. */
struct unit {
	Dwarf_Addr	from, to;
	Dwarf_Die	*cu;
};

/*
 * A scope is the code of a function or of an inlined call. Its addresses are those in the file
 * (without module::dwarf_bias).
 */
struct scope {
	Dwarf_Addr	from, to;
	Dwarf_Die	die;
	size_t		around;		/* index of the enclosing scope; NO_SCOPE: none */
};

#define NO_SCOPE	SIZE_MAX

/*
 * The scopes of a compilation unit. elfutils would search the scopes one by one for each address.
 * The library therefore builds this sorted table when it looks up the first address in the unit.
 */
struct scopes {
	/*
	 * offset of the unit's DIE. It must be the first member, because tfind() is called with the address
	 * of an offset instead of a struct scopes, and scopes_cmp() handles both in the same way.
	 */
	Dwarf_Off	cu;
	NS_ARRAY(struct scope) by_address;
};

/* An object of the recording, and its file in elfutils */
struct module {
	const char	*object;	/* name in the recording */
	Dwfl_Module	*dwfl;		/* file in elfutils; NULL: the file is missing or is not an ELF file */
	Dwarf_Addr	bias;		/* number that elfutils adds to the file's addresses */
	Dwarf_Addr	dwarf_bias;	/* number that elfutils adds to addresses of DWARF data */
	NS_ARRAY(struct unit) units;	/* compilation units, sorted by address */
	bool		has_units;
	void		*scopes;	/* tree of struct scopes for tsearch() */
	bool		is_kmodule;
	struct ns_kmodule kmodule;
};

struct nt_lines {
	struct nt_session *session;
	Dwfl		*dwfl;		/* files of kernel modules; each other object has its own Dwfl */
	NS_ARRAY(struct module) modules;
	void		*names;		/* tree of struct name for tsearch() */
};

/* A demangled name */
struct name {
	const char	*linkage;	/* pointer into the debug information */
	char		*shown;		/* name to display; NULL: @linkage is not a mangled name */
};

struct nt_lines *nt_lines_new(struct nt_session *session)
{
	struct nt_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->session = session;
	lines->dwfl = dwfl_begin(&session->objects.callbacks);
	if (lines->dwfl)
		return lines;
	free(lines);
	return NULL;
}

static void scopes_free(void *node)
{
	struct scopes *scopes = node;

	free(scopes->by_address.at);
	free(scopes);
}

static void name_free(void *node)
{
	struct name *name = node;

	free(name->shown);
	free(name);
}

void nt_lines_free(struct nt_lines *lines)
{
	size_t i;

	if (!lines)
		return;
	tdestroy(lines->names, name_free);
	dwfl_end(lines->dwfl);
	for (i = 0; i < lines->modules.nr; i++) {
		tdestroy(lines->modules.at[i].scopes, scopes_free);
		free(lines->modules.at[i].units.at);
		ns_kmodule_close(&lines->modules.at[i].kmodule);
	}
	free(lines->modules.at);
	free(lines);
}

static void open_file(struct nt_lines *lines, struct module *module)
{
	const struct ns_object *object = ns_session_named(lines->session, module->object);

	if (!object)
		return;
	module->dwfl = object->module;
	module->bias = object->bias;
}

static void open_kmodule(struct nt_lines *lines, struct module *module)
{
	module->is_kmodule = true;
	ns_kmodule_open(&module->kmodule, lines->dwfl, lines->session, module->object);
	module->dwfl = module->kmodule.dwfl;
}

static struct module *module_of(struct nt_lines *lines, const char *object)
{
	struct module module = { .object = object };
	size_t i;

	for (i = lines->modules.nr; i--; ) {
		if (lines->modules.at[i].object == object)
			return &lines->modules.at[i];
	}
	if (ns_is_kmodule(lines->session, object) || ns_is_kernel(lines->session, object))
		open_kmodule(lines, &module);
	else
		open_file(lines, &module);
	if (ns_array_add(&lines->modules, module))
		return &lines->modules.at[lines->modules.nr - 1];
	ns_kmodule_close(&module.kmodule);
	return NULL;
}

/* Convert nt_place::address to an address of elfutils; from_dwfl() does the reverse. */
static Dwarf_Addr to_dwfl(const struct module *module, uint64_t address)
{
	return module->is_kmodule ? ns_kmodule_from_kernel(&module->kmodule, address) :
				    address + module->bias;
}

static uint64_t from_dwfl(const struct module *module, Dwarf_Addr address)
{
	return module->is_kmodule ? ns_kmodule_to_kernel(&module->kmodule, address) :
				    address - module->bias;
}

bool nt_lines_missing(const struct nt_lines *lines, size_t nth, const char **object, const char **why)
{
	const struct module *module = lines->modules.at, *end = module + lines->modules.nr;

	for (; module < end; module++) {
		/* do not report a missing vmlinux, because few systems have this file */
		if (!module->is_kmodule || module->dwfl || (!module->kmodule.refused &&
		    ns_is_kernel(lines->session, module->object)) || nth--)
			continue;
		*object = module->object;
		*why = module->kmodule.why ? module->kmodule.why : "out of memory";
		return true;
	}
	return false;
}

/* ---- Compilation units ---- */

static int unit_cmp(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return ns_order(x->from, y->from);
}

static void index_units(struct module *module)
{
	struct unit unit = { 0 };
	Dwarf_Addr base;
	ptrdiff_t offset;

	module->has_units = true;
	while ((unit.cu = dwfl_module_nextcu(module->dwfl, unit.cu, &module->dwarf_bias))) {
		for (offset = 0; (offset = dwarf_ranges(unit.cu, offset, &base, &unit.from, &unit.to)) > 0; ) {
			if (unit.from < unit.to && !ns_array_add(&module->units, unit))
				return;
		}
	}
	ns_array_sort(&module->units, unit_cmp);
}

/*
 * Return the compilation unit of an address. elfutils looks up the unit in the section
 * .debug_aranges, which clang does not write. If the section is missing, search the address ranges
 * of all units.
 */
static Dwarf_Die *unit_of(struct module *module, Dwarf_Addr addr, Dwarf_Addr *bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(module->dwfl, addr, bias);
	size_t nth;

	if (cu)
		return cu;
	if (!module->has_units)
		index_units(module);
	*bias = module->dwarf_bias;
	addr -= *bias;
	nth = ns_lower_bound(module->units.nr, module->units.at[i].to <= addr);
	return nth < module->units.nr && module->units.at[nth].from <= addr ? module->units.at[nth].cu : NULL;
}

/* ---- List the scopes of a compilation unit ---- */

/*
 * Maximum depth of nested scopes. Deeper scopes are ignored, because with a malicious file the
 * recursion would overflow the stack.
 */
#define DEPTH_MAX	256

static int scopes_cmp(const void *a, const void *b)
{
	return ns_order(*(const Dwarf_Off *)a, *(const Dwarf_Off *)b);
}

/*
 * Compare two scopes, to sort them by start address. If two scopes have the same start, the outer
 * scope precedes the inner scope. If they also have the same end, they keep the order of the file.
 */
static int scope_cmp(const void *a, const void *b)
{
	const struct scope *x = a, *y = b;

	return ns_order(x->from, y->from) ?: ns_order(y->to, x->to) ?:
		ns_order(dwarf_dieoffset((Dwarf_Die *)&x->die), dwarf_dieoffset((Dwarf_Die *)&y->die));
}

/* Add the scopes below @die, including those in classes, namespaces and blocks. Return false if out of memory. */
static bool add_scopes(struct scopes *scopes, Dwarf_Die *die, int depth)
{
	struct scope scope = { .around = NO_SCOPE };
	Dwarf_Addr base;
	ptrdiff_t offset;

	if (depth > DEPTH_MAX || dwarf_child(die, &scope.die))
		return true;
	do {
		int tag = dwarf_tag(&scope.die);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			for (offset = 0; (offset = dwarf_ranges(&scope.die, offset, &base, &scope.from,
								&scope.to)) > 0; ) {
				if (scope.from < scope.to && !ns_array_add(&scopes->by_address, scope))
					return false;
			}
		}
		if (dwarf_haschildren(&scope.die) && !add_scopes(scopes, &scope.die, depth + 1))
			return false;
	} while (!dwarf_siblingof(&scope.die, &scope.die));
	return true;
}

/*
 * Begin with scope @nth, and go to the scope that encloses it until a scope ends after @addr. Return
 * the index of this scope, or NO_SCOPE if no enclosing scope ends after @addr.
 */
static size_t scope_around(const struct scopes *scopes, size_t nth, Dwarf_Addr addr)
{
	while (nth != NO_SCOPE && scopes->by_address.at[nth].to <= addr)
		nth = scopes->by_address.at[nth].around;
	return nth;
}

/* Return the scopes of compilation unit @cu, or NULL if out of memory. */
static struct scopes *scopes_of(struct module *module, Dwarf_Die *cu)
{
	Dwarf_Off offset = dwarf_dieoffset(cu);
	struct scopes **known = tfind(&offset, &module->scopes, scopes_cmp), *scopes;
	struct scope *at;
	size_t i;

	if (known)
		return *known;
	scopes = calloc(1, sizeof(*scopes));
	if (!scopes)
		return NULL;
	scopes->cu = offset;
	if (!add_scopes(scopes, cu, 0) || !tsearch(scopes, &module->scopes, scopes_cmp)) {
		scopes_free(scopes);
		return NULL;
	}
	at = scopes->by_address.at;
	ns_array_sort(&scopes->by_address, scope_cmp);
	for (i = 1; i < scopes->by_address.nr; i++)
		at[i].around = scope_around(scopes, i - 1, at[i].from);
	return scopes;
}

/* ---- Make the frames of an address ---- */

static void line_of(Dwarf_Die *cu, Dwarf_Addr addr, struct nt_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, addr);

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &frame->line);
	dwarf_linediscriminator(line, &frame->discriminator);
}

/*
 * Set the name and the first line of a function. For an inlined function, the name and the line are
 * in the DIE to which DW_AT_abstract_origin refers.
 */
static void name_of(Dwarf_Die *die, struct nt_frame *frame)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	frame->function = dwarf_diename(die);
	frame->linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
	if (!frame->linkage)
		frame->linkage = frame->function;
	if (!dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attr), &value))
		frame->start = value;
}

/* Set the file and the line at which an inlined function is called. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct nt_frame *frame)
{
	Dwarf_Word value;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t nr;

	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &value))
		frame->line = value;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_GNU_discriminator, &attr), &value))
		frame->discriminator = value;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &value) &&
	    !dwarf_getsrcfiles(cu, &files, &nr) && value < nr)
		frame->file = dwarf_filesrc(files, value, NULL, NULL);
}

/*
 * Set the frames of an instruction, which are the inlined calls that contain the instruction and the
 * function that contains these calls. Return the number of frames, from 1 to @max.
 */
static size_t add_frames(const struct scopes *scopes, Dwarf_Die *cu, Dwarf_Addr addr, struct nt_frame *frames,
			 size_t max)
{
	size_t before = ns_lower_bound(scopes->by_address.nr, scopes->by_address.at[i].from <= addr), n = 0, nth;
	Dwarf_Die *die;

	nth = scope_around(scopes, before ? before - 1 : NO_SCOPE, addr);
	for (; nth != NO_SCOPE; nth = scopes->by_address.at[nth].around) {
		die = &scopes->by_address.at[nth].die;
		name_of(die, &frames[n]);
		frames[n].inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine && n + 1 < max;
		if (!frames[n++].inlined)
			return n;
		frames[n] = (struct nt_frame){ 0 };
		call_site(cu, die, &frames[n]);
	}
	/* add the frame of the function that contains the inlined code, which the debug information does not name */
	return n + 1;
}

static int name_cmp(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return ns_order(x->linkage, y->linkage);
}

/* Set the name of a function to its demangled linkage name, which has namespaces and parameters, if it has one. */
static void demangle(struct nt_lines *lines, struct nt_frame *frame)
{
	struct name wanted = { .linkage = frame->linkage }, **known, *name;

	if (!lines->session->options.demangle || !frame->linkage || frame->linkage == frame->function)
		return;
	known = tsearch(&wanted, &lines->names, name_cmp);
	if (known && *known == &wanted) {
		name = malloc(sizeof(*name));
		if (!name) {
			tdelete(&wanted, &lines->names, name_cmp);
			return;
		}
		*name = wanted;
		name->shown = lines->session->options.demangle(name->linkage);
		*known = name;
	}
	if (known && (*known)->shown)
		frame->function = (*known)->shown;
}

size_t nt_lines_at(struct nt_lines *lines, const char *object, uint64_t address,
		   struct nt_frame *frames, size_t max)
{
	struct module *module = object ? module_of(lines, object) : NULL;
	Dwarf_Addr bias = 0;
	struct scopes *scopes;
	Dwarf_Die *cu;
	size_t nr, i;

	frames[0] = (struct nt_frame){ 0 };
	if (!module || !module->dwfl)
		return 1;
	address = to_dwfl(module, address);
	cu = unit_of(module, address, &bias);
	if (!cu)
		return 1;
	address -= bias;
	line_of(cu, address, &frames[0]);
	scopes = scopes_of(module, cu);
	nr = scopes ? add_frames(scopes, cu, address, frames, max) : 1;
	for (i = 0; i < nr; i++)
		demangle(lines, &frames[i]);
	return nr;
}

/* ---- All lines of an object ---- */

struct each {
	int	(*fn)(void *ctx, const struct nt_line *line);
	void	*ctx;
	const struct module *module;
	Dwarf_Addr bias;	/* number that elfutils adds to addresses of DWARF data (module::dwarf_bias) */
	int	ret;
};

static bool line_is_before(Dwarf_Lines *lines, size_t nth, Dwarf_Addr address)
{
	Dwarf_Addr at;

	return !dwarf_lineaddr(dwarf_onesrcline(lines, nth), &at) && at < address;
}

/*
 * Return the first line that the line table has for a function's start @address, which is often the
 * line of the opening brace. Return 0 if it is in another file, or if it is already in the body.
 */
static int entry_of(Dwarf_Die *function, Dwarf_Addr address)
{
	const char *file = dwarf_decl_file(function), *other;
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	bool end, inside;
	Dwarf_Addr at;
	Dwarf_Die cu;
	size_t nr, nth;
	int number;

	if (!dwarf_diecu(function, &cu, NULL, NULL) || dwarf_getsrclines(&cu, &lines, &nr))
		return 0;
	for (nth = ns_lower_bound(nr, line_is_before(lines, i, address)); nth < nr; nth++) {
		line = dwarf_onesrcline(lines, nth);
		if (dwarf_lineaddr(line, &at) || at != address || dwarf_lineprologueend(line, &inside) || inside)
			return 0;
		/* skip an entry of the line table that only marks the end of the previous function at this address */
		if (dwarf_lineendsequence(line, &end) || end || dwarf_lineno(line, &number))
			continue;
		other = dwarf_linesrc(line, NULL, NULL);
		return file && other && !strcmp(file, other) ? number : 0;
	}
	return 0;
}

static int give_function(Dwarf_Die *die, void *ctx)
{
	struct each *each = ctx;
	struct nt_frame frame = { 0 };
	struct nt_line line;
	Dwarf_Addr low;

	if (dwarf_lowpc(die, &low))
		return DWARF_CB_OK;
	name_of(die, &frame);
	line = (struct nt_line){
		.file = dwarf_decl_file(die), .line = frame.start, .function = frame.linkage,
		.entry = entry_of(die, low),
		.address = from_dwfl(each->module, low + each->bias),
	};
	if (line.file && line.function)
		each->ret = each->fn(each->ctx, &line);
	return each->ret ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Return true if entry @nth of the line table, which is not the last entry, has no instruction. */
static bool is_empty(Dwarf_Lines *lines, size_t nth)
{
	Dwarf_Addr at, next;

	return !dwarf_lineaddr(dwarf_onesrcline(lines, nth), &at) &&
	       !dwarf_lineaddr(dwarf_onesrcline(lines, nth + 1), &next) && at == next;
}

static int give_lines(Dwarf_Die *cu, struct each *each)
{
	struct nt_line give = { 0 };
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	size_t nr, i;
	bool end;

	if (dwarf_getsrclines(cu, &lines, &nr))
		return 0;
	for (i = 0; i < nr && !each->ret; i++) {
		line = dwarf_onesrcline(lines, i);
		if (dwarf_lineendsequence(line, &end) || end || dwarf_lineno(line, &give.line) ||
		    give.line <= 0 || dwarf_lineaddr(line, &give.address) || (i + 1 < nr && is_empty(lines, i)))
			continue;
		give.file = dwarf_linesrc(line, NULL, NULL);
		give.address = from_dwfl(each->module, give.address + each->bias);
		each->ret = give.file ? each->fn(each->ctx, &give) : 0;
	}
	return each->ret;
}

int nt_lines_each(struct nt_lines *lines, const char *object,
		  int (*fn)(void *ctx, const struct nt_line *line), void *ctx)
{
	struct module *module = object ? module_of(lines, object) : NULL;
	struct each each = { .fn = fn, .ctx = ctx, .module = module };
	Dwarf_Die *cu = NULL;

	while (module && module->dwfl && (cu = dwfl_module_nextcu(module->dwfl, cu, &each.bias))) {
		if (give_lines(cu, &each))
			break;
		dwarf_getfuncs(cu, give_function, &each, 0);
		if (each.ret)
			break;
	}
	return each.ret;
}
