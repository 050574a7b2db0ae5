// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processor's counter (rdtsc, rdtscp) for the guest's programs.
 *
 * The host's counter runs in real time. The stub therefore forbids both instructions to the guest's
 * programs (PR_SET_TSC). The processor then raises a general protection fault, which this file
 * handles. The result is CLOCK_MONOTONIC_RAW in ns, so that the guest's counter runs at 1 GHz.
 *
 * If a program only reads the counter, time moves by the rule of disklab_clock.h, but after fewer
 * reads, because a trap takes 15 us of wall time. The number of reads falls the longer the program
 * does nothing else. For example, fio measures the counter's rate when it begins, by reading the
 * counter for 64 ms. That takes 3,556 traps. If all reads counted the same, it would take 200,000.
 */
#include <linux/minmax.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <disklab_clock.h>
#include <sysdep/ptrace.h>

#define GENERAL_PROTECTION 13

unsigned int disklab_counter_row;

/*
 * Returns the length in bytes of the instruction at `ip`, or 0 if it does not read the counter. The
 * third byte may lie in a page that does not exist, so it is read only if the first two bytes are
 * those of rdtscp.
 */
static unsigned int instruction(unsigned long ip)
{
	const u8 __user *code = (const u8 __user *)ip;
	u8 bytes[3];

	if (copy_from_user(bytes, code, 2) || bytes[0] != 0x0f)
		return 0;
	if (bytes[1] == 0x31)
		return 2;
	if (bytes[1] == 0x01 && !copy_from_user(&bytes[2], code + 2, 1) && bytes[2] == 0xf9)
		return 3;
	return 0;
}

int disklab_counter_read(struct uml_pt_regs *regs)
{
	unsigned int length;
	u64 now;

	if (UPT_FAULTINFO(regs)->trap_no != GENERAL_PROTECTION)
		return 0;
	length = instruction(UPT_IP(regs));
	if (!length)
		return 0;
	/* The call of ktime_get_raw_ns() counts one more read. */
	disklab_clock->reads += clamp(++disklab_counter_row, DISKLAB_COUNTER_READS,
				      DISKLAB_CLOCK_SPIN) - 1;
	now = ktime_get_raw_ns();
	UPT_AX(regs) = lower_32_bits(now);
	UPT_DX(regs) = upper_32_bits(now);
	/*
	 * rdtscp also returns the number of the processor, which is 0, because a guest has only
	 * one.
	 */
	if (length == 3)
		UPT_CX(regs) = 0;
	UPT_IP(regs) += length;
	return 1;
}
