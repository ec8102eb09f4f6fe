// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of the flight recorder. It is in memory that survives a reset, and has the format of
 * <linux/ntrace-flight.h>.
 *
 * The driver does not trust a record that an earlier kernel has left. It checks each size and each
 * offset before it uses them, and writes nothing into the record except the last position of a
 * sink.
 *
 * The memory is mapped write-combining, like that of ramoops, so that data does not wait in a cache
 * for a reset, which may happen at any time. A core without Svpbmt has only cached mappings. On
 * this core, ntrace_record_written() writes data back at once. Trace of a sink that bypasses the
 * caches (dma-noncoherent) may be read only after ntrace_record_fetch().
 */
#include <linux/bitmap.h>
#include <linux/crc32.h>
#include <linux/elf.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_reserved_mem.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>
#ifdef CONFIG_VMCORE_INFO
#include <linux/vmcore_info.h>
#endif

#include <asm/cpufeature.h>
#include <asm/delay.h>
#include <asm/page.h>
#include <asm/timex.h>

#include "../topology.h"
#include "record.h"

/* Number of entries of the parts of a record; there is one part with switches for each CPU */
#define NTRACE_RECORD_SWITCHES	256
#define NTRACE_RECORD_GAPS	64
#define NTRACE_RECORD_MODULES	256
#define NTRACE_RECORD_MIN	SZ_128K
#define NTRACE_RECORD_MAX	SZ_1G
/*
 * Maximum number of blocks that are allocated to find one outside of the initrd's memory. It is
 * higher than the number of records of 128 KiB that fit into an initrd of 256 MiB.
 */
#define NTRACE_RECORD_TRIES	2100

/* How the driver obtained the memory, which determines how it is released */
enum ntrace_record_origin { NTRACE_RECORD_MAPPED, NTRACE_RECORD_REMAPPED, NTRACE_RECORD_PAGES };

static struct {
	void				*mem;
	phys_addr_t			base;
	size_t				size;
	/*
	 * Position of the areas of the sinks in the record that is being written or was found. The
	 * areas begin at offset @data, and have @share bytes each.
	 */
	u64				data;
	u64				share;
	/* Sinks whose writes bypass the caches */
	DECLARE_BITMAP(past, NTRACE_FLIGHT_MAX_SINKS);
	/* Address of @mem for cache operations, or NULL if they are not needed or not possible */
	void				*cache;
	/*
	 * Set while a panicking CPU writes to the areas. Other CPUs must then not invalidate the
	 * cache lines of the areas.
	 */
	bool				seizing;
	enum ntrace_record_origin	origin;
	struct resource			*res;
	/* Number of used bytes, and the parts of the record that is being written */
	u64				used;
	struct ntrace_flight_header	*head;
	struct ntrace_flight_module	*modules;
	struct ntrace_flight_pointer	*pointers;
	struct ntrace_flight_gap	*gaps;
	u32				nr_gaps;
	struct ntrace_flight_switch	*switches;
	struct ntrace_flight_cause	*cause;
	struct ntrace_flight_session	*sessions;
	/* Parts of the record that was found */
	struct {
		const struct ntrace_flight_sink	*sinks;
		struct ntrace_flight_pointer	*pointers;
		const struct ntrace_flight_cpu	*cpus;
		const u64			*funnels;
		unsigned int			nr_sinks, nr_cpus, nr_funnels;
	} old;
} ntrace_record;

/*
 * Serialises the writers of pointers and gaps. It is not a spinlock, because a panicking CPU
 * continues without it if the holder may be dead. Interrupts are off while it is held.
 */
static atomic_t ntrace_record_busy = ATOMIC_INIT(0);

