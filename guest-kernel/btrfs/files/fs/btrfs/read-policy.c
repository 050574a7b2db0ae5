// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connects btrfs to the policies of read-policies/. This file prepares the input of a policy,
 * implements the sysfs files, and keeps the statistics of each device.
 */
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/part_stat.h>
#include <linux/sysfs.h>
#include "bio.h"
#include "fs.h"
#include "messages.h"
#include "read-policy.h"
#include "volumes.h"
#include "read-policies/choice.h"

#define CREATE_TRACE_POINTS
#include "read-policy-trace.h"

static_assert(READ_MIRRORS_MAX == BTRFS_RAID1_MAX_MIRRORS);

/*
 * Counts the requests in flight in the way of /sys/block/<disk>/inflight, and includes those that
 * still wait in an I/O scheduler.
 */
static void count_in_flight(struct block_device *bdev, struct read_mirror *mirror)
{
	int reads = 0;
	int writes = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		reads += part_stat_local_read_cpu(bdev, in_flight[READ], cpu);
		writes += part_stat_local_read_cpu(bdev, in_flight[WRITE], cpu);
	}
	/* A request that ends during the loop can make a sum too small, and even negative. */
	mirror->reads_in_flight = max(reads, 0);
	mirror->writes_in_flight = max(writes, 0);
}

