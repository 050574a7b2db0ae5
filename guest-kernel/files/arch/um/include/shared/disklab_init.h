/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __DISKLAB_INIT_H
#define __DISKLAB_INIT_H

/*
 * The name of the first process's program in every guest, wherever it is on the host: the folders
 * of a path are walked when the guest boots, and what is remembered of them takes memory, so that a
 * longer path would move what is allocated after it. In crates/runner/src/execute/guest.rs too.
 */
#define DISKLAB_INIT ".disklab-init"

/*
 * What hostfs is to open for `path`, which has slashes before it where the host's root is mounted.
 */
const char *disklab_on_host(const char *path);

#endif
