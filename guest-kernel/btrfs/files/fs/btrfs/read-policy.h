/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where btrfs asks the policies of read-policies/ which mirror to read, and what it keeps for them.
 * They stand beside the kernel's own policies, which decide unless one of these is set.
 */
#ifndef BTRFS_READ_POLICY_H
#define BTRFS_READ_POLICY_H

#include <linux/atomic.h>
#include <linux/seqlock.h>
#include <linux/types.h>

struct bio;
struct btrfs_chunk_map;
struct btrfs_device;
struct btrfs_fs_devices;
struct btrfs_fs_info;

/* A decision: which stripe of a chunk is read. */
struct btrfs_read_decision {
	u64 logical;
	u64 length;
	/* From the start of a stripe on any device. */
	u64 offset;
	/* The first of the stripes that hold the data. */
	u32 first;
	/* The stripe that the kernel's own policy chose. */
	int chosen;
	/* Whether a device is being replaced. */
	bool replacing;
};

#ifdef CONFIG_BTRFS_READ_POLICIES

#include "read-policies/policy.h"

/*
 * What is known of a device. Updated by every read without a lock: a decision that sees one number
 * a request older than another is no worse for it.
 */
struct btrfs_device_reads {
	/* Reads completed, and the ns that they took. */
	atomic64_t ios;
	atomic64_t wait;
	/* Both as they were at the last checkpoint, and how many there were. */
	u64 checkpoint_ios;
	u64 checkpoint_wait;
	u64 checkpoints;
	/* struct read_mirror says what these are. */
	atomic_t age;
	u64 next_read;
	u64 run_start;
	u64 sent;
	u64 head;
	/* Decisions that passed the device over, less those for it. */
	atomic64_t ignored;
};

/* Begins the name of each policy of read-policies/ in sysfs: no kernel's own is named so. */
#define BTRFS_READ_POLICY_PREFIX	"disklab-"

/*
 * The active policy of a filesystem: read at every decision, written through sysfs. Without a
 * policy the kernel's own decides.
 */
struct btrfs_read_choice {
	seqlock_t lock;
	struct read_choice choice;
};

int btrfs_read_policy_decide(struct btrfs_fs_info *fs_info, const struct btrfs_chunk_map *map,
			     const struct btrfs_read_decision *decision);
void btrfs_read_policy_open(struct btrfs_fs_devices *fs_devices);
bool btrfs_read_policy_is_added(const char *buf);
int btrfs_read_policy_set(struct btrfs_fs_devices *fs_devices, const char *buf, size_t length);
void btrfs_read_policy_unset(struct btrfs_fs_devices *fs_devices);
ssize_t btrfs_read_policy_emit(struct btrfs_fs_devices *fs_devices, char *buf, ssize_t at);
ssize_t btrfs_read_stats_emit(struct btrfs_device *device, char *buf);
void btrfs_read_stats_reset(struct btrfs_device *device);
void btrfs_read_stats_sent(struct btrfs_device *device, struct bio *bio);
void btrfs_read_stats_completed(struct btrfs_device *device, struct bio *bio);
void btrfs_read_stats_written(struct btrfs_device *device, struct bio *bio);

#else

static inline int btrfs_read_policy_decide(struct btrfs_fs_info *fs_info,
					   const struct btrfs_chunk_map *map,
					   const struct btrfs_read_decision *decision)
{
	return decision->chosen;
}

static inline void btrfs_read_policy_open(struct btrfs_fs_devices *fs_devices)
{
}

static inline void btrfs_read_stats_sent(struct btrfs_device *device, struct bio *bio)
{
}

static inline void btrfs_read_stats_completed(struct btrfs_device *device, struct bio *bio)
{
}

static inline void btrfs_read_stats_written(struct btrfs_device *device, struct bio *bio)
{
}

#endif
#endif
