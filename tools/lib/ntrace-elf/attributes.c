// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Format of section .riscv.attributes (RISC-V psABI, chapter "Attributes")
 *
 *	'A', then for each vendor: uint32 length, name, then
 *		for each scope: ULEB128 tag, uint32 length, then
 *			for each attribute: ULEB128 tag, then a ULEB128 or, if the tag is odd, text
 *
 * A length also counts its own four bytes, and the tag right before it, if there is one.
 */
#include <string.h>

#include "elf-file.h"

#ifndef SHT_RISCV_ATTRIBUTES
#define SHT_RISCV_ATTRIBUTES	0x70000003
#endif
#define TAG_FILE	1
#define TAG_RISCV_ARCH	5

/* The bytes that are not yet read, from @at up to, but not including, @end */
struct bytes {
	const uint8_t	*at;
	const uint8_t	*end;
};

/*
 * Read and return a ULEB128 number. Ignore all bits after the first 64. If the end of the number is
 * missing, skip all remaining bytes, and return 0.
 */
static uint64_t take_uleb(struct bytes *bytes)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (bytes->at < bytes->end) {
		uint8_t byte = *bytes->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			return value;
	}
	return 0;
}

/* Read a text that ends with a NUL. Return "" if the NUL is missing. */
static const char *take_text(struct bytes *bytes)
{
	const char *text = (const char *)bytes->at;
	const uint8_t *end = memchr(bytes->at, '\0', bytes->end - bytes->at);

	bytes->at = end ? end + 1 : bytes->end;
	return end ? text : "";
}

/*
 * Read the 4-byte length at *bytes of a part of the attributes section. The length counts the bytes from
 * @start, which is at or before *bytes, to the end of the part. Return the bytes of the part after its
 * length, and set *bytes to the bytes after the part.
 */
static struct bytes take_part(struct bytes *bytes, const uint8_t *start)
{
	struct bytes part = { bytes->end, bytes->end };
	uint32_t length;

	if (bytes->end - bytes->at < 4) {
		bytes->at = bytes->end;
		return part;
	}
	length = bytes->at[0] | bytes->at[1] << 8 | bytes->at[2] << 16 | (uint32_t)bytes->at[3] << 24;
	part.at = bytes->at + 4;
	if (length <= bytes->end - start && start + length >= part.at)
		part.end = start + length;
	bytes->at = part.end;
	return part;
}

/* Return true if @arch, such as "rv64i2p1_m2p0_zcmp1p0", has extension @name, with or without a version. */
static bool has_extension(const char *arch, const char *name)
{
	size_t length = strlen(name);
	const char *at = arch;

	while ((at = strchr(at, '_'))) {
		at++;
		if (!strncmp(at, name, length) && (!at[length] || strchr("_0123456789", at[length])))
			return true;
	}
	return false;
}

static uint32_t read_attributes(struct bytes part)
{
	uint32_t isa = 0;

	while (part.at < part.end) {
		uint64_t tag = take_uleb(&part);
		const char *text;

		if (!(tag & 1)) {
			take_uleb(&part);
			continue;
		}
		text = take_text(&part);
		if (tag != TAG_RISCV_ARCH)
			continue;
		isa |= has_extension(text, "zcmp") ? NT_ISA_ZCMP : 0;
		isa |= has_extension(text, "zcmt") ? NT_ISA_ZCMT : 0;
	}
	return isa;
}

static uint32_t read_vendor(struct bytes part)
{
	uint32_t isa = 0;

	if (strcmp(take_text(&part), "riscv"))
		return 0;
	while (part.at < part.end) {
		const uint8_t *start = part.at;
		uint64_t tag = take_uleb(&part);
		struct bytes scope = take_part(&part, start);

		if (tag == TAG_FILE)
			isa |= read_attributes(scope);
	}
	return isa;
}

static uint32_t read_section(struct bytes bytes)
{
	uint32_t isa = 0;

	if (bytes.at == bytes.end || *bytes.at++ != 'A')
		return 0;
	while (bytes.at < bytes.end)
		isa |= read_vendor(take_part(&bytes, bytes.at));
	return isa;
}

uint32_t nt_elf_read_isa(const struct nt_elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;

	while ((section = elf_nextscn(elf->elf, section))) {
		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_RISCV_ATTRIBUTES)
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf)
			return read_section((struct bytes){
				data->d_buf, (const uint8_t *)data->d_buf + data->d_size });
	}
	return 0;
}
