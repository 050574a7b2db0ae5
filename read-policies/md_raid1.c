// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The policy of md's RAID1 (choose_best_rdev() in drivers/md/raid1.c, Linux 6.12 to 7.3). A
 * sequential read stays on its disk. Any other read goes to an idle disk. If no disk is idle, the
 * read goes to the disk with the fewest requests in flight if any disk is flash, and otherwise to
 * the disk with the nearest head. btrfs has no counterpart of md's faulty disks, write-mostly disks
 * and bad blocks.
 */
#include "policy.h"

/* Returns true if the read begins where the last read of this mirror ends. */
static bool sequential(const struct read_mirror *mirror)
{
	return mirror->next_read == mirror->physical || mirror->head == mirror->physical;
}

/*
 * Returns true for a run of reads on flash that is at least as long as the device's optimal request
 * size. Such a run may continue on another mirror.
 */
static bool long_enough(const struct read_mirror *mirror)
{
	return !mirror->rotational && mirror->optimal_io &&
	       mirror->next_read > mirror->optimal_io &&
	       mirror->next_read - mirror->optimal_io >= mirror->run_start;
}

static u32 choose(const struct read_request *read, const u64 *values)
{
	u32 least_pending = U32_MAX;
	u64 least_distance = U64_MAX;
	u32 idlest = read->count;
	u32 closest = read->count;
	u32 continued = read->count;
	bool flash = false;

	for (u32 i = 0; i < read->count; i++) {
		const struct read_mirror *mirror = &read->mirrors[i];
		u32 pending = mirror->reads_in_flight + mirror->writes_in_flight;
		u64 distance = mirror->head > mirror->physical ? mirror->head - mirror->physical :
								 mirror->physical - mirror->head;

		/* A missing disk does not count as flash, as in md. */
		if (!mirror->live)
			continue;
		flash |= !mirror->rotational;
		if (sequential(mirror)) {
			if (!long_enough(mirror))
				return i;
			pending++;
			continued = i;
		}
		if (pending < least_pending) {
			least_pending = pending;
			idlest = i;
		}
		if (distance < least_distance) {
			least_distance = distance;
			closest = i;
		}
	}
	if (continued != read->count && least_pending)
		return continued;
	return flash || !least_pending ? idlest : closest;
}

const struct read_policy read_policy_md_raid1 = {
	.name = "md-raid1",
	.summary =
		"as md's RAID1: stay on a sequential run, else an idle disk, else the nearest head",
	.needs = READ_NEEDS_IN_FLIGHT,
	.choose = choose,
};
