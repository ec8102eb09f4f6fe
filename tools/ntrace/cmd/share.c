// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace share - write an archive of a recording for other people, with only the data that decoding
 * needs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/output.h"
#include "session/array.h"
#include "session/counts/profile.h"
#include "session/file/share.h"
#include "session/file/whole-file.h"

static const char usage[] =
	"usage: ntrace share [OPTIONS] -o FILE\n"
	"       ntrace share [OPTIONS] --list\n\n"
	"Write a tar archive of a recording, and of the code and symbols that decoding it needs, for\n"
	"other people. It has the trace, and the names of traced threads and of executed files. It has no\n"
	"command lines, host name, samples, data or debug information, and no code of the kernel.\n";

struct share {
	struct recording_options recording;
	const char	*output;
	bool		list, kernel;
	struct nt_session *session;
	NS_ARRAY(struct nt_shared_file) files;
	NS_ARRAY(char *) told;		/* lines that were collected for --list, which prints them sorted */
	FILE		*tar;
	bool		by_path;	/* some file has no build id, so it must be found by its path */
	bool		refused;	/* true if a file of code cannot be copied, which was reported */
};

/* ---- ELF files ---- */

/* Copy bytes of a file to the same offset of another file. */
static bool copy_part(int from, int to, uint64_t offset, uint64_t size)
{
	char bytes[1 << 16];
	ssize_t n;

	for (; size; size -= n, offset += n) {
		n = pread(from, bytes, size < sizeof(bytes) ? size : sizeof(bytes), offset);
		if (n <= 0)
			return errno = n ? errno : EINVAL, false;
		if (pwrite(to, bytes, n, offset) != n)
			return false;
	}
	return true;
}

/* Copy one name from the string table that is section number @table. */
static bool copy_name(Elf *elf, size_t table, size_t at, int to)
{
	const char *name = elf_strptr(elf, table, at);
	GElf_Shdr strings;

	return gelf_getshdr(elf_getscn(elf, table), &strings) &&
	       (!name || pwrite(to, name, strlen(name), strings.sh_offset + at) >= 0);
}

/* Copy the names of symbols in sections with code, and of imported symbols. Other symbols name data or source files. */
static bool copy_names(Elf *elf, Elf_Scn *scn, const GElf_Shdr *table, int to)
{
	/* index of the table SHT_SYMTAB_SHNDX, which has section numbers that do not fit into a symbol's st_shndx */
	int wide = elf_scnshndx(scn), i;
	Elf_Data *data = elf_getdata(scn, NULL), *numbers = wide > 0 ? elf_getdata(elf_getscn(elf, wide), NULL) : NULL;
	Elf32_Word number;
	GElf_Shdr section;
	GElf_Sym sym;

	for (i = 0; gelf_getsymshndx(data, numbers, i, &sym, &number); i++) {
		number = sym.st_shndx == SHN_XINDEX ? number : sym.st_shndx < SHN_LORESERVE ? sym.st_shndx : UINT32_MAX;
		if (gelf_getshdr(elf_getscn(elf, number), &section) &&
		    (number == SHN_UNDEF || section.sh_flags & SHF_EXECINSTR) &&
		    !copy_name(elf, table->sh_link, sym.st_name, to))
			return false;
	}
	return true;
}

/* Copy the note with the build id. Copy only the sizes of other notes. */
static bool copy_notes(Elf_Scn *scn, const GElf_Shdr *s, int from, int to)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;
	bool is_id;

	for (; data && (next = gelf_getnote(data, at, &note, &name, &desc)); at = next) {
		is_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			!memcmp((const char *)data->d_buf + name, "GNU", 4);
		if (!copy_part(from, to, s->sh_offset + at, is_id ? next - at : sizeof(note)))
			return false;
	}
	return true;
}

/* Return true if decoding needs the section and its name. Frame information has the addresses of functions in stripped files. */
static bool is_needed(const GElf_Shdr *s, const char *name)
{
	return s->sh_flags & SHF_EXECINSTR || s->sh_type == SHT_SYMTAB_SHNDX || (s->sh_type == SHT_RELA && s->sh_flags & SHF_ALLOC) ||
	       (name && !strcmp(name, ".eh_frame"));
}

/* Copy code, symbols and build id. All other bytes of the copy are zeros. */
static bool copy_sections(Elf *elf, int from, int to)
{
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names, nr;
	bool symbols;
	GElf_Ehdr e;
	GElf_Shdr s;

	if (!gelf_getehdr(elf, &e) || elf_getshdrstrndx(elf, &names) || elf_getshdrnum(elf, &nr) || !nr ||
	    !copy_part(from, to, 0, e.e_ehsize) || !copy_part(from, to, e.e_phoff, (uint64_t)e.e_phnum * e.e_phentsize) ||
	    !copy_part(from, to, e.e_shoff, nr * e.e_shentsize))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &s) || (s.sh_type == SHT_NOTE && !copy_notes(scn, &s, from, to)))
			return false;
		symbols = s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM;
		name = elf_strptr(elf, names, s.sh_name);
		/* perf finds the build id by the name of its section */
		if (name && !strcmp(name, ".note.gnu.build-id") && !copy_name(elf, names, s.sh_name, to))
			return false;
		if (s.sh_type == SHT_NOBITS || !(symbols || is_needed(&s, name)))
			continue;
		if (!copy_part(from, to, s.sh_offset, s.sh_size) || !copy_name(elf, names, s.sh_name, to) ||
		    (symbols && !copy_names(elf, scn, &s, to)))
			return false;
	}
	return true;
}

