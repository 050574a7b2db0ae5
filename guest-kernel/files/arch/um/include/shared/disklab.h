/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the guest kernel and the disk library (crates/guest) say to each other.
 *
 * The library is loaded before the kernel starts and asked for this table once. All calls come from
 * the guest's one CPU with interrupts off, on kernel stacks of 16 KiB. Times are virtual ns since
 * boot. Any change here needs a new DISKLAB_INTERFACE, in crates/guest/src/interface.rs too.
 */
#ifndef __DISKLAB_H
#define __DISKLAB_H

#define DISKLAB_INTERFACE 2
#define DISKLAB_NEVER (~0ull)

enum disklab_op {
	DISKLAB_READ, DISKLAB_WRITE, DISKLAB_FLUSH, DISKLAB_DISCARD, DISKLAB_WRITE_ZEROES
};

/* What the block layer is told about a disk. */
struct disklab_disk {
	unsigned long long bytes;
	unsigned int logical_block, physical_block;	/* bytes */
	unsigned int max_sectors, max_segments;		/* of one request; sectors of 512 bytes */
	unsigned int queue_depth;			/* requests that it takes at once */
	unsigned int tags;				/* requests that its driver takes; the rest of them wait there */
	unsigned int discard_granularity;		/* bytes; 0: no discard, no write-zeroes */
	unsigned char rotational, write_cache, fua, spare;
};

struct disklab_done { unsigned int disk, tag; int error; };		/* error: 0 or -errno */
struct disklab_piece { void *buffer; unsigned long bytes; };		/* the same as struct iovec */

struct disklab_library {
	unsigned int interface, disks;
	/* Written by the kernel whenever virtual time moves. */
	unsigned long long *heartbeat;
	void (*describe)(unsigned int disk, struct disklab_disk *description);
	/*
	 * A request arrives; returns when the library next has something to say, or DISKLAB_NEVER.
	 */
	unsigned long long (*submit)(unsigned int disk, unsigned int tag, unsigned int op,
				     unsigned int fua,
				     unsigned long long sector, unsigned int sectors, unsigned long long now);
	/*
	 * Time has come: stores up to `room` completions and their number; returns as submit does.
	 */
	unsigned long long (*advance)(unsigned long long now, struct disklab_done *done, unsigned int room,
				      unsigned int *count);
	/* Moves the data of a read or write, carries out a discard; returns 0 or -errno. */
	int (*transfer)(unsigned int disk, unsigned int op,
			const struct disklab_piece *pieces, unsigned int count,
			unsigned long long sector, unsigned int sectors);
	/*
	 * A phase of the trial begins or ends: what the first process wrote to the parameter
	 * `mark`.
	 */
	int (*mark)(unsigned long long now, const char *text, unsigned int length);
	/* Bytes that depend on the trial's seed and on nothing else. */
	void (*random)(void *buffer, unsigned long bytes);
	/* The guest powers off in good order: write the closing record. */
	void (*close)(unsigned long long now);
};

#endif
