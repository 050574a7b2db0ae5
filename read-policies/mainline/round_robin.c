// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The kernel's "round-robin" policy: btrfs_read_rr() in fs/btrfs/volumes.c, since Linux 6.13. */
#include "in_turn.h"

enum { BYTES };

static u32 choose(const struct read_request *read, const u64 *values)
{
	return read_in_turn(read, (1u << read->count) - 1, values[BYTES]);
}

const struct read_policy read_policy_round_robin = {
	.name = "round-robin",
	.summary = "the mirrors in turn, `bytes` bytes each, counted over the whole filesystem",
	.mainline = true,
	.needs = READ_NEEDS_BLOCKS_READ,
	.parameters = {
		[BYTES] = {
			.key = "bytes", .kind = READ_BYTES,
			.least = 1, .most = 1 << 30, .value = READ_TURN_BYTES,
			.summary = "bytes that are read from one mirror before the next one's turn",
		},
	},
	.choose = choose,
};
