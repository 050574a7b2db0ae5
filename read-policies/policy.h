/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a read policy is: given the mirrors that hold the wanted data, it answers which one to read.
 *
 * A policy is one C file that defines one `const struct read_policy`. The same file is compiled
 * into btrfs and, natively, into disklab. So it uses no floating point, allocates nothing, sleeps
 * never, and divides 64-bit numbers only through div64_u64().
 */
#ifndef BTRFS_READ_POLICIES_POLICY_H
#define BTRFS_READ_POLICIES_POLICY_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include "native.h"
#endif

/* RAID1C4 has the most. */
#define READ_MIRRORS_MAX	4
#define READ_PARAMETERS_MAX	4

/*
 * One device that holds the data. Positions are bytes from the device's start. "Sent" and
 * "completed" speak of this filesystem's reads and writes of data and metadata only, not of
 * superblocks, discards, RAID5 and RAID6; requests in flight are everybody's, as the block layer
 * counts them.
 */
struct read_mirror {
	u64 devid;
	/* Where this read would begin; in a filesystem with a RAID stripe tree it may be elsewhere. */
	u64 physical;
	/*
	 * Where the last read that was decided for this device ends, and where the run of adjoining
	 * reads before it began.
	 */
	u64 next_read;
	u64 run_start;
	/* Where the last request sent, read or write, ends. */
	u64 sent;
	/*
	 * Where the last request completed, read or write, ends: about where a disk's head is. Of a
	 * write to several mirrors one is counted only if its device got nothing since.
	 */
	u64 head;
	/* Bytes that the device likes in one request; 0 if it does not say. */
	u64 optimal_io;
	/*
	 * Reads completed since the mount (or since the statistics were reset), and the ns they
	 * took, summed.
	 */
	u64 ios;
	u64 wait;
	/* The same since the last checkpoint. */
	u64 recent_ios;
	u64 recent_wait;
	u32 reads_in_flight;
	u32 writes_in_flight;
	/*
	 * Decisions since one was for this device; below 0 in the window after a checkpoint. See
	 * read_age().
	 */
	s32 age;
	bool rotational;
	/* False if the device is missing, or is being replaced and should be left alone. */
	bool live;
};

/* A read that is to be sent to one of `count` mirrors, in the chunk's order. */
struct read_request {
	u64 logical;
	/* Bytes that the one mirror is to give. */
	u64 length;
	/*
	 * Blocks that the whole filesystem has read so far, modulo 2^32; 0 unless the policy needs
	 * it.
	 */
	u32 blocks_read;
	u32 block_bits;
	/* Of the thread that sends the read. */
	u32 pid;
	/* 1 to READ_MIRRORS_MAX. */
	u32 count;
	struct read_mirror mirrors[READ_MIRRORS_MAX];
};

/* What costs time to find out, and is 0 unless asked for. */
#define READ_NEEDS_BLOCKS_READ	(1u << 0)
#define READ_NEEDS_IN_FLIGHT	(1u << 1)

enum read_parameter_kind {
	/* There is no such parameter: the end of the list. */
	READ_NO_PARAMETER,
	READ_NUMBER,
	/*
	 * K, M and G are understood; rounded up to whole blocks of the filesystem, or of 4 KiB in the
	 * module's parameter, which is set before there is a filesystem.
	 */
	READ_BYTES,
	/*
	 * The id of a device of the filesystem. The default 0 stands for the one that was mounted
	 * last.
	 */
	READ_DEVICE,
	/* One of the words; its value is the word's index. */
	READ_WORD,
};

/*
 * One value that can be set: "name:value" for the first of a policy, "name:...,key=value" for any.
 */
struct read_parameter {
	const char *key;
	enum read_parameter_kind kind;
	/* The range of a number or of bytes, and what holds where nothing is said. */
	u64 least;
	u64 most;
	u64 value;
	/* Of READ_WORD, in one string: "all reads". */
	const char *words;
	/* What it means, in a few words. */
	const char *summary;
};

struct read_policy {
	/* As in sysfs. */
	const char *name;
	/* One line for people. */
	const char *summary;
	/* The kernel has it without these files; the answers are the same. */
	bool mainline;
	u32 needs;
	struct read_parameter parameters[READ_PARAMETERS_MAX];

	/*
	 * The index of the mirror to read from. `values` are those of `parameters`, in their order.
	 * An answer that is not live is put right by read_decide().
	 */
	u32 (*choose)(const struct read_request *read, const u64 *values);

	/* How a mirror's age changes with a decision; read_age() where it is NULL. */
	s32 (*age)(s32 age, bool chosen, const u64 *values);
};

/* A policy with the values of its parameters. */
struct read_choice {
	const struct read_policy *policy;
	u64 values[READ_PARAMETERS_MAX];
};

/*
 * Ageing. A device that is passed over for so many decisions in a row gets a checkpoint: its recent
 * statistics start anew, and it stays in the window of age < 0 for at most so many more decisions,
 * or until it is chosen.
 */
#define READ_CHECKPOINT_AGE	10000
#define READ_WINDOW		100

static inline s32 read_age(s32 age, bool chosen, const u64 *values)
{
	if (chosen)
		return 0;
	return age >= READ_CHECKPOINT_AGE ? -READ_WINDOW : age + 1;
}

static inline s32 read_policy_age(const struct read_policy *policy, s32 age, bool chosen,
				  const u64 *values)
{
	return policy->age ? policy->age(age, chosen, values) : read_age(age, chosen, values);
}

/* The mean time of recent reads in ns; 0, "none known", also in the window after a checkpoint. */
static inline u64 read_latency(const struct read_mirror *mirror)
{
	if (mirror->age < 0 || !mirror->recent_ios)
		return 0;
	return div64_u64(mirror->recent_wait, mirror->recent_ios);
}

/*
 * The answer of a policy, or the first live mirror if its answer is not live; its answer all the
 * same if none is.
 */
static inline u32 read_decide(const struct read_policy *policy, const u64 *values,
			      const struct read_request *read)
{
	u32 choice = policy->choose(read, values);

	if (choice >= read->count)
		choice = 0;
	if (read->mirrors[choice].live)
		return choice;
	for (u32 i = 0; i < read->count; i++) {
		if (read->mirrors[i].live)
			return i;
	}
	return choice;
}

#endif
