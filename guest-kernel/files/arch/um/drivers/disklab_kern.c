// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block driver of the modelled disks. The driver passes each request to the library in this
 * process, and completes the request at the virtual time that the library computes. One event
 * serves all disks: the library returns the time of its next completion.
 */
#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/time-internal.h>
#include <disklab.h>
#include <disklab_clock.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "disklab."

/* The largest number of pieces of memory in one call of `transfer`. */
#define PIECES 64
/* The largest number of completions from one call of `advance`. */
#define BATCH 32

extern const struct disklab_library *disklab_library;

struct disk {
	struct blk_mq_tag_set tags;
	struct gendisk *gendisk;
	unsigned int index;
	/*
	 * The number of requests that the disk takes at the same time, and the number that it has.
	 */
	unsigned int depth, present;
	/* True if the driver refused a request because the disk was full. */
	bool refused;
	/* The requests that the disk has, by tag. */
	struct request **running;
};

static struct disk *disks;
static struct time_travel_event event;
static u64 armed = DISKLAB_NEVER;

/* Sets the time of the event. The caller has turned interrupts off. */
static void arm(u64 when)
{
	if (when == armed)
		return;
	time_travel_del_event(&event);
	armed = when;
	if (when != DISKLAB_NEVER) {
		u64 now = time_travel_now();

		time_travel_add_event_rel(&event, when > now ? when - now : 0);
	}
}

static int op_of(struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return DISKLAB_READ;
	case REQ_OP_WRITE:
		return DISKLAB_WRITE;
	case REQ_OP_FLUSH:
		return DISKLAB_FLUSH;
	case REQ_OP_DISCARD:
		return DISKLAB_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		return DISKLAB_WRITE_ZEROES;
	default:
		return -EOPNOTSUPP;
	}
}

static int transfer(struct disk *disk, struct request *rq)
{
	struct disklab_piece pieces[PIECES];
	struct req_iterator iterator;
	u64 sector = blk_rq_pos(rq);
	unsigned int count = 0, bytes = 0;
	struct bio_vec vec;
	int op = op_of(rq), error;

	if (op == DISKLAB_FLUSH)
		return 0;
	if (op != DISKLAB_READ && op != DISKLAB_WRITE)
		return disklab_library->transfer(disk->index, op, NULL, 0, sector, blk_rq_sectors(rq));

	rq_for_each_bvec(vec, rq, iterator) {
		if (count == PIECES) {
			error = disklab_library->transfer(disk->index, op, pieces, count, sector, bytes / 512);
			if (error)
				return error;
			sector += bytes / 512;
			count = bytes = 0;
		}
		/*
		 * Guest memory is one linear mapping, so the bv_len bytes at bvec_virt() are
		 * contiguous.
		 */
		pieces[count++] = (struct disklab_piece){ bvec_virt(&vec), vec.bv_len };
		bytes += vec.bv_len;
	}
	return disklab_library->transfer(disk->index, op, pieces, count, sector, bytes / 512);
}

static void finish(const struct disklab_done *done)
{
	struct disk *disk = &disks[done->disk];
	struct request *rq = disk->running[done->tag];
	int error = done->error;

	if (WARN_ON_ONCE(!rq))
		return;
	disk->running[done->tag] = NULL;
	disk->present--;
	if (!error)
		error = transfer(disk, rq);
	blk_mq_end_request(rq, errno_to_blk_status(error));
	if (disk->refused) {
		disk->refused = false;
		blk_mq_run_hw_queues(disk->gendisk->queue, true);
	}
}

/* Handles the event, which is the interrupt of all disks. Interrupts are off. */
static void time_has_come(struct time_travel_event *unused)
{
	static struct disklab_done done[BATCH];
	unsigned int count;
	u64 next;

	armed = DISKLAB_NEVER;
	/*
	 * Repeat until there are no more completions. Ending a request may submit another request,
	 * and `next` has to account for it.
	 */
	do {
		next = disklab_library->advance(time_travel_now(), done, BATCH, &count);
		for (unsigned int i = 0; i < count; i++)
			finish(&done[i]);
	} while (count);
	arm(next);
}

