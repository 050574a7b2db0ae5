// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * On hard disks, a sequential stream stays on its mirror for `piece` bytes. Every other read goes
 * to the mirror that is estimated to complete it first. The estimate is the number of requests in
 * flight, including this one, times the mean time of the mirror's recent reads. Mirrors whose means
 * are within `margin` of the fastest count as equally fast, so that random differences between
 * equal disks do not decide.
 *
 * Changing position costs a hard disk a seek and a rotation. Pieces of several MiB therefore gain
 * more than a shorter queue. A single reader keeps two disks busy only if a piece is smaller than
 * the reads that it has in flight.
 */
#include "policy.h"
#include "region.h"

enum { PIECE, MARGIN };

/* Returns true if the read continues a stream on this mirror that is shorter than a piece. */
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
		/*
		 * If the mean of any live mirror is unknown, `fastest` is 0, and all mirrors count
		 * as equally fast.
		 */
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
	.summary =
		"streams keep a mirror for `piece` bytes; other reads go to the mirror likely to be fastest",
	.needs = READ_NEEDS_IN_FLIGHT,
	.parameters = {
		[PIECE] = {
			.key = "piece", .kind = READ_BYTES,
			.least = 1, .most = 1 << 30, .value = 8 << 20,
			.summary = "bytes that a stream reads from a rotating disk before it may change mirrors",
		},
		[MARGIN] = {
			.key = "margin", .kind = READ_NUMBER,
			.least = 100, .most = 1000, .value = 200,
			.summary = "a mirror is fast if its mean is at most this per cent of the fastest one's",
		},
	},
	.choose = choose,
};
