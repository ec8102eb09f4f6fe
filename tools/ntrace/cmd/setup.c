// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace setup - write a script with which a debugger programs trace components and reads the trace.
 *
 * A script begins with definitions of a few commands, which differ between gdb and OpenOCD. Then the script has
 * steps, which are lines "ntrace_write ADDRESS VALUE" and "ntrace_wait ADDRESS MASK VALUE". The steps are the same
 * for gdb and OpenOCD. They follow the Trace Control Interface, chapters "Reset and Discovery" and "Enabling and
 * Disabling".
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "cli/option.h"

static const char usage[] =
	"usage: ntrace setup --gdb|--openocd [OPTIONS] COMPONENT ...\n\n"
	"Write a script for a debugger. Its command ntrace_start programs the trace components of a board\n"
	"that has the registers of the Trace Control Interface, and ntrace_save FILE stops the trace and\n"
	"writes it to FILE. A COMPONENT is one argument:\n"
	"  'encoder NAME ADDRESS [hart=N] to=NAME'\n"
	"  'funnel NAME ADDRESS to=NAME'\n"
	"  'ramsink NAME ADDRESS'\n";

#define MAX_COMPONENTS	64
#define MAX_SRC		0xfff
#define PAGE		4096

/* The order in which components are programmed */
enum kind { RAMSINK, FUNNEL, ENCODER, KINDS, ANY };

static const char *const kinds[] = { "ramsink", "funnel", "encoder" };
static const char *const prefixes[] = { "trRam", "trFunnel", "trTe" };	/* for the names of registers and fields */

struct component {
	enum kind	kind;
	char		name[32], to[32];
	uint64_t	address;
	unsigned int	hart;		/* number of an encoder's hart, which is the value of its SRC field */
	/* number of components from this one to the sink, with both; 0: not connected to the sink */
	unsigned int	far;
};

struct setup {
	bool		gdb, openocd, stop_on_wrap;
	const char	*buffer;
	uint32_t	timestamp, sync_mode, sync_max;
	uint64_t	start, size;	/* address and bytes of the sink's buffer in memory; @size is 0 for a sink with SRAM */
	unsigned int	src_bits, nr;
	struct component components[MAX_COMPONENTS];
};

/* Values of registers that depend on the options and the component */
enum field { NONE, CONTROL, START_LOW, START_HIGH, LIMIT_LOW, LIMIT_HIGH, SRC, TS_MODE };

enum { ALWAYS, SMEM, TIMESTAMP };	/* print a step always, only for a sink in memory, or only with timestamps */

/*
 * A step of the script. If @mask is 0, the step writes @value and @field to a register. Otherwise the step waits until
 * the masked bits of the register equal @value.
 */
struct step {
	enum kind	kind;
	/* name of the register; the prefix of @kind is added to a name that does not begin with "tr" */
	const char	*name;
	unsigned int	offset;
	uint32_t	mask, value;
	enum field	field;
	int		when;
};

#define WRITE(kind, name, offset, value, field, when)		{ kind, name, offset, 0, value, field, when }
#define WAIT(kind, name, offset, mask, value, field, when)	{ kind, name, offset, mask, value, field, when }

static const struct step off_step = WRITE(ENCODER, "Control: stop the trace before its way changes", 0x000, 0, NONE, ALWAYS);

