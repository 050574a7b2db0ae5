/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces the attributes of the host's files that differ between hosts and between trials, so that
 * the programs of a guest see the same attributes everywhere.
 */
#ifndef __DISKLAB_HOSTFS_H
#define __DISKLAB_HOSTFS_H

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/statfs.h>

/*
 * Returns the inode number of a file, which is a hash of its path from the root of its mount. The
 * path is "" or begins with '/'.
 */
u64 disklab_ino(const char *path);

int disklab_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		    unsigned int flags);

/* Lists a directory in the order of the names. `name` is the path of the directory on the host. */
int disklab_readdir(struct file *file, struct dir_context *ctx, char *name);
int disklab_releasedir(struct inode *inode, struct file *file);

/* Returns 0 if the current process may mount the host's files or remount them as writable. */
int disklab_may_mount(struct fs_context *fc);

int disklab_statfs(struct dentry *dentry, struct kstatfs *to);

#endif
