/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The interface between the guest kernel and the disk library (crates/guest).
 *
 * The library is loaded before the kernel starts, and the kernel asks it once for the table of
 * struct disklab_library. All calls come from the guest's only CPU with interrupts off, on kernel
 * stacks of 16 KiB. Times are virtual ns since boot. Any change of this file needs a new
 * DISKLAB_INTERFACE here and in crates/guest/src/interface.rs.
 */
#ifndef __DISKLAB_H
#define __DISKLAB_H

#define DISKLAB_INTERFACE 2
/* The time that `submit` and `advance` return if the kernel does not have to call `advance`. */
#define DISKLAB_NEVER (~0ull)

enum disklab_op {
	DISKLAB_READ, DISKLAB_WRITE, DISKLAB_FLUSH, DISKLAB_DISCARD, DISKLAB_WRITE_ZEROES
};

/* The properties of a disk, for the block layer. */
struct disklab_disk {
	unsigned long long bytes;
	/* The block sizes in bytes. */
	unsigned int logical_block, physical_block;
	/* The limits of one request. A sector is 512 bytes. */
	unsigned int max_sectors, max_segments;
	/* The number of requests that the disk takes at the same time. */
	unsigned int queue_depth;
	/* The number of requests that the driver takes. Those beyond queue_depth wait. */
	unsigned int tags;
	/* The granularity in bytes, or 0 if the disk has neither discard nor write-zeroes. */
	unsigned int discard_granularity;
	unsigned char rotational, write_cache, fua, spare;
};

/* A completed request. `error` is 0 or -errno. */
struct disklab_done { unsigned int disk, tag; int error; };
/* A part of a request's memory, with the layout of struct iovec. */
struct disklab_piece { void *buffer; unsigned long bytes; };

/* The table of the library's functions. */
struct disklab_library {
	unsigned int interface, disks;
	/* The virtual time, which the kernel writes whenever it changes. */
	unsigned long long *heartbeat;
	/* Stores the properties of a disk. */
	void (*describe)(unsigned int disk, struct disklab_disk *description);
	/*
	 * Submits a request. Returns the time at which the kernel has to call `advance` next, or
	 * DISKLAB_NEVER.
	 */
	unsigned long long (*submit)(unsigned int disk, unsigned int tag, unsigned int op,
				     unsigned int fua,
				     unsigned long long sector, unsigned int sectors, unsigned long long now);
	/*
	 * Advances the disks to the time `now`. Stores up to `room` completions in `done` and their
	 * number in `count`. Returns the same time as `submit`.
	 */
	unsigned long long (*advance)(unsigned long long now, struct disklab_done *done, unsigned int room,
				      unsigned int *count);
	/* Copies the data of a read or write, or performs a discard. Returns 0 or -errno. */
	int (*transfer)(unsigned int disk, unsigned int op,
			const struct disklab_piece *pieces, unsigned int count,
			unsigned long long sector, unsigned int sectors);
	/*
	 * Reports that a phase of the trial begins or ends. `text` is what the first process of the
	 * guest wrote to the module parameter `mark`.
	 */
	int (*mark)(unsigned long long now, const char *text, unsigned int length);
	/* Fills the buffer with random bytes that depend only on the seed of the trial. */
	void (*random)(void *buffer, unsigned long bytes);
	/* Writes the closing record. The kernel calls this when the guest powers off normally. */
	void (*close)(unsigned long long now);
};

#endif
