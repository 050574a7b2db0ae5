// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the page of disklab_clock.h equal to the results of clock_gettime(), and moves time for
 * code that never waits.
 */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/time.h>
#include <linux/time-internal.h>
#include <linux/timekeeper_internal.h>
#include <disklab_clock.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "disklab."

unsigned int disklab_clock_passed;
int disklab_clock_pushed;

/* The time that each system call takes, in virtual ns. */
static unsigned int system_call;
module_param(system_call, uint, 0600);
MODULE_PARM_DESC(system_call, "virtual ns that each system call takes");

/* Moves time by `ns`, except in an interrupt or while interrupts are off. */
static void push(unsigned int ns)
{
	if (irqs_disabled() || in_interrupt())
		return;
	disklab_clock_pushed++;
	time_travel_ndelay(ns);
	disklab_clock_pushed--;
}

void disklab_clock_passes(void)
{
	if (++disklab_clock_passed >= DISKLAB_CLOCK_FREE &&
	    disklab_clock_passed % DISKLAB_CLOCK_BATCH == 0)
		push(DISKLAB_CLOCK_STEP);
}

void disklab_clock_system_call(void)
{
	disklab_counter_row /= 2;
	disklab_clock_passes();
	if (system_call)
		push(system_call);
}

/* The page that is used until the page below the vDSO exists. */
static struct disklab_clock boot_clock;
struct disklab_clock *disklab_clock = &boot_clock;

/*
 * Stores the offset to add to the virtual time for a clock that runs at its rate. Returns false if
 * NTP or a clock source makes the clock run at another rate.
 */
static bool offset(const struct tk_read_base *clock, u64 *add)
{
	if (clock->mult != 1u << clock->shift)
		return false;
	*add = clock->base + (clock->xtime_nsec >> clock->shift) - clock->cycle_last;
	return true;
}

/* Updates the page after the kernel's timekeeper has changed. */
static int timekeeper_changed(struct notifier_block *block, unsigned long was_set, void *data)
{
	const struct timekeeper *tk = data;
	struct disklab_clock *clock = disklab_clock;
	u64 mono, raw, coarse;

	clock->usable = 0;
	if (!offset(&tk->tkr_mono, &mono) || !offset(&tk->tkr_raw, &raw))
		return NOTIFY_OK;

	clock->base[CLOCK_MONOTONIC] = mono;
	clock->base[CLOCK_REALTIME] = mono + tk->offs_real;
	clock->base[CLOCK_BOOTTIME] = mono + tk->offs_boot;
	clock->base[CLOCK_TAI] = mono + tk->offs_tai;
	clock->base[CLOCK_MONOTONIC_RAW] = raw;

	coarse = tk->xtime_sec * NSEC_PER_SEC + tk->coarse_nsec;
	clock->base[CLOCK_REALTIME_COARSE] = coarse;
	clock->base[CLOCK_MONOTONIC_COARSE] = coarse + timespec64_to_ns(&tk->wall_to_monotonic);

	clock->usable = BIT(CLOCK_MONOTONIC) | BIT(CLOCK_REALTIME) | BIT(CLOCK_BOOTTIME) | BIT(CLOCK_TAI) |
			BIT(CLOCK_MONOTONIC_RAW) | BIT(CLOCK_REALTIME_COARSE) | BIT(CLOCK_MONOTONIC_COARSE);
	return NOTIFY_OK;
}

static struct notifier_block timekeeper_block = { .notifier_call = timekeeper_changed };

/* Initialises the page. This initcall runs after init_vdso() has allocated it. */
static int __init disklab_clock_init(void)
{
	static const int moving[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI,
				      CLOCK_MONOTONIC_RAW };

	for (int i = 0; i < ARRAY_SIZE(moving); i++)
		disklab_clock->moves[moving[i]] = ~0ull;
	return pvclock_gtod_register_notifier(&timekeeper_block);
}
fs_initcall(disklab_clock_init);