/* Return the value of ntrace_flight_check() for @entry, which is entry number @nth of its part */
#define ntrace_record_check(entry, type, nth) ({					\
	typeof(entry) at_ = (entry);							\
	ntrace_flight_check(at_, sizeof(*at_), NTRACE_FLIGHT_SEED(NTRACE_FLIGHT_##type, nth)); })

/* ---- Find, map and write back the memory of the record ---- */

/* Return true if this machine has a trace component whose writes bypass the caches. */
static bool ntrace_record_has_past(void)
{
	struct device_node *node;

	for_each_compatible_node(node, NULL, NTRACE_COMPATIBLE) {
		if (of_dma_is_coherent(node))
			continue;
		of_node_put(node);
		return true;
	}
	return false;
}

/*
 * Return the address of @mem for cache operations, or NULL.
 *
 * For the caches of some vendors, the kernel computes physical addresses from virtual ones, which
 * is correct only in its linear mapping. Memory that has another mapping can be written back only
 * with Zicbom.
 */
static void *ntrace_record_cache_address(void *mem, phys_addr_t base, size_t size)
{
	if (ntrace_maps_uncached())
		return NULL;
	if (region_intersects(base, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT)
		return phys_to_virt(base);
	if (riscv_isa_extension_available(NULL, ZICBOM))
		return mem;
	pr_warn("ntrace: flight recorder: a record at %pa may be lost at a reset, because its memory is cached, and the caches cannot be written back without Zicbom; use a region without no-map\n",
		&base);
	return NULL;
}

/*
 * Write back data that a CPU wrote. Pages of this kernel do not survive a reset, so they are
 * written back only if a sink bypasses the caches. Return false if no write-back is needed.
 */
static bool ntrace_record_clean(const void *at, size_t size)
{
	if (!ntrace_record.cache ||
	    (ntrace_record.origin == NTRACE_RECORD_PAGES &&
	     bitmap_empty(ntrace_record.past, NTRACE_FLIGHT_MAX_SINKS)))
		return false;
	arch_wb_cache_pmem(ntrace_record.cache + (at - ntrace_record.mem), size);
	return true;
}

/**
 * ntrace_record_written - make data reach memory before the next write, or before a reset
 * @at: Address of the data in the record
 * @size: Bytes
 */
void ntrace_record_written(const void *at, size_t size)
{
	/* Complete the writes of the data before the next write */
	wmb();
	if (!ntrace_record_clean(at, size))
		return;
	/* Complete the write-back before the next write */
	wmb();
}

/*
 * Invalidate the cache lines of @size bytes from @at, as far as they are in the area of a sink that
 * bypasses the caches. No data is lost, because a CPU that stores data there writes it back at
 * once.
 */
static void ntrace_record_fetch(u64 at, u64 size)
{
	u64 area, from, to, n;
	unsigned int i;

	if (!ntrace_record.cache)
		return;
	for_each_set_bit(i, ntrace_record.past, NTRACE_FLIGHT_MAX_SINKS) {
		area = ntrace_record.data + i * ntrace_record.share;
		from = max(at, area);
		to = min(at + size, area + ntrace_record.share);
		/*
		 * Check the flag after each page, which takes microseconds, because a panicking CPU
		 * does not wait for this loop
		 */
		for (; from < to && !READ_ONCE(ntrace_record.seizing); from += n) {
			n = min(to - from, PAGE_SIZE);
			arch_invalidate_pmem(ntrace_record.cache + from, n);
		}
	}
}

static void *ntrace_record_vmap(phys_addr_t base, size_t size)
{
	unsigned int nr = size >> PAGE_SHIFT, i;
	struct page **pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL);
	void *mem;

	if (!pages)
		return NULL;
	for (i = 0; i < nr; i++)
		pages[i] = pfn_to_page(PHYS_PFN(base) + i);
	mem = vmap(pages, nr, VM_MAP | VM_IOREMAP, pgprot_writecombine(PAGE_KERNEL));
	kvfree(pages);
	return mem;
}

static int ntrace_record_map(phys_addr_t base, u64 size)
{
	if (!IS_ALIGNED(base, PAGE_SIZE) || !IS_ALIGNED(size, PAGE_SIZE) ||
	    size < NTRACE_RECORD_MIN || size > NTRACE_RECORD_MAX) {
		pr_err("ntrace: flight recorder: 0x%llx bytes at %pa must be whole pages, and 128 KiB to 1 GiB\n",
		       size, &base);
		return -EINVAL;
	}
	if (pfn_valid(PHYS_PFN(base))) {
		ntrace_record.origin = NTRACE_RECORD_MAPPED;
		ntrace_record.mem = ntrace_record_vmap(base, size);
	} else {
		ntrace_record.origin = NTRACE_RECORD_REMAPPED;
		ntrace_record.mem = memremap(base, size, MEMREMAP_WC);
	}
	if (!ntrace_record.mem)
		return -ENOMEM;
	ntrace_record.cache = ntrace_record_cache_address(ntrace_record.mem, base, size);
	ntrace_record.base = base;
	ntrace_record.size = size;
	return 0;
}

/* Map the memory of SIZE@ADDRESS, which "mem=" on the command line has excluded from Linux */
static int ntrace_record_map_free(phys_addr_t base, u64 size)
{
	int ret;

	ntrace_record.res = request_mem_region(base, size, "ntrace-flight");
	if (!ntrace_record.res) {
		pr_err("ntrace: flight recorder: Linux uses the memory at %pa; exclude it from Linux by mem=\n",
		       &base);
		return -EBUSY;
	}
	ret = ntrace_record_map(base, size);
	if (!ret)
		return 0;
	release_mem_region(base, size);
	ntrace_record.res = NULL;
	return ret;
}

static int ntrace_record_is_reserved(struct resource *res, void *unused)
{
	return 1;
}

/*
 * Return true if this memory will be in a crash dump.
 *
 * kexec-tools omits memory that /proc/iomem lists as reserved. This includes the memory of the
 * initrd, although the kernel may have reused it since boot. The entries in System RAM do not
 * change after boot.
 */
static bool ntrace_record_is_dumped(phys_addr_t base, size_t size)
{
	/*
	 * Reserved parts of System RAM have the flag IORESOURCE_EXCLUSIVE, and System RAM itself
	 * does not
	 */
	return walk_iomem_res_desc(IORES_DESC_NONE, IORESOURCE_MEM | IORESOURCE_EXCLUSIVE, base,
				   base + size - 1, NULL, ntrace_record_is_reserved) <= 0;
}

/*
 * Allocate contiguous pages, preferably pages that a crash dump contains. Return NULL if none are
 * free.
 */
static void *ntrace_record_alloc(size_t size)
{
	void *mem, *best = NULL, **refused = NULL;
	unsigned int tries = NTRACE_RECORD_TRIES;

	while (tries--) {
		mem = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
					(refused ? __GFP_NORETRY : 0));
		if (!mem || ntrace_record_is_dumped(virt_to_phys(mem), size)) {
			best = mem;
			break;
		}
		/*
		 * Free this block only after the loop, so that the next call of
		 * alloc_pages_exact() returns another block
		 */
		*(void ***)mem = refused;
		refused = mem;
	}
	if (!best && refused) {
		pr_warn("ntrace: flight recorder: its record is in memory that the initrd used, which kexec-tools leaves out of crash dumps; use reserve_mem=, so that crash dumps have the record\n");
		best = refused;
		refused = *refused;
		memset(best, 0, sizeof(void *));
	}
	while (refused) {
		mem = refused;
		refused = *refused;
		free_pages_exact(mem, size);
	}
	return best;
}

/* Use pages of this kernel. They last until a reset, and are part of a crash dump. */
static int ntrace_record_take_pages(u64 wanted)
{
	size_t size, most = PAGE_SIZE << MAX_PAGE_ORDER;

	if (wanted < NTRACE_RECORD_MIN || wanted > NTRACE_RECORD_MAX) {
		pr_err("ntrace: flight recorder: the size must be 128 KiB to 1 GiB, not 0x%llx bytes\n",
		       wanted);
		return -EINVAL;
	}
	size = min_t(u64, roundup_pow_of_two(wanted), most);
	if (wanted > most)
		pr_warn("ntrace: flight recorder: the size is reduced to 0x%zx bytes, because the kernel cannot allocate more in one piece; reserve_mem= can\n",
			size);
	ntrace_record.mem = ntrace_record_alloc(size);
	if (!ntrace_record.mem) {
		pr_err("ntrace: flight recorder: the kernel has no 0x%zx bytes of free memory in one piece; use a smaller size or reserve_mem=\n",
		       size);
		return -ENOMEM;
	}
	ntrace_record.origin = NTRACE_RECORD_PAGES;
	ntrace_record.cache = ntrace_record.mem;
	ntrace_record.base = virt_to_phys(ntrace_record.mem);
	ntrace_record.size = size;
	return 0;
}

/* Use the "memory-region" with the name "flight" of any trace sink; all sinks share this memory */
static int ntrace_record_from_tree(void)
{
	struct device_node *node, *region = NULL;
	struct reserved_mem *mem;
	int index;

	for_each_compatible_node(node, NULL, NTRACE_COMPATIBLE) {
		index = of_property_match_string(node, "memory-region-names", "flight");
		if (index < 0)
			continue;
		region = of_parse_phandle(node, "memory-region", index);
		of_node_put(node);
		break;
	}
	if (!region)
		return -ENOENT;
	mem = of_reserved_mem_lookup(region);
	of_node_put(region);
	if (!mem) {
		pr_err("ntrace: flight recorder: its memory-region is not reserved\n");
		return -EINVAL;
	}
	return ntrace_record_map(mem->base, mem->size);
}

/*
 * Use the memory of the module parameter: SIZE@ADDRESS, SIZE, or the name of a reserve_mem= region
 */
static int ntrace_record_from_param(const char *text)
{
	phys_addr_t base, size;
	const char *address;
	char *end;
	u64 n;

	n = memparse(text, &end);
	if (end != text && !*end)
		return ntrace_record_take_pages(n);
	if (end != text && *end == '@') {
		address = end + 1;
		base = memparse(address, &end);
		if (end != address && !*end)
			return ntrace_record_map_free(base, n);
	}
	if (reserve_mem_find_by_name(text, &base, &size))
		return ntrace_record_map(base, size);
	pr_err("ntrace: flight=%s is neither SIZE nor SIZE@ADDRESS nor the name of a reserve_mem= region\n",
	       text);
	return -EINVAL;
}

static void ntrace_record_unmap(void)
{
	switch (ntrace_record.origin) {
	case NTRACE_RECORD_MAPPED:
		vunmap(ntrace_record.mem);
		break;
	case NTRACE_RECORD_REMAPPED:
		memunmap(ntrace_record.mem);
		break;
	case NTRACE_RECORD_PAGES:
		/* Keep a crash dump from containing a record that has ended */
		((struct ntrace_flight_header *)ntrace_record.mem)->magic = 0;
		free_pages_exact(ntrace_record.mem, ntrace_record.size);
		break;
	}
	if (ntrace_record.res)
		release_mem_region(ntrace_record.base, ntrace_record.size);
	memset(&ntrace_record, 0, sizeof(ntrace_record));
}

/* ---- The record of an earlier kernel ---- */

static const struct ntrace_flight_part *
ntrace_record_old_part(const struct ntrace_flight_header *head, u32 type, size_t entry)
{
	const struct ntrace_flight_part *part;
	unsigned int i;

	for (i = 0; i < head->nr_parts; i++) {
		part = &head->parts[i];
		if (part->type != type || part->entry != entry || part->offset % 8 ||
		    part->offset > head->data_offset ||
		    part->size > head->data_offset - part->offset)
			continue;
		return part;
	}
	return NULL;
}

/* Return the entries of a part, or NULL if its CRC is wrong. */
static const void *ntrace_record_old_array(const struct ntrace_flight_header *head, u32 type,
					   size_t entry, unsigned int max, unsigned int *nr)
{
	const struct ntrace_flight_part *part = ntrace_record_old_part(head, type, entry);
	const void *at = ntrace_record.mem + (part ? part->offset : 0);

	*nr = 0;
	if (!part || div_u64(part->size, entry) > max || ~crc32_le(~0, at, part->size) != part->crc)
		return NULL;
	*nr = div_u64(part->size, entry);
	return at;
}

/*
 * Remember the data that is needed to stop sinks that still run. Ignore a header with a wrong CRC.
 */
static void ntrace_record_learn(void)
{
	static struct ntrace_flight_header copy;
	const struct ntrace_flight_part *part;

	/*
	 * Check and use a copy of the header, because a sink that still runs could change it
	 * between the check and the use
	 */
	memcpy(&copy, ntrace_record.mem, sizeof(copy));
	if (copy.version >> 16 != NTRACE_FLIGHT_VERSION_MAJOR || copy.size != sizeof(copy) ||
	    ~crc32_le(~0, (u8 *)&copy, offsetof(typeof(copy), crc)) != copy.crc ||
	    copy.region > ntrace_record.size || copy.data_offset > copy.region ||
	    copy.address != ntrace_record.base || copy.nr_parts > ARRAY_SIZE(copy.parts))
		return;
	ntrace_record.used = copy.region;
	/*
	 * Treat the trace of all sinks as one area, because a driver of another version may have
	 * divided it into other areas
	 */
	ntrace_record.data = copy.data_offset;
	ntrace_record.share = copy.region - copy.data_offset;
	if (ntrace_record_has_past())
		__set_bit(0, ntrace_record.past);
	ntrace_record.old.sinks =
		ntrace_record_old_array(&copy, NTRACE_FLIGHT_SINKS,
					sizeof(struct ntrace_flight_sink), NTRACE_FLIGHT_MAX_SINKS,
					&ntrace_record.old.nr_sinks);
	ntrace_record.old.cpus =
		ntrace_record_old_array(&copy, NTRACE_FLIGHT_CPUS, sizeof(struct ntrace_flight_cpu),
					NTRACE_FLIGHT_MAX_CPUS, &ntrace_record.old.nr_cpus);
	ntrace_record.old.funnels =
		ntrace_record_old_array(&copy, NTRACE_FLIGHT_FUNNELS, sizeof(u64),
					NTRACE_RECORD_FUNNELS, &ntrace_record.old.nr_funnels);
	part = ntrace_record_old_part(&copy, NTRACE_FLIGHT_POINTERS,
				      sizeof(struct ntrace_flight_pointer));
	if (part && part->size / sizeof(struct ntrace_flight_pointer) >=
		    2 * ntrace_record.old.nr_sinks)
		ntrace_record.old.pointers = ntrace_record.mem + part->offset;
}

/* Return true if the record that was found names a component with registers at @addr. */
bool ntrace_record_knows(phys_addr_t addr)
{
	unsigned int i;

	for (i = 0; i < ntrace_record.old.nr_sinks; i++)
		if (ntrace_record.old.sinks[i].address == addr)
			return true;
	for (i = 0; i < ntrace_record.old.nr_cpus; i++)
		if (ntrace_record.old.cpus[i].address == addr)
			return true;
	for (i = 0; i < ntrace_record.old.nr_funnels; i++)
		if (ntrace_record.old.funnels[i] == addr)
			return true;
	return false;
}

/**
 * ntrace_record_old_sink - find the area of the sink with registers at @addr
 * @addr: Physical address
 * @index: Set to the number of the sink
 *
 * Return: The sink, whose area is within the record, or NULL
 */
const struct ntrace_flight_sink *ntrace_record_old_sink(phys_addr_t addr, unsigned int *index)
{
	const struct ntrace_flight_sink *sink;

	for (*index = 0; *index < ntrace_record.old.nr_sinks; ++*index) {
		sink = &ntrace_record.old.sinks[*index];
		if (sink->address == addr && sink->offset <= ntrace_record.used &&
		    sink->size <= ntrace_record.used - sink->offset)
			return sink;
	}
	return NULL;
}

/* Return the index, 0 or 1, of the newest valid pointer of a sink in the old record, or -1. */
static int ntrace_record_latest(const struct ntrace_flight_pointer *slots, unsigned int index)
{
	int best = -1, i;

	for (i = 0; i < 2; i++) {
		if (slots[i].check != ntrace_record_check(&slots[i], POINTERS, 2 * index + i))
			continue;
		if (best < 0 || slots[i].number > slots[best].number)
			best = i;
	}
	return best;
}

/**
 * ntrace_record_old_pointer - save the position of a sink that ran through the reset
 * @index: Number of the sink from ntrace_record_old_sink()
 * @offset: Position in its area
 * @wrapped: True if the sink has written all of its area
 *
 * A pointer that was written after the sink had stopped is kept, because later trace is not part of
 * the record.
 */
void ntrace_record_old_pointer(unsigned int index, u64 offset, bool wrapped)
{
	struct ntrace_flight_pointer *slots = ntrace_record.old.pointers, *slot;
	u64 number = 1;
	int best;

	if (!slots)
		return;
	slots += 2 * index;
	best = ntrace_record_latest(slots, index);
	if (best >= 0 && slots[best].flags & NTRACE_FLIGHT_POINTER_STOPPED)
		return;
	if (best >= 0) {
		number = slots[best].number + 1;
		wrapped |= slots[best].flags & NTRACE_FLIGHT_POINTER_WRAPPED ||
			   offset < slots[best].offset;
	}
	slot = &slots[best < 0 ? 0 : !best];
	slot->number = number;
	slot->time = get_cycles64();
	slot->offset = offset;
	slot->flags = NTRACE_FLIGHT_POINTER_STOPPED | NTRACE_FLIGHT_POINTER_RESET |
		      (wrapped ? NTRACE_FLIGHT_POINTER_WRAPPED : 0);
	slot->check = ntrace_record_check(slot, POINTERS, slot - ntrace_record.old.pointers);
	ntrace_record_written(slot, sizeof(*slot));
}

/* ---- Begin a record ---- */

struct ntrace_record_layout {
	struct ntrace_flight_header	*head;
	u64				at;
};

/* Add a part of @nr entries that are all 0. Return NULL without room. */
static void *ntrace_record_part(struct ntrace_record_layout *l, u32 type, size_t entry,
				unsigned int nr)
{
	struct ntrace_flight_part *part = &l->head->parts[l->head->nr_parts];
	size_t size = entry * nr;

	if (l->at + size > ntrace_record.size / 2)
		return NULL;
	part->type = type;
	part->entry = entry;
	part->offset = l->at;
	part->size = size;
	l->head->nr_parts++;
	memset(ntrace_record.mem + l->at, 0, size);
	l->at = ALIGN(l->at + size, 64);
	return ntrace_record.mem + part->offset;
}

/* Add a part, and store its address at @to */
#define NTRACE_RECORD_PART(l, to, type, nr) ({						\
	typeof(to) to_ = (to);								\
	*to_ = ntrace_record_part(l, NTRACE_FLIGHT_##type, sizeof(**to_), nr); })

/* Write the CRC of the last part, which does not change after this */
static void ntrace_record_seal(struct ntrace_record_layout *l)
{
	struct ntrace_flight_part *part = &l->head->parts[l->head->nr_parts - 1];

	part->crc = ~crc32_le(~0, ntrace_record.mem + part->offset, part->size);
}

/* Add a part with a copy of @nr entries. Return false without room. */
static bool ntrace_record_array(struct ntrace_record_layout *l, u32 type, const void *from,
				size_t entry, unsigned int nr)
{
	void *to = ntrace_record_part(l, type, entry, nr);

	if (!to)
		return false;
	memcpy(to, from, entry * nr);
	ntrace_record_seal(l);
	return true;
}

static bool ntrace_record_machine(struct ntrace_record_layout *l)
{
	struct ntrace_flight_machine *m;

	m = ntrace_record_part(l, NTRACE_FLIGHT_MACHINE, sizeof(*m), 1);
	if (!m)
		return false;
	m->timebase = riscv_timebase;
	m->time = get_cycles64();
	m->local_ns = local_clock();
	m->real_ns = ktime_get_real_ns();
	m->text = kernel_map.virt_addr;
	m->text_size = kernel_map.size;
	m->kaslr = kernel_map.virt_addr - KERNEL_LINK_ADDR;
	m->nr_cpus = nr_cpu_ids;
	m->xlen = BITS_PER_LONG;
	strscpy(m->release, init_utsname()->release, sizeof(m->release));
	ntrace_record_seal(l);
	return true;
}

/* Add the vmcoreinfo note, which has the kernel's build ID and release */
static bool ntrace_record_kernel(struct ntrace_record_layout *l)
{
#ifdef CONFIG_VMCORE_INFO
	phys_addr_t note = paddr_vmcoreinfo_note();
	const struct elf64_note *nhdr;
	const char *text;
	char *to;

	if (!note)
		return true;
	nhdr = phys_to_virt(note);
	text = (const char *)(nhdr + 1) + ALIGN(nhdr->n_namesz, 4);
	if (!nhdr->n_descsz || nhdr->n_descsz > VMCOREINFO_BYTES)
		return true;
	to = ntrace_record_part(l, NTRACE_FLIGHT_KERNEL, 1, nhdr->n_descsz);
	if (!to)
		return false;
	memcpy(to, text, nhdr->n_descsz);
	ntrace_record_seal(l);
#endif
	return true;
}

/* Divide the remaining memory among the sinks */
static int ntrace_record_share(const struct ntrace_record_setup *setup, u64 from)
{
	u64 room = ntrace_record.size - from, share;
	unsigned int i;

	share = ALIGN_DOWN(div_u64(room, setup->nr_sinks), SZ_64K);
	/* Some sinks accept only windows of 2^M bytes */
	if (setup->power_of_2 && share)
		share = rounddown_pow_of_two(share);
	if (!share)
		return -ENOSPC;
	ntrace_record.data = from;
	ntrace_record.share = share;
	bitmap_copy(ntrace_record.past, setup->past, NTRACE_FLIGHT_MAX_SINKS);
	for (i = 0; i < setup->nr_sinks; i++) {
		setup->sinks[i].offset = from + i * share;
		setup->sinks[i].size = share;
	}
	return 0;
}

static bool ntrace_record_parts(struct ntrace_record_layout *l,
				const struct ntrace_record_setup *setup)
{
	struct ntrace_flight_sink *sinks;

	if (!ntrace_record_machine(l) || !ntrace_record_kernel(l) ||
	    !ntrace_record_array(l, NTRACE_FLIGHT_CPUS, setup->cpus, sizeof(*setup->cpus),
				 setup->nr_cpus) ||
	    !ntrace_record_array(l, NTRACE_FLIGHT_FUNNELS, setup->funnels, sizeof(*setup->funnels),
				 setup->nr_funnels))
		return false;
	if (!NTRACE_RECORD_PART(l, &ntrace_record.modules, MODULES, NTRACE_RECORD_MODULES) ||
	    !NTRACE_RECORD_PART(l, &ntrace_record.pointers, POINTERS, 2 * setup->nr_sinks) ||
	    !NTRACE_RECORD_PART(l, &ntrace_record.gaps, GAPS, NTRACE_RECORD_GAPS) ||
	    !NTRACE_RECORD_PART(l, &ntrace_record.switches, SWITCHES,
				NTRACE_RECORD_SWITCHES * nr_cpu_ids) ||
	    !NTRACE_RECORD_PART(l, &ntrace_record.cause, CAUSE, 1) ||
	    !NTRACE_RECORD_PART(l, &ntrace_record.sessions, SESSIONS, setup->nr_sinks))
		return false;
	sinks = ntrace_record_part(l, NTRACE_FLIGHT_SINKS, sizeof(*sinks), setup->nr_sinks);
	if (!sinks)
		return false;
	l->head->data_offset = ALIGN(l->at, SZ_64K);
	if (l->head->data_offset >= ntrace_record.size ||
	    ntrace_record_share(setup, l->head->data_offset))
		return false;
	memcpy(sinks, setup->sinks, setup->nr_sinks * sizeof(*sinks));
	ntrace_record_seal(l);
	return true;
}

/* Complete the header, so that readers accept the record */
static void ntrace_record_finish(struct ntrace_flight_header *head)
{
	u64 magic = NTRACE_FLIGHT_MAGIC;
	u32 crc = crc32_le(~0, (u8 *)&magic, sizeof(magic));

	crc = crc32_le(crc, (u8 *)head + sizeof(magic),
		       offsetof(typeof(*head), crc) - sizeof(magic));
	head->crc = ~crc;
	/* Clean the caches, so that no dirty line overwrites the trace later */
	ntrace_record_written(head, ntrace_record.size);
	ntrace_record_fetch(0, ntrace_record.size);
	head->magic = magic;
	ntrace_record_written(head, sizeof(*head));
}

/**
 * ntrace_record_begin - write the header of a new record over the old one
 * @setup: Contents of the record; this function fills in the areas of the sinks
 *
 * The magic number marks the record as incomplete until all of its parts are written.
 *
 * Context: May sleep; nothing traces into the record.
 * Return: 0, or -ENOSPC if the memory is too small
 */
int ntrace_record_begin(struct ntrace_record_setup *setup)
{
	struct ntrace_flight_header *head = ntrace_record.mem;
	struct ntrace_record_layout l = { .head = head, .at = ALIGN(sizeof(*head), 64) };

	ntrace_record_forget();
	head->magic = NTRACE_FLIGHT_MAGIC_WRITING;
	ntrace_record_written(head, sizeof(head->magic));
	memset((u8 *)head + sizeof(head->magic), 0, sizeof(*head) - sizeof(head->magic));
	head->version = NTRACE_FLIGHT_VERSION_MAJOR << 16 | NTRACE_FLIGHT_VERSION_MINOR;
	head->size = sizeof(*head);
	head->region = ntrace_record.size;
	head->address = ntrace_record.base;
	get_random_bytes(head->id, sizeof(head->id));
	if (!ntrace_record_parts(&l, setup)) {
		head->magic = 0;
		ntrace_record_written(head, sizeof(head->magic));
		return -ENOSPC;
	}
	/* Fill the areas with idle bytes, so that a reader can see how far each sink has written */
	memset(ntrace_record.mem + head->data_offset, 0xff,
	       ntrace_record.size - head->data_offset);
	ntrace_record.used = ntrace_record.size;
	ntrace_record.head = head;
	ntrace_record.nr_gaps = 0;
	ntrace_record_finish(head);
	return 0;
}

/* ---- During recording ---- */

static bool ntrace_record_try(unsigned int tries)
{
	while (tries--) {
		if (!atomic_cmpxchg_acquire(&ntrace_record_busy, 0, 1))
			return true;
		cpu_relax();
	}
	return false;
}

static void ntrace_record_take(void)
{
	while (!ntrace_record_try(UINT_MAX))
		;
}

static void ntrace_record_release(void)
{
	atomic_set_release(&ntrace_record_busy, 0);
}

/* Write the position to the older of two entries. The newer entry stays valid during the write. */
static void ntrace_record_put_pointer(struct ntrace_area *area, u64 offset, u32 flags)
{
	unsigned int nth = 2 * area->index + (++area->number & 1);
	struct ntrace_flight_pointer *slot = &ntrace_record.pointers[nth];

	slot->check = 0;
	slot->number = area->number;
	slot->time = get_cycles64();
	slot->offset = offset;
	slot->flags = flags;
	slot->check = ntrace_record_check(slot, POINTERS, nth);
	ntrace_record_written(slot, sizeof(*slot));
}

/**
 * ntrace_record_pointer - record the position of a sink
 * @area: The area of the sink
 * @offset: Position in the area
 * @flags: NTRACE_FLIGHT_POINTER_*
 * @must: Write it even if another CPU, which may be dead, holds the lock
 *
 * Context: Any, interrupts off.
 */
void ntrace_record_pointer(struct ntrace_area *area, u64 offset, u32 flags, bool must)
{
	bool locked = ntrace_record_try(must ? 1000 : 1);

	if (locked || must)
		ntrace_record_put_pointer(area, offset, flags);
	if (locked)
		ntrace_record_release();
}

static void ntrace_record_put_gap(u32 number, u64 from, u64 to, unsigned int sink)
{
	unsigned int nth = number % NTRACE_RECORD_GAPS;
	struct ntrace_flight_gap *gap = &ntrace_record.gaps[nth];

	gap->from = from;
	gap->to = to;
	gap->sink = sink;
	gap->number = number;
	gap->check = ntrace_record_check(gap, GAPS, nth);
	ntrace_record_clean(gap, sizeof(*gap));
}

/*
 * Record that a gap in the record of a sink begins, because a perf event takes the sink, or because
 * the recorder stops the sink. Interrupts are off.
 */
void ntrace_record_gap_begins(struct ntrace_area *area)
{
	ntrace_record_take();
	area->gap_from = get_cycles64();
	area->gap = ++ntrace_record.nr_gaps;
	ntrace_record_put_gap(area->gap, area->gap_from, 0, area->index);
	ntrace_record_release();
}

/* End the gap. If the entry of this gap was already reused for a later gap, write nothing. */
void ntrace_record_gap_ends(struct ntrace_area *area)
{
	if (!area->gap)
		return;
	ntrace_record_take();
	if (ntrace_record.nr_gaps - area->gap < NTRACE_RECORD_GAPS)
		ntrace_record_put_gap(area->gap, area->gap_from, get_cycles64(), area->index);
	ntrace_record_release();
	area->gap = 0;
}

/* Record that @next, whose name is @comm, begins to run on this CPU. Interrupts are off. */
void notrace ntrace_record_switch(unsigned int cpu, u32 number, struct task_struct *next,
				  const char comm[TASK_COMM_LEN])
{
	unsigned int nth = cpu * NTRACE_RECORD_SWITCHES + number % NTRACE_RECORD_SWITCHES;
	struct ntrace_flight_switch *at = &ntrace_record.switches[nth], entry;

	entry.time = get_cycles64();
	entry.tid = task_pid_nr(next);
	entry.pid = task_tgid_nr(next);
	memcpy(entry.comm, comm, sizeof(entry.comm));
	entry.number = number;
	entry.check = ntrace_record_check(&entry, SWITCHES, nth);
	*at = entry;
	ntrace_record_clean(at, sizeof(*at));
}

/* Add a module, or remove it if @text_size is 0. Callers are serialised. */
void ntrace_record_module(const char *name, u64 text, u64 text_size, const u8 *build_id)
{
	struct ntrace_flight_module *at = ntrace_record.modules;
	struct ntrace_flight_module *end = at + NTRACE_RECORD_MODULES;

	for (; at < end; at++)
		if (text_size ? !at->name[0] : at->text == text)
			break;
	if (at == end)
		return;
	memset(at, 0, sizeof(*at));
	if (text_size) {
		at->text = text;
		at->text_size = text_size;
		strscpy(at->name, name, sizeof(at->name));
		if (build_id)
			memcpy(at->build_id, build_id, sizeof(at->build_id));
		at->check = ntrace_record_check(at, MODULES, at - ntrace_record.modules);
	}
	ntrace_record_written(at, sizeof(*at));
}

/**
 * ntrace_record_cause - record why tracing stopped
 * @code: Cause, enum ntrace_flight_code
 * @text: Message of the kernel, or NULL
 * @task: Task that the cause concerns
 *
 * Context: Any; takes no lock.
 */
void ntrace_record_cause(u32 code, const char *text, struct task_struct *task)
{
	struct ntrace_flight_cause *cause = ntrace_record.cause;

	cause->time = get_cycles64();
	cause->code = code;
	cause->cpu = raw_smp_processor_id();
	cause->tid = task_pid_nr(task);
	cause->pid = task_tgid_nr(task);
	memcpy(cause->comm, task->comm, sizeof(cause->comm));
	strscpy_pad(cause->text, text ?: "", sizeof(cause->text));
	cause->check = ntrace_record_check(cause, CAUSE, 0);
	ntrace_record_written(cause, sizeof(*cause));
}

/**
 * ntrace_record_session - record that the area of a sink contains the trace of a perf event
 * @area: The area
 * @want: Settings of the event
 * @config: NTRACE_CONFIG_* with which the encoder was set up
 * @src_bits: Width of SRC in the messages, in bits
 * @task: Task that opened the event, or NULL. It may have ended, and perhaps cannot be read.
 *
 * Context: Any; takes no lock.
 */
void ntrace_record_session(const struct ntrace_area *area, const struct ntrace_want *want,
			   u64 config, unsigned int src_bits, struct task_struct *task)
{
	struct ntrace_flight_session *to = &ntrace_record.sessions[area->index];

	memset(to, 0, sizeof(*to));
	to->config = config;
	to->src_bits = src_bits;
	to->priv = want->filter.priv;
	if (!task || copy_from_kernel_nofault(to->comm, task->comm, sizeof(to->comm)) ||
	    copy_from_kernel_nofault(&to->tid, &task->pid, sizeof(to->tid)) ||
	    copy_from_kernel_nofault(&to->pid, &task->tgid, sizeof(to->pid)))
		to->comm[0] = '\0';
	to->sink = area->index;
	to->check = ntrace_record_check(to, SESSIONS, area->index);
	ntrace_record_written(to, sizeof(*to));
}

/*
 * Prepare the record for a crash kernel, after the last write. If the record is in pages of this
 * kernel, the crash dump contains it, and is read through the caches. So drop cache lines that have
 * contents from before a sink wrote to memory. A record in other memory needs no preparation,
 * because the driver of the next kernel reads it.
 */
void ntrace_record_settle(void)
{
	if (ntrace_record.origin == NTRACE_RECORD_PAGES)
		ntrace_record_fetch(0, ntrace_record.size);
}

/* ---- Read the record, or parts of it ---- */

/* Return the size in bytes of the record that is being written, or of the record that was found. */
size_t ntrace_record_size(void)
{
	return ntrace_record.used ?: ntrace_record.size;
}

/**
 * ntrace_record_read - copy from the record
 * @to: Destination
 * @at: Offset in the record, not beyond its end
 * @size: Bytes, not beyond the end of the record
 *
 * Context: The caller holds ntrace_flight_mutex, so that no new record begins.
 */
void ntrace_record_read(void *to, u64 at, size_t size)
{
	lockdep_assert_held(&ntrace_flight_mutex);
	ntrace_record_fetch(at, size);
	memcpy(to, ntrace_record.mem + at, size);
}

void *ntrace_record_area(u64 offset)
{
	return ntrace_record.mem + offset;
}

/* Mark the time in which the panicking CPU writes into the areas of sinks */
void ntrace_record_seize(bool begins)
{
	WRITE_ONCE(ntrace_record.seizing, begins);
	/*
	 * Order the write of "seizing" with the writes into the areas, so that other CPUs see it
	 * set before the first of these writes, and cleared after the last one
	 */
	smp_mb();
}

phys_addr_t ntrace_record_base(void)
{
	return ntrace_record.base;
}

/* Forget the record of an earlier kernel */
void ntrace_record_forget(void)
{
	memset(&ntrace_record.old, 0, sizeof(ntrace_record.old));
	ntrace_record.used = 0;
	bitmap_zero(ntrace_record.past, NTRACE_FLIGHT_MAX_SINKS);
}

void ntrace_record_clear(void)
{
	struct ntrace_flight_header *head = ntrace_record.mem;

	head->magic = 0;
	ntrace_record_written(head, sizeof(head->magic));
	ntrace_record_forget();
}

/* Check the contents of the memory. Return NTRACE_RECORD_*. */
static enum ntrace_record_found ntrace_record_look(void)
{
	const struct ntrace_flight_header *head = ntrace_record.mem;

	if (head->magic == NTRACE_FLIGHT_MAGIC_WRITING)
		return NTRACE_RECORD_HALF;
	if (head->magic != NTRACE_FLIGHT_MAGIC)
		return NTRACE_RECORD_EMPTY;
	ntrace_record_learn();
	return ntrace_record.used ? NTRACE_RECORD_KEPT : NTRACE_RECORD_DAMAGED;
}

/**
 * ntrace_record_init - find the memory of the record, and check its contents
 * @param: The parameter "flight", which is empty, "off", or describes the memory
 * @found: Set if there is memory
 *
 * Return: 0, -ENOENT if there is not to be a flight recorder, or another error that was logged
 */
int ntrace_record_init(const char *param, enum ntrace_record_found *found)
{
	int ret;

	if (!strcmp(param, "off"))
		return -ENOENT;
	ret = *param ? ntrace_record_from_param(param) : ntrace_record_from_tree();
	if (ret)
		return ret;
	*found = ntrace_record_look();
	return 0;
}

void ntrace_record_exit(void)
{
	if (ntrace_record.mem)
		ntrace_record_unmap();
}
