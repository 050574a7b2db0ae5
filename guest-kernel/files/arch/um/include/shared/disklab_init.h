/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __DISKLAB_INIT_H
#define __DISKLAB_INIT_H

/*
 * The name of the program that every guest starts as its first process, independent of its path on
 * the host. When the guest boots, the kernel walks the directories of the path and allocates memory
 * for each of them. A longer path would therefore change the addresses of later allocations.
 * crates/runner/src/execute/guest.rs defines the same name.
 */
#define DISKLAB_INIT ".disklab-init"

/*
 * Returns the path that hostfs opens on the host for `path`: that of the program of the first
 * process for DISKLAB_INIT, and otherwise `path`. If the host's root is mounted, `path` begins with
 * slashes.
 */
const char *disklab_on_host(const char *path);

#endif
