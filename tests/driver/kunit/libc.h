/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the C library that the model uses */
#ifndef KUNIT_LIBC_H
#define KUNIT_LIBC_H

#include "kernel.h"

/* The model defines a function clamp(), which the kernel's macro clamp() would replace */
#undef clamp

#define UINT8_MAX	U8_MAX
#define UINT16_MAX	U16_MAX
#define UINT32_MAX	U32_MAX
#define UINT64_MAX	U64_MAX
#define INT64_MAX	S64_MAX
#define malloc(n)	kvmalloc(n, GFP_KERNEL)
#define calloc(n, m)	kvcalloc(n, m, GFP_KERNEL)
#define free(p)		kvfree(p)
#define abort()		BUG()
#define printf(...)	printk(KERN_INFO __VA_ARGS__)

#endif
