// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The policy of OpenZFS's mirrors (module/zfs/vdev_mirror.c), which chooses the mirror with the
 * least load. The load is the number of requests in flight plus a price for moving away from the
 * end of the last request that was sent to the device. Among mirrors of equal load, the 2 MiB
 * region of the read selects one. The prices are the defaults of OpenZFS's module parameters
 * zfs_vdev_mirror_{rotating,non_rotating}_*.
 */
#include "policy.h"
#include "region.h"

/* The prices, in requests. A distance below NEAR bytes costs a hard disk half of DISK_SEEK. */
#define FLASH_SEEK	1
#define DISK_SEEK	5
#define NEAR		(1024 * 1024)

/* Returns the price of the read on this mirror. A read at the end of the last request costs 0. */
static u32 price(const struct read_mirror *mirror)
{
	u64 distance = mirror->sent > mirror->physical ? mirror->sent - mirror->physical :
							 mirror->physical - mirror->sent;

	if (!distance)
		return 0;
	if (!mirror->rotational)
		return FLASH_SEEK;
	return distance < NEAR ? DISK_SEEK / 2 : DISK_SEEK;
}

static u32 choose(const struct read_request *read, const u64 *values)
{
	u32 least = U32_MAX;
	u32 equal = 0;

	for (u32 i = 0; i < read->count; i++) {
		const struct read_mirror *mirror = &read->mirrors[i];
		u32 load = mirror->reads_in_flight + mirror->writes_in_flight + price(mirror);

		if (!mirror->live)
			continue;
		if (load < least) {
			least = load;
			equal = 0;
		}
		if (load == least)
			equal |= 1u << i;
	}
	return read_by_region(read, equal);
}

const struct read_policy read_policy_zfs_mirror = {
	.name = "zfs-mirror",
	.summary = "OpenZFS's rule for mirrors: the fewest requests in flight, with a price for seeking",
	.needs = READ_NEEDS_IN_FLIGHT,
	.choose = choose,
};
