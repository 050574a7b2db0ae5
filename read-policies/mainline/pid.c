// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The kernel's default policy "pid": find_live_mirror() in fs/btrfs/volumes.c. */
#include "policy.h"

static u32 choose(const struct read_request *read, const u64 *values)
{
	return read->pid % read->count;
}

const struct read_policy read_policy_pid = {
	.name = "pid",
	.summary = "the reading process's id modulo the number of mirrors; the kernel's default",
	.mainline = true,
	.choose = choose,
};
