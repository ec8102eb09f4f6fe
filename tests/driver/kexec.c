// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start another kernel, as kexec(8) does. The other kernel prints a line and switches the machine off. Linux requires
 * a device tree for the other kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	4096UL
/* This address is in the upper half of 512 MiB of memory */
#define KERNEL	0x98000000UL
#define FDT	(KERNEL + PAGE)

extern const char next_kernel[], next_kernel_end[];

/*
 * Code of the kernel to start. It makes two SBI calls: Debug Console Extension, "Console Write Byte"; and System Reset
 * Extension, shutdown
 */
asm("	.pushsection .rodata\n"
    "	.balign 8\n"
    "next_kernel:\n"
    "	lla	s0, 3f\n"
    "1:	lbu	a0, 0(s0)\n"
    "	beqz	a0, 2f\n"
    "	addi	s0, s0, 1\n"
    "	li	a6, 2\n"
    "	li	a7, 0x4442434e\n"
    "	ecall\n"
    "	j	1b\n"
    "2:	li	a0, 0\n"
    "	li	a1, 0\n"
    "	li	a6, 0\n"
    "	li	a7, 0x53525354\n"
    "	ecall\n"
    "4:	j	4b\n"
    "3:	.asciz	\"the next kernel runs\\n\"\n"
    "next_kernel_end:\n"
    "	.popsection\n");

int main(void)
{
	static char fdt[64 * PAGE];
	struct kexec_segment segments[2] = { };
	int fd = open("/sys/firmware/fdt", O_RDONLY);
	ssize_t size = 0, n;

	while (fd >= 0 && (n = read(fd, fdt + size, sizeof(fdt) - size)) > 0)
		size += n;
	if (fd < 0 || !size || size == sizeof(fdt)) {
		fprintf(stderr, "kexec: /sys/firmware/fdt cannot be read\n");
		return 1;
	}
	segments[0].buf = next_kernel;
	segments[0].bufsz = next_kernel_end - next_kernel;
	segments[0].mem = (void *)KERNEL;
	segments[0].memsz = PAGE;
	segments[1].buf = fdt;
	segments[1].bufsz = size;
	segments[1].mem = (void *)FDT;
	segments[1].memsz = (size + PAGE - 1) / PAGE * PAGE;
	if (syscall(SYS_kexec_load, KERNEL, 2UL, segments, KEXEC_ARCH_DEFAULT)) {
		fprintf(stderr, "kexec: kexec_load: %s\n", strerror(errno));
		return 1;
	}
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	fprintf(stderr, "kexec: %s\n", strerror(errno));
	return 1;
}
