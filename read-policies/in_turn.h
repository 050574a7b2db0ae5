/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_IN_TURN_H
#define BTRFS_READ_POLICIES_IN_TURN_H

#include "policy.h"

/* Mainline's default (BTRFS_DEFAULT_RR_MIN_CONTIG_READ). */
#define READ_TURN_BYTES		(256 * 1024)

/*
 * The mirrors of `members` (a bit each, at least one) in turn, so many bytes each, by ascending
 * devid. There is one turn for the whole filesystem: whatever anybody reads moves it. As
 * btrfs_read_rr() of fs/btrfs/volumes.c.
 */
static inline u32 read_in_turn(const struct read_request *read, u32 members, u64 bytes)
{
	u32 order[READ_MIRRORS_MAX];
	u32 count = 0;
	u32 blocks = bytes >> read->block_bits;

	for (u32 i = 0; i < read->count; i++) {
		u32 at = count;

		if (!(members & 1u << i))
			continue;
		/* Of equal ids, which no filesystem has, the first stays first. */
		while (at > 0 && read->mirrors[order[at - 1]].devid > read->mirrors[i].devid) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
		count++;
	}
	return order[read->blocks_read / (blocks ? blocks : 1) % count];
}

#endif
