// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Add the code of machine mode (the firmware). The user must name the file of this code, because the
 * recording does not contain the name.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "session/session-priv.h"

/*
 * Cut "@ADDRESS" off FILE@ADDRESS, and return the address. If the text after the last @ is not a
 * number, it is part of the name of the file, and the function returns 0.
 */
static uint64_t take_bias(char *path)
{
	char *at = strrchr(path, '@'), *end;
	uint64_t bias;

	if (!at || !at[1])
		return 0;
	bias = strtoull(at + 1, &end, 0);
	if (*end)
		return 0;
	*at = '\0';
	return bias;
}

static bool add_segments(struct nt_session *session, struct ns_object *object, uint64_t bias)
{
	const struct ns_segment *s = object->segments.at, *end = s + object->segments.nr;
	struct ns_map map = { .object = object };
	bool ok = true;

	for (; ok && s < end; s++) {
		map.start = s->addr + bias;
		map.end = map.start + s->size;
		map.pgoff = s->offset;
		ok = ns_array_add(&session->firmware, map);
	}
	return ok;
}

int ns_firmware_load(struct nt_session *session, const char *spec)
{
	struct ns_object *object;
	char path[PATH_MAX], *file;
	uint64_t bias;

	if (strlen(spec) >= sizeof(path))
		return ns_fail(session, "the name of the firmware's file is too long");
	strcpy(path, spec);
	bias = take_bias(path);
	file = realpath(path, NULL);
	if (!file)
		return ns_fail(session, "the firmware's file %s does not exist", path);
	object = ns_objects_get(&session->objects, file, NULL, 0);
	/* the object's path points to @file. Add @file to the object's names, which are freed with the object */
	if (!object || !ns_array_add(&object->names, file)) {
		free(file);
		return ns_fail(session, "out of memory");
	}
	if (!ns_object_open(&session->objects, object))
		return ns_fail(session, "the firmware's code cannot be read from %s: %s", path,
			       object->why ? object->why : "out of memory");
	return add_segments(session, object, bias) ? 0 : ns_fail(session, "out of memory");
}

const struct ns_map *ns_firmware_map(const struct nt_session *session, uint64_t addr)
{
	size_t i;

	for (i = 0; i < session->firmware.nr; i++) {
		if (addr >= session->firmware.at[i].start && addr < session->firmware.at[i].end)
			return &session->firmware.at[i];
	}
	return NULL;
}
