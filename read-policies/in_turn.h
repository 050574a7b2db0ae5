/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_IN_TURN_H
#define BTRFS_READ_POLICIES_IN_TURN_H

#include "policy.h"

/* Mainline's default in bytes (BTRFS_DEFAULT_RR_MIN_CONTIG_READ). */
#define READ_TURN_BYTES		(256 * 1024)

/*
 * Returns the mirror whose turn it is. `members` has one bit for each mirror that takes part, and
 * at least one bit set. The turn passes by ascending devid and changes after `bytes` bytes. The
 * whole filesystem has one turn, and every read of the filesystem advances it. The algorithm is
 * that of btrfs_read_rr() in fs/btrfs/volumes.c.
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
		/* The sort is stable, although the ids in a filesystem are never equal. */
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
