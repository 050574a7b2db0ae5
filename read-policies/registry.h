/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Written from the names of the C files beside it by `cargo test -p disklab-read-policies`:
 * do not edit.
 */
READ_POLICY(pid)
READ_POLICY(round_robin)
READ_POLICY(devid)
READ_POLICY(latency)
READ_POLICY(latency_rr)
READ_POLICY(md_raid1)
READ_POLICY(queue)
READ_POLICY(zfs_mirror)
