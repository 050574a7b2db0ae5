// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The choice of OpenZFS's mirrors (module/zfs/vdev_mirror.c): the least load, which is the requests
 * in flight and a price for moving away from where the device's last request ended; of equal ones
 * by regions of 2 MiB. The prices are the defaults of zfs_vdev_mirror_{rotating,non_rotating}_*
 * there.
 */
#include "policy.h"
#include "region.h"

#define FLASH_SEEK	1
#define DISK_SEEK	5
#define NEAR		(1024 * 1024)

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
	.summary = "as OpenZFS's mirrors: the fewest requests in flight, with a price for seeking",
	.needs = READ_NEEDS_IN_FLIGHT,
	.choose = choose,
};
