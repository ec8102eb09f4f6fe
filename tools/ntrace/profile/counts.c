// SPDX-License-Identifier: GPL-2.0-only
/* ntrace profile --counts - write a file of all counts, which `ntrace merge` and the other formats can read. */
#include <errno.h>

#include "profile.h"
#include "session/counts/sums.h"

static int counts_write(struct profile *profile)
{
	struct nt_sums *sums = nt_sums_new();
	int err = -1;

	if (!sums || nt_sums_add(sums, profile->counts)) {
		fprintf(stderr, "ntrace: %s\n", nt_sums_error(sums));
		errno = EINVAL;
	} else {
		err = nt_sums_write(sums, profile->file);
	}
	nt_sums_free(sums);
	return err;
}

const struct profile_format profile_counts = {
	.name = "counts", .needs_trace = true, .write = counts_write,
};
