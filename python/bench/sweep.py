"""Measures the cost of a cluster: `cargo xtask bench sweep`.

The bench measures the time of 10,000 trials that do nothing, and the memory of driver and gatherer
meanwhile. It also measures the overhead of Ray, compared with runs without it, for trials of about
5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import empty
import pandas
import ray

import disklab
from disklab import program

# Time of a trial without Ray, in ms.
TAKES_MS = 5000
TRY = "60s"
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
    asked = arguments.parse_args()
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False)
    # The folder is beside the environment, so that a killed bench leaves nothing in a work tree.
    with tempfile.TemporaryDirectory(dir=Path(sys.prefix).parent) as folder:
        measured = {
            **empty.sweep(Path(folder)),
            **overhead(Path(folder), asked.seeds),
            **parquet(Path(folder)),
        }
    print(json.dumps(measured))


def overhead(folder: Path, seeds: int) -> dict[str, float]:
    """Measures the overhead of Ray: the suite runs without Ray, with it, and without it again."""
    suite = folder / "long.toml"
    suite.write_text(LONG.format(seeds=seeds, runtime=TRY))
    # This run prepares kernel and disks before the measurement, and shows the speed of this
    # machine.
    tried = disklab.sweep(suite, seeds=1, out=folder / "tried") / "trials.jsonl"
    took = [json.loads(line)["wall_ms"] for line in tried.read_text().splitlines()]
    runtime = round(int(TRY.removesuffix("s")) * TAKES_MS * len(took) / sum(took))
    suite.write_text(LONG.format(seeds=seeds, runtime=f"{runtime}s"))
    here = timed(lambda: disklab.sweep(suite, out=folder / "here"))
    there = timed(lambda: disklab.sweep(suite, "auto", out=folder / "there"))
    again = timed(lambda: disklab.sweep(suite, out=folder / "again"))
    trials = (folder / "here" / "trials.jsonl").read_text().count("\n")
    local = (here + again) / 2
    say(f"{trials} trials: {here:.1f} s and {again:.1f} s without Ray, {there:.1f} s with it")
    return {
        "trial_seconds": local * (os.cpu_count() or 1) / trials,
        "overhead_percent": (there / local - 1) * 100,
    }


def parquet(folder: Path) -> dict[str, float]:
    """Measures the export and reading of every request of the trials that Ray's nodes ran."""
    tables = folder / "tables"
    program.ask(["export", folder / "there", "-o", tables, "--table", "traces"])
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


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
