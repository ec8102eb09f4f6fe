// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Bytes of the header, which grow until the file is written */
#include <stdlib.h>

#include "recorder-priv.h"

void rec_text_add(struct rec_text *text, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	while (size-- && !text->failed)
		text->failed = !ns_array_add(&text->bytes, *bytes++);
}

void rec_text_free(struct rec_text *text)
{
	free(text->bytes.at);
}
