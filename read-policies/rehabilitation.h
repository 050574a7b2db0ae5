/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_REHABILITATION_H
#define BTRFS_READ_POLICIES_REHABILITATION_H

#include "policy.h"

/*
 * How many reads a device gets in the window after a checkpoint is not known of the original: its
 * author speaks of "a read probe" in one place and of an age of -100 that counts up in another.
 * Both can be had: the window holds `burst` reads. Each takes its part of the window's steps: all
 * at once where it is the only one (as read_age() has it), one where there are 100. A decision for
 * another device takes one step.
 */
static inline s32 read_age_with_burst(s32 age, bool chosen, u64 burst)
{
	u32 left;

	if (!chosen || age >= 0)
		return read_age(age, chosen, NULL);
	/* Reads that the rest of the window stands for, this one with them. */
	left = ((u32)-age * (u32)burst + READ_WINDOW - 1) / READ_WINDOW;
	return -(s32)((left - 1) * READ_WINDOW / (u32)burst);
}

#define READ_BURST_PARAMETER {							\
	.key = "burst", .kind = READ_NUMBER, .least = 1, .most = READ_WINDOW, .value = 1,	\
	.summary = "reads in the window after a checkpoint; unknown of the original: 1 or 100",	\
}

#endif
