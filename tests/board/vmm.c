// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small virtual machine monitor for a KVM guest on the board.
 *
 *   vmm IMAGE DEVICETREE INITRD [KERNEL]
 *   vmm hold
 *
 * The guest has one CPU and no device. It prints with SBI's debug console to the standard output of
 * the monitor. When the guest switches itself off, the monitor exits with 0. Before it exits, it writes
 * the current contents of the memory to which it had loaded IMAGE to the file KERNEL.
 *
 * The host's kernel patches its scheduler when the first virtual machine starts and when the last
 * one ends. "vmm hold" creates an idle virtual machine, which exists until the monitor is
 * killed. While this machine exists, the host's kernel does not patch its scheduler.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define RAM		0x80000000UL
#define RAM_SIZE	(192UL << 20)
#define KERNEL_AT	(2UL << 20)
#define KERNEL_SIZE	(40UL << 20)
#define DEVICETREE_AT	(112UL << 20)
#define INITRD_AT	(128UL << 20)

#define SBI_PUTCHAR	1UL
#define SBI_DBCN	0x4442434eUL
#define DBCN_WRITE	0
#define DBCN_WRITE_BYTE	2
#define SBI_NOT_SUPPORTED (-2L)

#define CORE(field)	(KVM_REG_RISCV_CORE | offsetof(struct kvm_riscv_core, field) / sizeof(long))

static uint8_t *ram;

static void die(const char *what)
{
	fprintf(stderr, "vmm: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void load(const char *path, size_t at)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		die(path);
	while ((n = read(fd, ram + at, RAM_SIZE - at)) > 0)
		at += n;
	if (n < 0 || at == RAM_SIZE)
		die(path);
	close(fd);
}

static void save(const char *path)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(ram + KERNEL_AT, KERNEL_SIZE, 1, f) != 1 || fclose(f))
		die(path);
}

static void set_reg(int cpu, uint64_t id, uint64_t value)
{
	struct kvm_one_reg reg = {
		.id = KVM_REG_RISCV | KVM_REG_SIZE_U64 | id, .addr = (uintptr_t)&value,
	};

	if (ioctl(cpu, KVM_SET_ONE_REG, &reg))
		die("KVM_SET_ONE_REG");
}

static int make_machine(int kvm)
{
	struct kvm_userspace_memory_region region = { .guest_phys_addr = RAM, .memory_size = RAM_SIZE };
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	if (vm < 0)
		die("KVM_CREATE_VM");
	ram = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ram == MAP_FAILED)
		die("mmap");
	region.userspace_addr = (uintptr_t)ram;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		die("KVM_SET_USER_MEMORY_REGION");
	return vm;
}

/* Create the CPU. Linux starts with the number of its hart in a0 and the address of the device tree in a1. */
static int make_cpu(int vm)
{
	int cpu = ioctl(vm, KVM_CREATE_VCPU, 0);

	if (cpu < 0)
		die("KVM_CREATE_VCPU");
	set_reg(cpu, KVM_REG_RISCV_SBI_EXT | KVM_REG_RISCV_SBI_SINGLE | KVM_RISCV_SBI_EXT_DBCN, 1);
	set_reg(cpu, CORE(regs.pc), RAM + KERNEL_AT);
	set_reg(cpu, CORE(regs.a0), 0);
	set_reg(cpu, CORE(regs.a1), RAM + DEVICETREE_AT);
	return cpu;
}

static void print(uint64_t addr, uint64_t size)
{
	if (addr - RAM < RAM_SIZE && size <= RAM_SIZE - (addr - RAM))
		fwrite(ram + (addr - RAM), 1, size, stdout);
}

static void sbi_call(struct kvm_run *run)
{
	unsigned long ext = run->riscv_sbi.extension_id, fn = run->riscv_sbi.function_id;
	unsigned long *args = run->riscv_sbi.args;

	run->riscv_sbi.ret[0] = 0;
	run->riscv_sbi.ret[1] = 0;
	if (ext == SBI_DBCN && fn == DBCN_WRITE) {
		print(args[1], args[0]);
		run->riscv_sbi.ret[1] = args[0];
	} else if (ext == SBI_PUTCHAR || (ext == SBI_DBCN && fn == DBCN_WRITE_BYTE)) {
		putchar(args[0]);
	} else {
		run->riscv_sbi.ret[0] = SBI_NOT_SUPPORTED;
	}
	fflush(stdout);
}

/* Run the guest until it switches itself off. Return the monitor's exit status. */
static int run_cpu(int cpu, struct kvm_run *run)
{
	while (1) {
		if (ioctl(cpu, KVM_RUN, 0) && errno != EINTR)
			die("KVM_RUN");
		switch (run->exit_reason) {
		case KVM_EXIT_RISCV_SBI:
			sbi_call(run);
			break;
		case KVM_EXIT_INTR:
			break;
		case KVM_EXIT_SYSTEM_EVENT:
			return run->system_event.type != KVM_SYSTEM_EVENT_SHUTDOWN;
		default:
			fprintf(stderr, "vmm: the guest left with reason %u\n", run->exit_reason);
			return 1;
		}
	}
}

static void hold(int kvm)
{
	make_machine(kvm);
	puts("held");
	fflush(stdout);
	while (1)
		pause();
}

int main(int argc, char **argv)
{
	int kvm = open("/dev/kvm", O_RDWR), vm, cpu, size, status;
	struct kvm_run *run;

	if (argc != 4 && argc != 5 && (argc != 2 || strcmp(argv[1], "hold"))) {
		fputs("usage: vmm IMAGE DEVICETREE INITRD [KERNEL], or vmm hold\n", stderr);
		return 2;
	}
	if (kvm < 0)
		die("/dev/kvm");
	if (argc == 2)
		hold(kvm);
	vm = make_machine(kvm);
	load(argv[1], KERNEL_AT);
	load(argv[2], DEVICETREE_AT);
	load(argv[3], INITRD_AT);
	cpu = make_cpu(vm);
	size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
	if (run == MAP_FAILED)
		die("the CPU's state");
	status = run_cpu(cpu, run);
	if (argc == 5)
		save(argv[4]);
	return status;
}
