// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Copy the records and features that decoding needs, and no others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata-write.h"
#include "session/session-priv.h"
#include "share.h"

#define MISC_DATA	(1 << 13)	/* PERF_RECORD_MISC_MMAP_DATA */
#define MMAP_NAME	40		/* offset of the name in PERF_RECORD_MMAP; the next: _MMAP2, _COMM */
#define MMAP2_NAME	72
#define COMM_NAME	16
#define KERNEL_PID	UINT32_MAX
#define KERNEL_NAME	"[kernel.kallsyms]"

struct share {
	struct nt_session *session;
	const struct nt_share_options *options;
	struct pd_writer file;
	NS_ARRAY(const char *) names;	/* names of the threads that the trace contains, sorted alphabetically */
	uint64_t	record[1 << 13];	/* a copy of the record, which has up to 64 KiB */
};

static void tell(const struct share *share, const char *what, const char *text)
{
	if (share->options->tell)
		share->options->tell(share->options->ctx, what, text);
}

static int name_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collect the names of the threads that the trace contains. */
static bool find_names(struct share *share)
{
	const struct ns_sideband *sb = &share->session->sideband;
	const struct ns_era *era;
	size_t i;

	for (i = 0; i < sb->threads.nr; i++) {
		for (era = sb->threads.at[i].eras.at; era < sb->threads.at[i].eras.at + sb->threads.at[i].eras.nr; era++) {
			if (era->traced && !ns_array_add(&share->names, era->comm))
				return false;
		}
	}
	ns_array_join(&share->names, name_cmp, (void)b);
	return true;
}

static bool is_traced(const struct share *share, const char *name)
{
	return bsearch(&name, share->names.at, share->names.nr, sizeof(name), name_cmp);
}

/*
 * Return true if code of the file @name was executed, or if @name is not a file, such as "[vdso]" or "//enomem".
 * Return false for anonymous memory with a name, such as "[anon:NAME]", because a program can choose any NAME.
 */
static bool is_wanted(const struct share *share, uint32_t pid, const char *name)
{
	size_t i;

	if (pid == KERNEL_PID)
		return share->options->kernel || !strncmp(name, KERNEL_NAME, strlen(KERNEL_NAME));
	if ((name[0] == '[' && strncmp(name, "[anon", 5)) || !strncmp(name, "//", 2))
		return true;
	for (i = 0; i < share->options->nr_files; i++) {
		if (!strcmp(share->options->files[i].path, name))
			return true;
	}
	return false;
}

/*
 * Write a record that has a name at offset @at. Skip the record of a map if is_wanted() is false for its file. Clear the
 * name of a thread that the trace does not contain, and all bytes after a name, which could contain other data.
 */
static int put_named(struct share *share, const struct pd_record *record, size_t at)
{
	size_t size = record->header->size, end = size - pd_sample_id_size(&share->session->pd, record), length;
	char *copy = (char *)share->record, *name = copy + at;
	uint32_t pid;

	if (end > size || end <= at)
		return 0;
	memcpy(copy, record->header, size);
	memcpy(&pid, record->header + 1, sizeof(pid));
	length = strnlen(name, end - at);
	memset(name + length, 0, end - at - length);
	if (length == end - at)
		return 0;
	if (at != COMM_NAME && (record->header->misc & MISC_DATA || !is_wanted(share, pid, name)))
		return 0;
	if (at == COMM_NAME && !is_traced(share, name))
		memset(name, 0, length);
	else
		tell(share, at == COMM_NAME ? "process" : "file", name);
	return pd_write(&share->file, copy, size);
}

static int put_record(void *ctx, const struct pd_record *record)
{
	struct share *share = ctx;

	switch (record->header->type) {
	case PERF_RECORD_MMAP:
		return put_named(share, record, MMAP_NAME);
	case PERF_RECORD_MMAP2:
		return put_named(share, record, MMAP2_NAME);
	case PERF_RECORD_COMM:
		return put_named(share, record, COMM_NAME);
	case PERF_RECORD_LOST:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
	case PERF_RECORD_AUX:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PD_FINISHED_ROUND:
	case PD_AUXTRACE_INFO:
	case PD_AUXTRACE:
	case PD_TIME_CONV:
		break;
	default:
		return 0;
	}
	if (pd_write(&share->file, record->header, record->header->size) ||
	    pd_write(&share->file, record->data, record->data_size))
		return -1;
	pd_forget(&share->session->pd, record->data, record->data_size);
	return 0;
}

static int put_features(struct share *share)
{
	static const uint8_t kept[] = {
		PD_FEAT_ARCH, PD_FEAT_NRCPUS, PD_FEAT_SAMPLE_TIME, PD_FEAT_CLOCKID, PD_FEAT_DIR_FORMAT, PD_FEAT_CLOCK_DATA,
	};
	/* PD_FEAT_AUXTRACE is an index of the AUX trace, here with 0 entries; perf script -F addr requires it */
	static const uint64_t no_index;
	static struct pd_feature_section features[PD_FEAT_MAX];
	const struct nt_share_options *options = share->options;
	const struct nt_shared_file *file;
	struct pd_bytes ids = { 0 };
	size_t i;
	int err;

	for (i = 0; i < sizeof(kept); i++)
		features[kept[i]] = share->session->pd.features[kept[i]];
	if (!options->kernel)
		features[PD_FEAT_DIR_FORMAT].there = false;
	for (file = options->files; file < options->files + options->nr_files; file++) {
		if (file->build_id_size)
			pd_add_id(&ids, PERF_RECORD_MISC_USER, file->path, file->build_id, file->build_id_size);
	}
	features[PD_FEAT_AUXTRACE] = (struct pd_feature_section){ { (const void *)&no_index, sizeof(no_index) }, true };
	features[PD_FEAT_BUILD_ID] = (struct pd_feature_section){ { ids.b.at, ids.b.nr }, ids.b.nr };
	err = ids.failed ? -1 : pd_write_features(&share->file, features);
	free(ids.b.at);
	return err;
}

int nt_session_share(struct nt_session *session, int fd, const struct nt_share_options *options)
{
	struct perfdata *pd = &session->pd;
	struct share *share = calloc(1, sizeof(*share));
	int err;

	if (!share)
		return ns_fail(session, "out of memory");
	share->session = session;
	share->options = options;
	errno = ENOMEM;
	err = find_names(share) ? pd_write_begin(&share->file, fd, pd->attrs, pd->nr_attrs) : -1;
	err = err ?: pd_each_again(pd, put_record, share) ?: put_features(share);
	free(share->names.at);
	free(share);
	return err ? ns_fail(session, "writing the copy failed: %s", *pd->error ? pd->error : strerror(errno)) : 0;
}
