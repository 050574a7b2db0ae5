// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * On disks that turn, a sequential stream stays on its mirror for a piece; everything else goes
 * where it is estimated to end first: the requests in flight, this one with them, times the mean
 * time of a recent read there. Mirrors whose means are near each other count as equally fast, so
 * that chance decides nothing between equal disks.
 *
 * A change between places costs a disk a seek and a rotation, so that pieces of some MiB are worth
 * more than a shorter queue. But a single reader has two disks at work only if a piece is smaller
 * than what it has under way.
 */
#include "policy.h"
#include "region.h"

enum { PIECE, MARGIN };

static bool stays(const struct read_mirror *mirror, u64 piece)
{
	return mirror->live && mirror->rotational && mirror->physical &&
	       mirror->physical == mirror->next_read &&
	       mirror->next_read - mirror->run_start < piece;
}

static u32 choose(const struct read_request *read, const u64 *values)
{
	u64 fastest = U64_MAX;
	u64 least = U64_MAX;
	u32 equal = 0;

	for (u32 i = 0; i < read->count; i++) {
		u64 latency = read_latency(&read->mirrors[i]);

		if (stays(&read->mirrors[i], values[PIECE]))
			return i;
		if (read->mirrors[i].live && latency < fastest)
			fastest = latency;
	}
	for (u32 i = 0; i < read->count; i++) {
		const struct read_mirror *mirror = &read->mirrors[i];
		u64 latency = read_latency(mirror);
		u64 end;

		if (!mirror->live)
			continue;
		/* While one of them is unknown (0), nothing is known to be slower than it. */
		if (latency <= div64_u64(fastest * values[MARGIN], 100) || !fastest)
			latency = fastest ? fastest : 1;
		end = (mirror->reads_in_flight + mirror->writes_in_flight + 1) * latency;
		if (end < least) {
			least = end;
			equal = 0;
		}
		if (end == least)
			equal |= 1u << i;
	}
	return read_first(read, equal);
}

const struct read_policy read_policy_streams = {
	.name = "streams",
	.summary = "streams stay for a piece, other reads go where they are likely to end first",
	.needs = READ_NEEDS_IN_FLIGHT,
	.parameters = {
		[PIECE] = {
			.key = "piece", .kind = READ_BYTES,
			.least = 1, .most = 1 << 30, .value = 8 << 20,
			.summary = "read by a stream from a disk that turns before it may change",
		},
		[MARGIN] = {
			.key = "margin", .kind = READ_NUMBER,
			.least = 100, .most = 1000, .value = 200,
			.summary = "per cent of the fastest mirror's mean up to which one is as fast",
		},
	},
	.choose = choose,
};
