// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host side of the disks. This ordinary C file is linked into the guest kernel, and loads the
 * disk library before the kernel starts.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <unistd.h>
#include <disklab.h>
#include <disklab_init.h>

static unsigned long long no_heartbeat;
unsigned long long *disklab_heartbeat = &no_heartbeat;
const struct disklab_library *disklab_library;

ssize_t disklab_random(void *buffer, size_t bytes);

/*
 * Returns true if main() is about to start the program again without address randomisation. The
 * library is then loaded after the restart.
 */
static int starts_again(void)
{
	int now = personality(0xffffffff);

	if (now >= 0 && now & ADDR_NO_RANDOMIZE)
		return 0;
	if (now < 0 || personality(now | ADDR_NO_RANDOMIZE) < 0) {
		fprintf(stderr,
			"disklab: address randomisation cannot be turned off here "
			"(personality(2) is forbidden, "
			"as in some containers); results would not repeat\n");
		exit(1);
	}
	personality(now);
	return 1;
}

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv("DISKLAB_LIBRARY");
	const struct disklab_library *(*open_library)(unsigned int interface);
	const uintptr_t step = 4 << 20;
	void *handle;

	if (!path || starts_again())
		return;
	handle = dlopen(path, RTLD_NOW);
	open_library = handle ? dlsym(handle, "disklab_open") : NULL;
	if (!open_library) {
		fprintf(stderr, "disklab: cannot load the disks from %s: %s\n", path, dlerror());
		exit(1);
	}
	disklab_library = open_library(DISKLAB_INTERFACE);
	if (!disklab_library) {
		/* The library has printed the reason. */
		exit(1);
	}
	disklab_heartbeat = disklab_library->heartbeat;

	/*
	 * The guest's memory begins at the end of the heap. Move that end to a multiple of 4 MiB,
	 * so that the memory that this process has allocated, for paths for example, does not
	 * change the guest's page numbers.
	 */
	if (brk((void *)(((uintptr_t)sbrk(0) + step) / step * step)))
		fprintf(stderr, "disklab: the heap could not be rounded\n");
}

/* Fills the buffer for the kernel's random number generator, instead of the host's entropy. */
ssize_t disklab_random(void *buffer, size_t bytes)
{
	if (!disklab_library)
		return getrandom(buffer, bytes, 0);
	disklab_library->random(buffer, bytes);
	return bytes;
}

const char *disklab_on_host(const char *path)
{
	const char *program;

	if (strcmp(path + strspn(path, "/"), DISKLAB_INIT) != 0)
		return path;
	program = getenv("DISKLAB_INIT");
	return program ? program : path;
}