static const struct step start_steps[] = {
	WRITE(ANY, "Control", 0x000, 0, NONE, ALWAYS),
	WAIT(ANY, "Active is 0", 0x000, 0x1, 0, NONE, ALWAYS),
	WRITE(ANY, "Control", 0x000, 0x1, NONE, ALWAYS),
	WAIT(ANY, "Active is 1", 0x000, 0x1, 0x1, NONE, ALWAYS),
	WAIT(RAMSINK, "Impl is that of a RAM sink of version 1", 0x004, 0xf0f, 0x901, NONE, ALWAYS),
	WAIT(FUNNEL, "Impl is that of a funnel of version 1", 0x004, 0xf0f, 0x801, NONE, ALWAYS),
	WAIT(ENCODER, "Impl is that of an encoder of version 1 with a protocol of version 1", 0x004, 0xf0f0f, 0x10101,
	     NONE, ALWAYS),
	WAIT(RAMSINK, "Empty is 1", 0x000, 0x8, 0x8, NONE, ALWAYS),
	WRITE(ANY, "Control", 0x000, 0x1, CONTROL, ALWAYS),
	WAIT(RAMSINK, "Mode and trRamStopOnWrap are as written", 0x000, 0x110, 0, CONTROL, ALWAYS),
	WRITE(RAMSINK, "StartLow", 0x010, 0, START_LOW, SMEM),
	WRITE(RAMSINK, "StartHigh", 0x014, 0, START_HIGH, SMEM),
	WRITE(RAMSINK, "LimitLow", 0x018, 0xffc, LIMIT_LOW, SMEM),
	WRITE(RAMSINK, "LimitHigh", 0x01c, 0, LIMIT_HIGH, SMEM),
	WAIT(RAMSINK, "StartLow is that of the buffer", 0x010, 0xffffffff, 0, START_LOW, ALWAYS),
	WAIT(RAMSINK, "StartHigh is that of the buffer", 0x014, 0xffffffff, 0, START_HIGH, ALWAYS),
	WAIT(RAMSINK, "LimitLow is in the last page of the buffer", 0x018, 0xfffff000, 0, LIMIT_LOW, SMEM),
	WAIT(RAMSINK, "LimitHigh is that of the buffer", 0x01c, 0xffffffff, 0, LIMIT_HIGH, SMEM),
	WRITE(RAMSINK, "WPHigh", 0x024, 0, START_HIGH, ALWAYS),
	WRITE(RAMSINK, "WPLow", 0x020, 0, START_LOW, ALWAYS),
	WRITE(FUNNEL, "DisInput", 0x008, 0, NONE, ALWAYS),
	WRITE(FUNNEL, "trTsControl", 0x040, 0, NONE, ALWAYS),
	WAIT(ENCODER, "Format, trTeInstSyncMode and trTeInstSyncMax are as written", 0x000, 0x7f30000, 0, CONTROL, ALWAYS),
	WRITE(ENCODER, "InstFeatures", 0x008, 0, SRC, ALWAYS),
	WAIT(ENCODER, "SrcID and trTeSrcBits are as written", 0x008, 0xffff0000, 0, SRC, ALWAYS),
	WRITE(ENCODER, "InstFilters", 0x00c, 0, NONE, ALWAYS),
	WRITE(ENCODER, "DataControl", 0x010, 0, NONE, ALWAYS),
	WRITE(ENCODER, "DataFilters", 0x01c, 0, NONE, ALWAYS),
	WRITE(ENCODER, "TrigDbgControl", 0x050, 0, NONE, ALWAYS),
	WRITE(ENCODER, "TrigExtInControl", 0x054, 0, NONE, ALWAYS),
	WRITE(ENCODER, "TrigExtOutControl", 0x058, 0, NONE, ALWAYS),
	WRITE(ENCODER, "trTsControl", 0x040, 0, NONE, ALWAYS),
	WRITE(ENCODER, "trTsControl", 0x040, 0x1, NONE, TIMESTAMP),
	WAIT(ENCODER, "trTsActive is 1", 0x040, 0x1, 0x1, NONE, TIMESTAMP),
	WRITE(ENCODER, "trTsControl", 0x040, 0x8003, TS_MODE, TIMESTAMP),
	WAIT(ENCODER, "trTsMode and trTsEnable are as written", 0x040, 0x8070, 0x8000, TS_MODE, TIMESTAMP),
	WRITE(ANY, "Control", 0x000, 0x3, CONTROL, ALWAYS),
	WAIT(ANY, "Enable is 1", 0x000, 0x2, 0x2, NONE, ALWAYS),
	WRITE(ENCODER, "Control, now with trTeInstTracing", 0x000, 0x7, CONTROL, ALWAYS),
};

