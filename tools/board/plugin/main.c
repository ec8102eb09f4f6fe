// SPDX-License-Identifier: GPL-2.0-or-later
/* Installation of the plugin, access to the guest, and the end of the run. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "board.h"

QEMU_API_EXPORT int qemu_plugin_version = QEMU_API_VERSION;
QEMU_API_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

struct board board;

static const char *const reg_names[REG_MAX] = {
	NULL, "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
	"a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
	[REG_PC] = "pc", [REG_PRIV] = "priv", [REG_MCAUSE] = "mcause", [REG_MEPC] = "mepc",
	[REG_MTVAL] = "mtval", [REG_MTVEC] = "mtvec", [REG_SCAUSE] = "scause", [REG_SATP] = "satp",
	[REG_MSTATUS] = "mstatus", [REG_TIME] = "time", [REG_MINSTRET] = "minstret",
};

static void say(const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "ntrace-board: %s\n", text);
}

void board_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void board_fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	_exit(1);
}

static GByteArray *scratch(unsigned int len)
{
	static __thread GByteArray *buf;

	if (!buf)
		buf = g_byte_array_new();
	return buf->len == len ? buf : g_byte_array_set_size(buf, len);
}

/* Of the hart that the calling thread runs. */
uint64_t board_reg_read(unsigned int reg)
{
	GByteArray *buf = scratch(8);
	uint64_t value = 0;

	/* once at each indirect jump of a user program: not worth a call */
	buf->len = 0;
	if (!qemu_plugin_read_register(board.regs[reg], buf) || !buf->len)
		board_fatal("QEMU does not give register %s", reg_names[reg]);
	memcpy(&value, buf->data, buf->len < 8 ? buf->len : 8);
	return value;
}

void board_reg_write(unsigned int reg, uint64_t value)
{
	GByteArray *buf = scratch(8);

	memcpy(buf->data, &value, 8);
	qemu_plugin_write_register(board.regs[reg], buf);
}

/* Result 0 is success (QEMU_PLUGIN_HWADDR_OPERATION_OK) */
bool board_mem_read(uint64_t addr, void *to, size_t len)
{
	GByteArray *buf = scratch(0);

	if (qemu_plugin_read_memory_hwaddr(addr, buf, len) || buf->len < len)
		return false;
	memcpy(to, buf->data, len);
	return true;
}

bool board_mem_write(uint64_t addr, const void *from, size_t len)
{
	GByteArray buf = { (uint8_t *)from, len };

	/* no hart is there any more to write by, and nobody to read it */
	if (board.exiting)
		return true;
	return !qemu_plugin_write_memory_hwaddr(addr, &buf);
}

static bool membarrier_works;

static int membarrier(int cmd)
{
	return syscall(SYS_membarrier, cmd, 0, 0);
}

void board_claim_init(void)
{
	pthread_mutex_init(&board.claim_lock, NULL);
	membarrier_works = !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	if (!membarrier_works)
		board_fatal("this host's kernel has no membarrier(2), which Linux has since 4.14");
}

/*
 * Another hart has the components: wait outside. Interrupts are raised here,
 * since QEMU takes its big lock for it, and nobody may wait for us meanwhile.
 */
void board_wait_claim(struct hart *h)
{
	unsigned int claimed;

	while ((claimed = atomic_load(&board.claimed))) {
		hart_leave(h);
		if (claimed & CLAIM_HELD) {
			pthread_mutex_lock(&board.claim_lock);
			pthread_mutex_unlock(&board.claim_lock);
		} else {
			topology_raise();
		}
		h->busy = 1;
		atomic_thread_fence(memory_order_seq_cst);
	}
}

/* @self is entered, and stays so. */
void board_claim(struct hart *self)
{
	/* another claimer waits for us to be out */
	hart_leave(self);
	pthread_mutex_lock(&board.claim_lock);
	atomic_fetch_or(&board.claimed, CLAIM_HELD);
	membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	for (unsigned int i = 0; i < board.n_harts; i++)
		while (__atomic_load_n(&board.harts[i].busy, __ATOMIC_ACQUIRE))
			sched_yield();
}

void board_release(struct hart *self)
{
	self->busy = 1;
	atomic_fetch_and(&board.claimed, ~CLAIM_HELD);
	pthread_mutex_unlock(&board.claim_lock);
}

