// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processor's counter (rdtsc, rdtscp), as the guest's programs see it.
 *
 * The host's counter runs in real time. The stub therefore forbids both instructions to the guest's
 * programs (PR_SET_TSC): the processor then raises a general protection fault, which arrives here.
 * The answer is CLOCK_MONOTONIC_RAW in ns, so the guest's counter runs at 1 GHz.
 *
 * A program that only reads the counter sees time move by the rule of disklab_clock.h, though after
 * fewer reads, and after the fewer the longer it does nothing else: a trap takes 15 us of wall
 * time. fio measures the counter's rate when it begins, by 64 ms of reading. Were all reads equal,
 * these would be 200,000 traps; like this they are 3,556.
 */
#include <linux/minmax.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <disklab_clock.h>
#include <sysdep/ptrace.h>

#define GENERAL_PROTECTION 13

unsigned int disklab_counter_row;

/*
 * Length of the instruction at `ip` if it reads the counter, 0 if it does not. The third byte is
 * read only if the first two ask for it: the next page need not exist.
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
	/* ktime_get_raw_ns() counts one more. */
	disklab_clock->reads += clamp(++disklab_counter_row, DISKLAB_COUNTER_READS,
				      DISKLAB_CLOCK_SPIN) - 1;
	now = ktime_get_raw_ns();
	UPT_AX(regs) = lower_32_bits(now);
	UPT_DX(regs) = upper_32_bits(now);
	/* rdtscp also says on which processor it ran. A guest has one. */
	if (length == 3)
		UPT_CX(regs) = 0;
	UPT_IP(regs) += length;
	return 1;
}
