// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Emulation of caches, which two options enable.
 *
 * With incoherent=on, caches are not coherent with the memory that sinks write. The guest's memory
 * in QEMU contains the data in the caches, and struct shadow contains the data that sinks write to
 * memory. A hart reads the data of a sink only after it has invalidated the line with cbo.inval or
 * cbo.flush (Zicbom). Data that a hart has written to the line after the sink's write is lost. A line
 * is never evicted.
 *
 * With cached-size=BYTES, a reset drops the cache lines of the memory that starts at cached-from.
 * Data that a hart wrote to this memory is lost if the hart has not cleaned the line (cbo.clean,
 * cbo.flush). Sinks write to memory directly. With both options, a line that a sink has written is
 * treated as if no hart had modified it after the sink's write.
 */
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define LINE		64U
#define PAGE		4096U
#define BUCKETS		4096U

#define CBO_MASK	0x00007fffU	/* bits that are equal in all cache instructions, unlike imm and rs1 */
#define CBO		0x0000200fU
#define CBO_INVAL	0
#define CBO_CLEAN	1
#define CBO_FLUSH	2

/*
 * A page with lines that sinks have written to memory, and that no hart has invalidated after the write. @bytes
 * contains these lines.
 */
struct shadow {
	struct shadow	*next;
	uint64_t	page;
	uint64_t	lines;		/* bit n is set for line n */
	uint8_t		bytes[PAGE];
};

static struct shadow *shadows[BUCKETS];
/* Data that a reset restores to the board.cached_size bytes of memory at board.cached_from */
static uint8_t *kept;
static unsigned int resets;
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

/*
 * Prepare the shadow of a page for a write to bytes @from to @to. Read the lines of these bytes that are
 * not in the shadow from memory.
 */
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

/*
 * Return the place in @kept of the data that a reset restores to the @len bytes of memory at @addr. Return NULL if some
 * of these bytes are not in the memory that starts at board.cached_from. A reset drops the cache lines of only this
 * memory, and restores only this memory.
 */
static uint8_t *kept_at(uint64_t addr, size_t len)
{
	uint64_t at = addr - board.cached_from;

	if (addr < board.cached_from || at >= board.cached_size || len > board.cached_size - at)
		return NULL;
	return kept + at;
}

/* Write data of a sink to the shadow. Return false if the address is not in memory. */
static bool shadow_write(uint64_t addr, const uint8_t *bytes, size_t len)
{
	bool good = true;

	while (len && good) {
		unsigned int from = addr % PAGE, part = len < PAGE - from ? len : PAGE - from;
		struct shadow *s = make(addr / PAGE);

		good = fill(s, from, from + part);
		memcpy(s->bytes + from, bytes, part);
		addr += part;
		bytes += part;
		len -= part;
	}
	return good;
}

/* Write data of a sink. Return false if the address is not in memory. */
bool cache_write(uint64_t addr, const uint8_t *bytes, size_t len)
{
	uint8_t *to = kept_at(addr, len);
	bool good;

	pthread_mutex_lock(&lock);
	if (to)
		memcpy(to, bytes, len);
	good = board.incoherent ? shadow_write(addr, bytes, len) : board_mem_write(addr, bytes, len);
	pthread_mutex_unlock(&lock);
	return good;
}

/* Perform a clean, flush or invalidate (CBO_*) of a hart on the line that contains @addr. */
static void line(uint64_t addr, unsigned int what)
{
	uint64_t start = addr - addr % LINE;
	unsigned int n = start % PAGE / LINE;
	uint8_t *to = kept_at(start, LINE);
	struct shadow *s;

	pthread_mutex_lock(&lock);
	s = find(addr / PAGE);
	if (s && s->lines >> n & 1) {
		/*
		 * CBO_CLEAN writes nothing back, because the hart has not modified a line that a
		 * sink has written
		 */
		if (what != CBO_CLEAN) {
			s->lines &= ~(1ULL << n);
			board_mem_write(start, s->bytes + n * LINE, LINE);
		}
	} else if (to && what == CBO_INVAL) {
		board_mem_write(start, to, LINE);
	} else if (to) {
		board_mem_read(start, to, LINE);
	}
	pthread_mutex_unlock(&lock);
}

/* Execute a cache instruction. @opaque contains its imm and rs1, see cache_instrument(). */
static void cache_exec(unsigned int vcpu, void *opaque)
{
	uintptr_t operands = (uintptr_t)opaque, rs1 = operands & 31;
	uint64_t pa;

	if (mmio_translate(rs1 ? board_reg_read(rs1) : 0, &pa))
		line(pa, operands >> 5);
}

/**
 * cache_reset() - drop the caches when the first hart executes the reset vector after a reset
 * @vcpu: The hart
 * @opaque: Not used
 */
void cache_reset(unsigned int vcpu, void *opaque)
{
	static unsigned int times[BOARD_MAX_HARTS];

	board_claim(&board.harts[vcpu]);
	memory_sync();
	pthread_mutex_lock(&lock);
	if (++times[vcpu] > resets) {
		resets++;
		if (!kept) {
			kept = calloc(1, board.cached_size);
			if (!kept)
				board_fatal("no memory");
		}
		for (uint64_t page = 0; page < board.cached_size; page += PAGE) {
			struct shadow *s = find((board.cached_from + page) / PAGE);

			if (s)
				s->lines = 0;
			board_mem_write(board.cached_from + page, kept + page, PAGE);
		}
	}
	pthread_mutex_unlock(&lock);
	board_release(&board.harts[vcpu]);
	hart_leave(&board.harts[vcpu]);
}

/* Return true if @opcode cleans, flushes or invalidates a cache line */
bool cache_is_operation(uint32_t opcode)
{
	return (opcode & CBO_MASK) == CBO && opcode >> 20 <= CBO_FLUSH;
}

/**
 * cache_instrument() - emulate the effect of @insn on the caches if it is a cache instruction
 * @insn: Instruction of a block that is being translated
 * @opcode: Bytes of the instruction
 */
void cache_instrument(struct qemu_plugin_insn *insn, uint32_t opcode)
{
	if (cache_is_operation(opcode))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, cache_exec, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)(opcode >> 15));
}
