// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test libntrace-elf through its public header. argv[1] is a folder with the files that
 * lib/elf.t made.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ntrace/elf.h>

static const char *folder;

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct nt_elf *open_file(const char *name)
{
	struct nt_elf *elf;

	assert_int_equal(nt_elf_open(path_of(name), &elf), NT_OK);
	assert_non_null(elf);
	return elf;
}

static struct nt_elf_info info_of(const char *name)
{
	struct nt_elf *elf = open_file(name);
	struct nt_elf_info info;

	nt_elf_info(elf, &info, sizeof(info));
	nt_elf_close(elf);
	return info;
}

static int error_of(const char *name)
{
	struct nt_elf *elf = (struct nt_elf *)&folder;
	int err = nt_elf_open(path_of(name), &elf);

	assert_null(elf);
	return err;
}

static size_t read_file(const char *name, uint8_t **data)
{
	FILE *file = fopen(path_of(name), "rb");
	size_t size;

	assert_non_null(file);
	*data = malloc(1 << 20);
	size = fread(*data, 1, 1 << 20, file);
	fclose(file);
	return size;
}

/* The program consists of nop and ret, and is linked to address 0x10000. */
static void segments_are_added_and_removed(void **state)
{
	static const uint8_t code[] = { 0x13, 0, 0, 0, 0x67, 0x80, 0, 0 };
	struct nt_image *image = nt_image_new();
	struct nt_elf *elf = open_file("rv64");
	uint8_t buf[8];

	(void)state;
	assert_int_equal(nt_elf_add(elf, image, 0, 0), NT_OK);
	assert_int_equal(nt_elf_add(elf, image, 7, 0x40000), NT_OK);
	assert_int_equal(nt_image_read(image, 0, 0x10000, buf, 8), 8);
	assert_memory_equal(buf, code, 8);
	assert_int_equal(nt_image_read(image, 7, 0x50000, buf, 8), 8);
	assert_memory_equal(buf, code, 8);
	assert_int_equal(nt_image_read(image, 0, 0x50000, buf, 8), 0);
	assert_int_equal(nt_elf_remove(elf, image, 7, 0), NT_E_NOT_FOUND);
	assert_int_equal(nt_elf_remove(elf, image, 7, 0x40000), NT_OK);
	assert_int_equal(nt_image_read(image, 7, 0x50000, buf, 8), 0);
	assert_int_equal(nt_image_read(image, 0, 0x10000, buf, 8), 8);
	assert_int_equal(nt_elf_remove(elf, image, 0, 0), NT_OK);
	assert_int_equal(nt_image_read(image, 0, 0x10000, buf, 8), 0);
	/*
	 * The last segment would end beyond the address space, so the library must refuse the file. None of its
	 * segments may remain in the image.
	 */
	assert_int_equal(nt_elf_add(elf, image, 0, UINT64_MAX - 0x10002), NT_E_INVALID);
	assert_int_equal(nt_image_read(image, 0, UINT64_MAX - 2, buf, 1), 0);
	nt_elf_close(elf);
	nt_elf_close(NULL);
	nt_image_free(image);
}

static void a_flow_forgets_what_was_removed(void **state)
{
	/* ProgTraceSync with address 0x10000, and IndirectBranch with I-CNT=4 to the same address */
	static const uint8_t sync[] = { 0x24, 0x0d, 0x00, 0x00, 0x23 };
	static const uint8_t jump[] = { 0x10, 0x41, 0x03 };
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct nt_flow *flow = nt_flow_new(&config, image);
	struct nt_elf *elf = open_file("rv64");
	struct nt_item item;

	(void)state;
	assert_int_equal(nt_elf_add(elf, image, 0, 0), NT_OK);
	nt_flow_feed(flow, sync, sizeof(sync));
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(item.sync.addr, 0x10000);
	assert_int_equal(nt_flow_next(flow, &item), 0);
	nt_flow_feed(flow, jump, sizeof(jump));
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(item.type, NT_ITEM_RANGE);
	assert_int_equal(nt_flow_next(flow, &item), 0);
	nt_elf_remove(elf, image, 0, 0);
	nt_elf_close(elf);
	nt_flow_feed(flow, jump, sizeof(jump));
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_not_equal(item.type, NT_ITEM_RANGE);
	nt_flow_free(flow);
	nt_image_free(image);
}

