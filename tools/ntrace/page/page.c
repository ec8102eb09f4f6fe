// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the page. It begins with a skeleton, the data for the first picture, and the viewer. The
 * rest of the data follows, so that a browser can draw the first picture before it has read this
 * rest.
 *
 * The data is in script elements whose types browsers do not execute. The page's security policy
 * only allows the script of the viewer, which it identifies by a hash, and does not allow network
 * access.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "page.h"
#include "cli/json-text.h"

/* Include a file of the folder HTML_DIR as an array of bytes */
#define EMBED(name, file)						\
	__asm__(".section .rodata\n" #name ": .incbin \"" HTML_DIR "/" file "\"\n" \
		#name "_end: .byte 0\n.previous\n");			\
	extern const char name[] __attribute__((visibility("hidden")));	\
	extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(html_skeleton, "page.html");
EMBED(html_style, "page.css");
EMBED(html_script, "page.js");
EMBED(html_hash, "page.hash");

/* ---- Write the data of the page as JSON ---- */

static void put_function(struct html *html, FILE *out, const struct nt_function *f)
{
	uint64_t buckets[NT_CALLS_BUCKETS];
	const char *comma = "";
	int line = 0, file;
	unsigned int i;

	file = html->sources ? sources_find(html->sources, f, &line) : -1;
	fputc('[', out);
	json_write(out, f->symbol);
	fputc(',', out);
	json_write(out, f->object);
	fprintf(out, ",%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%" PRIu64
		",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",[", file, line, f->calls, f->total_ns, f->self_ns,
		f->max_ns, f->calls ? f->max_begin - html->start : 0, f->max_tid, f->total_insns,
		f->self_insns, nt_function_quantile(f, 500), nt_function_quantile(f, 990));
	nt_function_buckets(f, buckets);
	for (i = 0; i < NT_CALLS_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		fprintf(out, "%s%u,%" PRIu64, comma, i, buckets[i]);
		comma = ",";
	}
	fprintf(out, "],%" PRIu64 "]", f->total_ran);
}

static void put_functions(struct html *html, FILE *out)
{
	const struct nt_function *f;
	size_t i;

	fputs(",\n\"functions\":[", out);
	for (i = 0; (f = nt_calls_function(html->calls, i)); i++) {
		fputs(i ? ",\n" : "\n", out);
		put_function(html, out, f);
	}
	fputs("]", out);
}

static void put_threads(const struct html *html, FILE *out)
{
	const struct html_thread *t;
	size_t i;

	fputs(",\n\"threads\":[", out);
	for (i = 0; i < html->threads.nr; i++) {
		t = &html->threads.at[i];
		fprintf(out, "%s[%d,%d,%d,", i ? "," : "", t->pid, t->tid, t->cpu);
		json_write(out, t->comm);
		fputs("]", out);
	}
	fputs("],\n\"tracks\":[", out);
	for (i = 0; i < html->tracks.nr; i++)
		fprintf(out, "%s[%d,%d,%u]", i ? "," : "", html->tracks.at[i].kind,
			html->tracks.at[i].id, html->tracks.at[i].depth);
	fputs("]", out);
}

static void put_index(const struct html *html, FILE *out)
{
	const struct chunk *c;
	size_t i;

	fputs(",\n\"chunks\":[", out);
	for (i = 0; i < html->chunks.index.nr; i++) {
		c = &html->chunks.index.at[i];
		fprintf(out, "%s%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, i ? "," : "",
			c->track, c->level, c->nr, c->first, c->from, c->last, c->to);
	}
	fputs("]}\n", out);
}

static void put_data(struct html *html, FILE *out)
{
	struct nt_calls_totals totals;

	nt_calls_totals(html->calls, &totals);
	fputs("<script type=\"application/json\" id=\"meta\">{\"title\":", out);
	json_write(out, html->title);
	fprintf(out, ",\"start\":\"%" PRIu64 ".%09" PRIu64 "\",\"ns\":%" PRIu64 ",\"calls\":%" PRIu64
		",\"deep\":%" PRIu64 ",\"insns\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"gaps\":%" PRIu64
		",\"losses\":%" PRIu64 ",\"levels\":%d", html->start / 1000000000,
		html->start % 1000000000, html->end - html->start, html->nr_calls, html->too_deep,
		totals.insns, totals.errors, totals.gaps, totals.losses, LEVELS);
	put_threads(html, out);
	put_functions(html, out);
	put_index(html, out);
	fputs("</script>\n<script type=\"application/octet-stream\" id=\"flame\">", out);
	flame_write(&html->flame, out);
	fputs("</script>\n", out);
}

/* ---- Page ---- */

static int copy(FILE *from, FILE *to)
{
	char buf[65536];
	size_t n;

	if (fflush(from) || fseek(from, 0, SEEK_SET))
		return -1;
	while ((n = fread(buf, 1, sizeof(buf), from))) {
		if (fwrite(buf, 1, n, to) != n)
			return -1;
	}
	return ferror(from) ? -1 : 0;
}

static void put_bytes(FILE *out, const char *begin, const char *end)
{
	fwrite(begin, 1, end - begin, out);
}

/* Write the contents that replace {{@name}} in the skeleton. */
static int put_part(struct html *html, FILE *out, const char *name, size_t size)
{
	if (!strncmp(name, "STYLE", size)) {
		put_bytes(out, html_style, html_style_end);
	} else if (!strncmp(name, "HASH", size)) {
		put_bytes(out, html_hash, html_hash_end);
	} else if (!strncmp(name, "SCRIPT", size)) {
		put_bytes(out, html_script, html_script_end);
	} else if (!strncmp(name, "DATA", size)) {
		put_data(html, out);
		return copy(html->chunks.near, out);
	} else if (!strncmp(name, "REST", size)) {
		if (html->sources)
			sources_write(html->sources, out);
		return copy(html->chunks.far, out);
	}
	return 0;
}

/* Write the skeleton. Replace each {{NAME}} in it. */
int html_write(struct html *html, FILE *out)
{
	const char *at = html_skeleton, *name, *end;
	int err = 0;

	for (; !err && (name = strstr(at, "{{")); at = end + 2) {
		put_bytes(out, at, name);
		end = strstr(name, "}}");
		err = put_part(html, out, name + 2, end - name - 2);
	}
	put_bytes(out, at, html_skeleton_end);
	if (err || fflush(out) || ferror(out)) {
		errno = errno ? errno : EIO;
		return -1;
	}
	return 0;
}
