/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The kernel types and functions that policy.h uses, defined for programs in user space. */
#ifndef BTRFS_READ_POLICIES_NATIVE_H
#define BTRFS_READ_POLICIES_NATIVE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#define U32_MAX	UINT32_MAX
#define U64_MAX	UINT64_MAX

/* Returns the quotient, as the kernel's function of this name does. */
static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#endif