/* ---- Add files to the tar archive ---- */

/* Add a file to the archive in the format of POSIX ustar, without an owner and with time 0 */
static bool add_file(struct share *share, const char *name, int fd)
{
	char block[513] = "", bytes[1 << 16];
	size_t length = strlen(name);
	const char *base = length > 100 ? strchr(name + length - 101, '/') : name;
	unsigned int sum = 0, i;
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st) || lseek(fd, 0, SEEK_SET))
		return false;
	if (st.st_size >= 1LL << 33)
		return errno = EFBIG, false;
	if (!base || (base != name && base - name > 155))
		return errno = ENAMETOOLONG, false;
	memcpy(block + 345, name, base - name);
	base += base != name;
	memcpy(block, base, strlen(base));
	snprintf(block + 100, 24, "%07o%c%07o%c%07o", 0600, 0, 0, 0, 0);
	snprintf(block + 124, 25, "%011llo%c%011o", (unsigned long long)st.st_size, 0, 0);
	memcpy(block + 148, "        0", 9);
	memcpy(block + 257, "ustar\0" "00", 8);
	for (i = 0; i < 512; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	fwrite(block, 512, 1, share->tar);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, n, 1, share->tar);
	memset(block, 0, sizeof(block));
	fwrite(block, -st.st_size & 511, 1, share->tar);
	return !n && !ferror(share->tar);
}

/* Add the code and symbols of the ELF file at @path, which belongs to the executed file @executed. */
static bool add_elf(struct share *share, const char *executed, const char *path, const char *name)
{
	int from = whole_file_read(path);
	Elf *elf = from >= 0 ? elf_begin(from, ELF_C_READ, NULL) : NULL;
	FILE *to = elf ? tmpfile() : NULL;
	size_t nr = 1;
	bool ok = to && copy_sections(elf, from, fileno(to));

	share->refused |= !ok;
	if (ok)
		ok = add_file(share, name, fileno(to));
	else
		fprintf(stderr, "ntrace: copying the code of %s failed: %s\n", executed, elf && !elf_getshdrnum(elf, &nr) && !nr ?
			"it has no sections, which tell its code from its data" : strerror(errno));
	elf_end(elf);
	if (from >= 0)
		close(from);
	if (to)
		fclose(to);
	return ok;
}

/*
 * Add an executed file to the archive, with a path at which ntrace and perf find it by its build id or by --symfs. Also
 * add its separate debug file if only this file has its symbols.
 */
static bool add_code(struct share *share, const struct nt_shared_file *file)
{
	const char *debug, *path = nt_session_file(share->session, file->path, &debug);
	char name[PATH_MAX], id[BUILD_ID_TEXT];
	bool by_id = recording_build_id(share->session, file->path, id);

	/* refuse "/../", with which a malicious recording could name a file outside of the folder */
	if (!path || strstr(file->path, "/../"))
		return true;
	share->by_path |= !by_id;
	if (by_id)
		snprintf(name, sizeof(name), "shared/.build-id/%.2s/%s/elf", id, id + 2);
	else
		snprintf(name, sizeof(name), "shared/symfs%s", file->path);
	if (!add_elf(share, file->path, path, name))
		return false;
	if (debug && by_id) {
		snprintf(name, sizeof(name), "shared/.build-id/%.2s/%s.debug", id, id + 2);
		return add_elf(share, file->path, debug, name);
	}
	if (debug)
		fprintf(stderr, "ntrace: the archive has no function names of %s: they are in the debug file %s, which was left out, because %s has no build id; build it with -Wl,--build-id\n",
			file->path, debug, file->path);
	return true;
}

/* ---- Command ---- */

static bool add_executed(struct share *share, const char *object)
{
	struct nt_shared_file file = { .path = object };

	file.build_id = nt_session_build_id(share->session, object, &file.build_id_size);
	return ns_array_add(&share->files, file);
}

/* List the files whose code was executed, including files that do not exist here. */
static bool find_files(struct share *share, const struct nt_profile *counts)
{
	const char *path, *why;
	size_t nr, i;
	const struct nt_profile_insn *insns = nt_profile_insns(counts, &nr);
	bool ok = true;

	for (i = 0; ok && i < nr; i++) {
		if (insns[i].object && (!i || insns[i].object != insns[i - 1].object))
			ok = add_executed(share, insns[i].object);
	}
	for (i = 0; ok && nt_session_missing(share->session, i, &path, &why); i++)
		ok = add_executed(share, path);
	return ok;
}

