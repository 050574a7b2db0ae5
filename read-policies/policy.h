/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The interface of a read policy. A policy is given the mirrors that hold the data, and returns the
 * one to read from.
 *
 * A policy is one C file that defines one `const struct read_policy`. The same file is compiled
 * into btrfs and, natively, into disklab. A policy therefore uses no floating point, allocates no
 * memory, never sleeps, and divides 64-bit numbers only through div64_u64().
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

/* The largest number of mirrors, which is that of RAID1C4. */
#define READ_MIRRORS_MAX	4
/* The largest number of parameters that a policy can have. */
#define READ_PARAMETERS_MAX	4

/*
 * A device that holds the data. Positions are in bytes from the start of the device. The fields
 * for requests sent and requests completed cover this filesystem's reads and writes of data and
 * metadata. They leave out superblocks, discards, RAID5 and RAID6. The requests in flight are all
 * requests that the block layer counts for the device, including those of other users.
 */
struct read_mirror {
	/* The id of the device in the filesystem. */
	u64 devid;
	/*
	 * The position at which this read would begin. In a filesystem with a RAID stripe tree, the
	 * data may be at another position.
	 */
	u64 physical;
	/* The end of the last read for which this device was chosen. */
	u64 next_read;
	/* The start of the run of contiguous reads that ends at next_read. */
	u64 run_start;
	/* The end of the last request, read or write, that was sent to the device. */
	u64 sent;
	/*
	 * The end of the last request, read or write, that the device completed. The head of a hard
	 * disk is near this position. A write to several mirrors is one request for each mirror.
	 * The request for the last mirror counts only if its device was sent no request since.
	 */
	u64 head;
	/* The optimal size of a request in bytes, or 0 if the device does not report one. */
	u64 optimal_io;
	/* The number of reads completed since the mount or the last reset of the statistics. */
	u64 ios;
	/* The sum of the times that those reads took, in ns. */
	u64 wait;
	/* The number of reads completed since the last checkpoint. */
	u64 recent_ios;
	/* The sum of the times that the reads since the last checkpoint took, in ns. */
	u64 recent_wait;
	/* The reads that the device has not completed yet, or 0 without READ_NEEDS_IN_FLIGHT. */
	u32 reads_in_flight;
	/* The writes that the device has not completed yet, or 0 without READ_NEEDS_IN_FLIGHT. */
	u32 writes_in_flight;
	/*
	 * The number of decisions since this device was last chosen. The age is negative in the
	 * window after a checkpoint; see read_age().
	 */
	s32 age;
	/* True for hard disks, false for flash. */
	bool rotational;
	/* False if the device is missing, or is being replaced and should not be read. */
	bool live;
};

/* A read that is about to be sent to one of `count` mirrors. */
struct read_request {
	/* The logical address of the data in the filesystem, in bytes. */
	u64 logical;
	/* The number of bytes to read from the chosen mirror. */
	u64 length;
	/*
	 * The number of blocks that the whole filesystem has read so far, modulo 2^32, or 0 without
	 * READ_NEEDS_BLOCKS_READ.
	 */
	u32 blocks_read;
	/* The binary logarithm of the filesystem's block size in bytes. */
	u32 block_bits;
	/* The id of the thread that sends the read. */
	u32 pid;
	/* The number of mirrors, from 1 to READ_MIRRORS_MAX. */
	u32 count;
	/* The mirrors, in the order of the chunk's stripes. */
	struct read_mirror mirrors[READ_MIRRORS_MAX];
};

/*
 * Flags for read_policy.needs. They request fields that take time to compute and are 0 for policies
 * that do not set the flag: blocks_read, and the requests in flight of each mirror.
 */
#define READ_NEEDS_BLOCKS_READ	(1u << 0)
#define READ_NEEDS_IN_FLIGHT	(1u << 1)

