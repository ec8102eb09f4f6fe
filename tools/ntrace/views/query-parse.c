// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse the language of `ntrace query`, which has these rules. One function parses each rule.
 *
 *	query		all { "or" all }
 *	all		one { one }
 *	one		"not" one | ("in" | "has" | "after" | "before") one | "(" query ")" | condition
 *	condition	pattern | field compare value
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "query.h"

#define CONDITIONS_MAX	1000
#define NOT_IN_WORDS	"()\"=!<>"
#define CONDITIONS	"a function such as main, a comparison such as ns>1ms, in, has, after, before, not or ("

struct parser {
	const char	*text, *at;
	unsigned int	nr;		/* number of conditions that were parsed so far */
	struct query_error *error;
};

static const struct field {
	const char	*name;
	enum query_kind	kind;
} fields[] = {
	{ "function", QUERY_FUNCTION }, { "caller", QUERY_CALLER }, { "object", QUERY_OBJECT }, { "comm", QUERY_COMM },
	{ "ns", QUERY_NS }, { "insns", QUERY_INSNS }, { "depth", QUERY_DEPTH }, { "time", QUERY_TIME },
	{ "cpu", QUERY_CPU }, { "tid", QUERY_TID }, { "pid", QUERY_PID }, { 0 }
}, operators[] = {
	{ "not", QUERY_NOT }, { "in", QUERY_IN }, { "has", QUERY_HAS }, { "after", QUERY_AFTER },
	{ "before", QUERY_BEFORE }, { 0 }
};

static const struct unit {
	const char	*name;
	int64_t		factor;
} times[] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { 0 }
}, numbers[] = {
	{ "", 1 }, { "k", 1000 }, { "M", 1000000 }, { "G", 1000000000 }, { 0 }
};

static struct query_node *parse_query(struct parser *p);

void query_free(struct query_node *node)
{
	if (!node)
		return;
	query_free(node->left);
	query_free(node->right);
	free(node->pattern);
	free(node->matches.at);
	free(node->group.calls.at);
	free(node->group.open.at);
	free(node->group.latest);
	free(node->group.earliest);
	free(node);
}

/* Set the parser's error with the offset of @at in the text. Return NULL. */
__attribute__((format(printf, 3, 4)))
static struct query_node *fail(struct parser *p, const char *at, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	p->error->at = at - p->text;
	vsnprintf(p->error->text, sizeof(p->error->text), fmt, args);
	va_end(args);
	return NULL;
}

/* Make a node with the children @left and @right. If out of memory, free the children and return NULL. */
static struct query_node *make(struct parser *p, enum query_kind kind, struct query_node *left,
			       struct query_node *right)
{
	struct query_node *node = calloc(1, sizeof(*node));

	if (!node) {
		query_free(left);
		query_free(right);
		return fail(p, p->at, "out of memory");
	}
	node->kind = kind;
	node->left = left;
	node->right = right;
	return node;
}

/* ---- Read words of the query ---- */

