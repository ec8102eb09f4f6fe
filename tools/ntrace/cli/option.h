/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of a command. One table makes the options of getopt_long() and the help. */
#ifndef NTRACE_OPTION_H
#define NTRACE_OPTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct option_entry;

/* Take the argument of an option. Return false if it is invalid, which was reported. */
typedef bool option_setter(const struct option_entry *option, const char *arg);

struct option_entry {
	char		letter;		/* short option; 0: none */
	const char	*name;
	const char	*arg;		/* argument in the help; "[=N]" may be left out; NULL: none */
	option_setter	*set;
	void		*to;		/* object that @set changes */
	uint64_t	value;		/* value that @set stores, or a limit */
	const char	*help;		/* lines, separated by "\n" */
};

/* Setters of simple options, and macros that check the type of the object. A table ends with { 0 }. */
option_setter option_text, option_flag, option_value, option_number, option_u32;

/* Add the argument to an NS_ARRAY(const char *). */
option_setter option_list;

#define OPTION_TO(type, to)	(1 ? (to) : (type *)NULL)
#define OPTION_TEXT(letter, name, arg, to, help)	\
	{ letter, name, arg, option_text, OPTION_TO(const char *, to), 0, help }
#define OPTION_FLAG(letter, name, to, help)	{ letter, name, NULL, option_flag, OPTION_TO(bool, to), 0, help }
/* Store @value. */
#define OPTION_VALUE(name, to, value, help)	{ 0, name, NULL, option_value, OPTION_TO(uint32_t, to), value, help }
/* Store a number of at least @least. */
#define OPTION_NUMBER(letter, name, arg, to, least, help)	\
	{ letter, name, arg, option_number, OPTION_TO(unsigned long, to), least, help }
/* Store a number of at most @most, in C notation. */
#define OPTION_U32(name, arg, to, most, help)	{ 0, name, arg, option_u32, OPTION_TO(uint32_t, to), most, help }
#define OPTION_CALL(letter, name, arg, set, to, help)	{ letter, name, arg, set, to, 0, help }
/* The options of another table, of which the help prints only the names, after the text @help. */
#define OPTION_TABLE(table, help)	{ 0, "", NULL, NULL, table, 0, help }
/* Options that exclude each other are calls with values. */
#define OPTION_KIND(name, arg, set, to, value, help)	{ 0, name, arg, set, to, value, help }

/*
 * options_parse() - parse all options of a command
 * @order: "+" to end the options at the first other argument, else ""
 * @usage: Text that --help prints before the options
 *
 * Return the exit status if the command must end, or -1 to continue.
 */
int options_parse(int argc, char **argv, const char *order, const char *usage, const struct option_entry *options);

/* Return false unless exactly one argument follows the options, after reporting it. */
bool options_are_before_one_file(const char *command, int argc, char **argv);

/*
 * refuse() - print a sentence about an error after "ntrace: ", and a newline. Return false.
 * usage_error() - the same. Return EXIT_USAGE.
 */
bool refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Parse a number up to @max in C notation. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

#endif /* NTRACE_OPTION_H */
