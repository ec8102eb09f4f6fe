// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print the address of every executed instruction.
 *
 * The lines of a range are created once and then copied, because programs execute the same ranges
 * repeatedly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "pcs.h"

#define NR_ENTRIES	(1u << 14)
#define OUT_SIZE	(1u << 18)
/* Maximum size in bytes of the text of all entries. When more is needed, all text is freed. */
#define TEXT_SIZE	(8u << 20)
#define LINE_MAX_SIZE	20	/* size of "0x", 16 digits, a newline, and one unused byte */

struct entry {
	uint64_t	start;
	uint32_t	halfwords;
	uint32_t	len;
	char		*text;
};

struct pcs {
	const struct nt_config	*config;
	const struct nt_image	*image;
	struct entry		*entries;
	size_t			text_size;	/* size of the text of all entries in bytes */
	bool			failed;
	size_t			len;
	char			out[OUT_SIZE];
};

struct pcs *pcs_new(const struct nt_config *config, const struct nt_image *image)
{
	struct pcs *pcs = calloc(1, sizeof(*pcs));

	if (!pcs)
		return NULL;
	pcs->config = config;
	pcs->image = image;
	/* increase the size of a pipe, whose default is a quarter of OUT_SIZE; the call fails for other files */
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, OUT_SIZE);
	pcs->entries = calloc(NR_ENTRIES, sizeof(*pcs->entries));
	if (!pcs->entries) {
		free(pcs);
		return NULL;
	}
	return pcs;
}

static void flush(struct pcs *pcs)
{
	size_t at = 0;

	while (at < pcs->len && !pcs->failed) {
		ssize_t n = write(STDOUT_FILENO, pcs->out + at, pcs->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			output_failed("-");
			pcs->failed = true;
			break;
		}
		at += n;
	}
	pcs->len = 0;
}

static size_t format_pc(char *out, uint64_t pc)
{
	unsigned int digits = pc ? (67 - __builtin_clzll(pc)) / 4 : 1;
	unsigned int i;

	out[0] = '0';
	out[1] = 'x';
	for (i = 0; i < digits; i++)
		out[2 + i] = "0123456789abcdef"[pc >> (4 * (digits - 1 - i)) & 15];
	out[2 + digits] = '\n';
	return digits + 3;
}

static void free_entries(struct pcs *pcs)
{
	size_t i;

	for (i = 0; i < NR_ENTRIES; i++)
		free(pcs->entries[i].text);
	memset(pcs->entries, 0, NR_ENTRIES * sizeof(*pcs->entries));
	pcs->text_size = 0;
}

/* Create the lines of a range. The code of the range is available, because the decoder has already read it. */
static bool make_entry(struct pcs *pcs, const struct nt_range *range, struct entry *entry)
{
	uint8_t code[2 * NT_RANGE_HALFWORDS];
	size_t at = 0, size = 2u * range->halfwords;
	size_t text_size = (size_t)range->insns * LINE_MAX_SIZE + 1;
	struct nt_insn insn;

	if (pcs->text_size + text_size > TEXT_SIZE)
		free_entries(pcs);
	free(entry->text);
	memset(entry, 0, sizeof(*entry));
	entry->text = malloc(text_size);
	if (!entry->text)
		return false;
	pcs->text_size += text_size;
	nt_image_read(pcs->image, 0, range->start, code, size);
	while (at < size && nt_insn_decode(pcs->config, code + at, size - at, &insn)) {
		uint64_t pc = range->start + at;

		if (pcs->config->xlen == 32)
			pc = (uint32_t)pc;
		entry->len += format_pc(entry->text + entry->len, pc);
		at += insn.length;
	}
	entry->start = range->start;
	entry->halfwords = range->halfwords;
	return true;
}

static void print_range(struct pcs *pcs, const struct nt_range *range)
{
	uint64_t key = range->start ^ (uint64_t)range->halfwords << 48;
	struct entry *entry = &pcs->entries[key * 0x9e3779b97f4a7c15ULL >> 50];

	if (entry->start != range->start || entry->halfwords != range->halfwords) {
		if (!make_entry(pcs, range, entry)) {
			pcs->failed = true;
			return;
		}
	}
	if (pcs->len + entry->len > OUT_SIZE)
		flush(pcs);
	memcpy(pcs->out + pcs->len, entry->text, entry->len);
	pcs->len += entry->len;
}

void pcs_print(struct pcs *pcs, const struct nt_range *ranges, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && !pcs->failed; i++) {
		if (ranges[i].halfwords)
			print_range(pcs, &ranges[i]);
	}
}

bool pcs_free(struct pcs *pcs)
{
	bool ok;

	flush(pcs);
	ok = !pcs->failed;
	free_entries(pcs);
	free(pcs->entries);
	free(pcs);
	return ok;
}
