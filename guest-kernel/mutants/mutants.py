#!/usr/bin/env python3
"""Tests whether `disklab compare` detects mutated kernels.

    guest-kernel/mutants/mutants.py [--few] [--work DIR] [--jobs N] [--program DISKLAB]

Builds the newest kernel source in the cache once with an unmodified btrfs, and then each mutant in
the same tree, which compiles one file and links. Each mutant and the unmodified kernel run a small
suite, and `disklab compare` compares the two. A fixed seed draws 20 mutations of the read policies
in fs/btrfs/volumes.c. One broken tree of each kind is tested as well. The exit status is 1 if
`compare` did not detect a mutant.

`compare` detects a mutant if it calls a cell better or worse, or if it remarks that other disks
served the reads or that the disks had other requests. Between equal disks, such a change need not
change any number.
"""

import argparse
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GUEST_KERNEL = HERE.parent
SEED = 30
DRAWN = 20
VOLUMES = "fs/btrfs/volumes.c"

# Each entry has a function of volumes.c, a line of it, and what the line becomes. Mutations that
# cannot change any decision are left out; NOT_DRAWN lists them, and why.
RR, DEVID, LIVE = "btrfs_read_rr", "btrfs_read_preferred", "find_live_mirror"
MUTATIONS = [
    (DEVID, "device->devid == READ_ONCE", "device->devid != READ_ONCE"),
    (DEVID, "index < first + num_stripes", "index < first"),
    (DEVID, "index < first + num_stripes", "index < first + num_stripes - 1"),
    (DEVID, "return index;", "return first;"),
    (DEVID, "return index;", "return first + num_stripes - 1;"),
    (DEVID, "stripe. */\n\treturn first;", "stripe. */\n\treturn first + num_stripes - 1;"),
    (DEVID, "stripe. */\n\treturn first;",
     "stripe. */\n\treturn first + current->pid % num_stripes;"),
    (RR, "total_reads / min_reads_per_dev", "total_reads * min_reads_per_dev"),
    (RR, "total_reads / min_reads_per_dev", "total_reads % min_reads_per_dev"),
    (RR, "total_reads / min_reads_per_dev", "total_reads"),
    (RR, "total_reads / min_reads_per_dev", "min_reads_per_dev"),
    (RR, "read_cycle % num_stripes", "read_cycle / num_stripes % num_stripes"),
    (RR, "read_cycle % num_stripes", "0"),
    (RR, "read_cycle % num_stripes", "num_stripes - 1"),
    (RR, "rr_min_contig_read) >>", "rr_min_contig_read) << 2 >>"),
    (RR, "fs_info->sectorsize_bits;", "(fs_info->sectorsize_bits - 3);"),
    (RR, "stripes[index].num = i;", "stripes[index].num = first;"),
    (RR, "\t\tindex++;\n", "\t\tindex += index < 0;\n"),
    (RR, "percpu_counter_sum(&fs_info->stats_read_blocks)", "0"),
    (RR, "percpu_counter_sum(&fs_info->stats_read_blocks)", "current->pid"),
    (LIVE, "current->pid % num_stripes", "(num_stripes - 1)"),
    (LIVE, "current->pid % num_stripes", "0"),
    (LIVE, "current->pid % num_stripes", "current->pid / 64 % num_stripes"),
    (LIVE, "current->pid % num_stripes", "fs_info->generation % num_stripes"),
    (LIVE, "btrfs_read_rr(map, first, num_stripes)",
     "btrfs_read_preferred(map, first, num_stripes)"),
    (LIVE, "btrfs_read_rr(map, first, num_stripes)", "first + current->pid % num_stripes"),
    (LIVE, "btrfs_read_preferred(map, first, num_stripes)",
     "btrfs_read_rr(map, first, num_stripes)"),
    (LIVE, "btrfs_read_preferred(map, first, num_stripes)", "first"),
    (LIVE, "btrfs_read_preferred(map, first, num_stripes)", "first + num_stripes - 1"),
]
NOT_DRAWN = {
    "where the loop of btrfs_read_preferred() begins":
        "without the first mirror it finds the same: what the loop does not find is the first",
    "the order of btrfs_cmp_devid()":
        "it says which mirror has its turn first; each still serves the same share of the reads",
    "the loop over `tolerance` in find_live_mirror()":
        "every device of a trial is there and none is being replaced: the loop returns the "
        "preferred mirror at once, whatever it does after that",
    "`default:` of the switch": "no value of read_policy leads there",
}

# Beginnings of the remarks of compare that report a different use of the disks.
REMARKS = ("other disks served the reads", "the disks had other requests")

# Settings of trees that are measured under md, which chooses its mirrors itself.
MD = ["array=hdd-md-raid1-ext4"]