static u64 since(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

static void describe_mirror(struct btrfs_device *device, u32 needs, struct read_mirror *mirror)
{
	struct btrfs_device_reads *reads = &device->reads;
	struct block_device *bdev = READ_ONCE(device->bdev);

	mirror->devid = device->devid;
	mirror->next_read = READ_ONCE(reads->next_read);
	mirror->run_start = READ_ONCE(reads->run_start);
	mirror->sent = READ_ONCE(reads->sent);
	mirror->head = READ_ONCE(reads->head);
	mirror->ios = atomic64_read(&reads->ios);
	mirror->wait = atomic64_read(&reads->wait);
	mirror->recent_ios = since(mirror->ios, READ_ONCE(reads->checkpoint_ios));
	mirror->recent_wait = since(mirror->wait, READ_ONCE(reads->checkpoint_wait));
	mirror->age = atomic_read(&reads->age);
	if (!bdev)
		return;
	mirror->live = true;
	mirror->rotational = bdev_rot(bdev);
	mirror->optimal_io = bdev_io_opt(bdev);
	if (needs & READ_NEEDS_IN_FLIGHT)
		count_in_flight(bdev, mirror);
}

/*
 * Marks the device that is being replaced as not live, if reads are to avoid the device and another
 * mirror is live.
 */
static void avoid_replaced(const struct btrfs_fs_info *fs_info, const struct btrfs_chunk_map *map,
			   u32 first, struct read_request *read)
{
	const struct btrfs_dev_replace *replace = &fs_info->dev_replace;
	struct read_mirror *avoided = NULL;
	bool others = false;

	if (replace->cont_reading_from_srcdev_mode !=
	    BTRFS_DEV_REPLACE_ITEM_CONT_READING_FROM_SRCDEV_MODE_AVOID)
		return;
	for (u32 i = 0; i < read->count; i++) {
		if (map->stripes[first + i].dev == replace->srcdev)
			avoided = &read->mirrors[i];
		else
			others |= read->mirrors[i].live;
	}
	if (avoided && others)
		avoided->live = false;
}

/*
 * Updates the age of a device after a decision, and takes a checkpoint if the age is now negative.
 */
static void age_device(struct btrfs_device_reads *reads, const struct read_choice *choice,
		       bool chosen)
{
	s32 old = atomic_read(&reads->age);
	s32 new = choice->policy ? read_policy_age(choice->policy, old, chosen, choice->values) :
				   read_age(old, chosen, choice->values);

	atomic64_add(chosen ? -1 : 1, &reads->ignored);
	/*
	 * If several decisions run at the same time, only one of them changes the age, and only one
	 * takes the checkpoint.
	 */
	if (new == old || atomic_cmpxchg(&reads->age, old, new) != old || old < 0 || new >= 0)
		return;
	WRITE_ONCE(reads->checkpoint_ios, atomic64_read(&reads->ios));
	WRITE_ONCE(reads->checkpoint_wait, atomic64_read(&reads->wait));
	WRITE_ONCE(reads->checkpoints, READ_ONCE(reads->checkpoints) + 1);
}

/* Records the position of a read that is about to be sent to this device. */
static void note_position(struct btrfs_device_reads *reads, u64 physical, u64 length)
{
	if (READ_ONCE(reads->next_read) != physical)
		WRITE_ONCE(reads->run_start, physical);
	WRITE_ONCE(reads->next_read, physical + length);
}

static void get_choice(struct btrfs_fs_devices *fs_devices, struct read_choice *choice)
{
	struct btrfs_read_choice *active = &fs_devices->read_choice;
	unsigned int seq;

	do {
		seq = read_seqbegin(&active->lock);
		*choice = active->choice;
	} while (read_seqretry(&active->lock, seq));
}

/*
 * Returns the index of the stripe of `map` to read. If no policy of read-policies/ is set, that is
 * the stripe that the kernel's own policy chose. The statistics and the trace cover both cases.
 */
int btrfs_read_policy_decide(struct btrfs_fs_info *fs_info, const struct btrfs_chunk_map *map,
			     const struct btrfs_read_decision *decision)
{
	struct read_request read = {
		.logical = decision->logical,
		.length = decision->length,
		.block_bits = fs_info->sectorsize_bits,
		.pid = current->pid,
		.count = map->type & BTRFS_BLOCK_GROUP_RAID10 ? map->sub_stripes : map->num_stripes,
	};
	struct read_choice choice;
	u32 answer = decision->chosen - decision->first;
	u32 needs;

	get_choice(fs_info->fs_devices, &choice);
	if (choice.policy)
		needs = choice.policy->needs;
	else if (answer >= read.count)
		return decision->chosen;
	else
		needs = trace_btrfs_read_decision_enabled() ? READ_NEEDS_BLOCKS_READ : 0;
	if (needs & READ_NEEDS_BLOCKS_READ)
		read.blocks_read = percpu_counter_sum(&fs_info->stats_read_blocks);
	for (u32 i = 0; i < read.count; i++) {
		const struct btrfs_io_stripe *stripe = &map->stripes[decision->first + i];

		read.mirrors[i].physical = stripe->physical + decision->offset;
		describe_mirror(stripe->dev, needs, &read.mirrors[i]);
	}
	if (decision->replacing)
		avoid_replaced(fs_info, map, decision->first, &read);
	if (choice.policy)
		answer = read_decide(choice.policy, choice.values, &read);
	trace_btrfs_read_decision(&choice, &read, answer);
	for (u32 i = 0; i < read.count; i++)
		age_device(&map->stripes[decision->first + i].dev->reads, &choice, i == answer);
	note_position(&map->stripes[decision->first + answer].dev->reads,
		      read.mirrors[answer].physical, read.length);
	return decision->first + answer;
}

/*
 * The binary logarithm of the smallest block size of a filesystem. The module parameter uses it,
 * because the parameter is parsed before a filesystem is known.
 */
#define LEAST_BLOCK_BITS ilog2(BTRFS_MIN_BLOCKSIZE)

/*
 * The policy of read-policies/ that is set when a filesystem is opened, by its name without the
 * prefix.
 */
static char *disklab_read_policy;

/*
 * Checks and stores the module parameter. The parts that depend on a filesystem, such as the id of
 * a device, cannot be checked here.
 */
static int set_parameter(const char *text, const struct kernel_param *parameter)
{
	struct read_choice choice;

	if (read_choice_parse(text, strlen(text), LEAST_BLOCK_BITS, &choice)) {
		pr_err("btrfs: invalid read policy or value %s\n", text);
		return -EINVAL;
	}
	return param_set_charp(text, parameter);
}

static const struct kernel_param_ops parameter_ops = {
	.set = set_parameter,
	.get = param_get_charp,
	.free = param_free_charp,
};
module_param_cb(disklab_read_policy, &parameter_ops, &disklab_read_policy, 0);
MODULE_PARM_DESC(disklab_read_policy, "Policy of read-policies/ that filesystems begin with");

/* Sets each parameter of kind READ_DEVICE that has its default value 0 to `devid`. */
static void settle_devices(struct read_choice *choice, u64 devid)
{
	for (u32 i = 0; i < READ_PARAMETERS_MAX; i++) {
		if (choice->policy->parameters[i].kind == READ_DEVICE && !choice->values[i])
			choice->values[i] = devid;
	}
}

static void activate(struct btrfs_fs_devices *fs_devices, const struct read_choice *choice)
{
	struct btrfs_read_choice *active = &fs_devices->read_choice;

	write_seqlock(&active->lock);
	active->choice = *choice;
	write_sequnlock(&active->lock);
	/* The code of the kernel's own policies sets this flag for those policies. */
	if (choice->policy && choice->policy->needs & READ_NEEDS_BLOCKS_READ)
		fs_devices->collect_fs_stats = true;
}

/*
 * Initialises the read policy of a filesystem that is being opened. The devices may be known from
 * an earlier mount, so their statistics are reset.
 */
void btrfs_read_policy_open(struct btrfs_fs_devices *fs_devices)
{
	struct read_choice choice = { };
	struct btrfs_device *device;

	list_for_each_entry(device, &fs_devices->devices, dev_list)
		memset(&device->reads, 0, sizeof(device->reads));
	seqlock_init(&fs_devices->read_choice.lock);
	if (disklab_read_policy &&
	    !read_choice_parse(disklab_read_policy, strlen(disklab_read_policy), LEAST_BLOCK_BITS,
			       &choice))
		settle_devices(&choice, fs_devices->latest_dev->devid);
	activate(fs_devices, &choice);
}

/* Prints a policy and its values at position `at`, and returns the number of bytes printed. */
static ssize_t emit_choice(const struct read_choice *choice, char *buf, ssize_t at)
{
	ssize_t start = at;

	at += sysfs_emit_at(buf, at, BTRFS_READ_POLICY_PREFIX "%s", choice->policy->name);
	for (u32 i = 0; i < READ_PARAMETERS_MAX && choice->policy->parameters[i].kind; i++) {
		const struct read_parameter *parameter = &choice->policy->parameters[i];

		at += i ? sysfs_emit_at(buf, at, ",%s=", parameter->key) : sysfs_emit_at(buf, at, ":");
		if (parameter->kind == READ_WORD) {
			struct read_word word = read_word_at(parameter->words, choice->values[i]);

			at += sysfs_emit_at(buf, at, "%.*s", (int)word.length, word.start);
		} else {
			at += sysfs_emit_at(buf, at, "%llu", choice->values[i]);
		}
	}
	return at - start;
}

/*
 * Removes the brackets around the active policy among the kernel's own, because a policy of
 * read-policies/ is active.
 */
static void unmark_others(char *buf, ssize_t *length)
{
	ssize_t kept = 0;

	for (ssize_t i = 0; i < *length; i++) {
		if (buf[i] != '[' && buf[i] != ']')
			buf[kept++] = buf[i];
	}
	*length = kept;
}

/*
 * Appends all policies of read-policies/ to the first `at` bytes of `buf`, which list the kernel's
 * own policies. The active policy appears in brackets with its current values, and the others with
 * their default values. Returns the new length in bytes.
 */
ssize_t btrfs_read_policy_emit(struct btrfs_fs_devices *fs_devices, char *buf, ssize_t at)
{
	struct read_choice active;

	get_choice(fs_devices, &active);
	while (at && buf[at - 1] == '\n')
		at--;
	if (active.policy)
		unmark_others(buf, &at);
	for (u32 i = 0; i < READ_POLICIES; i++) {
		struct read_choice choice = active;

		at += sysfs_emit_at(buf, at, " ");
		if (read_policies[i] == active.policy) {
			at += sysfs_emit_at(buf, at, "[");
			at += emit_choice(&active, buf, at);
			at += sysfs_emit_at(buf, at, "]");
			continue;
		}
		read_choice_default(&choice, read_policies[i]);
		settle_devices(&choice, fs_devices->latest_dev->devid);
		at += emit_choice(&choice, buf, at);
	}
	return at + sysfs_emit_at(buf, at, "\n");
}

/*
 * Returns true if every device that the choice names is in the filesystem now. A device may be
 * removed later.
 */
static bool has_devices(struct btrfs_fs_devices *fs_devices, const struct read_choice *choice)
{
	for (u32 i = 0; i < READ_PARAMETERS_MAX; i++) {
		BTRFS_DEV_LOOKUP_ARGS(args);

		args.devid = choice->values[i];
		if (choice->policy->parameters[i].kind == READ_DEVICE &&
		    !btrfs_find_device(fs_devices, &args))
			return false;
	}
	return true;
}

/* Returns true if the text begins with the prefix of read-policies/. The policy may not exist. */
bool btrfs_read_policy_is_added(const char *buf)
{
	return strstarts(buf, BTRFS_READ_POLICY_PREFIX);
}

/*
 * Sets the policy that the text names. Reads may run at the same time, and each of them uses either
 * the old choice or the new one. Returns 0, or -EINVAL for an invalid text.
 */
int btrfs_read_policy_set(struct btrfs_fs_devices *fs_devices, const char *buf, size_t length)
{
	struct btrfs_fs_info *fs_info = fs_devices->fs_info;
	const size_t prefix = strlen(BTRFS_READ_POLICY_PREFIX);
	struct read_choice choice;
	int ret;

	if (length < prefix || length > PAGE_SIZE)
		return -EINVAL;
	ret = read_choice_parse(buf + prefix, length - prefix, fs_info->sectorsize_bits, &choice);
	if (ret)
		return ret;
	settle_devices(&choice, fs_devices->latest_dev->devid);
	if (!has_devices(fs_devices, &choice))
		return -EINVAL;
	activate(fs_devices, &choice);
	btrfs_info(fs_info, "read policy set to '%.*s'",
		   (int)(buf[length - 1] == '\n' ? length - 1 : length), buf);
	return 0;
}

/* Unsets the policy of read-policies/, so that the kernel's own policy decides again. */
void btrfs_read_policy_unset(struct btrfs_fs_devices *fs_devices)
{
	activate(fs_devices, &(struct read_choice) { });
}

/* Returns the mean time of a read in ns, or 0 if there was none. */
static u64 mean(u64 wait, u64 ios)
{
	return ios ? div64_u64(wait, ios) : 0;
}

/* Prints the statistics of a device, and returns the length in bytes. Times are in ns. */
ssize_t btrfs_read_stats_emit(struct btrfs_device *device, char *buf)
{
	struct btrfs_device_reads *reads = &device->reads;
	u64 ios = atomic64_read(&reads->ios);
	u64 wait = atomic64_read(&reads->wait);
	u64 recent_ios = since(ios, READ_ONCE(reads->checkpoint_ios));
	u64 recent_wait = since(wait, READ_ONCE(reads->checkpoint_wait));

	ssize_t at;

	at = sysfs_emit(buf, "cumulative ios %llu wait %llu avg %llu ", ios, wait, mean(wait, ios));
	at += sysfs_emit_at(buf, at, "checkpoint ios %llu wait %llu avg %llu ", recent_ios, recent_wait,
			    mean(recent_wait, recent_ios));
	at += sysfs_emit_at(buf, at, "age %d count %llu ignored %lld\n", atomic_read(&reads->age),
			    READ_ONCE(reads->checkpoints), (s64)atomic64_read(&reads->ignored));
	return at;
}

/*
 * Resets the statistics of a device. A read in flight is counted when it completes. The positions
 * are not statistics and keep their values.
 */
void btrfs_read_stats_reset(struct btrfs_device *device)
{
	struct btrfs_device_reads *reads = &device->reads;

	WRITE_ONCE(reads->checkpoint_ios, 0);
	WRITE_ONCE(reads->checkpoint_wait, 0);
	WRITE_ONCE(reads->checkpoints, 0);
	atomic64_set(&reads->ios, 0);
	atomic64_set(&reads->wait, 0);
	atomic64_set(&reads->ignored, 0);
	atomic_set(&reads->age, 0);
}

/* Records the time and the position of a bio that is about to be sent to a device. */
void btrfs_read_stats_sent(struct btrfs_device *device, struct bio *bio)
{
	struct btrfs_bio *bbio = btrfs_bio(bio);

	bbio->sent_ns = ktime_get_ns();
	bbio->device_end = (bio->bi_iter.bi_sector << SECTOR_SHIFT) + bio->bi_iter.bi_size;
	WRITE_ONCE(device->reads.sent, bbio->device_end);
}

/*
 * Records the completion of a bio. The caller may pass a bio that was never sent because its device
 * is missing, which changes nothing.
 */
void btrfs_read_stats_completed(struct btrfs_device *device, struct bio *bio)
{
	struct btrfs_bio *bbio = btrfs_bio(bio);

	if (!device || !bbio->sent_ns || bio->bi_status)
		return;
	WRITE_ONCE(device->reads.head, bbio->device_end);
	if (bio_op(bio) != REQ_OP_READ)
		return;
	atomic64_add(ktime_get_ns() - bbio->sent_ns, &device->reads.wait);
	atomic64_inc(&device->reads.ios);
}

/*
 * Records the completion of the bio for the last mirror of a write. This bio ends after the bios
 * for all other mirrors. The position of its device is known at that time only if the device was
 * sent no other request since.
 */
void btrfs_read_stats_written(struct btrfs_device *device, struct bio *bio)
{
	if (device && READ_ONCE(device->reads.sent) == btrfs_bio(bio)->device_end)
		btrfs_read_stats_completed(device, bio);
}
