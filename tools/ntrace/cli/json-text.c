// SPDX-License-Identifier: GPL-2.0-only
/* Convert names of files, functions and threads to JSON (json-text.h). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json-text.h"

/*
 * Return the length in bytes of the UTF-8 character at @text, or 0 if it is not valid. RFC 3629
 * forbids overlong forms, surrogates, and values above U+10FFFF.
 */
static size_t utf8_length(const char *text)
{
	const uint8_t *c = (const uint8_t *)text;
	static const uint8_t least[] = { [3] = 0xa0, [4] = 0x90 };
	size_t n = c[0] < 0x80 ? 1 : c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : (c[0] & 0xf0) == 0xe0 ? 3 :
		   c[0] >= 0xf0 && c[0] < 0xf5 ? 4 : 0, i;

	for (i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((c[0] == 0xe0 || c[0] == 0xf0) && c[1] < least[n])
		return 0;
	if ((c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90))
		return 0;
	return n;
}

static bool needs_escape(const char *c, size_t n)
{
	/* escape U+2028 and U+2029, because they end a line of JavaScript */
	if (n == 3)
		return !memcmp(c, "\xe2\x80\xa8", 3) || !memcmp(c, "\xe2\x80\xa9", 3);
	return n == 1 && (*(const uint8_t *)c < 0x20 || strchr("\"\\<>&\x7f", *c));
}

static char *add_char(char *at, const char *c, size_t n)
{
	if (!n)
		return at + sprintf(at, "\\ufffd");
	if (n == 3 && needs_escape(c, n))
		return at + sprintf(at, "\\u202%c", c[2] == '\xa8' ? '8' : '9');
	if (needs_escape(c, n))
		return at + sprintf(at, "\\u%04x", *c);
	memcpy(at, c, n);
	return at + n;
}

void utf8_copy(char *to, const char *text, size_t size)
{
	size_t i, n;

	for (i = 0; i < size; i += n ? n : 1) {
		n = utf8_length(text + i);
		memcpy(to + i, n ? text + i : "?", n ? n : 1);
	}
}

char *json_text(const char *text, size_t *size)
{
	size_t len = text ? strlen(text) : 0, n;
	char *json = malloc(6 * len + sizeof("null")), *at = json;
	const char *c;

	if (!json)
		return NULL;
	if (!text) {
		*size = sprintf(json, "null");
		return json;
	}
	*at++ = '"';
	for (c = text; *c; c += n ? n : 1) {
		n = utf8_length(c);
		at = add_char(at, c, n);
	}
	*at++ = '"';
	*at = '\0';
	*size = at - json;
	return json;
}

bool json_write(FILE *file, const char *text)
{
	size_t size;
	char *json = json_text(text, &size);
	bool ok = fputs(json ?: "null", file) >= 0 && json;

	free(json);
	return ok;
}

void json_print(const char *name, const char *text)
{
	printf("\"%s\": ", name);
	json_write(stdout, text);
	fputs(", ", stdout);
}
