/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_REHABILITATION_H
#define BTRFS_READ_POLICIES_REHABILITATION_H

#include "policy.h"

/*
 * How many reads a device gets in the window after a checkpoint is not known of the original: its
 * author speaks of "a read probe" in one place and of an age of -100 that counts up in another.
 * Both can be had: a device that is chosen in the window leaves it `burst` decisions earlier than
 * it would otherwise, so that 1 is the whole window for one read (as read_age() has it) and 100 is
 * a read for each step of it.
 */
static inline s32 read_age_with_burst(s32 age, bool chosen, u64 burst)
{
	s32 step = READ_WINDOW / (burst ? (s32)burst : 1);

	if (chosen && age < 0)
		return age + step < 0 ? age + step : 0;
	return read_age(age, chosen, NULL);
}

#define READ_BURST_PARAMETER {							\
	.key = "burst", .kind = READ_NUMBER, .least = 1, .most = READ_WINDOW, .value = 1,	\
	.summary = "reads in the window after a checkpoint; unknown of the original: 1 or 100",	\
}

#endif
