// SPDX-License-Identifier: GPL-2.0-only
/* Parse the options of a command, and print them as help (option.h). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "option.h"
#include "session/array.h"

#define OPTIONS_MAX	128
#define LABEL_WIDTH	21

/* ---- Errors ---- */

bool refuse(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("ntrace: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return false;
}

/* ---- Setters ---- */

bool option_text(const struct option_entry *option, const char *arg)
{
	*(const char **)option->to = arg;
	return true;
}

bool option_list(const struct option_entry *option, const char *arg)
{
	NS_ARRAY(const char *) *list = option->to;

	return ns_array_add(list, arg) || refuse("out of memory");
}

bool option_flag(const struct option_entry *option, const char *arg)
{
	return *(bool *)option->to = true;
}

bool option_value(const struct option_entry *option, const char *arg)
{
	*(uint32_t *)option->to = option->value;
	return true;
}

bool option_number(const struct option_entry *option, const char *arg)
{
	unsigned long *number = option->to;
	char *end;

	errno = 0;
	*number = strtoul(arg, &end, 10);
	if (end != arg && !*end && arg[0] != '-' && !errno && *number >= option->value)
		return true;
	return refuse("--%s is a number from %lu on, not '%s'", option->name,
		      (unsigned long)option->value, arg);
}

bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *value > max)
		return refuse("'%s' is not a number from 0 to %llu", text,
			      (unsigned long long)max);
	return true;
}

bool option_u32(const struct option_entry *option, const char *arg)
{
	uint64_t value;

	if (!parse_number(arg, option->value, &value))
		return false;
	*(uint32_t *)option->to = value;
	return true;
}

/* ---- Help ---- */

static void print_option(const struct option_entry *option)
{
	const char letter[] = { '-', option->letter, ',', ' ', '\0' }, *line = option->help, *arg = option->arg ?: "";
	char label[64];
	int n;

	snprintf(label, sizeof(label), "%s--%s%s%s", option->letter ? letter : "", option->name,
		 *arg && *arg != '[' ? " " : "", arg);
	for (;; line += n + 1) {
		n = strcspn(line, "\n");
		printf("  %-*s  %.*s\n", LABEL_WIDTH, label, n, line);
		if (!line[n])
			break;
		label[0] = '\0';
	}
}

/* Print the names of the options of a table, in lines of at most 80 columns. */
static void print_names(const struct option_entry *table)
{
	const struct option_entry *options = table->to;
	int n, at = 0;

	printf("\n%s\n", table->help);
	for (; options->name; options++) {
		n = 3 + strlen(options->name);
		printf("%s--%s", at && at + n < 80 ? " " : at ? "\n  " : "  ", options->name);
		at = at && at + n < 80 ? at + n : n + 1;
	}
	putchar('\n');
}

static int print_help(const char *usage, const struct option_entry *options)
{
	const struct option_entry *table = NULL;

	puts(usage);
	for (; options->name; options++) {
		if (options->set)
			print_option(options);
		else
			table = options;
	}
	if (table)
		print_names(table);
	return EXIT_CLEAN;
}

/* ---- Parse the command line ---- */

static int options_hint(const char *command)
{
	return usage_error("`%s --help` lists the options", command);
}

bool options_are_before_one_file(const char *command, int argc, char **argv)
{
	if (optind + 1 == argc)
		return true;
	if (optind == argc)
		fprintf(stderr, "ntrace: name a file (- is the standard input)\n");
	else
		fprintf(stderr, "ntrace: only one file can be given, so '%s' is one too many\n", argv[optind + 1]);
	options_hint(command);
	return false;
}

/* Copy the options of a command to @all, followed by the options of the table that OPTION_TABLE() includes. */
static void join_tables(const struct option_entry *options, struct option_entry *all)
{
	const struct option_entry *table = NULL;
	size_t nr = 0;

	for (; options->name && nr < OPTIONS_MAX; options++) {
		if (options->set)
			all[nr++] = *options;
		else
			table = options->to;
	}
	for (; table && table->name && nr < OPTIONS_MAX; table++)
		all[nr++] = *table;
}

/* Return the value that getopt_long() shall return for an option. */
static int value_of(const struct option_entry *options, size_t nth)
{
	return options[nth].letter ?: 256 + (int)nth;
}

static void list_options(const struct option_entry *options, struct option *list, char *letters)
{
	size_t i;

	for (i = 0; options[i].name && i < OPTIONS_MAX; i++) {
		list[i].name = options[i].name;
		list[i].has_arg = !options[i].arg ? no_argument :
				  *options[i].arg == '[' ? optional_argument : required_argument;
		list[i].val = value_of(options, i);
		if (options[i].letter)
			letters += sprintf(letters, options[i].arg ? "%c:" : "%c", options[i].letter);
	}
	list[i] = (struct option){ "help", no_argument, NULL, 'h' };
}

int options_parse(int argc, char **argv, const char *order, const char *usage, const struct option_entry *options)
{
	char letters[2 * OPTIONS_MAX + 3];
	struct option list[OPTIONS_MAX + 2] = { 0 };
	struct option_entry all[OPTIONS_MAX + 1] = { 0 };
	const struct option_entry *own = options;
	size_t i;
	int opt;

	join_tables(own, all);
	options = all;
	list_options(options, list, letters + sprintf(letters, "%sh", order));
	while ((opt = getopt_long(argc, argv, letters, list, NULL)) != -1) {
		if (opt == 'h')
			return print_help(usage, own);
		if (opt == '?')
			return options_hint(argv[0]);
		for (i = 0; value_of(options, i) != opt; )
			i++;
		if (!options[i].set(&options[i], optarg))
			return EXIT_USAGE;
	}
	return -1;
}