# One tree of each kind that has to come out worse: its name, a file, a text of it and what that
# becomes, and the settings of the suite.
BROKEN = [
    ("a policy that always answers mirror 0", VOLUMES, "read_cycle % num_stripes", "0",
     ["policy=round-robin,round-robin:4k"]),
    ("a scheduler that hands out one request at a time", "block/mq-deadline.c",
     "\tconst unsigned long now = jiffies;\n\tstruct request *rq;\n\tenum dd_prio prio;\n",
     "\tconst unsigned long now = jiffies;\n\tstruct request *rq;\n\tenum dd_prio prio;\n\n"
     "\tif (sbitmap_weight(&hctx->tags->bitmap_tags.sb))\n\t\treturn NULL;\n",
     ["policy=pid", "array=ssd-raid10"]),
    ("an md whose RAID1 reads its first disk only", "drivers/md/raid1.c",
     "\tdisk = choose_best_rdev(conf, r1_bio);\n", "\tdisk = 0;\n",
     MD),
]


def run(*command, cwd=None, log=None, check=True):
    """Runs a command quietly. Its output is shown if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if log:
        log.write_text(done.stdout)
    if check and done.returncode:
        line = " ".join(map(str, command))
        sys.exit(f"{line}: exit status {done.returncode}\n{done.stdout[-3000:]}")
    return done


class Tree:
    """Holds a kernel's source with disklab's insertions, and its objects."""

    def __init__(self, work, jobs):
        self.source, self.objects, self.jobs = work / "source", work / "objects", jobs
        self.work = work

    def prepare(self, tarball):
        if (self.work / "prepared").exists():
            return
        shutil.rmtree(self.source, ignore_errors=True)
        self.source.mkdir(parents=True)
        run("tar", "xf", tarball, "-C", self.source, "--strip-components=1")
        shutil.copytree(GUEST_KERNEL / "files", self.source, dirs_exist_ok=True)
        for patch in sorted((GUEST_KERNEL / "patches").glob("*.patch")):
            run("patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i", patch, cwd=self.source)
        self.objects.mkdir(exist_ok=True)
        self.make("tinyconfig")
        with open(self.objects / ".config", "a") as config:
            config.write((GUEST_KERNEL / "config").read_text())
        self.make("olddefconfig")
        (self.work / "prepared").write_text("")

    def make(self, *what, check=True):
        keep = [name for name in ("PATH", "HOME", "CCACHE_DIR") if name in os.environ]
        environment = [f"{name}={os.environ[name]}" for name in keep]
        return run("env", "-i", *environment, "LC_ALL=C", f"CCACHE_BASEDIR={self.work}",
                   "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970", "KBUILD_BUILD_VERSION=1",
                   "KBUILD_BUILD_USER=disklab", "KBUILD_BUILD_HOST=disklab",
                   "make", "-C", self.source, "ARCH=um", f"O={self.objects}", "RUSTC=false",
                   "BINDGEN=false", "PAHOLE=false", f"-j{self.jobs}", *what,
                   log=self.work / "make.log", check=check)

    def build(self, name, version):
        """Compiles what changed. Returns the folder of a kernel that disklab opens."""
        self.make("linux")
        folder = self.work / "kernels" / name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.objects / "linux", folder / "linux")
        shutil.copy(self.objects / ".config", folder / "config")
        digest = {part: hashlib.sha256((folder / part).read_bytes()).hexdigest()
                  for part in ("linux", "config")}
        (folder / "kernel.toml").write_text(
            f'format = 1\nversion = "{version}"\nseries = "{version.rsplit(".", 1)[0]}"\n'
            f'key = "{digest["linux"]}"\nrecipe = "mutants"\ncompiler = "this machine\'s"\n'
            f'linux_sha256 = "{digest["linux"]}"\nconfig_sha256 = "{digest["config"]}"\n'
            f'objects = 1\nbuild_seconds = 1.0\nbuilt = 0\nbtrfs = "untouched"\n\n'
            f'[source]\nkind = "tree"\npath = "{self.source}"\ndigest = "{name}"\n')
        return folder


def function(text, name):
    """Returns the start and end of a C function in `text`."""
    found = re.search(rf"^(static )?int {name}\([^;{{]*\)\n{{\n", text, re.M)
    return found.start(), text.index("\n}\n", found.start()) + 3


def mutated(text, name, old, new):
    start, end = function(text, name)
    body = text[start:end]
    if body.count(old) != 1:
        sys.exit(f"{name}: {old!r} is there {body.count(old)} times")
    return text[:start] + body.replace(old, new) + text[end:]


def in_one_line(text):
    return " ".join(text.split("*/")[-1].split())


class Bench:
    """Runs the suite on kernels and compares their records."""

    def __init__(self, program, work, jobs):
        self.program, self.work, self.jobs = program, work, jobs

    def record(self, name, kernel, settings):
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()[:6]
        out = self.work / "records" / f"{name}-{digest}"
        if not out.exists():
            sets = [word for setting in settings for word in ("--set", setting)]
            suite = "suite-md.toml" if settings == MD else "suite.toml"
            run(self.program, "run", HERE / suite, "--set", f"kernel={kernel}", *sets,
                "--jobs", self.jobs, "--out", out, check=False)
        return out

    def judge(self, before, after):
        """Returns the cells by verdict, the cells of which compare remarks that the disks were used
        otherwise, the number of trials whose requests differ, and the number of trials.
        """
        told = run(self.program, "compare", before, after, "--metric", "iops", "--json",
                   check=False).stdout
        cells = json.loads(told[told.index("{"):])["cells"]
        verdicts = {}
        for cell in cells:
            verdicts.setdefault(cell["verdict"], []).append(cell)
        moved = [cell for cell in cells
                 if any(remark.startswith(REMARKS) for remark in cell["remarks"])]
        names = sorted(p.parent.name for p in (before / "raw").glob("*/requests.trace.gz"))
        differ = sum((before / "raw" / name / "requests.trace.gz").read_bytes() !=
                     (after / "raw" / name / "requests.trace.gz").read_bytes()
                     for name in names if (after / "raw" / name / "requests.trace.gz").exists())
        return verdicts, moved, differ, len(names)


def change(cells):
    """Returns the largest change among cells, in the words of compare."""
    changes = [cell["change"]["percent"] for cell in cells if cell["change"] is not None]
    return f"{max(changes, key=abs):+.0f} %" if changes else "failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", action="store_true", help="the broken trees and two mutants")
    parser.add_argument("--work", type=pathlib.Path, default=GUEST_KERNEL.parent / "target/mutants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--program", default="disklab")
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    tarball = max((cache / "disklab/sources").glob("linux-source-*.tar.xz"))
    tree = Tree(work, args.jobs)
    tree.prepare(tarball)
    makefile = (tree.source / "Makefile").read_text()
    version = ".".join(re.search(rf"^{part} = (\d+)", makefile, re.M)[1]
                       for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    bench = Bench(args.program, work, args.jobs)
    pristine = tree.build("pristine", version)

    drawn = random.Random(SEED).sample(MUTATIONS, DRAWN)
    plan = []
    for number, (name, path, old, new, settings) in enumerate(BROKEN, 1):
        mutate = functools.partial(replaced, old=old, new=new)
        plan.append((f"broken-{number}", name, path, mutate, settings))
    for number, (where, old, new) in enumerate(drawn, 1):
        name = f"`{where}`: `{in_one_line(old)}` becomes `{in_one_line(new)}`"
        mutate = functools.partial(mutated, name=where, old=old, new=new)
        plan.append((f"mutant-{number}", name, VOLUMES, mutate, []))
    if args.few:
        plan = plan[: len(BROKEN) + 2]
    print(f"Linux {version}, untouched btrfs; seed {SEED}\n")
    print("| | change | verdict of `compare` | disks used otherwise | requests |")
    print("|---|---|---|---|---|")
    unseen = 0
    for number, name, path, mutate, settings in plan:
        file = tree.source / path
        original = file.read_text()
        file.write_text(mutate(original))
        try:
            kernel = tree.build(number, version)
        finally:
            file.write_text(original)
        before = bench.record("pristine", pristine, settings)
        after = bench.record(number, kernel, settings)
        verdicts, moved, differ, trials = bench.judge(before, after)
        told = [f"{len(verdicts[word])} {word} ({change(verdicts[word])})"
                for word in ("worse", "better", "different") if word in verdicts]
        rest = [f"{len(cells)} {word}" for word, cells in sorted(verdicts.items())
                if word not in ("worse", "better", "different")]
        # A broken tree has to be worse. A mutant only has to be seen.
        seen = "worse" in verdicts if number.startswith("broken") else bool(told or moved)
        unseen += not seen
        mark = "" if seen else "**not seen** "
        cells = sum(map(len, verdicts.values()))
        print(f"| {number} | {name} | {mark}{', '.join(told + rest)} | in {len(moved)} of {cells} "
              f"cells | {differ} of {trials} trials differ |", flush=True)
    print("\nNot drawn, since no number of a trial can differ:\n")
    for what, why in NOT_DRAWN.items():
        print(f"- {what}: {why}.")
    return 1 if unseen else 0


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"{old!r} is there {text.count(old)} times")
    return text.replace(old, new)


if __name__ == "__main__":
    sys.exit(main())
