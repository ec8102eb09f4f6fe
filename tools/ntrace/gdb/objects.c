// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reply to packets with which gdb reads the target's description, lists of threads and libraries,
 * and files. Only files of the recording can be read, and no other file of this host.
 *
 * If the target is GNU/Linux, gdb steps with breakpoints. It computes their addresses from registers, even if the
 * registers are not available. Therefore the target description has no OS ABI, and stub_file::blank hides the OS ABI
 * of a program that gdb reads from the stub.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stub.h"

/* Start of the contents of section .note.ABI-tag, which includes the name of the note's owner */
static const char abi_note[] = "\4\0\0\0\x10\0\0\0\1\0\0\0GNU";

/* An empty program. Without a program, gdb does not read the libraries. */
#define NO_PROGRAM(ehdr, class) {								\
	.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class, ELFDATA2LSB, EV_CURRENT },	\
	.e_type = ET_DYN, .e_machine = EM_RISCV, .e_version = EV_CURRENT, .e_ehsize = sizeof(ehdr), \
}

static const Elf64_Ehdr no_program64 = NO_PROGRAM(no_program64, ELFCLASS64);
static const Elf32_Ehdr no_program32 = NO_PROGRAM(no_program32, ELFCLASS32);

/* ---- Write the objects that gdb reads with packet qXfer ---- */

struct text {
	char	*at;
	size_t	nr;
	FILE	*file;
};

/* Write the text as XML. Characters that XML reserves become entities, and control characters are left out. */
static void put_xml(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			fprintf(f, "&#%d;", *text);
		else if ((unsigned char)*text >= ' ')
			fputc(*text, f);
	}
}