static blk_status_t queue_request(struct blk_mq_hw_ctx *context,
				  const struct blk_mq_queue_data *queued)
{
	struct request *rq = queued->rq;
	struct disk *disk = rq->q->queuedata;
	int op = op_of(rq);
	unsigned long flags;

	if (op < 0)
		return BLK_STS_NOTSUPP;
	local_irq_save(flags);
	if (disk->present == disk->depth) {
		/*
		 * Refuse the request, as the driver of a real host adapter does. The block layer
		 * tries again after a request has ended.
		 */
		disk->refused = true;
		local_irq_restore(flags);
		return BLK_STS_DEV_RESOURCE;
	}
	disk->present++;
	blk_mq_start_request(rq);
	disklab_clock_used();
	disk->running[rq->tag] = rq;
	/* A flush has no address, and blk_rq_pos() would return -1 for it. */
	arm(disklab_library->submit(disk->index, rq->tag, op, !!(rq->cmd_flags & REQ_FUA),
				    op == DISKLAB_FLUSH ? 0 : blk_rq_pos(rq), blk_rq_sectors(rq), time_travel_now()));
	local_irq_restore(flags);
	return BLK_STS_OK;
}

static const struct blk_mq_ops operations = { .queue_rq = queue_request };
static const struct block_device_operations disk_operations = { .owner = THIS_MODULE };

static int __init add(struct disk *disk, unsigned int index)
{
	struct disklab_disk what = {};
	struct queue_limits limits = {};
	int error;

	disklab_library->describe(index, &what);
	disk->index = index;
	disk->depth = what.queue_depth;
	disk->running = kcalloc(what.tags, sizeof(*disk->running), GFP_KERNEL);
	if (!disk->running)
		return -ENOMEM;
	disk->tags = (struct blk_mq_tag_set){ .ops = &operations, .nr_hw_queues = 1,
					      .queue_depth = what.tags,
					      .numa_node = NUMA_NO_NODE };
	error = blk_mq_alloc_tag_set(&disk->tags);
	if (error)
		return error;

	limits.logical_block_size = what.logical_block;
	limits.physical_block_size = what.physical_block;
	limits.max_hw_sectors = what.max_sectors;
	limits.max_segments = what.max_segments;
	limits.max_hw_discard_sectors = what.discard_granularity ? UINT_MAX >> 9 : 0;
	limits.discard_granularity = what.discard_granularity;
	limits.max_write_zeroes_sectors = limits.max_hw_discard_sectors;
	limits.features = (what.rotational ? BLK_FEAT_ROTATIONAL : 0) |
			  (what.write_cache ? BLK_FEAT_WRITE_CACHE : 0) |
			  (what.write_cache && what.fua ? BLK_FEAT_FUA : 0);
	disk->gendisk = blk_mq_alloc_disk(&disk->tags, &limits, disk);
	if (IS_ERR(disk->gendisk))
		return PTR_ERR(disk->gendisk);
	disk->gendisk->fops = &disk_operations;
	/* A scan for partitions would take disk time. */
	disk->gendisk->flags |= GENHD_FL_NO_PART;
	snprintf(disk->gendisk->disk_name, DISK_NAME_LEN, index < 26 ? "vd%c" : "vd%c%c",
		 'a' + (index < 26 ? index : index / 26 - 1), 'a' + index % 26);
	set_capacity(disk->gendisk, what.bytes / 512);
	return add_disk(disk->gendisk);
}

static int mark(const char *text, const struct kernel_param *unused)
{
	unsigned long flags;
	int error;

	if (!disklab_library)
		return -ENODEV;
	local_irq_save(flags);
	error = disklab_library->mark(time_travel_now(), text, strlen(text));
	local_irq_restore(flags);
	return error;
}

static const struct kernel_param_ops mark_operations = { .set = mark };
module_param_cb(mark, &mark_operations, NULL, 0200);
MODULE_PARM_DESC(mark, "tells the disk library which phase of the trial begins");

static int close_library(struct notifier_block *block, unsigned long action, void *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	disklab_library->close(time_travel_now());
	local_irq_restore(flags);
	return NOTIFY_DONE;
}

static struct notifier_block reboot_block = { .notifier_call = close_library };

static int __init add_disks(void)
{
	if (!disklab_library)
		return 0;
	time_travel_set_event_fn(&event, time_has_come);
	disks = kcalloc(disklab_library->disks, sizeof(*disks), GFP_KERNEL);
	if (!disks)
		return -ENOMEM;
	for (unsigned int i = 0; i < disklab_library->disks; i++) {
		int error = add(&disks[i], i);

		if (error)
			panic("disklab: disk %u cannot be added: error %d", i, error);
	}
	return register_reboot_notifier(&reboot_block);
}
late_initcall(add_disks);
