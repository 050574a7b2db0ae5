/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual clock, shared with every process of the guest.
 *
 * A read of the clock needs no system call. The page below the vDSO holds the virtual time and, for
 * each clock, the offset to add to it. The vDSO, the kernel and UML's host side all include this
 * file, so it uses only plain C types.
 *
 * The guest's CPU is infinitely fast, so that a read of the clock takes no virtual time. Code that
 * reads the clock until time has passed would wait for ever. Reads are therefore counted. After
 * DISKLAB_CLOCK_SPIN reads of the same instant without a request to a disk, time moves by
 * DISKLAB_CLOCK_STEP.
 *
 * Another rule covers code that waits without reading the clock; see disklab_clock_passes().
 */
#ifndef __DISKLAB_CLOCK_H
#define __DISKLAB_CLOCK_H

/* The number of clocks, CLOCK_REALTIME to CLOCK_TAI. */
#define DISKLAB_CLOCKS 12
/* The number of reads of one instant after which time moves. */
#define DISKLAB_CLOCK_SPIN 1024
/* The time by which it then moves, in virtual ns. */
#define DISKLAB_CLOCK_STEP 32768
/*
 * The least number of clock reads that one read of the processor's counter counts as, because each
 * read of the counter is a slow trap. The nth consecutive read counts as n clock reads, if n is
 * larger; see disklab_counter.c.
 */
#define DISKLAB_COUNTER_READS 8
/* The number of system calls and turns of the kernel's loops at one instant that take no time. */
#define DISKLAB_CLOCK_FREE 65536
/* The size of the batches after those. Each batch takes DISKLAB_CLOCK_STEP. */
#define DISKLAB_CLOCK_BATCH 64

/* The contents of the page below the vDSO. */
struct disklab_clock {
	/* The virtual time in ns since boot. */
	unsigned long long now;
	/*
	 * The value of clock c is base[c] + (now & moves[c]) ns. moves[c] is 0 for a coarse clock,
	 * and all ones for any other.
	 */
	unsigned long long base[DISKLAB_CLOCKS];
	unsigned long long moves[DISKLAB_CLOCKS];
	/* Bit c is set if clock c can be read here. Otherwise the program asks the kernel. */
	unsigned int usable;
	/*
	 * The number of reads since `now` changed. Programs can write this field, so only the rule
	 * of DISKLAB_CLOCK_SPIN may depend on it.
	 */
	unsigned int reads;
};

extern struct disklab_clock *disklab_clock;
/*
 * The virtual time that the process that started the guest watches to see that the guest makes
 * progress; see disklab_user.c.
 */
extern unsigned long long *disklab_heartbeat;

/*
 * The number of system calls and turns of the kernel's loops since time last moved. Moves of time
 * that these system calls and turns cause do not reset the number.
 */
extern unsigned int disklab_clock_passed;
/* Greater than 0 while time moves because of those system calls and turns. */
extern int disklab_clock_pushed;
/*
 * The number of consecutive reads of the processor's counter. A request to a disk resets it to 0. A
 * system call only halves it, because the vDSO makes a system call when its own read moves time.
 */
extern unsigned int disklab_counter_row;

/* Returns the virtual time in ns since boot. time.c defines the function. */
unsigned long long time_travel_now(void);

/*
 * Counts a turn of a loop in the kernel (cond_resched()) or a system call. A loop that waits for
 * another task would run for ever on an infinitely fast CPU, because other tasks make no progress
 * while time stands still. The first DISKLAB_CLOCK_FREE turns at one instant are free. After them,
 * time moves by half a microsecond a turn until the CPU is idle again.
 */
void disklab_clock_passes(void);

/*
 * Counts a system call at its end. If the module parameter system_call is not 0, time moves by that
 * many ns.
 */
void disklab_clock_system_call(void);

struct uml_pt_regs;

/*
 * Emulates the rdtsc or rdtscp of a program that raised a fault, skips the instruction, and returns
 * 1. Returns 0 for a fault of another cause. disklab_counter.c defines the function.
 */
int disklab_counter_read(struct uml_pt_regs *regs);

/* Sets the virtual time in ns and resets the counts that begin at each instant. */
static inline void disklab_clock_set(unsigned long long now)
{
	if (disklab_clock->now != now) {
		disklab_clock->now = now;
		disklab_clock->reads = 0;
		if (!disklab_clock_pushed)
			disklab_clock_passed = 0;
		*disklab_heartbeat = now;
	}
}

/*
 * Resets the counts of reads when a request is sent to a disk. Code that sends requests often reads
 * the clock, but does not wait for time to pass by reading it.
 */
static inline void disklab_clock_used(void)
{
	disklab_clock->reads = 0;
	disklab_counter_row = 0;
}

/* Counts a read of the clock by the kernel, and returns true if time has to move. */
static inline int disklab_clock_spins(void)
{
	return ++disklab_clock->reads >= DISKLAB_CLOCK_SPIN;
}

#endif
