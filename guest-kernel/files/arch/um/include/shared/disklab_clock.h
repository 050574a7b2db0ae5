/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual clock, shared with every process of the guest.
 *
 * A clock read that needs no system call: the page below the vDSO holds virtual time and, for each
 * clock, what to add to it. Plain C types only: the vDSO, the kernel and UML's host side all
 * include this file.
 *
 * Reading the clock takes no virtual time, as nothing on an infinitely fast CPU does. Code that
 * waits for time to pass by reading it would then wait for ever, so reads are counted, and when
 * DISKLAB_CLOCK_SPIN of them have seen the same instant with no request to a disk between, time
 * moves by DISKLAB_CLOCK_STEP.
 *
 * Code that waits without looking at the clock has a rule of its own: see disklab_clock_passes().
 */
#ifndef __DISKLAB_CLOCK_H
#define __DISKLAB_CLOCK_H

#define DISKLAB_CLOCKS 12		/* CLOCK_REALTIME ... CLOCK_TAI */
#define DISKLAB_CLOCK_SPIN 1024		/* reads of one instant before time moves */
#define DISKLAB_CLOCK_STEP 32768	/* ns it then moves by */
/*
 * Reads that one of the processor's counter counts as, at least: each is a trap, which takes long.
 * The nth of a row counts as n of them; see disklab_counter.c.
 */
#define DISKLAB_COUNTER_READS 8
/* System calls and turns of the kernel's loops at one instant that take no time. */
#define DISKLAB_CLOCK_FREE 65536
/* After those, each batch of this many takes DISKLAB_CLOCK_STEP. */
#define DISKLAB_CLOCK_BATCH 64

struct disklab_clock {
	/* Virtual ns since boot. */
	unsigned long long now;
	/*
	 * Clock c reads base[c] + (now & moves[c]) ns; moves is all ones, or zero for a coarse
	 * clock.
	 */
	unsigned long long base[DISKLAB_CLOCKS];
	unsigned long long moves[DISKLAB_CLOCKS];
	/* Bit c: clock c may be read here; otherwise ask the kernel. */
	unsigned int usable;
	/*
	 * Reads since `now` changed. Programs write it, so nothing may depend on it but the spin
	 * rule.
	 */
	unsigned int reads;
};

extern struct disklab_clock *disklab_clock;
/* Where the process that started the guest looks for signs of life; see disklab_user.c. */
extern unsigned long long *disklab_heartbeat;

/* System calls, and turns of loops in the kernel, since time last moved by itself. */
extern unsigned int disklab_clock_passed;
/* While time moves for their sake. */
extern int disklab_clock_pushed;
/*
 * Reads of the processor's counter in a row: a request to a disk ends it, a system call halves it.
 * To end it there would be too much: the vDSO makes one when it is its own read that moves time.
 */
extern unsigned int disklab_counter_row;

/* Virtual ns since boot, in time.c. */
unsigned long long time_travel_now(void);

/*
 * The kernel's loops call this in each turn (cond_resched()), and every system call does: on an
 * infinitely fast CPU, one that goes round until somebody else gets on would go round for ever, for
 * nobody does while time stands still. Such a burst is free; beyond it time moves, by half a
 * microsecond a turn, until there is nothing to do again.
 */
void disklab_clock_passes(void);

/*
 * At the end of a system call: as above, and takes what a system call costs where that is modelled.
 */
void disklab_clock_system_call(void);

struct uml_pt_regs;

/*
 * Answers a program's rdtsc or rdtscp, which the processor refused, and steps over it; 0 if
 * something else was refused. In disklab_counter.c.
 */
int disklab_counter_read(struct uml_pt_regs *regs);

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
 * Whoever sends requests does not wait by reading the clock, though a burst of them reads it often.
 */
static inline void disklab_clock_used(void)
{
	disklab_clock->reads = 0;
	disklab_counter_row = 0;
}

/* Counts a read by the kernel; true when time has to move for the sake of whoever keeps reading. */
static inline int disklab_clock_spins(void)
{
	return ++disklab_clock->reads >= DISKLAB_CLOCK_SPIN;
}

#endif