static const struct step stop_steps[] = {
	WRITE(ANY, "Control", 0x000, 0x1, CONTROL, ALWAYS),
	WAIT(ANY, "Enable is 0 and Empty is 1", 0x000, 0xa, 0x8, NONE, ALWAYS),
};

#define START_STEPS	(sizeof(start_steps) / sizeof(*start_steps))
#define STOP_STEPS	(sizeof(stop_steps) / sizeof(*stop_steps))

/*
 * Definitions of gdb commands at the start of the script, which its other lines call. ntrace_drain reads trRamWP, and
 * saves SIZE bytes at START, or the SRAM if SIZE is 0.
 */
static const char gdb_commands[] =
	"define ntrace_write\n"
	"  set {unsigned int}($arg0) = $arg1\n"
	"end\n"
	"define ntrace_read\n"
	"  set $ntrace_value = {unsigned int}($arg0)\n"
	"end\n"
	"define ntrace_poll\n"
	"  set $ntrace_tries = 0\n"
	"  ntrace_read $arg0\n"
	"  while ($ntrace_value & $arg1) != $arg2 && $ntrace_tries < 100\n"
	"    set $ntrace_tries = $ntrace_tries + 1\n"
	"    ntrace_read $arg0\n"
	"  end\n"
	"  if ($ntrace_value & $arg1) != $arg2\n"
	"    printf \"ntrace: the register at %#lx is %#x, whose bits %#x must be %#x\\n\", (long)$arg0, $ntrace_value, $arg1, $arg2\n"
	"  end\n"
	"end\n"
	"define ntrace_wait\n"
	"  ntrace_poll $arg0 $arg1 $arg2\n"
	"  if ($ntrace_value & $arg1) != $arg2\n"
	"    ntrace_failed\n"
	"  end\n"
	"end\n"
	"define ntrace_drain\n"
	"  ntrace_read $arg1+0x20\n"
	"  set $ntrace_wrapped = $ntrace_value & 1\n"
	"  set $ntrace_used = (unsigned int)(($ntrace_value & 0xfffffffc) - $arg2)\n"
	"  if !$ntrace_wrapped && !$ntrace_used\n"
	"    printf \"ntrace: the sink has no trace\\n\"\n"
	"  else\n"
	"    if $arg3 && $ntrace_wrapped\n"
	"      dump binary memory $arg0 $arg2 $arg2+$arg3\n"
	"      printf \"ntrace: the buffer wrapped around, so read its file with --middle --wrapped-at %u\\n\", $ntrace_used\n"
	"    end\n"
	"    if $arg3 && !$ntrace_wrapped\n"
	"      dump binary memory $arg0 $arg2 $arg2+$ntrace_used\n"
	"    end\n"
	"    if !$arg3\n"
	"      set $ntrace_left = $ntrace_used\n"
	"      ntrace_write $arg1+0x28 0\n"
	"      if $ntrace_wrapped\n"
	"        printf \"ntrace: the buffer wrapped around, so read its file with --middle\\n\"\n"
	"        ntrace_write $arg1+0x28 $ntrace_used\n"
	"        ntrace_read $arg1+0x18\n"
	"        set $ntrace_left = $ntrace_value + 4\n"
	"      end\n"
	"      ntrace_read $arg1+0x40\n"
	"      dump binary value $arg0 $ntrace_value\n"
	"      while $ntrace_left > 4\n"
	"        ntrace_read $arg1+0x40\n"
	"        append binary value $arg0 $ntrace_value\n"
	"        set $ntrace_left = $ntrace_left - 4\n"
	"      end\n"
	"    end\n"
	"  end\n"
	"end\n";

