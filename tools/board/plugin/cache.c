// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that is not coherent, with incoherent=on. What a sink writes is in memory, but harts go
 * on seeing what they have in their caches, which is the guest's memory here, until they
 * invalidate the line (Zicbom: cbo.inval, cbo.flush). Then the line is what the sink has made of
 * it, and what the hart wrote there meanwhile is lost. A line is never evicted by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define LINE		64U
#define PAGE		4096U
#define BUCKETS		4096U

#define CBO_MASK	0x00007fffU	/* imm and rs1 are what differs */
#define CBO		0x0000200fU
#define CBO_INVAL	0
#define CBO_FLUSH	2

/* A page as the sinks see it: those lines that they wrote and that no hart has invalidated since */
struct shadow {
	struct shadow	*next;
	uint64_t	page;
	uint64_t	lines;		/* bit n: line n */
	uint8_t		bytes[PAGE];
};

static struct shadow *shadows[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct shadow *find(uint64_t page)
{
	struct shadow *s = shadows[page % BUCKETS];

	while (s && s->page != page)
		s = s->next;
	return s;
}

static struct shadow *make(uint64_t page)
{
	struct shadow *s = find(page);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		board_fatal("no memory");
	s->page = page;
	s->next = shadows[page % BUCKETS];
	shadows[page % BUCKETS] = s;
	return s;
}

/* Bytes @from up to @to of a page are written: lines that are not there begin as memory is. */
static bool fill(struct shadow *s, unsigned int from, unsigned int to)
{
	for (unsigned int n = from / LINE; n <= (to - 1) / LINE; n++) {
		if (s->lines >> n & 1)
			continue;
		if (!board_mem_read(s->page * PAGE + n * LINE, s->bytes + n * LINE, LINE))
			return false;
		s->lines |= 1ULL << n;
	}
	return true;
}

/* A sink writes. Returns false where there is no memory. */
bool cache_write(uint64_t addr, const uint8_t *bytes, size_t len)
{
	bool good = true;

	pthread_mutex_lock(&lock);
	while (len && good) {
		unsigned int from = addr % PAGE, part = len < PAGE - from ? len : PAGE - from;
		struct shadow *s = make(addr / PAGE);

		good = fill(s, from, from + part);
		memcpy(s->bytes + from, bytes, part);
		addr += part;
		bytes += part;
		len -= part;
	}
	pthread_mutex_unlock(&lock);
	return good;
}

/* A hart drops the line at @addr, and sees what is in memory from now on. */
static void invalidate(uint64_t addr)
{
	unsigned int n = addr % PAGE / LINE;
	struct shadow *s;

	pthread_mutex_lock(&lock);
	s = find(addr / PAGE);
	if (s && s->lines >> n & 1) {
		s->lines &= ~(1ULL << n);
		board_mem_write(s->page * PAGE + n * LINE, s->bytes + n * LINE, LINE);
	}
	pthread_mutex_unlock(&lock);
}

static void cache_exec(unsigned int vcpu, void *opaque)
{
	uintptr_t rs1 = (uintptr_t)opaque;
	uint64_t pa;

	(void)vcpu;
	if (mmio_translate(rs1 ? board_reg_read(rs1) : 0, &pa))
		invalidate(pa);
}

/**
 * cache_instrument() - have @insn make visible what sinks wrote, if it invalidates a line
 * @insn: of a block that is being translated
 * @opcode: its bytes
 */
void cache_instrument(struct qemu_plugin_insn *insn, uint32_t opcode)
{
	unsigned int what = opcode >> 20;

	if ((opcode & CBO_MASK) == CBO && (what == CBO_INVAL || what == CBO_FLUSH))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, cache_exec, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)(opcode >> 15 & 31));
}