static void tell(void *ctx, const char *what, const char *text)
{
	struct share *share = ctx;
	char *line;

	if (asprintf(&line, "%s %s", what, text) >= 0 && !ns_array_add(&share->told, line))
		free(line);
}

static int line_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_kernel(struct share *share, const char *folder, const char *file)
{
	char path[PATH_MAX], name[64];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/kcore_dir/%s", folder, file);
	snprintf(name, sizeof(name), "shared/perf.data/kcore_dir/%s", file);
	fd = whole_file_read(path);
	if (fd < 0 && errno != ENOENT) {
		share->refused = true;
		fprintf(stderr, "ntrace: copying %s failed: %s\n", path, whole_file_strerror(errno));
	}
	ok = fd >= 0 ? add_file(share, name, fd) : !share->refused;
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool write_archive(struct share *share, int copy)
{
	const char *folder = share->kernel ? nt_session_folder(share->session) : NULL;
	static const char end[1024];
	size_t i;

	if (!add_file(share, folder ? "shared/perf.data/data" : "shared/perf.data", copy) ||
	    (folder && !(add_kernel(share, folder, "kcore") && add_kernel(share, folder, "kallsyms") && add_kernel(share, folder, "modules"))))
		return false;
	for (i = 0; i < share->files.nr; i++) {
		if (!add_code(share, &share->files.at[i]))
			return false;
	}
	return fwrite(end, sizeof(end), 1, share->tar) == 1;
}

static int share_copy(struct share *share, int copy)
{
	const struct nt_share_options options = {
		.size = sizeof(options), .files = share->files.at, .nr_files = share->files.nr, .kernel = share->kernel,
		.tell = share->list ? tell : NULL, .ctx = share,
	};
	struct whole_file whole;
	size_t i;
	bool ok;

	if (nt_session_share(share->session, copy, &options))
		return recording_failed(share->session);
	ns_array_join(&share->told, line_cmp, free(*b));
	for (i = 0; i < share->told.nr; i++)
		puts(share->told.at[i]);
	if (share->list)
		return EXIT_CLEAN;
	share->tar = whole_file_open(&whole, share->output);
	if (!share->tar)
		return output_failed(share->output);
	ok = write_archive(share, copy);
	if (whole_file_close(&whole, share->tar, ok) || !ok)
		return share->refused ? EXIT_USAGE : output_failed(share->output);
	fprintf(stderr, "ntrace: wrote %s. Elsewhere, tar -xf unpacks it, and ntrace report -i shared/perf.data%s reads it\n",
		share->output, share->by_path ? " --symfs shared/symfs" : "");
	return EXIT_CLEAN;
}

static int run(void *ctx, struct nt_session *session)
{
	struct share *share = ctx;
	struct nt_profile *counts;
	char kcore[PATH_MAX];
	struct stat st = {};
	FILE *copy;
	int status;
	size_t nr = 0;

	share->session = session;
	if (share->kernel && !nt_session_folder(session))
		return usage_error("this recording has no code of the kernel, which perf record --kcore adds, so --kernel cannot be given");
	if (share->kernel) {
		snprintf(kcore, sizeof(kcore), "%s/kcore_dir/kcore", nt_session_folder(session));
		stat(kcore, &st);
	}
	if (!share->list && !recording_has_room(session, share->output, st.st_size))
		return EXIT_USAGE;
	counts = nt_profile_new(session, NULL);
	copy = tmpfile();
	elf_version(EV_CURRENT);
	if (!copy)
		status = output_failed("a temporary file");
	else if (!counts || nt_profile_run(counts) || !find_files(share, counts))
		status = recording_failed(share->session);
	else if (nt_profile_insns(counts, &nr), !nr)
		status = nothing_matched(&share->recording, share->session, NULL);
	else
		status = share_copy(share, fileno(copy));
	while (share->told.nr)
		free(share->told.at[--share->told.nr]);
	free(share->files.at);
	free(share->told.at);
	nt_profile_free(counts);
	if (copy)
		fclose(copy);
	return status;
}

static bool check(void *ctx)
{
	struct share *share = ctx;

	return share->list != !!share->output || refuse("share needs either -o FILE or --list");
}

int cmd_share(int argc, char **argv)
{
	struct share share = { 0 };
	const struct option_entry options[] = {
		RECORDED_OPTIONS(&share.recording),
		OPTION_TEXT('o', "output", "FILE", &share.output, "the archive"),
		OPTION_FLAG(0, "list", &share.list, "print what the archive would give away, and write nothing"),
		OPTION_FLAG(0, "kernel", &share.kernel, "include the code and symbols of the kernel"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &share, check, run);
}
