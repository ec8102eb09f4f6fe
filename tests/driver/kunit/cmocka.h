/* SPDX-License-Identifier: GPL-2.0-only */
/* Use KUnit to implement the functions of cmocka that the cases call */
#ifndef KUNIT_CMOCKA_H
#define KUNIT_CMOCKA_H

#include <kunit/test.h>

/* Context of the running case. KUnit runs one case at a time */
extern struct kunit *cmocka_test;

#define assert_int_equal(a, b)		KUNIT_ASSERT_EQ(cmocka_test, (u64)(a), (u64)(b))
#define assert_int_not_equal(a, b)	KUNIT_ASSERT_NE(cmocka_test, (u64)(a), (u64)(b))
#define assert_in_range(a, low, high)						\
	KUNIT_ASSERT_TRUE(cmocka_test, (u64)(a) >= (low) && (u64)(a) <= (high))
#define assert_true(a)			KUNIT_ASSERT_TRUE(cmocka_test, a)
#define assert_false(a)			KUNIT_ASSERT_FALSE(cmocka_test, a)
#define assert_null(a)			KUNIT_ASSERT_NULL(cmocka_test, a)
#define assert_non_null(a)		KUNIT_ASSERT_NOT_NULL(cmocka_test, a)
#define assert_ptr_equal(a, b)		KUNIT_ASSERT_PTR_EQ(cmocka_test, (const void *)(a), (const void *)(b))
#define assert_string_equal(a, b)	KUNIT_ASSERT_STREQ(cmocka_test, a, b)
#define assert_memory_equal(a, b, n)	KUNIT_ASSERT_MEMEQ(cmocka_test, a, b, n)

#endif
