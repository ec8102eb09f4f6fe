/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Growing arrays, which are a structure of pointer, count and capacity. */
#ifndef NTRACE_SESSION_ARRAY_H
#define NTRACE_SESSION_ARRAY_H

#include <stdlib.h>

#define NS_ARRAY(type) struct { type *at; size_t nr, room; }

/* Make room for one more element. Return false if out of memory. */
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

/* Add @element. Return false if out of memory. */
#define ns_array_add(array, element) ({					\
	bool added_ = ns_array_grow(array);				\
	if (added_)							\
		(array)->at[(array)->nr++] = (element);			\
	added_;								\
})

/* Index of the first element of @nr for which @before, an expression of i, is false */
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
