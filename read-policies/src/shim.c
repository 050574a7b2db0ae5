// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Makes the contents of the headers available to Rust: exports the inline functions, and the memory
 * layout of the structures.
 */
#include "choice.h"

const struct read_policy *disklab_read_policy(u32 index);
int disklab_read_choice_parse(const char *text, u32 length, u32 block_bits,
			      struct read_choice *choice);
void disklab_read_choice_default(struct read_choice *choice, const struct read_policy *policy);
u32 disklab_read_decide(const struct read_policy *policy, const u64 *values,
			const struct read_request *read);
s32 disklab_read_age(const struct read_policy *policy, const u64 *values, s32 age, bool chosen);
u64 disklab_read_latency(const struct read_mirror *mirror);
u32 disklab_read_layout(u32 index);

/* Returns a policy by its index, or NULL for an index beyond the last policy. */
const struct read_policy *disklab_read_policy(u32 index)
{
	return index < READ_POLICIES ? read_policies[index] : NULL;
}

int disklab_read_choice_parse(const char *text, u32 length, u32 block_bits,
			      struct read_choice *choice)
{
	return read_choice_parse(text, length, block_bits, choice);
}

void disklab_read_choice_default(struct read_choice *choice, const struct read_policy *policy)
{
	read_choice_default(choice, policy);
}

u32 disklab_read_decide(const struct read_policy *policy, const u64 *values,
			const struct read_request *read)
{
	return read_decide(policy, values, read);
}

s32 disklab_read_age(const struct read_policy *policy, const u64 *values, s32 age, bool chosen)
{
	return read_policy_age(policy, age, chosen, values);
}

u64 disklab_read_latency(const struct read_mirror *mirror)
{
	return read_latency(mirror);
}

/*
 * Gives every field a value of its own, in the order of policy.h and without names. If policy.h
 * gets another field, the compiler reports an error here (-Wmissing-field-initializers). A test
 * compares Rust's structures with these samples.
 */
#define MIRROR(n)	{ n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, \
			  n + 12, n + 13, -(n + 14), true, false }

const struct read_request disklab_read_sample = {
	1, 2, 3, 4, 5, 6, { MIRROR(100), MIRROR(200), MIRROR(300), MIRROR(400) },
};

static u32 choose_sample(const struct read_request *read, const u64 *values)
{
	return 77;
}

static s32 age_sample(s32 age, bool chosen, const u64 *values)
{
	return -77;
}

#define PARAMETER(n)	{ "key", (enum read_parameter_kind)(n + 1), n + 2, n + 3, n + 4, "words", \
			  "about" }

const struct read_policy disklab_read_sample_policy = {
	"name", "summary", true, 9,
	{ PARAMETER(10), PARAMETER(20), PARAMETER(30), PARAMETER(40) },
	choose_sample, age_sample,
};

const struct read_choice disklab_read_sample_choice = {
	&disklab_read_sample_policy, { 1, 2, 3, 4 }
};

/* Returns a size or limit by its index, in the order of raw.rs, or 0 beyond the last one. */
u32 disklab_read_layout(u32 index)
{
	static const u32 layout[] = {
		sizeof(struct read_mirror),
		sizeof(struct read_request),
		sizeof(struct read_parameter),
		sizeof(struct read_policy),
		sizeof(struct read_choice),
		READ_MIRRORS_MAX,
		READ_PARAMETERS_MAX,
		READ_NEEDS_BLOCKS_READ,
		READ_NEEDS_IN_FLIGHT,
		READ_NO_PARAMETER,
		READ_NUMBER,
		READ_BYTES,
		READ_DEVICE,
		READ_WORD,
		READ_CHECKPOINT_AGE,
		READ_WINDOW,
	};

	return index < sizeof(layout) / sizeof(layout[0]) ? layout[index] : 0;
}
