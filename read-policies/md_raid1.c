// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The choice of md's RAID1 (choose_best_rdev() of drivers/md/raid1.c, 6.12 to 7.3): a disk that the
 * read continues on keeps it; else an idle disk, or with any flash among them the one with the
 * fewest requests; else the nearest head. md's own notions of faulty, write-mostly and bad blocks
 * have no counterpart in btrfs.
 */
#include "policy.h"

static bool sequential(const struct read_mirror *mirror)
{
	return mirror->next_read == mirror->physical || mirror->head == mirror->physical;
}

/* A run on flash that is longer than the device's optimal size may go on elsewhere. */
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

		/* As md, which does not count the flash of a disk that is gone. */
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
