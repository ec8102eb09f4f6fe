/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This file has the parts of the kernel that the driver's register logic needs, so that this logic runs on a host
 * with the model of the trace hardware.
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint32_t __le32;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef uint64_t dma_addr_t;
typedef uint64_t phys_addr_t;

#define __iomem
#define __acquires(lock)
#define __releases(lock)
#define __acquire(lock)		((void)0)
#define __release(lock)		((void)0)
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(h, l)		((~0UL >> (63 - (h))) & (~0UL << (l)))
#define DMA_BIT_MASK(n)		((n) == 64 ? ~0ULL : (1ULL << (n)) - 1)
#define FIELD_GET(m, v)		((((typeof(m))(v)) & (m)) >> __builtin_ctzll(m))
#define FIELD_PREP(m, v)	(((typeof(m))(v) << __builtin_ctzll(m)) & (m))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define noinline
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define clamp_t(t, v, a, b)	min_t(t, max_t(t, v, a), b)
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define ALIGN(x, a)		(((x) + ((typeof(x))(a) - 1)) & ~((typeof(x))(a) - 1))
#define ALIGN_DOWN(x, a)	((x) & ~((typeof(x))(a) - 1))
#define lower_32_bits(x)	((u32)(x))
#define upper_32_bits(x)	((u32)((u64)(x) >> 32))
#define cpu_to_le32(x)		(x)
#define hweight8(x)		((unsigned int)__builtin_popcount((u8)(x)))
#define hweight16(x)		((unsigned int)__builtin_popcount((u16)(x)))
#define __ffs(x)		((unsigned int)__builtin_ctzl(x))
#define __fls(x)		((unsigned int)(63 - __builtin_clzl(x)))
#define __ffs64(x)		((unsigned int)__builtin_ctzll(x))
#define fls64(x)		((x) ? 64 - __builtin_clzll(x) : 0)
#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define rounddown_pow_of_two(n)	(1ULL << (fls64(n) - 1))
#define PAGE_SIZE		4096UL
#define SZ_64K			0x10000U
#define SZ_1M			0x100000U
#define SZ_16M			0x1000000U
#define SZ_1G			0x40000000U
#define KERN_ERR		"3"
#define KERN_WARNING		"4"

struct device {
	int dummy;
};

struct device_attribute {
	int			unused;
};

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static inline void list_add(struct list_head *node, struct list_head *head)
{
	node->next = head->next;
	node->prev = head;
	head->next->prev = node;
	head->next = node;
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	list_add(node, head->prev);
}

static inline void list_del_init(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	INIT_LIST_HEAD(node);
}

static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_entry_is_head(p, head, m)	(&(p)->m == (head))
#define list_for_each_entry(p, head, m)						\
	for (p = container_of((head)->next, typeof(*p), m); !list_entry_is_head(p, head, m); \
	     p = container_of(p->m.next, typeof(*p), m))
#define list_for_each_entry_safe(p, n, head, m)						\
	for (p = container_of((head)->next, typeof(*p), m),				\
	     n = container_of(p->m.next, typeof(*p), m); !list_entry_is_head(p, head, m);	\
	     p = n, n = container_of(n->m.next, typeof(*n), m))
#define list_for_each_entry_continue_reverse(p, head, m)			\
	for (p = container_of(p->m.prev, typeof(*p), m); !list_entry_is_head(p, head, m); \
	     p = container_of(p->m.prev, typeof(*p), m))

struct mutex {
	int dummy;
};

typedef struct { int held; } raw_spinlock_t;

#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define smp_mb()		((void)0)
#define smp_store_release(p, v)	(*(p) = (v))
#define smp_load_acquire(p)	(*(p))
#define raw_spin_lock_irqsave(lock, flags)	((flags) = 0, raw_spin_lock(lock))
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(flags), raw_spin_unlock(lock))
#define local_irq_save(flags)	((flags) = 0)
#define local_irq_restore(flags)	((void)(flags))
#define lockdep_assert_held(lock)	assert((lock)->held)
static inline void raw_spin_lock_init(raw_spinlock_t *lock) { lock->held = 0; }
static inline void raw_spin_lock(raw_spinlock_t *lock) { assert(!lock->held++); }
static inline bool raw_spin_trylock(raw_spinlock_t *lock) { return !lock->held && ++lock->held; }
static inline void raw_spin_unlock(raw_spinlock_t *lock) { assert(!--lock->held); }

struct cpumask { unsigned long bits[1]; };
struct attribute_group;

/* Work that shim_irq_work_run() runs */
struct irq_work {
	void	(*func)(struct irq_work *work);
	struct irq_work *next;
};

static inline void init_irq_work(struct irq_work *work, void (*func)(struct irq_work *work))
{
	work->func = func;
}

void irq_work_queue(struct irq_work *work);
void shim_irq_work_run(void);
#define __printf(a, b)		__attribute__((format(printf, a, b)))

/* An allocator of small numbers */
struct ida {
	unsigned char taken[256];
};

#define DEFINE_IDA(name)	struct ida name
#ifndef GFP_KERNEL
#define GFP_KERNEL		0
#endif

static inline int ida_alloc_range(struct ida *ida, unsigned int min, unsigned int max, int gfp)
{
	(void)gfp;
	for (; min <= max; min++)
		if (!ida->taken[min])
			return ida->taken[min] = 1, (int)min;
	return -ENOSPC;
}

static inline void ida_free(struct ida *ida, unsigned int id)
{
	ida->taken[id] = 0;
}

/* Log of the driver, which the test reads */
extern char shim_log[16384];
void shim_printk(const char *fmt, ...);
#define dev_err(dev, ...)	((void)(dev), shim_printk(__VA_ARGS__))
#define dev_warn(dev, ...)	((void)(dev), shim_printk(__VA_ARGS__))
#define dev_info(dev, ...)	((void)(dev), shim_printk(__VA_ARGS__))
#define dev_printk(level, dev, ...)	((void)(dev), shim_printk(__VA_ARGS__))

/* The model handles accesses to registers */
u32 fake_readl(const volatile void *addr);
void fake_writel(u32 val, volatile void *addr);
u64 fake_cycles(void);
#define readl		fake_readl
#define readl_relaxed	fake_readl
#define writel_relaxed	fake_writel
#define mb()		((void)0)
#define wmb()		((void)0)
#define U64_MAX		UINT64_MAX
#define get_cycles64	fake_cycles

#define read_poll_timeout(op, val, cond, sleep, us, before, args...) ({	\
	unsigned int _n = 1000;					\
	do							\
		(val) = op(args);				\
	while (!(cond) && --_n);				\
	(cond) ? 0 : -ETIMEDOUT;				\
})
#define read_poll_timeout_atomic	read_poll_timeout
#define readl_poll_timeout(addr, val, cond, sleep, us)	\
	read_poll_timeout(readl, val, cond, sleep, us, false, addr)
#define readl_poll_timeout_atomic	readl_poll_timeout

extern unsigned long riscv_timebase;
static inline void arch_invalidate_pmem(void *addr, size_t size) { (void)addr; (void)size; }
static inline void usleep_range(unsigned long a, unsigned long b) { (void)a; (void)b; }
static inline int dma_set_mask_and_coherent(struct device *dev, u64 mask)
{
	(void)dev;
	return mask < 0xffff ? -EIO : 0;
}

#endif
