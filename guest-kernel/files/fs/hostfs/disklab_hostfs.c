// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the times, inode numbers, owners, directory order and free space that a guest sees depend
 * only on paths, names and sizes. On the host, they differ between two hosts with the same
 * programs, and between the directories of two trials. hostfs itself still identifies files by the
 * numbers of the host.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include "hostfs.h"
#include "disklab_hostfs.h"

/*
 * The constants of FNV-1a with 64 bits. The hash of a file's path can be computed from the hash of
 * its directory's path and the file's name.
 */
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
 * Stores the attributes of a file. All times are the guest's boot time, and the owner is root. The
 * number of blocks follows from the size, as for a file without holes. The size, blocks and links
 * of a directory differ between filesystems, so directories get a size of one page and one link.
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

/* The entries of a directory at the time when the listing began, sorted by name. */
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
 * Lists a directory. Positions 0 and 1 are "." and "..", and the names follow. At position 0, the
 * function reads the directory from the host again.
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

/* Reports an empty filesystem of 4 TiB (2^30 pages) instead of the host's free space. */
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
 * Allows only process 1 to mount the host's files. As process 1, the kernel mounts its root
 * read-only, and init mounts the directory of the trial. All other processes of a guest run the
 * commands of a lab file.
 */
int disklab_may_mount(struct fs_context *fc)
{
	return is_global_init(current) ? 0 : -EPERM;
}
