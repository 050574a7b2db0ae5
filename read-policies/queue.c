// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Kai Krakow's "queue" (github.com/kakra/linux, pull request 36). The policy chooses the mirror
 * with the fewest requests in flight, reads and writes. Its author considered counting only reads,
 * because writes go to all mirrors; the parameter `count` selects this. The author does not
 * document which of several equal mirrors is chosen. The default is the first one, because a strict
 * comparison is most likely.
 */
#include "policy.h"
#include "region.h"

enum { COUNTED, TIES };
enum { COUNT_ALL, COUNT_READS };
enum { TIES_FIRST, TIES_SPREAD };

static u32 choose(const struct read_request *read, const u64 *values)
{
	u32 least = U32_MAX;
	u32 equal = 0;

	for (u32 i = 0; i < read->count; i++) {
		const struct read_mirror *mirror = &read->mirrors[i];
		u32 queue = mirror->reads_in_flight;

		if (!mirror->live)
			continue;
		if (values[COUNTED] == COUNT_ALL)
			queue += mirror->writes_in_flight;
		if (queue < least) {
			least = queue;
			equal = 0;
		}
		if (queue == least)
			equal |= 1u << i;
	}
	return values[TIES] == TIES_SPREAD ? read_by_region(read, equal) : read_first(read, equal);
}

const struct read_policy read_policy_queue = {
	.name = "queue",
	.summary = "the mirror with the fewest requests in flight",
	.needs = READ_NEEDS_IN_FLIGHT,
	.parameters = {
		[COUNTED] = {
			.key = "count", .kind = READ_WORD, .words = "all reads", .value = COUNT_ALL,
			.summary = "what is counted: reads and writes, or reads",
		},
		[TIES] = {
			.key = "ties", .kind = READ_WORD,
			.words = "first spread", .value = TIES_FIRST,
			.summary =
				"of equal mirrors the first, or by regions of 2 MiB; unknown",
		},
	},
	.choose = choose,
};
