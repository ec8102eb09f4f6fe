// SPDX-License-Identifier: GPL-2.0-only
/* Code of the firmware and of the recording's vDSO, which perf itself does not find. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "build-id.h"
#include "debug.h"
#include "dso.h"
#include "dsos.h"
#include "machine.h"
#include "ntrace-priv.h"
#include "util.h"
#include "vdso.h"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

static bool ntrace_firmware_check(const struct ntrace_firmware *fw)
{
	const Elf64_Ehdr *ehdr = fw->file;

	if (fw->file_size < sizeof(*ehdr) || memcmp(ehdr->e_ident, ELFMAG, SELFMAG))
		return false;
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (ehdr->e_machine != EM_RISCV || ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return false;
	return ehdr->e_phoff <= fw->file_size &&
	       ehdr->e_phnum <= (fw->file_size - ehdr->e_phoff) / sizeof(Elf64_Phdr);
}

/* Find the code segments. Add @bias to the addresses of the ELF file, because firmware may be position independent. */
static int ntrace_firmware_segments(struct ntrace_firmware *fw, u64 bias)
{
	const Elf64_Ehdr *ehdr = fw->file;
	Elf64_Phdr phdr;
	unsigned int i;

	fw->segments = calloc(ehdr->e_phnum + 1, sizeof(*fw->segments));
	if (!fw->segments)
		return -ENOMEM;
	for (i = 0; i < ehdr->e_phnum; i++) {
		memcpy(&phdr, fw->file + ehdr->e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) || !phdr.p_filesz)
			continue;
		if (phdr.p_offset > fw->file_size ||
		    phdr.p_filesz > fw->file_size - phdr.p_offset)
			return -EINVAL;
		fw->segments[fw->nr++] = (struct ntrace_segment) {
			.addr = phdr.p_vaddr + bias,
			.size = phdr.p_filesz,
			.data = fw->file + phdr.p_offset,
		};
	}
	return fw->nr ? 0 : -EINVAL;
}

static int ntrace_read_file(const char *path, void **data, size_t *size)
{
	FILE *fp = fopen(path, "r");
	long len = -1;
	int err = -EIO;

	if (!fp)
		return -errno;
	if (!fseek(fp, 0, SEEK_END))
		len = ftell(fp);
	if (len > 0 && !fseek(fp, 0, SEEK_SET)) {
		*data = malloc(len);
		if (*data && fread(*data, 1, len, fp) == (size_t)len)
			err = 0;
		*size = len;
	}
	fclose(fp);
	if (err)
		zfree(data);
	return err;
}

/* Load the firmware that @spec names by FILE or FILE@BIAS. Return 0 or an error. */
int ntrace_firmware_load(struct ntrace_firmware *fw, const char *spec)
{
	char *path = strdup(spec), *at;
	u64 bias = 0;
	int err;

	if (!path)
		return -ENOMEM;
	at = strrchr(path, '@');
	if (at) {
		*at = '\0';
		bias = strtoull(at + 1, NULL, 0);
	}
	err = ntrace_read_file(path, &fw->file, &fw->file_size);
	if (!err)
		err = ntrace_firmware_check(fw) ? ntrace_firmware_segments(fw, bias) : -EINVAL;
	if (err)
		pr_err("N-Trace: ntrace.firmware: %s: %s\n", path,
		       err == -EINVAL ? "not an ELF file of RISC-V code" : strerror(-err));
	free(path);
	return err;
}

int ntrace_firmware_read(const struct ntrace_firmware *fw, u64 addr, u8 *buf, size_t size)
{
	const struct ntrace_segment *seg;

	for (seg = fw->segments; seg < fw->segments + fw->nr; seg++) {
		if (addr < seg->addr || addr - seg->addr >= seg->size)
			continue;
		size = min_t(u64, size, seg->size - (addr - seg->addr));
		memcpy(buf, (u8 *)seg->data + (addr - seg->addr), size);
		return size;
	}
	return 0;
}

void ntrace_firmware_free(struct ntrace_firmware *fw)
{
	zfree(&fw->segments);
	zfree(&fw->file);
	fw->nr = 0;
}

/*
 * Load the vDSO of the recording from the build-id cache, by the build ID that the recording names. perf
 * itself would use the vDSO of the machine that decodes.
 */
static void ntrace_vdso_load(struct ntrace *nt)
{
	struct dso *dso = dsos__find(&nt->machine->dsos, DSO__NAME_VDSO, false);
	char path[PATH_MAX];
	const struct build_id *bid;
	size_t i;
	int len;

	nt->vdso_tried = true;
	if (!dso)
		return;
	bid = dso__bid(dso);
	len = snprintf(path, sizeof(path), "%s/" DSO__NAME_VDSO "/", buildid_dir);
	for (i = 0; i < bid->size && len < (int)sizeof(path); i++)
		len += snprintf(path + len, sizeof(path) - len, "%02x", bid->data[i]);
	if (bid->size && len < (int)sizeof(path)) {
		snprintf(path + len, sizeof(path) - len, "/vdso");
		if (ntrace_read_file(path, &nt->vdso, &nt->vdso_size))
			pr_debug("N-Trace: there is no vDSO at %s\n", path);
	}
	dso__put(dso);
}

ssize_t ntrace_vdso_read(struct ntrace *nt, u64 offset, u8 *buf, size_t size)
{
	if (!nt->vdso_tried)
		ntrace_vdso_load(nt);
	if (!nt->vdso || offset >= nt->vdso_size)
		return -1;
	size = min(size, nt->vdso_size - (size_t)offset);
	memcpy(buf, nt->vdso + offset, size);
	return size;
}
