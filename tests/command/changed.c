// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read the recording ARGV[1] once for each of its records. In pass N, the program overwrites the contents of the whole
 * file when the library returns record N. The text that the library has returned before must not change.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/file/perfdata.h"

static struct {
	int		fd;
	size_t		size, nth, at;		/* the file is overwritten at record @nth */
	char		before[1 << 16], after[1 << 16];
	const struct perf_event_header *taken;
	struct perf_event_header was;
} t;

static int take(void *ctx, const struct pd_record *record)
{
	if (t.at++ != t.nth)
		return 0;
	t.taken = record->header;
	t.was = *record->header;
	if (pwrite(t.fd, t.after, t.size, 0) != (ssize_t)t.size)
		return -1;
	return memcmp(t.taken, &t.was, sizeof(t.was)) ? -1 : 1;
}

/*
 * Read the file, and overwrite it when the library returns record @nth. Return false if no record has this number. Set
 * *failed if the library has failed, or if its text has changed.
 */
static bool one(const char *path, bool *failed)
{
	char name[256] = "";
	struct perfdata pd;
	const char *string;
	int ret;

	t.at = 0;
	if (pwrite(t.fd, t.before, t.size, 0) != (ssize_t)t.size || pd_open(&pd, path))
		return *failed = true;
	string = pd_string(&pd, PD_FEAT_ARCH);
	if (string)
		snprintf(name, sizeof(name), "%s", string);
	ret = pd_for_each(&pd, take, NULL);
	*failed |= ret < 0 || !string || strcmp(string, name);
	pd_close(&pd);
	return ret;
}

int main(int argc, char **argv)
{
	bool failed = false;
	struct stat st;

	t.fd = open(argv[1], O_RDWR);
	if (t.fd < 0 || fstat(t.fd, &st) || st.st_size > (off_t)sizeof(t.before) ||
	    pread(t.fd, t.before, st.st_size, 0) != st.st_size)
		return 1;
	t.size = st.st_size;
	memset(t.after, 0xff, t.size);
	while (!failed && one(argv[1], &failed))
		t.nth++;
	printf("%zu records, %s\n", t.nth, failed ? "one of which has changed" : "none of which has changed");
	return failed || t.nth < 5;
}
