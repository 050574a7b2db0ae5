// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Kai Krakow's "latency" for Linux 6.12 (github.com/kakra/linux, pull request 36). The policy
 * chooses the mirror with the lowest mean time of recent reads. The mean covers all reads since the
 * last checkpoint, and therefore changes slowly. After 10000 consecutive decisions for other
 * devices, a device gets a checkpoint and is tried again.
 */
#include "rehabilitation.h"

enum { BURST };

static u32 choose(const struct read_request *read, const u64 *values)
{
	u32 best = read->count;
	u64 least = 0;

	for (u32 i = 0; i < read->count; i++) {
		u64 latency = read_latency(&read->mirrors[i]);

		if (!read->mirrors[i].live)
			continue;
		if (best == read->count || latency < least) {
			best = i;
			least = latency;
		}
	}
	return best;
}

static s32 age(s32 age, bool chosen, const u64 *values)
{
	return read_age_with_burst(age, chosen, values[BURST]);
}

const struct read_policy read_policy_latency = {
	.name = "latency",
	.summary =
		"the mirror whose recent reads were fastest; mirrors passed over get a new chance",
	.parameters = {
		[BURST] = READ_BURST_PARAMETER,
	},
	.choose = choose,
	.age = age,
};
