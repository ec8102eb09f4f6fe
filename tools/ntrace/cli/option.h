/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of a command. The options of getopt_long() and the text of the help are made from the same table. */
#ifndef NTRACE_OPTION_H
#define NTRACE_OPTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct option_entry;

/* Store the argument of an option. Return false after an error, which was reported. */
typedef bool option_setter(const struct option_entry *option, const char *arg);

struct option_entry {
	char		letter;		/* short option; 0: none */
	const char	*name;
	/* name of the argument in the help; "[=N]" means that the argument may be left out; NULL: no argument */
	const char	*arg;
	option_setter	*set;
	void		*to;		/* object that @set changes */
	uint64_t	value;		/* value that @set stores, or limit of the argument */
	const char	*help;		/* lines of the help, separated by "\n" */
};

/* Setters of simple options. The macros below check the type of the object. A table of options ends with { 0 }. */
option_setter option_text, option_flag, option_value, option_number, option_u32;

/* Setter that adds the argument to an NS_ARRAY(const char *). */
option_setter option_list;

#define OPTION_TO(type, to)	(1 ? (to) : (type *)NULL)
#define OPTION_TEXT(letter, name, arg, to, help)	\
	{ letter, name, arg, option_text, OPTION_TO(const char *, to), 0, help }
#define OPTION_FLAG(letter, name, to, help)	{ letter, name, NULL, option_flag, OPTION_TO(bool, to), 0, help }
/* Option without argument that stores @value */
#define OPTION_VALUE(name, to, value, help)	{ 0, name, NULL, option_value, OPTION_TO(uint32_t, to), value, help }
/* Option that stores its argument, a number of at least @least */
#define OPTION_NUMBER(letter, name, arg, to, least, help)	\
	{ letter, name, arg, option_number, OPTION_TO(unsigned long, to), least, help }
/* Option that stores its argument, a number of at most @most in C notation */
#define OPTION_U32(name, arg, to, most, help)	{ 0, name, arg, option_u32, OPTION_TO(uint32_t, to), most, help }
#define OPTION_CALL(letter, name, arg, set, to, help)	{ letter, name, arg, set, to, 0, help }
/* Entry that includes the options of another table. The help only prints their names, after the text @help. */
#define OPTION_TABLE(table, help)	{ 0, "", NULL, NULL, table, 0, help }
/* One of several options that exclude each other. @set refuses a second one of them, and stores @value. */
#define OPTION_KIND(name, arg, set, to, value, help)	{ 0, name, arg, set, to, value, help }

/*
 * options_parse() - parse all options of a command
 * @order: "+" to end the options at the first argument that is not an option, otherwise ""
 * @usage: Text that --help prints before the options
 *
 * Return the exit status if the command must end, or -1 to continue.
 */
int options_parse(int argc, char **argv, const char *order, const char *usage, const struct option_entry *options);

/* Return true if exactly one argument follows the options. Otherwise report the error, and return false. */
bool options_are_before_one_file(const char *command, int argc, char **argv);

/*
 * refuse() - print "ntrace: ", a sentence about an error, and a newline. Return false.
 * usage_error() - print the same as refuse(). Return EXIT_USAGE.
 */
bool refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define usage_error(...)	({ refuse(__VA_ARGS__); EXIT_USAGE; })

/* Parse a number up to @max in C notation. Return false if the text is not a valid number. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

#endif /* NTRACE_OPTION_H */
