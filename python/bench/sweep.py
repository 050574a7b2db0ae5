"""What a cluster costs: `cargo xtask bench sweep`.

10,000 trials that do nothing, scheduled, and the driver's memory meanwhile; the overhead of Ray beside runs without it,
for trials of about 5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import ray

import disklab
from disklab import program
from disklab.batches import Trial, cut, length
from disklab.cluster import Cluster

EMPTY = 10_000
# What the answer to a batch brings: more than 32 short trials leave.
ANSWER = 4_000_000
LONG = """\
question = "How long does a trial take on a cluster?"
seeds = {seeds}
memory = "512 MiB"
runtime = {{ rotational = "{runtime}", solid_state = "{runtime}" }}
kernel = "newest"

[axes]
array = ["hdd-raid1"]
workload = ["randread-4k-qd32"]
policy = ["pid", "round-robin:4k"]
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--runtime", default="285s", help="virtual time of a trial, so that it takes about 5 s")
    asked = arguments.parse_args()
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        suite = Path(folder) / "long.toml"
        suite.write_text(LONG.format(seeds=asked.seeds, runtime=asked.runtime))
        measured = {**scheduling(), **overhead(suite), **parquet(Path(folder))}
    print(json.dumps(measured))


def scheduling() -> dict[str, float]:
    """In batches as a sweep makes them."""
    planned = [Trial(f"t{n}", f"{n:016x}", 1, 1, 1) for n in range(EMPTY)]
    cluster = Cluster(lambda batch: {"trials": [trial.key for trial in batch.trials]}, say, work=_nothing)
    cluster.add(cut(planned, None, length(planned, os.cpu_count() or 1)))
    begun = time.monotonic()
    ended = half = 0
    while not cluster.idle:
        for batch, answer in cluster.answers(1.0):
            assert len(answer["part"]) == ANSWER
            ended += len(batch.trials)
            half = half or (_memory() if ended >= EMPTY / 2 else 0)
    assert ended == EMPTY
    took = time.monotonic() - begun
    say(f"{EMPTY} empty trials: {took:.1f} s; the driver has {half} MiB at half of them, {_memory()} MiB in the end")
    return {"empty_seconds": took, "grown_mib": _memory() - half}


def _nothing(order: dict[str, Any]) -> dict[str, Any]:
    return {"node": "", "host": "", "suspects": {}, "part": bytes(4_000_000)}


def overhead(suite: Path) -> dict[str, float]:
    """Without Ray, with it, and without it again."""
    folder = suite.parent
    # Kernel and disks are there when it counts.
    disklab.sweep(suite, seeds=1, out=folder / "warm")
    here = timed(lambda: disklab.sweep(suite, out=folder / "here"))
    there = timed(lambda: disklab.sweep(suite, "auto", out=folder / "there"))
    again = timed(lambda: disklab.sweep(suite, out=folder / "again"))
    trials = (folder / "here" / "trials.jsonl").read_text().count("\n")
    local = (here + again) / 2
    say(f"{trials} trials: {here:.1f} s and {again:.1f} s without Ray, {there:.1f} s with it")
    return {"trial_seconds": local * (os.cpu_count() or 1) / trials, "overhead_percent": (there / local - 1) * 100}


def parquet(folder: Path) -> dict[str, float]:
    """Every request of the trials that Ray's nodes carried out."""
    tables = folder / "tables"
    program.ask(["export", folder / "there", "-o", tables, "--traces"])
    rows = 0

    def read() -> None:
        nonlocal rows
        rows = len(pandas.read_parquet(tables / "traces"))

    took = timed(read)
    say(f"{rows} rows in {took:.2f} s")
    return {"parquet_seconds": took * 1e6 / rows}


def timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def _memory() -> int:
    """The most that this process had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
