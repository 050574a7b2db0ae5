/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef BTRFS_READ_POLICIES_REHABILITATION_H
#define BTRFS_READ_POLICIES_REHABILITATION_H

#include "policy.h"

/*
 * Returns the age of a device after a decision. A device gets `burst` reads in the window after a
 * checkpoint. The number of reads in the original policy is not known: its author describes "a read
 * probe" in one place, and an age of -100 that counts up in another. The parameter allows both.
 *
 * Each read in the window advances the age by READ_WINDOW / `burst` steps. With a burst of 1, one
 * read ends the window, as in read_age(). With a burst of 100, each read is one step. A decision
 * for another device is one step.
 */
static inline s32 read_age_with_burst(s32 age, bool chosen, u64 burst)
{
	u32 left;

	if (!chosen || age >= 0)
		return read_age(age, chosen, NULL);
	/* The number of reads that remain in the window, including this one. */
	left = ((u32)-age * (u32)burst + READ_WINDOW - 1) / READ_WINDOW;
	return -(s32)((left - 1) * READ_WINDOW / (u32)burst);
}

/* The parameter that sets `burst`. */
#define READ_BURST_PARAMETER {							\
	.key = "burst", .kind = READ_NUMBER, .least = 1, .most = READ_WINDOW, .value = 1,	\
	.summary = "reads in the window after a checkpoint; unknown whether the original has 1 or 100",	\
}

#endif
