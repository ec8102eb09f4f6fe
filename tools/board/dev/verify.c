// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace verify compares a decoder's result with the truth files, in which the board records the
 * executed code. The input is either a list of PCs or ranges that a decoder printed, or a trace, which
 * ntrace verify decodes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "dev.h"
#include "cli/options.h"
#include "session/array.h"
#include "verify.h"

#define HARTS_MAX	64
#define LINE_MAX_LEN	512

struct verify {
	struct hart	*hart[HARTS_MAX];
	unsigned int	order[HARTS_MAX];	/* hart numbers in the order of the options */
	const char	*trace[HARTS_MAX];
	const char	*lost[HARTS_MAX];	/* for each trace, file with the offsets of its losses, or NULL */
	NS_ARRAY(const char *) elfs;
	struct options	options;
	unsigned int	default_cpu, n_harts, n_traces;
	const char	*decoded;
	uint64_t	line, unknown_cpu;
	bool		quiet;
};

/* ---- Parse the lines of a decoder's output ---- */

static char *skip_blanks(char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

static bool number(char **s, int base, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(*s, &end, base);
	if (end == *s || errno || **s == '-')
		return false;
	*s = end;
	return true;
}

/* Parse the CPU, such as "[003] " or "3 ", at the start of @s if other text follows. Return the other text. */
static char *get_cpu(char *s, unsigned int *cpu)
{
	bool bracket = *s == '[';
	char *p = s + bracket;
	uint64_t value;

	if (!number(&p, 10, &value) || value > 0xffff)
		return s;
	if (bracket ? *p != ']' : *p != ' ' && *p != '\t')
		return s;
	p = skip_blanks(p + bracket);
	if (!*p)
		return s;
	*cpu = value;
	return p;
}

/* Skip a time, such as "=123 " or ">123 ", which `ntrace decode --timestamp` prints. */
static char *skip_time(char *s)
{
	uint64_t value;
	char *p = s + 1;

	if ((*s == '=' || *s == '>') && number(&p, 10, &value) && *p == ' ')
		return skip_blanks(p);
	return s;
}

static bool begins(const char *s, const char *word)
{
	return !strncmp(s, word, strlen(word));
}

static bool pc_or_range(char *s, struct item *it)
{
	if (!number(&s, 16, &it->start))
		return false;
	if (!*s || !*skip_blanks(s))
		return true;
	it->kind = ITEM_RANGE;
	if (!strncmp(s, "..", 2))
		s += 2;
	else if (*s != ' ' && *s != '\t')
		return false;
	if (!number(&s, 16, &it->end))
		return false;
	s = skip_blanks(s);
	return number(&s, 10, &it->ninsn) && (!*s || *s == ' ' || *s == '\t');
}

/*
 * Parse a line. Return 1 if @it was filled in, 0 if the line has no item, and -1 if the line is not valid.
 * A line that begins with another word than the function knows, such as "context", has no item. This does not
 * hide an error, because the comparison reports the code of an ignored line as missing.
 */
static int parse_line(struct verify *v, char *s, struct item *it)
{
	*it = (struct item){ .kind = ITEM_PC, .cpu = v->default_cpu };
	s[strcspn(s, "\r\n")] = '\0';
	s = skip_blanks(s);
	if (!*s || *s == '#')
		return 0;
	s = skip_time(get_cpu(s, &it->cpu));
	if (pc_or_range(s, it))
		return 1;
	if (begins(s, "lost"))
		it->kind = ITEM_LOST;
	else if (begins(s, "gap") || begins(s, "error"))
		it->kind = ITEM_GAP;
	else if (begins(s, "start"))
		it->kind = ITEM_START;
	else
		return (*s | 0x20) >= 'a' && (*s | 0x20) <= 'z' ? 0 : -1;
	return 1;
}

static void take(struct verify *v, const struct item *it)
{
	struct hart *h = it->cpu < HARTS_MAX ? v->hart[it->cpu] : NULL;

	if (!h) {
		v->unknown_cpu++;
		return;
	}
	h->where = v->line;
	hart_take(h, it);
}

static int read_decoded(struct verify *v)
{
	FILE *f = strcmp(v->decoded, "-") ? fopen(v->decoded, "r") : stdin;
	char line[LINE_MAX_LEN];
	struct item it;
	int rc = 0;

	if (!f) {
		fprintf(stderr, "ntrace verify: '%s': %s\n", v->decoded, strerror(errno));
		return -1;
	}
	while (!rc && fgets(line, sizeof(line), f)) {
		v->line++;
		switch (parse_line(v, line, &it)) {
		case 1:
			take(v, &it);
			break;
		case -1:
			fprintf(stderr, "ntrace verify: %s:%llu: expected a PC or a range: %.60s\n",
				v->decoded, (unsigned long long)v->line, line);
			rc = -1;
		}
	}
	if (f != stdin)
		fclose(f);
	return rc;
}

/* ---- The command ---- */

static const char usage[] =
	"usage: ntrace verify --truth FILE [--truth FILE ...] --decoded FILE\n"
	"       ntrace verify --truth FILE --trace FILE [--truth FILE --trace FILE ...] [OPTIONS]\n";

static bool add_truth(const struct option_entry *option, const char *path)
{
	struct verify *v = option->to;
	unsigned int number = 0;
	struct hart *h = hart_open(path, &number);

	if (!h)
		return false;
	if (number >= HARTS_MAX || v->hart[number]) {
		fprintf(stderr, "ntrace verify: '%s': the number of its hart is not valid, or another truth file is for the same hart\n",
			path);
		hart_close(h);
		return false;
	}
	if (!v->n_harts)
		v->default_cpu = number;
	v->order[v->n_harts++] = number;
	v->hart[number] = h;
	return true;
}

static bool add_trace(const struct option_entry *option, const char *path)
{
	struct verify *v = option->to;

	if (v->n_traces == HARTS_MAX)
		return false;
	v->trace[v->n_traces++] = path;
	return true;
}

static bool add_lost(const struct option_entry *option, const char *path)
{
	struct verify *v = option->to;

	if (!v->n_traces) {
		fputs("ntrace verify: --lost must follow the --trace whose losses it has\n", stderr);
		return false;
	}
	v->lost[v->n_traces - 1] = path;
	return true;
}

static int parse(struct verify *v, int argc, char **argv)
{
	const struct option_entry options[] = {
		OPTION_CALL(0, "truth", "FILE", add_truth, v,
			    "truth of one hart, as the board writes it; once for each hart"),
		OPTION_TEXT(0, "decoded", "FILE", &v->decoded,
			    "the decoded instructions, one line each; - is stdin:\n"
			    "  [CPU] PC, [CPU] START END NINSN, [CPU] START..END NINSN,\n"
			    "  [CPU] gap (trace is lost here), [CPU] start (the trace restarts);\n"
			    "the output of `ntrace decode` or `perf script -F cpu,ip` also works"),
		OPTION_U32("cpu", "N", &v->default_cpu, UINT32_MAX, "the CPU of lines without one (the first truth's)"),
		OPTION_CALL(0, "trace", "FILE", add_trace, v,
			    "instead of --decoded, a trace; one for each truth, in this order"),
		OPTION_CALL(0, "lost", "FILE", add_lost, v,
			    "offsets in the previous --trace after which trace is missing"),
		OPTION_CALL(0, "elf", "ELF[@OFFSET]", option_list, &v->elfs, "code for --trace, which has precedence over the code in the truth"),
		OPTION_FLAG(0, "quiet", &v->quiet, "only the last line"),
		COMMON_OPTIONS(&v->options), { 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (!options_are_of_one_stream(&v->options))
		return EXIT_USAGE;
	if (optind == argc && v->n_harts && !!v->decoded != !!v->n_traces &&
	    (!v->n_traces || v->n_traces == v->n_harts))
		return -1;
	fputs("ntrace verify: give --truth, and --decoded or one --trace for each truth\n",
	      stderr);
	return EXIT_USAGE;
}

static void print_hart(unsigned int number, const struct hart *h, bool quiet)
{
	if (!quiet)
		printf("hart %u: %llu instructions compared, %llu gaps with %llu instructions, %llu missing outside gaps\n",
		       number, (unsigned long long)h->compared, (unsigned long long)h->gaps,
		       (unsigned long long)h->lost_declared, (unsigned long long)h->missing);
	if (h->differs)
		printf("hart %u: first difference: %s\n", number, h->difference);
	if (h->errors)
		printf("hart %u: %llu errors and gaps while decoding\n", number,
		       (unsigned long long)h->errors);
}

static bool report(struct verify *v)
{
	uint64_t compared = 0, gaps = 0, lost = 0, missing = 0, differences = 0, errors = 0;
	unsigned int i;

	for (i = 0; i < HARTS_MAX; i++) {
		struct hart *h = v->hart[i];

		if (!h)
			continue;
		hart_finish(h);
		print_hart(i, h, v->quiet);
		compared += h->compared;
		gaps += h->gaps;
		lost += h->lost_declared;
		missing += h->missing;
		differences += h->differs;
		errors += h->errors;
	}
	if (v->unknown_cpu)
		printf("%llu lines of --decoded are not compared, because no --truth is of their CPU\n",
		       (unsigned long long)v->unknown_cpu);
	printf("%llu instructions compared, %llu differences, ", (unsigned long long)compared,
	       (unsigned long long)differences);
	printf("%llu gaps declared with %llu instructions, %llu missing outside gaps\n",
	       (unsigned long long)gaps, (unsigned long long)lost, (unsigned long long)missing);
	return !differences && !missing && !errors && !v->unknown_cpu;
}

static bool decode_traces(struct verify *v)
{
	unsigned int i;

	for (i = 0; i < v->n_traces; i++)
		if (!verify_trace(v->hart[v->order[i]], v->trace[i], v->lost[i], &v->options,
				  v->elfs.at, v->elfs.nr))
			return false;
	return true;
}

int cmd_verify(int argc, char **argv)
{
	struct verify *v = calloc(1, sizeof(*v));
	unsigned int i;
	bool done;
	int rc;

	if (!v)
		return EXIT_TRACE;
	options_init(&v->options);
	rc = parse(v, argc, argv);
	if (rc < 0) {
		done = v->decoded ? !read_decoded(v) : decode_traces(v);
		if (!done)
			rc = EXIT_USAGE;
		else
			rc = report(v) ? EXIT_CLEAN : EXIT_TRACE;
	}
	for (i = 0; i < HARTS_MAX; i++)
		hart_close(v->hart[i]);
	free(v->elfs.at);
	free(v);
	return rc;
}