static void files_say_what_they_are(void **state)
{
	struct nt_elf_info info = info_of("rv64");

	(void)state;
	assert_int_equal(info.xlen, 64);
	assert_int_equal(info.type, ET_EXEC);
	assert_int_equal(info.entry, 0x10000);
	assert_int_equal(info.low, 0x10000);
	assert_true(info.high >= 0x10008);
	assert_int_equal(info.isa, 0);
	assert_int_equal(info_of("rv32").xlen, 32);
	assert_int_equal(info_of("zcmp").isa, NT_ISA_ZCMP);
	assert_int_equal(info_of("zcmt").isa, NT_ISA_ZCMT);
	assert_int_equal(info_of("stripped").build_id_size, 20);
	assert_int_equal(info_of("stripped").xlen, 64);
}

static void build_ids_are_checked(void **state)
{
	struct nt_elf_info info = info_of("rv64");
	struct nt_elf *elf = open_file("stripped"), *none = open_file("no-id");

	(void)state;
	assert_int_equal(info.build_id_size, 20);
	assert_int_equal(nt_elf_check_build_id(elf, info.build_id, 20), NT_OK);
	assert_int_equal(nt_elf_check_build_id(elf, info.build_id, 8), NT_OK);
	assert_int_equal(nt_elf_check_build_id(elf, info.build_id, 0), NT_ELF_E_BUILD_ID);
	assert_int_equal(nt_elf_check_build_id(elf, info.build_id, 21), NT_ELF_E_BUILD_ID);
	info.build_id[19] ^= 1;
	assert_int_equal(nt_elf_check_build_id(elf, info.build_id, 20), NT_ELF_E_BUILD_ID);
	assert_int_equal(nt_elf_check_build_id(none, info.build_id, 20), NT_ELF_E_NO_BUILD_ID);
	nt_elf_close(elf);
	nt_elf_close(none);
}

static void other_files_are_refused(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(error_of("there-is-none"), NT_ELF_E_READ);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(error_of("."), NT_ELF_E_FORMAT);
	assert_int_equal(error_of("empty"), NT_ELF_E_FORMAT);
	assert_int_equal(error_of("text"), NT_ELF_E_FORMAT);
	assert_int_equal(error_of("archive"), NT_ELF_E_FORMAT);
	assert_int_equal(error_of("host"), NT_ELF_E_MACHINE);
	assert_int_equal(error_of("object.o"), NT_ELF_E_NOT_LINKED);
	assert_string_equal(nt_elf_error_text(NT_ELF_E_MACHINE), "not a RISC-V program");
	assert_string_equal(nt_elf_error_text(NT_E_NOMEM), nt_error_text(NT_E_NOMEM));
}

/*
 * Shorten a file to each length. The library must refuse the shortened file, or load only bytes that
 * the file contains.
 */
static void truncated_files_are_refused(void **state)
{
	struct nt_elf_segment segment;
	struct nt_elf *elf;
	uint8_t *data, *copy;
	size_t size = read_file("rv64", &data), n, i, damaged = 0;

	(void)state;
	for (n = 0; n < size; n++) {
		int err;

		copy = malloc(n ? n : 1);
		memcpy(copy, data, n);
		err = nt_elf_open_memory(copy, n, &elf);
		if (err && err != NT_ELF_E_FORMAT && err != NT_ELF_E_DAMAGED)
			fail_msg("%zu bytes: %s", n, nt_elf_error_text(err));
		damaged += err == NT_ELF_E_DAMAGED;
		for (i = 0; !err && !nt_elf_segment(elf, i, &segment, sizeof(segment)); i++)
			assert_true(segment.data + segment.size <= copy + n);
		nt_elf_close(elf);
		free(copy);
	}
	assert_true(damaged > 100);
	free(data);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_added_and_removed),
		cmocka_unit_test(a_flow_forgets_what_was_removed),
		cmocka_unit_test(files_say_what_they_are),
		cmocka_unit_test(build_ids_are_checked),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(truncated_files_are_refused),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: elf FOLDER\n");
		return 2;
	}
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