static void find_registers(void)
{
	GArray *list = qemu_plugin_get_registers();
	const qemu_plugin_reg_descriptor *d = (const void *)list->data;

	for (unsigned int i = 0; i < list->len; i++)
		for (unsigned int r = 0; r < REG_MAX; r++)
			if (reg_names[r] && !strcmp(d[i].name, reg_names[r]))
				board.regs[r] = d[i].handle;
	g_array_free(list, 1);
	/* nobody asks for x0 */
	for (unsigned int r = 1; r < REG_MAX; r++)
		if (!board.regs[r])
			board_fatal("this QEMU does not show register %s to plugins", reg_names[r]);
}

static void vcpu_init(unsigned int vcpu, void *opaque)
{
	(void)opaque;
	if (vcpu >= board.n_harts)
		board_fatal("a hart was added while the machine runs, which the board does not support");
	find_registers();
	/* the scoreboard has room for 16 harts from the start, and does not move below that */
	for (unsigned int i = 0; i <= vcpu; i++)
		board.harts[i].score = qemu_plugin_scoreboard_find(board.scores, i);
	stream_gate(&board.harts[vcpu], board.boot_trace);
}

static void report(FILE *f)
{
	for (unsigned int i = 0; i < board.n_harts; i++) {
		const struct hart_stats *s = &board.harts[i].stats;

		fprintf(f, "hart%u retired=%llu exceptions=%llu interrupts=%llu partial=%llu pc_reads=%llu "
			"edges=%llu register_accesses=%llu minstret_checks=%llu minstret_diffs=%llu power_losses=%llu\n", i,
			(unsigned long long)s->retired, (unsigned long long)s->exceptions,
			(unsigned long long)s->interrupts, (unsigned long long)s->partial,
			(unsigned long long)s->pc_reads, (unsigned long long)s->edges,
			(unsigned long long)s->mmio, (unsigned long long)board.harts[i].minstret_checks,
			(unsigned long long)board.harts[i].minstret_diffs, (unsigned long long)s->power_losses);
	}
	topology_report(f);
	for (unsigned int i = 0; i < NB_REPORT_MAX; i++)
		if (board.reports[i])
			fprintf(f, "report%u=%llu %s\n", i, (unsigned long long)board.reports[i], nb_report_text(i));
}

static void finish_run(void)
{
	FILE *f;

	if (board.exiting)
		return;
	board.exiting = true;
	topology_close();
	for (unsigned int i = 0; i < board.n_harts; i++) {
		struct hart *h = &board.harts[i];

		if (h->truth && nb_truth_close(h->truth))
			board_warn("hart %u: the truth is not complete: %s", i, strerror(errno));
	}
	if (!board.stats)
		return;
	f = fopen(board.stats, "w");
	if (!f) {
		board_warn("%s: %s", board.stats, strerror(errno));
		return;
	}
	report(f);
	fclose(f);
}

static void at_exit(void *opaque)
{
	(void)opaque;
	finish_run();
}

/*
 * The guest has switched the machine off. QEMU stops it when another thread comes
 * to it, and what the harts do until then is chance: leave it out.
 */
void board_power_off(struct hart *h)
{
	hart_enter(h);
	board_claim(h);
	finish_run();
	for (unsigned int i = 0; i < board.n_harts; i++) {
		board.harts[i].truth = NULL;
		board.harts[i].score->gate = 0;
	}
	board_release(h);
	hart_leave(h);
}

/* @h has retired as many instructions as the run shall have. */
void board_end(struct hart *h)
{
	board_claim(h);
	finish_run();
	_exit(0);
}

static void open_truth(unsigned int hart)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/hart%u.truth", board.truth, hart);
	board.harts[hart].truth = nb_truth_create(path, hart);
	if (!board.harts[hart].truth)
		board_fatal("%s: %s", path, strerror(errno));
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (!info->system_emulation || strcmp(info->target_name, "riscv64"))
		board_fatal("the board is for qemu-system-riscv64, not %s", info->target_name);
	if (info->system.max_vcpus > BOARD_MAX_HARTS)
		board_fatal("the board has at most %d harts", BOARD_MAX_HARTS);
	board.n_harts = info->system.max_vcpus;
	options_parse(argc, argv);
	for (unsigned int i = 0; i < board.n_harts; i++) {
		board.harts[i].index = i;
		if (board.truth)
			open_truth(i);
	}
	board_claim_init();
	topology_build();
	if (board.boot_trace)
		topology_boot_trace();
	board.scores = qemu_plugin_scoreboard_new(sizeof(struct board_score));
	qemu_plugin_register_vcpu_init_cb(id, vcpu_init, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, stream_tb_trans, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCON_ALL, stream_discon, NULL);
	qemu_plugin_register_flush_cb(id, stream_flush, NULL);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
