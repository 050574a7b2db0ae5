/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * disklab's `cargo test -p disklab-read-policies` writes this file from the names of the C files
 * beside it: do not edit it.
 */
extern const struct read_policy read_policy_latency;
extern const struct read_policy read_policy_latency_rr;
extern const struct read_policy read_policy_md_raid1;
extern const struct read_policy read_policy_queue;
extern const struct read_policy read_policy_streams;
extern const struct read_policy read_policy_zfs_mirror;

/* The policies of this folder. */
static const struct read_policy *const read_policies[] = {
	&read_policy_latency,
	&read_policy_latency_rr,
	&read_policy_md_raid1,
	&read_policy_queue,
	&read_policy_streams,
	&read_policy_zfs_mirror,
};
