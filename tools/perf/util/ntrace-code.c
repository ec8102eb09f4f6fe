// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code lookup for the N-Trace decoder, by address and process.
 *
 * User code is read from the maps of the process, kernel code from the maps of the machine (kcore,
 * vmlinux, modules), and machine-mode code from the ELF file of the firmware, which perf.data does
 * not name.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "addr_location.h"
#include "build-id.h"
#include "debug.h"
#include "dso.h"
#include "dsos.h"
#include "machine.h"
#include "map.h"
#include "ntrace-priv.h"
#include "session.h"
#include "symbol_conf.h"
#include "thread.h"
#include "util.h"
#include "vdso.h"

#define NTRACE_ECALL	0x00000073

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

/* ----------------------------------------------------------- address spaces */

static struct ntrace_process *ntrace_process(struct ntrace *nt, pid_t pid)
{
	struct ntrace_process *process = NULL;
	unsigned int low = 0, high = nt->nr_processes, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (nt->processes[mid].pid == pid)
			return &nt->processes[mid];
		if (nt->processes[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	process = realloc(nt->processes, (nt->nr_processes + 1) * sizeof(*process));
	if (!process)
		return NULL;
	nt->processes = process;
	memmove(process + low + 1, process + low, (nt->nr_processes - low) * sizeof(*process));
	nt->nr_processes++;
	process[low] = (struct ntrace_process) {
		.pid = pid,
		.space = nt->last_space++,
	};
	return &process[low];
}

static u64 ntrace_process_space(struct ntrace *nt, pid_t pid)
{
	struct ntrace_process *process = pid < 0 ? NULL : ntrace_process(nt, pid);

	/*
	 * The lower half of the number is the PID, so that the process can be found from its address
	 * space. Bit 63 is 0, because it marks the address spaces of guests.
	 */
	return process ? (u64)(process->space & INT32_MAX) << 32 | (u32)pid : NTRACE_SPACE_UNKNOWN;
}

static bool ntrace_is_kernel(struct ntrace *nt, u64 addr)
{
	return addr >= nt->kernel_start;
}

bool ntrace_is_guest(const struct nt_context *context)
{
	return context->has_priv && (context->priv == NT_PRIV_VS || context->priv == NT_PRIV_VU);
}

static bool ntrace_is_guest_space(u64 space)
{
	return space & NTRACE_SPACE_GUEST || space == NTRACE_SPACE_NO_GUEST;
}

/*
 * Return the address space of a guest, which is identified by the host process @pid that runs it. The meaning
 * of hcontext is not defined, but when it changes, another guest may execute. The options of perf name only the
 * code of the first guest, so return NTRACE_SPACE_NO_GUEST for any other guest.
 */
static u64 ntrace_guest_space(struct ntrace_queue *q, pid_t pid, const struct nt_context *context)
{
	struct ntrace_process *process = ntrace_process(q->nt, pid);
	struct ntrace_guest guest;
	u64 hcontext = context->has_hcontext ? context->hcontext : 0;

	/* With --guestmount, there may be several guests, and the process that runs this one is unknown */
	if (!process || (pid <= 0 && symbol_conf.guestmount))
		return NTRACE_SPACE_NO_GUEST;
	if (!process->has_guest) {
		process->has_guest = true;
		process->has_hcontext = context->has_hcontext;
		process->hcontext = hcontext;
	}
	if (process->has_hcontext != context->has_hcontext || process->hcontext != hcontext)
		return NTRACE_SPACE_NO_GUEST;
	/* Add the PID of the process in the guest, if events that were recorded in the guest report it */
	ntrace_find_guest_task(q, context, &guest);
	return NTRACE_SPACE_GUEST | (u64)guest.pid << 32 | (u32)pid;
}

bool ntrace_is_other_guest(struct ntrace_queue *q)
{
	return ntrace_is_guest(&q->context) &&
	       ntrace_guest_space(q, q->pid, &q->context) == NTRACE_SPACE_NO_GUEST;
}

static u64 ntrace_code_space(void *ctx, const struct nt_context *context)
{
	struct ntrace_queue *q = ctx;

	if (context->has_priv && context->priv == NT_PRIV_M)
		return NTRACE_SPACE_FIRMWARE;
	if (ntrace_is_guest(context))
		return ntrace_guest_space(q, ntrace_context_pid(q, context), context);
	if (context->has_priv && context->priv != NT_PRIV_U)
		return NTRACE_SPACE_KERNEL;
	return ntrace_process_space(q->nt, ntrace_context_pid(q, context));
}

void ntrace_code_changed(struct ntrace *nt, pid_t pid)
{
	struct ntrace_process *process;
	unsigned int i;

	if (pid >= 0) {
		process = ntrace_process(nt, pid);
		if (process)
			process->space = nt->last_space++;
	}
	for (i = 0; i < nt->nr_streams; i++) {
		struct ntrace_queue *q = nt->streams[i];

		if (pid >= 0 && q->pid != pid)
			continue;
		/* The process has a new address space, so cached code of its old one is not used and can remain */
		if (pid >= 0) {
			nt_image_remap(q->image);
			continue;
		}
		memset(q->code, 0, NTRACE_NR_PAGES * sizeof(*q->code));
		nt_image_invalidate(q->image);
	}
}

/*
 * Handle a change in the guests (virtual machines) that process @pid runs. If @code is set, a guest has
 * changed its code. Otherwise it has switched to another of its processes.
 */
void ntrace_guest_changed(struct ntrace *nt, pid_t pid, bool code)
{
	unsigned int i;

	for (i = 0; i < nt->nr_streams; i++) {
		struct ntrace_queue *q = nt->streams[i];

		if (q->pid != pid)
			continue;
		if (!code) {
			nt_image_remap(q->image);
			continue;
		}
		memset(q->code, 0, NTRACE_NR_PAGES * sizeof(*q->code));
		nt_image_invalidate(q->image);
	}
}

void ntrace_code_exec(struct ntrace *nt, pid_t pid)
{
	struct ntrace_process *process = ntrace_process(nt, pid);

	if (process)
		process->executed = true;
	ntrace_code_changed(nt, pid);
}

bool ntrace_code_executed(struct ntrace *nt, pid_t pid)
{
	struct ntrace_process *process = pid < 0 ? NULL : ntrace_process(nt, pid);
	bool executed = process && process->executed;

	if (executed)
		process->executed = false;
	return executed;
}

/* -------------------------------------------------------------- perf's maps */

/*
 * Return false if the file is a program for another architecture. perf finds files by name on the machine
 * that decodes, so this program has the same name as the traced program, but is another one.
 */
static bool ntrace_dso_is_riscv(struct dso *dso, struct machine *machine)
{
	unsigned char header[20];

	if (dso__data_read_offset(dso, machine, 0, header, sizeof(header)) != sizeof(header))
		return true;
	if (memcmp(header, ELFMAG, SELFMAG))
		return true;
	return (header[18] | header[19] << 8) == EM_RISCV;
}

/*
 * Copy the build ID from another DSO of the same file. perf has several DSOs for a file if events report
 * different inodes for it, and only one of them has the build ID that the recording names.
 */
static void ntrace_dso_find_build_id(struct dso *dso, struct machine *machine)
{
	struct build_id bid;
	struct dso *other;

	if (dso__has_build_id(dso) || dso__data(dso)->status != DSO_DATA_STATUS_UNKNOWN)
		return;
	other = dsos__find(&machine->dsos, dso__long_name(dso), false);
	if (other && other != dso && dso__has_build_id(other)) {
		bid = *dso__bid(other);
		dso__set_build_id(dso, &bid);
	}
	dso__put(other);
}

/* Warn about a file without readable code, once, even if perf has already failed to read its symbols */
static void ntrace_dso_unreadable(struct dso *dso, struct machine *machine)
{
	const char *cure = machine__is_host(machine) ?
		"copy it to this machine (perf archive), or use --symfs" :
		"use --guestvmlinux, or put the guest's kcore and modules beside its kallsyms";

	if (!dso__data_status_seen(dso, DSO_DATA_STATUS_SEEN_ITRACE))
		pr_warning("N-Trace: cannot read the code of %s: %s\n", dso__long_name(dso), cure);
}

static ssize_t ntrace_dso_read(struct dso *dso, struct machine *machine, u64 offset, u8 *buf,
			       size_t size)
{
	ssize_t len;

	if (dso__data(dso)->status == DSO_DATA_STATUS_ERROR) {
		ntrace_dso_unreadable(dso, machine);
		return -1;
	}
	ntrace_dso_find_build_id(dso, machine);
	len = dso__data_read_offset(dso, machine, offset, buf, size);
	if (len > 0 && dso__data(dso)->status == DSO_DATA_STATUS_OK &&
	    !dso__data_status_seen(dso, DSO_DATA_STATUS_SEEN_ITRACE) &&
	    !ntrace_dso_is_riscv(dso, machine)) {
		pr_warning("N-Trace: %s is not of RISC-V: copy the program to this machine (perf archive), or use --symfs\n",
			   dso__long_name(dso));
		dso__data(dso)->status = DSO_DATA_STATUS_ERROR;
		return -1;
	}
	if (len < 0 && dso__data(dso)->status == DSO_DATA_STATUS_ERROR)
		ntrace_dso_unreadable(dso, machine);
	return len;
}

/*
 * Return true for a module of the default guest, whose code must not be used. perf finds it by name alone in
 * /lib/modules of the machine that decodes. Only the guest's kcore contains the code that the guest executed.
 */
static bool ntrace_dso_is_other(struct dso *dso, struct machine *machine)
{
	return machine__is_default_guest(machine) && dso__is_kmod(dso);
}

/* Read code. Return the number of bytes, or -1. @nt is NULL for a guest, which does not have the host's vDSO. */
static ssize_t ntrace_map_read(struct machine *machine, struct ntrace *nt, struct thread *thread,
			       u8 cpumode, u64 addr, u8 *buf, size_t size)
{
	struct addr_location al;
	struct dso *dso;
	ssize_t len = -1;

	addr_location__init(&al);
	if (!thread__find_map(thread, cpumode, addr, &al))
		goto out;
	map__load(al.map);
	dso = map__dso(al.map);
	/* Test the range again, because the kernel's map has its final size only after map__load() */
	if (!dso || addr < map__start(al.map) || addr >= map__end(al.map))
		goto out;
	if (ntrace_dso_is_other(dso, machine))
		goto out;
	size = min_t(u64, size, map__end(al.map) - addr);
	if (nt && dso__is_vdso(dso))
		len = ntrace_vdso_read(nt, map__map_ip(al.map, addr), buf, size);
	if (len <= 0)
		len = ntrace_dso_read(dso, machine, map__map_ip(al.map, addr), buf, size);
out:
	addr_location__exit(&al);
	return len;
}

/* Load the kernel's map before any code is read by it, because perf may replace it by the maps of kcore */
static void ntrace_load_kernel(struct ntrace *nt)
{
	if (!nt->kernel_loaded && machine__kernel_map(nt->machine))
		map__load(machine__kernel_map(nt->machine));
	nt->kernel_loaded = true;
}

/*
 * Return the map of the guest's kernel, or NULL. A recording of "perf kvm --guest record" contains the address of
 * the guest's kernel. In other recordings, perf knows a kernel only if options of this command name the kernel of
 * the default guest, or the files of this guest (--guestmount).
 */
static struct map *ntrace_guest_kernel(struct machine *guest)
{
	bool told = symbol_conf.guestmount;

	if (machine__is_default_guest(guest))
		told = symbol_conf.default_guest_vmlinux_name ||
		       symbol_conf.default_guest_kallsyms;
	if (!machine__kernel_map(guest) && told)
		machine__create_kernel_maps(guest);
	if (machine__kernel_map(guest))
		map__load(machine__kernel_map(guest));
	return machine__kernel_map(guest);
}

/*
 * Return the machine of the guest that process @pid runs. With --guestmount, each guest with files below that
 * directory is a separate machine. Any other guest is the default guest.
 */
static struct machine *ntrace_guest_machine(struct machines *machines, pid_t pid)
{
	char path[PATH_MAX];
	int len;

	if (symbol_conf.guestmount && pid != DEFAULT_GUEST_KERNEL_ID) {
		len = snprintf(path, sizeof(path), "%s/%d/proc/kallsyms", symbol_conf.guestmount,
			       pid);
		if (len < (int)sizeof(path) && !access(path, R_OK))
			return machines__findnew(machines, pid);
	}
	return machines__find_guest(machines, pid);
}

/*
 * Set q->guest and q->guest_thread for the guest that process @pid runs. The processes in the guest are unknown.
 * With --guest-code, they have the code of process @pid. Return false if no code of the guest is known.
 */
static bool ntrace_find_guest(struct ntrace_queue *q, pid_t pid)
{
	struct machines *machines = &q->nt->session->machines;

	if (pid <= 0)
		pid = DEFAULT_GUEST_KERNEL_ID;
	if (q->guest && q->guest->pid == pid)
		return q->guest_thread;
	thread__zput(q->guest_thread);
	q->guest = NULL;
	if (symbol_conf.guest_code)
		q->guest_thread = machines__findnew_guest_code(machines, pid);
	q->guest = ntrace_guest_machine(machines, pid);
	if (!q->guest)
		return false;
	if (ntrace_guest_kernel(q->guest) && !q->guest_thread)
		q->guest_thread = machine__idle_thread(q->guest);
	return q->guest_thread;
}

/*
 * Read code of a process in a guest, by the maps that were recorded in the guest (perf inject --guest-data).
 * Return the number of bytes, or -1.
 */
static ssize_t ntrace_guest_process_read(struct ntrace_queue *q, u64 space, u64 addr, u8 *buf,
					 size_t size)
{
	struct machine *machine = machines__find(&q->nt->session->machines, (u32)space);
	pid_t pid = (space & ~NTRACE_SPACE_GUEST) >> 32;
	struct thread *thread;
	ssize_t len = -1;

	thread = machine ? machine__find_thread(machine, pid, pid) : NULL;
	if (thread)
		len = ntrace_map_read(machine, NULL, thread, PERF_RECORD_MISC_GUEST_USER, addr,
				      buf, size);
	thread__put(thread);
	return len;
}

static ssize_t ntrace_guest_read(struct ntrace_queue *q, u64 space, u64 addr, u8 *buf,
				 size_t size)
{
	bool kernel = ntrace_is_kernel(q->nt, addr);
	pid_t pid = (u32)space;

	if (!kernel && (space & ~NTRACE_SPACE_GUEST) >> 32)
		return ntrace_guest_process_read(q, space, addr, buf, size);

	if ((!kernel && !symbol_conf.guest_code) || !ntrace_find_guest(q, pid))
		return -1;
	return ntrace_map_read(q->guest, NULL, q->guest_thread,
			       kernel ? PERF_RECORD_MISC_GUEST_KERNEL :
					PERF_RECORD_MISC_GUEST_USER, addr, buf, size);
}

static ssize_t ntrace_space_read(struct ntrace_queue *q, u64 space, u64 addr, u8 *buf,
				 size_t size)
{
	struct ntrace *nt = q->nt;
	bool kernel = ntrace_is_kernel(nt, addr);
	pid_t pid = kernel ? 0 : (pid_t)(u32)space;
	struct thread *thread;
	ssize_t len;

	if (space == NTRACE_SPACE_NO_GUEST)
		return -1;
	if (ntrace_is_guest_space(space))
		return ntrace_guest_read(q, space, addr, buf, size);
	if (!kernel && space < NTRACE_SPACE_PROCESS)
		return -1;
	thread = machine__findnew_thread(nt->machine, pid, pid);
	if (!thread)
		return -1;
	if (kernel)
		ntrace_load_kernel(nt);
	len = ntrace_map_read(nt->machine, nt, thread, kernel ? PERF_RECORD_MISC_KERNEL :
			      PERF_RECORD_MISC_USER, addr, buf, size);
	thread__put(thread);
	return len;
}

/*
 * Return the page that contains @addr, or NULL if the code cannot be read. If the code at the start
 * of the page cannot be read, return only the code from @addr to the end of the page. This happens
 * if the map starts inside the page. Every map ends at the end of a page.
 */
static struct ntrace_page *ntrace_code_page(struct ntrace_queue *q, u64 space, u64 addr)
{
	u64 base = addr & ~(u64)(NTRACE_PAGE - 1);
	struct ntrace_page *page;
	ssize_t len;

	if (ntrace_is_kernel(q->nt, addr) && !ntrace_is_guest_space(space))
		space = NTRACE_SPACE_KERNEL;
	page = &q->code[(base / NTRACE_PAGE ^ space ^ space >> 32) % NTRACE_NR_PAGES];
	if (page->space == space && addr >= page->addr && addr < page->addr + page->size)
		return page;

	len = ntrace_space_read(q, space, base, page->data, NTRACE_PAGE);
	if (len <= 0 || addr - base >= (u64)len) {
		base = addr;
		len = ntrace_space_read(q, space, base, page->data,
					NTRACE_PAGE - addr % NTRACE_PAGE);
	}
	page->space = NTRACE_SPACE_NONE;
	if (len <= 0)
		return NULL;
	page->space = space;
	page->addr = base;
	page->size = len;
	return page;
}

/*
 * Return true if the encoder traces machine mode and sends no Ownership messages. Firmware code is
 * then recognised only by its address, which no process has mapped.
 */
static bool ntrace_hides_firmware(const struct ntrace_queue *q)
{
	return q->info && (q->info->config & (NTRACE_CONFIG_CONTEXT | NTRACE_CONFIG_FIRMWARE)) ==
			  NTRACE_CONFIG_FIRMWARE;
}

/*
 * Return true if unknown code at @addr may be firmware code. If the user has named the file of the firmware,
 * all firmware code is in that file, so unknown code is not firmware code.
 */
bool ntrace_may_be_firmware(struct ntrace_queue *q, u64 addr)
{
	struct addr_location al;
	bool mapped = true;

	if (!ntrace_hides_firmware(q) || ntrace_is_kernel(q->nt, addr) || !q->thread ||
	    q->nt->firmware.nr)
		return false;
	addr_location__init(&al);
	mapped = thread__find_map(q->thread, PERF_RECORD_MISC_USER, addr, &al);
	addr_location__exit(&al);
	return !mapped;
}

static int ntrace_code_reader(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	struct ntrace_queue *q = ctx;
	struct ntrace_page *page;

	if (space == NTRACE_SPACE_FIRMWARE)
		return 0;
	page = ntrace_code_page(q, space, addr);
	if (!page)
		return ntrace_hides_firmware(q) ?
			ntrace_firmware_read(&q->nt->firmware, addr, buf, size) : 0;
	size = min_t(u64, size, page->addr + page->size - addr);
	memcpy(buf, page->data + (addr - page->addr), size);
	return size;
}

size_t ntrace_code_read(struct ntrace_queue *q, u64 addr, void *buf, size_t size)
{
	u64 space = ntrace_process_space(q->nt, q->pid);
	size_t done = 0;
	int len;

	if (ntrace_is_guest(&q->context))
		space = ntrace_guest_space(q, q->pid, &q->context);
	if (q->cpumode == PERF_RECORD_MISC_HYPERVISOR)
		return nt_image_read(q->image, NTRACE_SPACE_FIRMWARE, addr, buf, size);
	while (done < size) {
		len = ntrace_code_reader(q, space, addr + done, buf + done, size - done);
		if (len <= 0)
			break;
		done += len;
	}
	return done;
}

bool ntrace_is_ecall(struct ntrace_queue *q, u64 addr)
{
	u8 insn[4];

	return ntrace_code_read(q, addr, insn, sizeof(insn)) == sizeof(insn) &&
	       (insn[0] | insn[1] << 8 | insn[2] << 16 | (u32)insn[3] << 24) == NTRACE_ECALL;
}

int ntrace_code_init(struct ntrace_queue *q)
{
	struct nt_image_reader reader = {
		.space = ntrace_code_space,
		.read = ntrace_code_reader,
		.ctx = q,
	};
	struct ntrace_firmware *fw = &q->nt->firmware;
	unsigned int i;

	q->code = calloc(NTRACE_NR_PAGES, sizeof(*q->code));
	q->image = nt_image_new();
	if (!q->code || !q->image)
		return -ENOMEM;
	nt_image_set_reader(q->image, &reader);
	for (i = 0; i < fw->nr; i++) {
		if (nt_image_add(q->image, NTRACE_SPACE_FIRMWARE, fw->segments[i].addr,
				 fw->segments[i].data, fw->segments[i].size))
			return -EINVAL;
	}
	return 0;
}

void ntrace_code_exit(struct ntrace_queue *q)
{
	nt_image_free(q->image);
	q->image = NULL;
	thread__zput(q->guest_thread);
	zfree(&q->code);
}