static const char openocd_commands[] =
	"proc ntrace_write {address value} { mww $address $value }\n"
	"proc ntrace_read {address} { return [read_memory $address 32 1] }\n"
	"proc ntrace_poll {address mask value} {\n"
	"  for {set tries 0} {$tries <= 100} {incr tries} {\n"
	"    set read [ntrace_read $address]\n"
	"    if {($read & $mask) == $value} { return 1 }\n"
	"  }\n"
	"  echo \"ntrace: the register at $address is $read, whose bits $mask must be $value\"\n"
	"  return 0\n"
	"}\n"
	"proc ntrace_wait {address mask value} {\n"
	"  if {![ntrace_poll $address $mask $value]} { error \"ntrace_failed\" }\n"
	"}\n"
	"proc ntrace_drain {file sink start size} {\n"
	"  set wp [ntrace_read [expr {$sink + 0x20}]]\n"
	"  set wrapped [expr {$wp & 1}]\n"
	"  set used [expr {(($wp & 0xfffffffc) - $start) & 0xffffffff}]\n"
	"  if {!$wrapped && !$used} { echo \"ntrace: the sink has no trace\"; return }\n"
	"  if {$size} {\n"
	"    if {$wrapped} { echo \"ntrace: the buffer wrapped around, so read its file with --middle --wrapped-at $used\" }\n"
	"    dump_image $file $start [expr {$wrapped ? $size : $used}]\n"
	"    return\n"
	"  }\n"
	"  if {$wrapped} { echo \"ntrace: the buffer wrapped around, so read its file with --middle\" }\n"
	"  ntrace_write [expr {$sink + 0x28}] [expr {$wrapped ? $used : 0}]\n"
	"  set left [expr {$wrapped ? [ntrace_read [expr {$sink + 0x18}]] + 4 : $used}]\n"
	"  set to [open $file wb]\n"
	"  for {} {$left > 0} {incr left -4} {\n"
	"    pack word [ntrace_read [expr {$sink + 0x40}]] -intle 32\n"
	"    puts -nonewline $to $word\n"
	"  }\n"
	"  close $to\n"
	"}\n";

/* ---- Components ---- */

static bool parse_word(struct component *c, const char *word)
{
	uint64_t hart;

	if (!strncmp(word, "to=", 3) && strlen(word + 3) < sizeof(c->to))
		strcpy(c->to, word + 3);
	else if (!strncmp(word, "hart=", 5)) {
		if (!parse_number(word + 5, MAX_SRC, &hart))
			return false;
		c->hart = hart;
	}
	return true;
}

/*
 * Parse a line "KIND NAME ADDRESS [KEY=VALUE]...", and add the component. Words that the script does not need,
 * such as irq=5, are ignored.
 */
static bool parse_component(struct setup *s, char *line)
{
	struct component *c = &s->components[s->nr];
	char *save, *kind = strtok_r(line, " \t\n", &save), *name = kind ? strtok_r(NULL, " \t\n", &save) : NULL;
	char *address = name ? strtok_r(NULL, " \t\n", &save) : NULL, *word;

	while (kind && c->kind < KINDS && strcmp(kind, kinds[c->kind]))
		c->kind++;
	if (!address || c->kind == KINDS || strlen(name) >= sizeof(c->name))
		return refuse("a component is 'encoder|funnel|ramsink NAME ADDRESS [hart=N] [to=NAME]', not '%s%s%s'",
			      kind ?: "", name ? " " : "", name ?: "");
	if (s->nr == MAX_COMPONENTS - 1)
		return refuse("there are more than %d components", MAX_COMPONENTS - 1);
	strcpy(c->name, name);
	if (!parse_number(address, UINT64_MAX, &c->address))
		return false;
	if (c->address % PAGE)
		return refuse("'%s' is no address of a component, which is a multiple of %d", address, PAGE);
	while ((word = strtok_r(NULL, " \t\n", &save)))
		if (!parse_word(c, word))
			return false;
	s->nr++;
	return true;
}