enum read_parameter_kind {
	/* The end of the list of parameters. */
	READ_NO_PARAMETER,
	/* A decimal number. */
	READ_NUMBER,
	/*
	 * A number of bytes, optionally with the suffix K, M or G (powers of 1024). The value is
	 * rounded up to whole blocks of the filesystem. The module parameter is set before a
	 * filesystem is mounted, and is rounded up to whole blocks of 4 KiB.
	 */
	READ_BYTES,
	/*
	 * The id of a device of the filesystem. The default 0 stands for the device that was
	 * mounted last.
	 */
	READ_DEVICE,
	/* One of the words in read_parameter.words. The value is the index of the word. */
	READ_WORD,
};

/*
 * A parameter of a policy. The text "name:value" sets the first parameter of the policy `name`, and
 * "name:key=value,key=value" sets any of them.
 */
struct read_parameter {
	/* The name of the parameter. */
	const char *key;
	enum read_parameter_kind kind;
	/* The least value that READ_NUMBER and READ_BYTES accept. */
	u64 least;
	/* The greatest value that READ_NUMBER and READ_BYTES accept. */
	u64 most;
	/* The default value. */
	u64 value;
	/* The words that READ_WORD accepts, separated by single spaces, for example "all reads". */
	const char *words;
	/* A short description for users. */
	const char *summary;
};

/* A read policy. */
struct read_policy {
	/* The name of the policy in sysfs, without the prefix. */
	const char *name;
	/* A description of one line. */
	const char *summary;
	/* True if the unmodified kernel has a policy that chooses the same mirrors. */
	bool mainline;
	/* The READ_NEEDS_* flags of the fields that the policy reads. */
	u32 needs;
	/* The parameters, up to the first of kind READ_NO_PARAMETER. */
	struct read_parameter parameters[READ_PARAMETERS_MAX];

	/*
	 * Returns the index of the mirror to read from. `values` holds the value of each parameter,
	 * in the order of `parameters`. If the chosen mirror is not live, read_decide() chooses
	 * another one.
	 */
	u32 (*choose)(const struct read_request *read, const u64 *values);

	/*
	 * Returns the age of a mirror after a decision that did or did not choose it. If the
	 * pointer is NULL, read_age() computes the age.
	 */
	s32 (*age)(s32 age, bool chosen, const u64 *values);
};

/* A policy and the values of its parameters. */
struct read_choice {
	const struct read_policy *policy;
	u64 values[READ_PARAMETERS_MAX];
};

/*
 * The number of consecutive decisions for other devices after which a device gets a checkpoint. A
 * checkpoint resets the recent statistics of the device and begins a window in which its age is
 * negative.
 */
#define READ_CHECKPOINT_AGE	10000
/* The length of that window in decisions. The window ends early when the device is chosen. */
#define READ_WINDOW		100

/* Returns the age of a device after a decision, for policies without an age() of their own. */
static inline s32 read_age(s32 age, bool chosen, const u64 *values)
{
	if (chosen)
		return 0;
	return age >= READ_CHECKPOINT_AGE ? -READ_WINDOW : age + 1;
}

/* Returns the age of a device after a decision of `policy`. */
static inline s32 read_policy_age(const struct read_policy *policy, s32 age, bool chosen,
				  const u64 *values)
{
	return policy->age ? policy->age(age, chosen, values) : read_age(age, chosen, values);
}

/*
 * Returns the mean time of the reads since the last checkpoint, in ns. Returns 0 if the mean is not
 * known, because no read completed since, or in the window after a checkpoint.
 */
static inline u64 read_latency(const struct read_mirror *mirror)
{
	if (mirror->age < 0 || !mirror->recent_ios)
		return 0;
	return div64_u64(mirror->recent_wait, mirror->recent_ios);
}

/*
 * Returns the mirror that the policy chooses. If that mirror is not live, returns the first live
 * mirror. If no mirror is live, returns the policy's choice. A choice out of range counts as 0.
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
