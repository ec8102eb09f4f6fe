// SPDX-License-Identifier: GPL-2.0-only
/*
 * Create the output of a recording as `ntrace record` does. With "fails", remove this output and rename the previous
 * one back, as if the recording could not start.
 *
 *	kept OUTPUT file|folder [fails]
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "recorder/recorder-priv.h"

int main(int argc, char **argv)
{
	static struct nt_recorder r = { .out.w.fd = -1, .out.reserve = -1 };
	char path[PATH_MAX];
	int err;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "folder"))
		snprintf(r.folder, sizeof(r.folder), "%s", argv[1]);
	err = rec_output_open(&r, argv[1]);
	if (!err && *r.folder) {
		snprintf(path, sizeof(path), "%s/kcore_dir", argv[1]);
		err = mkdir(path, 0700);
	}
	if (err)
		fprintf(stderr, "%s\n", r.error);
	if (err || argc > 3)
		rec_output_undo(&r);
	rec_output_close(&r);
	return err ? 2 : 0;
}
