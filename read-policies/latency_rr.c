// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Kai Krakow's "latency-rr" for Linux 6.12 (github.com/kakra/linux, pull request 36). The policy
 * reads in turn from the mirrors whose mean time of recent reads is near the best. The author gave
 * a margin of 120 % in an early comment and 125 % in the final text. The default is 125 %.
 */
#include "in_turn.h"
#include "rehabilitation.h"

enum { MARGIN, BYTES, BURST };

static u32 choose(const struct read_request *read, const u64 *values)
{
	u64 best = U64_MAX;
	u32 members = 0;
	u64 limit;

	for (u32 i = 0; i < read->count; i++) {
		u64 latency = read_latency(&read->mirrors[i]);

		if (read->mirrors[i].live && latency < best)
			best = latency;
	}
	limit = div64_u64(best * values[MARGIN], 100);
	/*
	 * If the mean of any live mirror is unknown, `best` is 0, and every live mirror takes part.
	 */
	for (u32 i = 0; i < read->count; i++) {
		const struct read_mirror *mirror = &read->mirrors[i];

		if (mirror->live && (!best || read_latency(mirror) <= limit))
			members |= 1u << i;
	}
	return members ? read_in_turn(read, members, values[BYTES]) : read->count;
}

static s32 age(s32 age, bool chosen, const u64 *values)
{
	return read_age_with_burst(age, chosen, values[BURST]);
}

const struct read_policy read_policy_latency_rr = {
	.name = "latency-rr",
	.summary =
		"in turn among the mirrors whose recent reads were about as fast as the fastest's",
	.needs = READ_NEEDS_BLOCKS_READ,
	.parameters = {
		[MARGIN] = {
			.key = "margin", .kind = READ_NUMBER,
			.least = 100, .most = 1000, .value = 125,
			.summary =
				"per cent of the best mean up to which a mirror takes part",
		},
		[BYTES] = {
			.key = "bytes", .kind = READ_BYTES,
			.least = 1, .most = 1 << 30, .value = READ_TURN_BYTES,
			.summary = "read from one mirror before the next has its turn",
		},
		[BURST] = READ_BURST_PARAMETER,
	},
	.choose = choose,
	.age = age,
};
