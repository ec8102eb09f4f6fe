/* SPDX-License-Identifier: GPL-2.0-only */
/* Convert names of files, functions and threads to JSON. These names may contain any bytes. */
#ifndef NTRACE_TOOL_JSON_TEXT_H
#define NTRACE_TOOL_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * json_text() - convert a string to JSON with quotes and valid UTF-8; NULL becomes null
 *
 * Each byte that is not UTF-8 becomes U+FFFD. The characters <, > and & are escaped, so that the
 * text can be part of an HTML page.
 *
 * Return the text, which the caller frees, or NULL if out of memory.
 */
char *json_text(const char *text, size_t *size);

/* json_write() - write a text as json_text() does. Return false if out of memory, or if writing failed. */
bool json_write(FILE *file, const char *text);

/* json_print() - print a member "NAME": TEXT of a JSON object, and a comma */
void json_print(const char *name, const char *text);

/* utf8_copy() - copy a text as valid UTF-8 of the same length; bytes that are not UTF-8 become '?' */
void utf8_copy(char *to, const char *text, size_t size);

#endif /* NTRACE_TOOL_JSON_TEXT_H */
