// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The kernel's "devid" policy: btrfs_read_preferred() in fs/btrfs/volumes.c, since Linux 6.13. */
#include "policy.h"

enum { DEVICE };

static u32 choose(const struct read_request *read, const u64 *values)
{
	for (u32 i = 0; i < read->count; i++) {
		if (read->mirrors[i].devid == values[DEVICE])
			return i;
	}
	return 0;
}

const struct read_policy read_policy_devid = {
	.name = "devid",
	.summary = "the mirror on one fixed device; the first mirror if that device holds none",
	.mainline = true,
	.parameters = {
		[DEVICE] = {
			.key = "device", .kind = READ_DEVICE,
			.summary = "the id of the device; the default is the device that was mounted last",
		},
	},
	.choose = choose,
};
