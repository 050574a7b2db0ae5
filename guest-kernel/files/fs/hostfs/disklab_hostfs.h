/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs of a guest see of the host's files that no two hosts, or trials, have alike: made
 * alike.
 */
#ifndef __DISKLAB_HOSTFS_H
#define __DISKLAB_HOSTFS_H

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/statfs.h>

/*
 * The inode number of a file by its path from the root of its mount, which is "" or begins with
 * '/'.
 */
u64 disklab_ino(const char *path);

int disklab_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		    unsigned int flags);

/* A folder in the order of its names; `name` is its path on the host. */
int disklab_readdir(struct file *file, struct dir_context *ctx, char *name);
int disklab_releasedir(struct inode *inode, struct file *file);

/* Returns 0 if the current process may mount the host's files, or mount them anew as writable. */
int disklab_may_mount(struct fs_context *fc);

int disklab_statfs(struct dentry *dentry, struct kstatfs *to);

#endif
