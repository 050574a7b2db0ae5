/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_REGION_H
#define BTRFS_READ_POLICIES_REGION_H

#include "policy.h"

/*
 * Returns the first mirror of `members`, which has one bit for each mirror. If `members` is 0, the
 * result is out of range, and read_decide() replaces it.
 */
static inline u32 read_first(const struct read_request *read, u32 members)
{
	for (u32 i = 0; i < read->count; i++) {
		if (members & 1u << i)
			return i;
	}
	return read->count;
}

/*
 * The binary logarithm of the region size in bytes. Regions are 2 MiB, which is vdev_mirror_shift
 * of OpenZFS (module/zfs/vdev_mirror.c).
 */
#define READ_REGION_SHIFT	21

/*
 * Returns one mirror of `members`, which has one bit for each mirror, by the region of the read's
 * logical address. Reads in one region go to one mirror, and consecutive regions go to the mirrors
 * in turn. If `members` is 0, the result is out of range, and read_decide() replaces it.
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
