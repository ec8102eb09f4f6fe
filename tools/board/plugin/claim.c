// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exclusive access to the trace components. A hart that accesses a register claims all components. The
 * other harts then wait between two blocks until it releases the components. See "Locking" in board.h.
 */
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "board.h"

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
		board_fatal("the kernel of this host has no membarrier(2); it must be Linux 4.14 or later");
}

/*
 * Leave the hart, wait until no other hart has claimed the components, and enter the hart again. The
 * function also raises the interrupts of sinks, for which QEMU takes its big lock. Another hart that
 * holds this lock may wait until this hart is left. So this hart is left (busy is 0) while it waits for
 * the lock, because it would otherwise deadlock.
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

/*
 * Claim all components, and wait until all harts have left. The caller need not have entered @self before this call.
 */
void board_claim(struct hart *self)
{
	/* Leave, because another hart that claims the components waits until all harts have left */
	hart_leave(self);
	pthread_mutex_lock(&board.claim_lock);
	atomic_fetch_or(&board.claimed, CLAIM_HELD);
	membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	for (unsigned int i = 0; i < board.n_harts; i++)
		while (__atomic_load_n(&board.harts[i].busy, __ATOMIC_ACQUIRE))
			sched_yield();
}

/*
 * Release all components, and enter @self. The caller must leave @self before its callback of QEMU ends. Otherwise the
 * next claim waits for ever if @self runs no other callback, for example while it waits in a loop of the firmware.
 */
void board_release(struct hart *self)
{
	self->busy = 1;
	atomic_fetch_and(&board.claimed, ~CLAIM_HELD);
	pthread_mutex_unlock(&board.claim_lock);
}