/*
 * Set component::far of each component. Return false if there is not exactly one sink, or if a component is not
 * connected to the sink.
 */
static bool connect(struct setup *s)
{
	unsigned int i, k, round, sinks = 0, encoders = 0, most = 0;
	struct component *c;

	for (i = 0; i < s->nr; i++) {
		c = &s->components[i];
		c->far = c->kind == RAMSINK;
		sinks += c->kind == RAMSINK;
		encoders += c->kind == ENCODER;
		most = c->kind == ENCODER && c->hart > most ? c->hart : most;
	}
	if (sinks != 1 || !encoders)
		return refuse("a script is for the encoders of one RAM sink: there are %u sinks and %u encoders", sinks, encoders);
	for (round = 0; round < s->nr; round++)
		for (i = 0; i < s->nr; i++)
			for (c = &s->components[i], k = 0; !c->far && k < s->nr; k++)
				if (!strcmp(c->to, s->components[k].name) && s->components[k].far &&
				    s->components[k].kind != ENCODER)
					c->far = s->components[k].far + 1;
	for (i = 0; i < s->nr; i++)
		if (!s->components[i].far)
			return refuse("%s leads to '%s', from where no way leads to the sink", s->components[i].name,
				      s->components[i].to);
	while (encoders > 1 && most >> s->src_bits)
		s->src_bits++;
	return true;
}

static bool parse_buffer(struct setup *s)
{
	const char *comma = s->buffer ? strchr(s->buffer, ',') : NULL;
	char *end;

	if (!s->buffer)
		return true;
	s->start = strtoull(s->buffer, &end, 0);
	if (comma && end == comma && parse_number(comma + 1, 1U << 31, &s->size) && s->size && !(s->size % PAGE) &&
	    !(s->start % PAGE) && s->start + s->size > s->start)
		return true;
	return refuse("--buffer expects START,SIZE of up to 2 GiB, both multiples of 4096, such as 0x82000000,0x100000, not '%s'", s->buffer);
}

/* ---- Script ---- */

static uint32_t field_value(const struct setup *s, const struct component *c, enum field field)
{
	const uint32_t control[] = {
		[RAMSINK] = (s->size ? 0x10 : 0) | s->stop_on_wrap << 8,
		/* trTeFormat 1, N-Trace, and trTeInstMode 6, HTM; an encoder without HTM chooses another mode */
		[ENCODER] = 0x1000060 | s->sync_mode << 16 | s->sync_max << 20,
	};
	uint64_t limit = s->start + s->size - PAGE;
	const uint32_t values[] = {
		[CONTROL] = control[c->kind], [START_LOW] = s->start, [START_HIGH] = s->start >> 32, [LIMIT_LOW] = limit,
		[LIMIT_HIGH] = limit >> 32, [SRC] = s->src_bits ? s->src_bits << 28 | c->hart << 16 : 0,
		[TS_MODE] = s->timestamp << 4,
	};

	return values[field];
}

static void print_step(const struct setup *s, const struct component *c, const struct step *step, const char *wait)
{
	const char *prefix = strncmp(step->name, "tr", 2) ? prefixes[c->kind] : "";
	uint32_t value = step->value | field_value(s, c, step->field);

	if ((step->when == SMEM && !s->size) || (step->when == TIMESTAMP && !s->timestamp))
		return;
	if (step->mask)
		printf("  # %s: wait until %s%s\n  %s %#" PRIx64 " %#x %#x\n", c->name, prefix, step->name, wait,
		       c->address + step->offset, step->mask, value & step->mask);
	else
		printf("  # %s: write %s%s\n  ntrace_write %#" PRIx64 " %#x\n", c->name, prefix, step->name,
		       c->address + step->offset, value);
}

/*
 * Print the register accesses @steps for each component that has the kind @kind, and whose distance to the sink,
 * component::far, is @far.
 */
