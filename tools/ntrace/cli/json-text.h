/* SPDX-License-Identifier: GPL-2.0-only */
/* Convert names of files, functions and threads with any bytes to JSON. */
#ifndef NTRACE_TOOL_JSON_TEXT_H
#define NTRACE_TOOL_JSON_TEXT_H

#include <stddef.h>

/*
 * json_text() - convert a string to JSON with quotes and valid UTF-8; NULL becomes null
 *
 * Each byte that is not UTF-8 becomes U+FFFD. <, > and & are escaped, so that the text can be part
 * of an HTML page.
 *
 * Return the text, which the caller frees, or NULL if out of memory.
 */
char *json_text(const char *text, size_t *size);

/* json_print() - print "NAME": TEXT and a comma */
void json_print(const char *name, const char *text);

/*
 * utf8_copy() - copy text as valid UTF-8 of the same length; bytes that are not part of a character
 * become '?'
 */
void utf8_copy(char *to, const char *text, size_t size);

#endif /* NTRACE_TOOL_JSON_TEXT_H */
