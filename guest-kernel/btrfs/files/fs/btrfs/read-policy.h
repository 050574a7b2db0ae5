/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between btrfs and the policies of read-policies/, which choose the mirror to read,
 * and the data that btrfs keeps for them. The kernel's own policies remain. They decide unless a
 * policy of read-policies/ is set.
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

/* The input of a decision, which chooses the stripe of a chunk to read. */
struct btrfs_read_decision {
	/* The logical address of the data in the filesystem, in bytes. */
	u64 logical;
	/* The number of bytes to read from the chosen stripe. */
	u64 length;
	/* The position of the data in bytes from the start of a stripe. */
	u64 offset;
	/* The index of the first stripe that holds the data. */
	u32 first;
	/* The index of the stripe that the kernel's own policy chose. */
	int chosen;
	/* True while a device of the filesystem is being replaced. */
	bool replacing;
};

#ifdef CONFIG_BTRFS_READ_POLICIES

#include "read-policies/policy.h"

/*
 * The statistics and positions of a device. Every request updates them without a lock. A decision
 * may see one value that is a request older than another, which does no harm.
 */
struct btrfs_device_reads {
	/* The number of reads completed. */
	atomic64_t ios;
	/* The sum of the times that those reads took, in ns. */
	atomic64_t wait;
	/* The value of `ios` at the last checkpoint. */
	u64 checkpoint_ios;
	/* The value of `wait` at the last checkpoint. */
	u64 checkpoint_wait;
	/* The number of checkpoints. */
	u64 checkpoints;
	/* The comments in struct read_mirror describe the next five fields. */
	atomic_t age;
	u64 next_read;
	u64 run_start;
	u64 sent;
	u64 head;
	/* The number of decisions for other devices minus the number for this device. */
	atomic64_t ignored;
};

/*
 * The prefix of the name of each policy of read-policies/ in sysfs. No policy of the kernel's own
 * has this prefix.
 */
#define BTRFS_READ_POLICY_PREFIX	"disklab-"

/*
 * The active policy of a filesystem. Every decision reads the choice, and a write to sysfs changes
 * it. If the choice has no policy, the kernel's own policy decides.
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