static void skip_spaces(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static size_t word_length(const char *at)
{
	size_t n = 0;

	while (at[n] && !isspace((unsigned char)at[n]) && !strchr(NOT_IN_WORDS, at[n]))
		n++;
	return n;
}

static const struct field *find_field(const struct field *field, const char *word, size_t length)
{
	while (field->name && (strlen(field->name) != length || strncmp(field->name, word, length)))
		field++;
	return field->name ? field : NULL;
}

static bool is_word(const struct parser *p, const char *word)
{
	return word_length(p->at) == strlen(word) && !strncmp(p->at, word, strlen(word));
}

/* ---- Conditions ---- */

/* Parse a word or a text in quotes. On failure, set an error that names @expected, and return NULL. */
static char *take_text(struct parser *p, const char *expected)
{
	const char *begin = p->at, *end;
	char *text;

	if (*begin == '"') {
		end = strchr(++begin, '"');
		if (!end)
			return (char *)fail(p, p->at, "the name that begins here has no closing \"");
		p->at = end + 1;
	} else {
		end = p->at += word_length(begin);
	}
	if (begin == end)
		return (char *)fail(p, begin, "%s is expected here", expected);
	text = strndup(begin, end - begin);
	return text ?: (char *)fail(p, begin, "out of memory");
}

static bool parse_number(const char *text, const struct unit *unit, const char *none, int64_t *value)
{
	int64_t fraction = 0, divisor = 1, whole = 0;
	const char *at = text;

	for (; isdigit((unsigned char)*at) && whole < INT64_MAX / 100; at++)
		whole = 10 * whole + *at - '0';
	if (at > text && *at == '.') {
		for (at++; isdigit((unsigned char)*at); at++) {
			fraction = divisor < 1000000000 ? 10 * fraction + *at - '0' : fraction;
			divisor *= divisor < 1000000000 ? 10 : 1;
		}
	}
	while (unit->name && strcmp(unit->name, *at ? at : none))
		unit++;
	if (at == text || !unit->name || whole > INT64_MAX / unit->factor - 1)
		return false;
	*value = whole * unit->factor + fraction * unit->factor / divisor;
	return true;
}

/* Parse one of <, <=, =, !=, >= and >. Return its bits QUERY_*, or 0 if the text does not continue with one of them. */
static unsigned int take_compare(struct parser *p)
{
	unsigned int compare = 0;

	switch (*p->at) {
	case '<':
		compare = QUERY_LESS;
		break;
	case '>':
		compare = QUERY_MORE;
		break;
	case '!':
		if (p->at[1] == '=')
			compare = QUERY_LESS | QUERY_MORE;
		break;
	case '=':
		p->at++;
		return QUERY_EQUAL;
	}
	p->at += !!compare;
	if (compare && *p->at == '=') {
		p->at++;
		compare |= compare == (QUERY_LESS | QUERY_MORE) ? 0 : QUERY_EQUAL;
	}
	return compare;
}

/* Parse the number of a condition, and set query_node::value. On failure, free the node and return NULL. */
static struct query_node *parse_value(struct parser *p, struct query_node *node)
{
	bool is_time = node->kind == QUERY_NS || node->kind == QUERY_TIME;
	const char *begin = p->at, *none = node->kind == QUERY_TIME ? "s" : is_time ? "ns" : "";
	const char *expected = node->kind == QUERY_TIME ? "a time in seconds as script prints it, such as 12.345," :
			       is_time ? "a duration such as 250 (ns), 3.5us, 1ms or 2s" : "a number such as 5, 10k or 1M";
	char *text = take_text(p, expected);

	if (text && parse_number(text, is_time ? times : numbers, none, &node->value)) {
		free(text);
		return node;
	}
	if (text)
		fail(p, begin, "%s is expected here", expected);
	free(text);
	query_free(node);
	return NULL;
}

static struct query_node *parse_pattern(struct parser *p, enum query_kind kind, unsigned int compare)
{
	struct query_node *node = make(p, kind, NULL, NULL);

	if (!node)
		return NULL;
	node->compare = compare;
	node->pattern = take_text(p, kind == QUERY_FUNCTION ? CONDITIONS : "a name such as main or 'mem*'");
	if (node->pattern)
		return node;
	query_free(node);
	return NULL;
}

static struct query_node *parse_condition(struct parser *p)
{
	const char *begin = p->at, *compare_at;
	const struct field *field = find_field(fields, begin, word_length(begin));
	struct query_node *node;
	unsigned int compare;

	p->at += word_length(begin);
	skip_spaces(p);
	compare_at = p->at;
	compare = take_compare(p);
	if (!compare) {
		if (*compare_at == '!')
			return fail(p, compare_at, "!= is the only comparison that begins with !");
		p->at = begin;
		return parse_pattern(p, QUERY_FUNCTION, QUERY_EQUAL);
	}
	if (!field)
		return fail(p, begin, "only function, caller, object, comm, ns, insns, depth, time, cpu, tid and pid can be compared");
	skip_spaces(p);
	if (field->kind >= QUERY_NS) {
		node = make(p, field->kind, NULL, NULL);
		if (node)
			node->compare = compare;
		return node ? parse_value(p, node) : NULL;
	}
	if (compare != QUERY_EQUAL && compare != (QUERY_LESS | QUERY_MORE))
		return fail(p, compare_at, "= or != is expected here, because %s is a name", field->name);
	return parse_pattern(p, field->kind, compare);
}

/* ---- Parse brackets, "not", "and" and "or" ---- */

static struct query_node *parse_brackets(struct parser *p)
{
	const char *begin = p->at++;
	struct query_node *node = parse_query(p);

	if (!node)
		return NULL;
	if (*p->at == ')') {
		p->at++;
		return node;
	}
	query_free(node);
	return fail(p, begin, "the ( that begins here has no )");
}

static struct query_node *parse_one(struct parser *p)
{
	const struct field *operator;
	struct query_node *node;
	const char *begin;

	skip_spaces(p);
	begin = p->at;
	if (++p->nr > CONDITIONS_MAX)
		return fail(p, begin, "a query has at most %d conditions", CONDITIONS_MAX);
	operator = find_field(operators, begin, word_length(begin));
	if (operator) {
		p->at += strlen(operator->name);
		node = parse_one(p);
		node = node ? make(p, operator->kind, node, NULL) : NULL;
	} else if (is_word(p, "or")) {
		node = fail(p, begin, CONDITIONS " is expected before \"or\"");
	} else {
		node = *begin == '(' ? parse_brackets(p) : parse_condition(p);
	}
	return node;
}

static struct query_node *parse_all(struct parser *p)
{
	struct query_node *node = parse_one(p), *next;

	skip_spaces(p);
	while (node && *p->at && *p->at != ')' && !is_word(p, "or")) {
		next = parse_one(p);
		if (!next) {
			query_free(node);
			return NULL;
		}
		node = make(p, QUERY_AND, node, next);
		skip_spaces(p);
	}
	return node;
}

static struct query_node *parse_query(struct parser *p)
{
	struct query_node *node = parse_all(p), *next;

	while (node && is_word(p, "or")) {
		p->at += strlen("or");
		next = parse_all(p);
		if (!next) {
			query_free(node);
			return NULL;
		}
		node = make(p, QUERY_OR, node, next);
	}
	return node;
}

struct query_node *query_parse(const char *text, struct query_error *error)
{
	struct parser p = { .text = text, .at = text, .error = error };
	struct query_node *node = parse_query(&p);

	if (!node || !*p.at)
		return node;
	query_free(node);
	return fail(&p, p.at, "this ) has no ( before it");
}