static void print_steps(const struct setup *s, const struct step *steps, size_t nr, enum kind kind, unsigned int far)
{
	/* do not end the script if a stop does not complete, because the script then saves the trace */
	const char *wait = steps == stop_steps ? "ntrace_poll" : "ntrace_wait";
	const struct component *c;
	size_t k;

	for (c = s->components; c < s->components + s->nr; c++)
		for (k = 0; k < nr && c->kind == kind && c->far == far; k++)
			if (steps[k].kind == kind || steps[k].kind == ANY)
				print_step(s, c, &steps[k], wait);
}

static void print_start(const struct setup *s)
{
	unsigned int far;
	int kind;

	for (far = 1; far <= s->nr; far++)
		print_steps(s, &off_step, 1, ENCODER, far);
	for (kind = RAMSINK; kind < KINDS; kind++)
		for (far = 1; far <= s->nr; far++)
			print_steps(s, start_steps, START_STEPS, kind, far);
}

static void print_stop(const struct setup *s)
{
	unsigned int far;
	int kind;

	for (kind = ENCODER; kind >= RAMSINK; kind--)
		for (far = s->nr; far; far--)
			print_steps(s, stop_steps, STOP_STEPS, kind, far);
}

static void print_script(const struct setup *s)
{
	const struct component *sink = s->components;

	while (sink->kind != RAMSINK)
		sink++;
	printf("# Commands for %s, written by ntrace setup. Run ntrace_start, let the program run, stop it, and run\n"
	       "# ntrace_save FILE. Then, for example: ntrace report --raw FILE --elf PROGRAM", s->gdb ? "gdb" : "OpenOCD");
	if (s->src_bits)
		printf(" --src-bits %u", s->src_bits);
	printf("%s\n\n%s\n%s\n", s->timestamp ? " --timestamp" : "", s->gdb ? gdb_commands : openocd_commands,
	       s->gdb ? "define ntrace_start" : "proc ntrace_start {} {");
	print_start(s);
	printf("%s\n", s->gdb ? "end\ndefine ntrace_save" : "}\nproc ntrace_save {arg0} {");
	print_stop(s);
	printf("  ntrace_drain $arg0 %#" PRIx64 " %#" PRIx64 " %#" PRIx64 "\n%s\n", sink->address, s->start, s->size,
	       s->gdb ? "end" : "}");
}

int cmd_setup(int argc, char **argv)
{
	struct setup s = { .sync_mode = 1, .sync_max = 4 };
	const struct option_entry options[] = {
		OPTION_FLAG(0, "gdb", &s.gdb, "commands of gdb"),
		OPTION_FLAG(0, "openocd", &s.openocd, "procedures of OpenOCD 0.12 or later"),
		OPTION_TEXT(0, "buffer", "START,SIZE", &s.buffer,
			    "memory that the sink may overwrite (without: the sink's own memory)"),
		OPTION_FLAG(0, "stop-on-wrap", &s.stop_on_wrap, "keep the start of the trace, not its end"),
		OPTION_U32("timestamp", "1|2|3", &s.timestamp, 3, "trTsMode: 1 external, 2 system, 3 core (no timestamps)"),
		OPTION_U32("sync-mode", "1|2|3", &s.sync_mode, 3, "trTeInstSyncMode: 1 messages, 2 cycles, 3 half-words (1)"),
		OPTION_U32("sync-max", "N", &s.sync_max, 15, "trTeInstSyncMax: a SYNC after 2^(N+4) of these (4)"),
		{ 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (s.gdb == s.openocd)
		return usage_error("setup needs either --gdb or --openocd");
	if (optind == argc)
		return usage_error("setup needs the components of the board; `ntrace help setup` says how to write them");
	while (optind < argc)
		if (!parse_component(&s, argv[optind++]))
			return EXIT_USAGE;
	if (!parse_buffer(&s) || !connect(&s))
		return EXIT_USAGE;
	print_script(&s);
	return EXIT_CLEAN;
}
