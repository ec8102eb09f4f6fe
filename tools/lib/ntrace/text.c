// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Functions that write text to the caller's buffer
 */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

void nt_text_init(struct text *text, char *buf, size_t size)
{
	text->buf = buf;
	text->size = size;
	text->len = 0;
	if (size)
		buf[0] = '\0';
}

void nt_text_add(struct text *text, const char *format, ...)
{
	size_t room = text->len < text->size ? text->size - text->len : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(room ? text->buf + text->len : NULL, room, format, args);
	va_end(args);
	if (n > 0)
		text->len += n;
}

int nt_text_end(const struct text *text)
{
	return text->len < text->size ? (int)text->len : NT_E_SPACE;
}
