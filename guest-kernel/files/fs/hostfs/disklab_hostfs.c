// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times, inode numbers, owners, the order of folders and free space are the host's own: two hosts
 * with the same programs differ in them, and so do two trials' folders. Here they depend on paths,
 * names and sizes alone. What hostfs itself tells files apart by stays the host's.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include "hostfs.h"
#include "disklab_hostfs.h"

/* FNV-1a, 64 bits: so a folder's number goes on to the numbers of what is in it. */
#define FNV_START 0xcbf29ce484222325ull
#define FNV_PRIME 0x00000100000001b3ull

static u64 hash_on(u64 hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	return hash;
}

u64 disklab_ino(const char *path)
{
	return hash_on(FNV_START, path);
}

/*
 * A file of the host is as old as the guest, root's, and no sparser than its size; what a folder's
 * size, blocks and links mean differs between filesystems.
 */
int disklab_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		    unsigned int flags)
{
	struct timespec64 boot;

	generic_fillattr(idmap, mask, d_inode(path->dentry), stat);
	getboottime64(&boot);
	boot.tv_nsec = 0;
	stat->atime = boot;
	stat->mtime = boot;
	stat->ctime = boot;
	stat->uid = GLOBAL_ROOT_UID;
	stat->gid = GLOBAL_ROOT_GID;
	if (S_ISDIR(stat->mode)) {
		stat->size = PAGE_SIZE;
		stat->nlink = 1;
	}
	stat->blocks = DIV_ROUND_UP_ULL(stat->size, 512);
	return 0;
}

struct entry {
	unsigned int type;
	char name[];
};

/* What was in a folder when its listing began. */
struct listing {
	size_t count;
	size_t room;
	struct entry **entries;
};

static void forget(struct listing *listing)
{
	if (!listing)
		return;
	for (size_t i = 0; i < listing->count; i++)
		kfree(listing->entries[i]);
	kvfree(listing->entries);
	kfree(listing);
}

static int add(struct listing *listing, const char *name, size_t len, unsigned int type)
{
	struct entry *entry;

	if (listing->count == listing->room) {
		size_t room = listing->room ? 2 * listing->room : 64;
		struct entry **entries = kvmalloc_array(room, sizeof(*entries), GFP_KERNEL);

		if (!entries)
			return -ENOMEM;
		if (listing->count)
			memcpy(entries, listing->entries, listing->count * sizeof(*entries));
		kvfree(listing->entries);
		listing->entries = entries;
		listing->room = room;
	}
	entry = kmalloc(sizeof(*entry) + len + 1, GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->type = type;
	memcpy(entry->name, name, len);
	entry->name[len] = '\0';
	listing->entries[listing->count++] = entry;
	return 0;
}

static int by_name(const void *one, const void *other)
{
	const struct entry *const *a = one, *const *b = other;

	return strcmp((*a)->name, (*b)->name);
}

static struct listing *list(char *folder)
{
	struct listing *listing = kzalloc(sizeof(*listing), GFP_KERNEL);
	unsigned long long next, ino;
	unsigned int type;
	int err, len;
	char *name;
	void *dir;

	if (!listing)
		return ERR_PTR(-ENOMEM);
	dir = open_dir(folder, &err);
	if (!dir) {
		kfree(listing);
		return ERR_PTR(-err);
	}
	err = 0;
	while (!err && (name = read_dir(dir, &next, &ino, &len, &type)) != NULL) {
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			err = add(listing, name, len, type);
	}
	close_dir(dir);
	if (err) {
		forget(listing);
		return ERR_PTR(err);
	}
	sort(listing->entries, listing->count, sizeof(*listing->entries), by_name, NULL);
	return listing;
}

/*
 * Positions 0 and 1 are the folder itself and the one above, then come the names. Going back to 0
 * looks anew.
 */
int disklab_readdir(struct file *file, struct dir_context *ctx, char *name)
{
	struct listing *listing = file->private_data;
	u64 own = hash_on(file_inode(file)->i_ino, "/");

	if (!listing || ctx->pos == 0) {
		listing = list(name);
		if (IS_ERR(listing))
			return PTR_ERR(listing);
		forget(file->private_data);
		file->private_data = listing;
	}
	if (!dir_emit_dots(file, ctx))
		return 0;
	for (; ctx->pos - 2 < listing->count; ctx->pos++) {
		const struct entry *entry = listing->entries[ctx->pos - 2];

		if (!dir_emit(ctx, entry->name, strlen(entry->name), hash_on(own, entry->name), entry->type))
			break;
	}
	return 0;
}

int disklab_releasedir(struct inode *inode, struct file *file)
{
	forget(file->private_data);
	return 0;
}

/* Nobody's free space: an empty filesystem of 4 TiB. */
int disklab_statfs(struct dentry *dentry, struct kstatfs *to)
{
	to->f_type = dentry->d_sb->s_magic;
	to->f_bsize = PAGE_SIZE;
	to->f_namelen = NAME_MAX;
	to->f_blocks = to->f_bfree = to->f_bavail = 1ull << 30;
	to->f_files = to->f_ffree = 1ull << 30;
	return 0;
}

/*
 * The kernel mounts its root read-only and init mounts the trial's folder, both as process 1. All
 * other processes of a guest run what a lab file says.
 */
int disklab_may_mount(struct fs_context *fc)
{
	return is_global_init(current) ? 0 : -EPERM;
}
