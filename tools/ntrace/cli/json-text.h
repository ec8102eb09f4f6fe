/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of files, functions and threads as JSON, whatever bytes they have */
#ifndef NTRACE_TOOL_JSON_TEXT_H
#define NTRACE_TOOL_JSON_TEXT_H

#include <stddef.h>

/*
 * json_text() - a string with its quotes, in valid UTF-8; NULL is null
 *
 * What is not UTF-8 becomes U+FFFD, one for each byte. <, > and & are escaped, so that the text can
 * stand in a page of HTML.
 *
 * Return: the caller's to free; NULL: no memory.
 */
char *json_text(const char *text, size_t *size);

/* utf8_copy() - the text in valid UTF-8, as long as it was: bytes of no character become '?' */
void utf8_copy(char *to, const char *text, size_t size);

#endif /* NTRACE_TOOL_JSON_TEXT_H */
