/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Growing arrays. An array is a structure with the pointer to its elements, their number and the capacity. */
#ifndef NTRACE_SESSION_ARRAY_H
#define NTRACE_SESSION_ARRAY_H

#include <stdlib.h>
#include <string.h>

/* keeps uncommon work out of functions that run for each branch, so that these save fewer registers */
#define noinline	__attribute__((noinline))

#define NS_ARRAY(type) struct { type *at; size_t nr, room; }

/* Make sure that the array has memory for one more element. Return false if out of memory. */
#define ns_array_grow(array) ({						\
	__typeof__(array) a_ = (array);					\
	bool ok_ = a_->nr < a_->room;					\
	if (!ok_) {							\
		size_t room_ = a_->room ? 2 * a_->room : 16;		\
		void *at_ = realloc(a_->at, room_ * sizeof(*a_->at));	\
		if (at_) {						\
			a_->at = at_;					\
			a_->room = room_;				\
			ok_ = true;					\
		}							\
	}								\
	ok_;								\
})

/* Append @element to the array. Return false if out of memory. */
#define ns_array_add(array, element) ({					\
	bool added_ = ns_array_grow(array);				\
	if (added_)							\
		(array)->at[(array)->nr++] = (element);			\
	added_;								\
})

/* Insert @element before the element with index @nth. Return false if out of memory. */
#define ns_array_insert(array, nth, element) ({				\
	__typeof__(array) i_ = (array);					\
	size_t nth_ = (nth);						\
	bool inserted_ = ns_array_grow(i_);				\
	if (inserted_) {						\
		memmove(i_->at + nth_ + 1, i_->at + nth_,		\
			(i_->nr++ - nth_) * sizeof(*i_->at));		\
		i_->at[nth_] = (element);				\
	}								\
	inserted_;							\
})

/* Compare two numbers for qsort(). Return -1, 0 or 1. */
#define ns_order(x, y)	((x) < (y) ? -1 : (x) > (y))

#define ns_array_sort(array, cmp) ({					\
	__typeof__(array) s_ = (array);					\
	if (s_->nr)							\
		qsort(s_->at, s_->nr, sizeof(*s_->at), cmp);		\
})

/*
 * Join adjacent elements of a sorted array. @differ is an expression with the pointers a and b to
 * two elements. If @differ is false, @merge, a statement that adds *b to *a, joins the elements.
 */
#define ns_array_join_sorted(array, differ, merge) ({			\
	__typeof__(array) j_ = (array);					\
	__typeof__(j_->at) a = j_->at, b, end_ = a + j_->nr;		\
	for (b = a + !!j_->nr; b < end_; b++) {				\
		if (differ)						\
			*++a = *b;					\
		else							\
			merge;						\
	}								\
	if (j_->nr)							\
		j_->nr = a + 1 - j_->at;				\
})

/* Sort an array with the function @cmp, and join the elements for which @cmp returns 0. */
#define ns_array_join(array, cmp, merge) ({				\
	ns_array_sort(array, cmp);					\
	ns_array_join_sorted(array, cmp(a, b), merge);			\
})

/*
 * Return the index of the first of @nr sorted elements for which @before is false, or @nr if there
 * is no such element. @before is an expression with the index i of an element.
 */
#define ns_lower_bound(nr, before) ({					\
	size_t low_ = 0, high_ = (nr), i;				\
	while (low_ < high_) {						\
		i = low_ + (high_ - low_) / 2;				\
		if (before)						\
			low_ = i + 1;					\
		else							\
			high_ = i;					\
	}								\
	low_;								\
})

#endif /* NTRACE_SESSION_ARRAY_H */
