// SPDX-License-Identifier: GPL-2.0-or-later
/* Installation of the plugin. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "board.h"

QEMU_API_EXPORT int qemu_plugin_version = QEMU_API_VERSION;
QEMU_API_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

struct board board;

static void vcpu_init(unsigned int vcpu, void *opaque)
{
	if (vcpu >= board.n_harts)
		board_fatal("the board does not support adding a hart while the machine runs");
	guest_find_registers();
	/* QEMU allocates the scoreboard for 16 harts, so these pointers stay valid */
	for (unsigned int i = 0; i <= vcpu; i++)
		board.harts[i].score = qemu_plugin_scoreboard_find(board.scores, i);
	stream_gate(&board.harts[vcpu], board.boot_trace || board.debugger);
}

static void open_truth(unsigned int hart)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/hart%u.truth", board.truth, hart);
	board.harts[hart].truth = nb_truth_create(path, hart);
	if (board.harts[hart].truth && board.truth_stacks)
		nb_truth_stacks(board.harts[hart].truth);
	if (!board.harts[hart].truth)
		board_fatal("%s: %s", path, strerror(errno));
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (!info->system_emulation || strcmp(info->target_name, "riscv64"))
		board_fatal("the board needs qemu-system-riscv64, not %s", info->target_name);
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
	if (board.boot_trace || board.debugger)
		topology_boot_trace();
	board.scores = qemu_plugin_scoreboard_new(sizeof(struct board_score));
	qemu_plugin_register_vcpu_init_cb(id, vcpu_init, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, stream_tb_trans, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCON_ALL, stream_discon, NULL);
	qemu_plugin_register_flush_cb(id, stream_flush, NULL);
	qemu_plugin_register_atexit_cb(id, board_at_exit, NULL);
	return 0;
}