static void put_register(FILE *f, const char *name, unsigned int bits, const char *type, unsigned int number)
{
	fprintf(f, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>", name, bits, type, number);
}

static void put_features(const struct stub *stub, FILE *f)
{
	static const char *const flags[] = { "fflags", "frm", "fcsr" };
	static const char *const trace[] = { "trace_time", "trace_insn", "trace_depth" };
	char name[16];
	unsigned int i;

	fprintf(f, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
		"<architecture>riscv:rv%u</architecture><osabi>none</osabi><feature name=\"org.gnu.gdb.riscv.cpu\">",
		stub->xlen);
	for (i = 0; i < STUB_REG_PC; i++) {
		snprintf(name, sizeof(name), "x%u", i);
		put_register(f, name, stub->xlen, i == 1 ? "code_ptr" : i == 2 ? "data_ptr" : "int", i);
	}
	put_register(f, "pc", stub->xlen, "code_ptr", STUB_REG_PC);
	fputs("</feature><feature name=\"org.gnu.gdb.riscv.fpu\">", f);
	for (i = 0; i < 32; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		put_register(f, name, 64, "ieee_double", STUB_REG_FPU + i);
	}
	for (i = 0; i < 3; i++)
		put_register(f, flags[i], 32, "int", STUB_REG_FCSR + i);
	fputs("</feature><feature name=\"org.ntrace.trace\">", f);
	for (i = 0; i < 3; i++)
		put_register(f, trace[i], 64, "uint64", STUB_REG_TIME + i);
	put_register(f, "trace_cpu", 32, "uint32", STUB_REG_CPU);
	fputs("</feature></target>", f);
}

bool stub_file(struct stub *stub, size_t nth, struct nt_replay_object *file)
{
	struct nt_replay_object kernel;
	size_t nr = 0;

	while (stub->kernel && nt_replay_file(stub->replay, NT_REPLAY_KERNEL, nr, &kernel)) {
		if (nr++ == nth)
			return *file = kernel, true;
	}
	return stub->list >= 0 && nt_replay_file(stub->replay, stub->list, nth - nr, file);
}

/* Return true if both are the same build of a file at the same address. */
static bool is_same(const struct nt_replay_object *a, const struct nt_replay_object *b)
{
	return a->data == b->data && a->start == b->start;
}

/* Return true if the first file, which is the program, is the same in all address spaces of the process. */
static bool has_one_program(struct stub *stub, uint64_t space)
{
	struct nt_replay_object first, other;
	uint64_t at, time;
	int back;

	if (stub->list < 0 || !nt_replay_file(stub->replay, stub->list, 0, &first))
		return false;
	for (back = 0; back < 2; back++) {
		for (at = space; nt_replay_change(stub->replay, &at, back, &time);) {
			if (!nt_replay_file(stub->replay, nt_replay_files(stub->replay, at), 0, &other) || !is_same(&first, &other))
				return false;
		}
	}
	return true;
}

/*
 * gdb cannot exchange the program while it moves backwards. If the process executes several programs, gdb therefore
 * reads all of them as libraries. If the whole machine is shown, gdb reads the kernel as the program.
 */
void objects_begin(struct stub *stub, uint64_t space)
{
	stub->list = nt_replay_files(stub->replay, space);
	stub->program = (struct nt_replay_object){
		.path = "/no-program", .data = stub->xlen == 32 ? (const uint8_t *)&no_program32 : (const uint8_t *)&no_program64,
		.size = stub->xlen == 32 ? sizeof(no_program32) : sizeof(no_program64),
	};
	if (!stub->machine && has_one_program(stub, space))
		nt_replay_file(stub->replay, stub->list, 0, &stub->program);
	else if (stub->kernel)
		nt_replay_file(stub->replay, NT_REPLAY_KERNEL, 0, &stub->program);
}

static void put_threads(struct stub *stub, FILE *f)
{
	struct nt_replay_place place;
	int32_t tid, pid;
	const char *comm;
	char more[48];
	size_t i;

	fputs("<?xml version=\"1.0\"?><threads>", f);
	for (i = 0; nt_replay_thread(stub->replay, i, &tid); i++) {
		*more = '\0';
		fprintf(f, "<thread id=\"p%x.%x\"", stub->pid, stub_id(stub, tid));
		if (nt_replay_where(stub->replay, tid, &place)) {
			nt_session_thread(stub->session, place.tid, place.time, &pid, &comm);
			fprintf(f, " core=\"%d\" name=\"", place.cpu);
			put_xml(f, comm);
			fputc('"', f);
			if (stub->machine)
				snprintf(more, sizeof(more), "CPU %d, thread %d", tid, place.tid);
		}
		fprintf(f, ">%s</thread>", more);
	}
	fputs("</threads>", f);
}

/*
 * gdb identifies a library only by its name. If a file, or another build of it, is later loaded at another address, the
 * stub therefore puts slashes before the name, so that gdb takes it as another library. Return the number of slashes. This
 * is the number of files with this name in the lists of files (nt_replay_file()) that precede the first file there with
 * this build and address.
 */
static size_t earlier_places(struct stub *stub, const struct nt_replay_object *file)
{
	struct nt_replay_object other;
	size_t nr = 0, i;
	int list;

	for (list = 0; list <= stub->list; list++) {
		for (i = 0; nt_replay_file(stub->replay, list, i, &other); i++) {
			if (is_same(&other, file))
				return nr;
			nr += !strcmp(other.path, file->path);
		}
	}
	return nr;
}

static void put_libraries(struct stub *stub, FILE *f)
{
	struct nt_replay_object object;
	size_t i, slashes, nth;

	fputs("<library-list>", f);
	for (i = 0; stub_file(stub, i, &object); i++) {
		if (is_same(&object, &stub->program))
			continue;
		fputs("<library name=\"", f);
		for (slashes = earlier_places(stub, &object); slashes; slashes--)
			fputc('/', f);
		put_xml(f, object.path);
		fputs("\">", f);
		for (nth = 0; nth < object.nr_sections; nth++)
			fprintf(f, "<section address=\"%#llx\"/>", (unsigned long long)object.sections[nth]);
		if (!nth)
			fprintf(f, "<segment address=\"%#llx\"/>", (unsigned long long)object.start);
		fputs("</library>", f);
	}
	fputs("</library-list>", f);
}

/* Write the object @name of a qXfer packet to @f. Return false if the name is unknown. */
static bool put_object(struct stub *stub, const char *name, FILE *f)
{
	if (!strncmp(name, "features:read:target.xml:", 25)) {
		put_features(stub, f);
	} else if (!strncmp(name, "threads:read::", 14)) {
		put_threads(stub, f);
	} else if (!strncmp(name, "libraries:read::", 16)) {
		stub->linux_abi = false;
		put_libraries(stub, f);
	} else if (!strncmp(name, "libraries-svr4:read:", 20)) {
		/* gdb reads this list only if it assumes that the target is GNU/Linux */
		stub->linux_abi = true;
		fputs("<library-list-svr4 version=\"1.0\"/>", f);
	} else if (!strncmp(name, "exec-file:read:", 15)) {
		fputs(stub->program.path, f);
	} else {
		return false;
	}
	return true;
}

/* Reply with a part of an object. "l" precedes the last bytes of the object, and "m" precedes other bytes. */
static void read_object(struct stub *stub)
{
	const char *at = strrchr(stub->packet, ':');
	struct text text = { 0 };
	uint64_t offset, size;
	bool ok;

	at = at ? at + 1 : "";
	text.file = open_memstream(&text.at, &text.nr);
	ok = text.file && packet_number(&at, &offset) && *at++ == ',' && packet_number(&at, &size) &&
	     put_object(stub, stub->packet + 6, text.file);
	if (text.file)
		ok = !fclose(text.file) && ok;
	if (!ok) {
		reply_text(stub, "E01");
	} else if (offset >= text.nr) {
		reply_text(stub, "l");
	} else {
		if (size > STUB_PACKET - 64)
			size = STUB_PACKET - 64;
		reply_text(stub, size < text.nr - offset ? "m" : "l");
		reply_add(stub, text.at + offset, size < text.nr - offset ? size : text.nr - offset);
	}
	free(text.at);
}

/* ---- Files ---- */

static struct stub_file *file_of(struct stub *stub, const char **at)
{
	uint64_t fd;

	if (!packet_number(at, &fd) || fd >= STUB_FILES || !stub->files[fd].data)
		return NULL;
	return &stub->files[fd];
}

/*
 * Find a file by the name that the client knows, which may begin with additional slashes. Return false if none exists.
 */
static bool find_file(struct stub *stub, const char *path, struct nt_replay_object *file)
{
	bool found;
	size_t i;

	path += path[0] == '/' ? strspn(path, "/") - 1 : 0;
	*file = stub->program;
	for (i = 0, found = true; found && strcmp(file->path, path); i++)
		found = stub_file(stub, i, file);
	return found;
}

static void open_file(struct stub *stub, const char *packet)
{
	struct nt_replay_object object;
	char path[4096];
	long n = packet_hex(packet, (uint8_t *)path, sizeof(path) - 1);
	const uint8_t *note;
	size_t fd = 0;

	path[n < 0 ? 0 : n] = '\0';
	while (fd < STUB_FILES && stub->files[fd].data)
		fd++;
	if (fd < STUB_FILES && find_file(stub, path, &object)) {
		note = memmem(object.data, object.size, abi_note, sizeof(abi_note));
		stub->files[fd] = (struct stub_file){
			.data = object.data, .size = object.size, .blank = note ? note - object.data + 8 : 0,
		};
		reply_format(stub, "F%zx", fd);
		return;
	}
	/* reply that the call has failed (-1) with errno 2, ENOENT */
	reply_text(stub, "F-1,2");
}

static void read_file(struct stub *stub, const char *packet)
{
	const struct stub_file *file = file_of(stub, &packet);
	uint64_t size, offset, i;
	uint8_t byte;

	if (!file || *packet++ != ',' || !packet_number(&packet, &size) || *packet++ != ',' ||
	    !packet_number(&packet, &offset)) {
		/* reply that the call has failed (-1) with errno 9, EBADF */
		reply_text(stub, "F-1,9");
		return;
	}
	if (offset > file->size)
		offset = file->size;
	if (size > file->size - offset)
		size = file->size - offset;
	/* escapes in the frame of a packet can double the number of bytes */
	if (size > STUB_PACKET / 2)
		size = STUB_PACKET / 2;
	reply_format(stub, "F%llx;", (unsigned long long)size);
	for (i = offset; i < offset + size; i++) {
		/*
		 * change the byte at @blank, which is in the type of the note with the OS ABI, so that gdb does not
		 * find this note
		 */
		byte = i && i == file->blank ? 0x7f : file->data[i];
		reply_add(stub, &byte, 1);
	}
}

/* Reply with a struct stat in the layout of the protocol, in which numbers are big endian. */
static void stat_file(struct stub *stub, const char *packet)
{
	const struct stub_file *file = file_of(stub, &packet);
	uint8_t stat[64] = { 0 };
	unsigned int i;

	if (!file) {
		reply_text(stub, "F-1,9");
		return;
	}
	stat[10] = (S_IFREG | 0755) >> 8;
	stat[11] = (S_IFREG | 0755) & 0xff;
	stat[15] = 1;
	for (i = 0; i < 8; i++)
		stat[28 + i] = (uint64_t)file->size >> (56 - 8 * i);
	reply_format(stub, "F%zx;", sizeof(stat));
	reply_add(stub, stat, sizeof(stat));
}

static void close_file(struct stub *stub, const char *packet)
{
	struct stub_file *file = file_of(stub, &packet);

	if (file)
		file->data = NULL;
	reply_text(stub, file ? "F0" : "F-1,9");
}

/* Reply with the address of the program's first segment. All segments have moved by the same number of bytes. */
static void reply_offsets(struct stub *stub)
{
	reply_format(stub, "TextSeg=%llx", (unsigned long long)stub->program.start);
}

bool objects_packet(struct stub *stub)
{
	static const struct {
		const char	*name;
		void		(*fn)(struct stub *stub, const char *packet);
	} calls[] = {
		{ "vFile:open:", open_file }, { "vFile:pread:", read_file }, { "vFile:fstat:", stat_file },
		{ "vFile:close:", close_file },
	};
	const char *packet = stub->packet;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strncmp(packet, calls[i].name, strlen(calls[i].name)))
			continue;
		calls[i].fn(stub, packet + strlen(calls[i].name));
		return true;
	}
	if (!strncmp(packet, "vFile:setfs:", 12))
		reply_text(stub, "F0");
	else if (!strncmp(packet, "qXfer:", 6))
		read_object(stub);
	else if (!strcmp(packet, "qOffsets"))
		reply_offsets(stub);
	else
		return false;
	return true;
}
