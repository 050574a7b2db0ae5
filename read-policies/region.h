/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_REGION_H
#define BTRFS_READ_POLICIES_REGION_H

#include "policy.h"

/* Of `members` (a bit each), the first; none of them is an answer that read_decide() puts right. */
static inline u32 read_first(const struct read_request *read, u32 members)
{
	for (u32 i = 0; i < read->count; i++) {
		if (members & 1u << i)
			return i;
	}
	return read->count;
}

/* Regions of 2 MiB, as vdev_mirror_shift of OpenZFS (module/zfs/vdev_mirror.c). */
#define READ_REGION_SHIFT	21

/*
 * Of `members` (a bit each), one by the region of the read: neighbours stay together, the whole is
 * spread.
 */
static inline u32 read_by_region(const struct read_request *read, u32 members)
{
	u32 count = 0;
	u32 wanted;

	for (u32 i = 0; i < read->count; i++)
		count += members >> i & 1;
	if (!count)
		return read->count;
	wanted = (u32)(read->logical >> READ_REGION_SHIFT) % count;
	for (u32 i = 0; i < read->count; i++) {
		if (members & 1u << i && !wanted--)
			return i;
	}
	return read->count;
}

#endif
