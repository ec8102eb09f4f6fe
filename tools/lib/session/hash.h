/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Hash table that finds elements of an array. A slot of the table contains the index of an element
 * plus 1, or 0 if the slot is empty.
 */
#ifndef NTRACE_SESSION_HASH_H
#define NTRACE_SESSION_HASH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ns_hash_slot {
	uint32_t	hash, index;
};

struct ns_hash {
	struct ns_hash_slot *slots;
	/* @size is the number of slots, a power of two; @used is the number of slots that are not empty */
	size_t		size, used;
};

#define NS_HASH_START	0xcbf29ce484222325ULL

/*
 * Add the @size bytes at @data to the FNV-1a hash @hash of earlier data, and return the new hash. Without earlier data,
 * @hash is NS_HASH_START.
 */
static inline uint64_t ns_hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *p = data, *end = p + size;

	for (; p < end; p++)
		hash = (hash ^ *p) * 0x100000001b3ULL;
	return hash;
}

static inline uint64_t ns_hash_text(const char *text)
{
	return ns_hash_bytes(NS_HASH_START, text, strlen(text));
}

/* Return a hash that depends on all bits of a number. */
static inline uint32_t ns_hash_mix(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ULL >> 32;
}

static inline bool ns_hash_grow(struct ns_hash *table)
{
	struct ns_hash to = { .size = table->size ? 2 * table->size : 256 };
	size_t i, at;

	to.slots = calloc(to.size, sizeof(*to.slots));
	for (i = 0; to.slots && i < table->size; i++) {
		if (!table->slots[i].index)
			continue;
		for (at = table->slots[i].hash; to.slots[at & (to.size - 1)].index; )
			at++;
		to.slots[at & (to.size - 1)] = table->slots[i];
	}
	if (!to.slots)
		return false;
	free(table->slots);
	table->slots = to.slots;
	table->size = to.size;
	return true;
}

/*
 * Find the element with the hash @key for which @same is true. @same is an expression with the
 * index i of the element.
 *
 * Return the slot. If the slot's index is 0, the table does not contain the element, and the caller
 * adds the element to the array and calls ns_hash_set(). Return NULL if out of memory.
 */
#define ns_hash_find(table, key, same) ({					\
	struct ns_hash *t_ = (table);						\
	uint32_t key_ = (key);							\
	size_t at_ = key_, i;							\
	bool ok_ = 2 * t_->used < t_->size || ns_hash_grow(t_);			\
	for (; ok_ && t_->slots[at_ & (t_->size - 1)].index; at_++) {		\
		i = t_->slots[at_ & (t_->size - 1)].index - 1;			\
		if (t_->slots[at_ & (t_->size - 1)].hash == key_ && (same))	\
			break;							\
	}									\
	if (ok_)								\
		t_->slots[at_ & (t_->size - 1)].hash = key_;			\
	ok_ ? &t_->slots[at_ & (t_->size - 1)] : NULL;				\
})

/* ns_hash_set() - put the element with @index into the slot that ns_hash_find() returned */
static inline void ns_hash_set(struct ns_hash *table, struct ns_hash_slot *slot, uint32_t index)
{
	slot->index = index + 1;
	table->used++;
}

#endif /* NTRACE_SESSION_HASH_H */
