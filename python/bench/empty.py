"""Measures 10,000 trials that take no time, through everything that a sweep has: plan, Ray, parts
that come back, the record.

The work of a node is not measured: each node answers with the smallest possible record.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import ray

from disklab.batches import Batch
from disklab.gatherer import Gatherer
from disklab.question import Question
from disklab.sweeping import Sweep

SEEDS = 1000
DEPTHS = 10
SUITE = f"""\
question = "What do trials cost that take no time?"
seeds = {SEEDS}
memory = "256 MiB"
runtime = {{ rotational = "20ms", solid_state = "20ms" }}
kernel = "newest"

[axes]
array = ["single-constant"]
workload = ["smoke-randread"]
"workload.iodepth" = {{ linear = [1, {DEPTHS}], steps = {DEPTHS} }}
"""
# The lists of trials in a manifest, each with its key in a plan.
LISTED = {"trials": "id", "keys": "key"}
OUTPUTS = ("disks.json", "fio.json", "guest.jsonl", "requests.trace.gz")


def sweep(folder: Path) -> dict[str, float]:
    """Sweeps the empty trials, in a running session of Ray."""
    suite = folder / "empty.toml"
    suite.write_text(SUITE)
    begun = time.monotonic()
    question = Question(str(suite), {}, None)
    plan = question.plan()
    planned = time.monotonic()
    gatherer = Gatherer(question, folder / "empty", False)
    try:
        # The part's manifest repeats the text of the record's own.
        manifest = (gatherer.record / "manifest.toml").read_text()
        for name in LISTED:
            manifest = re.sub(
                rf"^{name} = \[.*?^\]", f"{name} = []", manifest, count=1, flags=re.M | re.S
            )
        table = {trial["key"]: (at, trial) for at, trial in enumerate(plan["trials"])}
        known = ray.put((manifest, table))

        # A worker fetches it only once, as a node does.
        here: list[Any] = []

        def work(order: dict[str, Any]) -> dict[str, Any]:
            if not here:
                here.append(ray.get(known))
            manifest, table = here[0]
            return {
                "node": "",
                "host": "",
                "suspects": {},
                "part": part(manifest, table, order["trials"]),
            }

        measured = Measured(question, plan, gatherer, work)
        measured.run()
    finally:
        gatherer.close()
    took = time.monotonic() - begun
    lines = (gatherer.record / "trials.jsonl").read_text().count("\n")
    assert lines == SEEDS * DEPTHS, f"{lines} trials"
    half, end = measured.memory[len(measured.memory) // 2], measured.memory[-1]
    print(
        f"{lines} empty trials: {took:.1f} s, {planned - begun:.1f} s of it the plan; "
        f"at half of them and in the end "
        f"the driver has {half[0]} and {end[0]} MiB, disklab gather {half[1]} and {end[1]}",
        file=sys.stderr,
    )
    return {
        "empty_seconds": took,
        "grown_mib": end[0] - half[0],
        "gather_grown_mib": end[1] - half[1],
    }


class Measured(Sweep):
    """Sweeps, and notes the memory of driver and gatherer, in MiB, after each part."""

    memory: list[tuple[int, int]]

    def _take(self, batch: Batch, answer: dict[str, Any]) -> None:
        if not hasattr(self, "memory"):
            self.memory = []
        super()._take(batch, answer)
        self.memory.append((own_memory("self"), own_memory(self._gatherer.process)))


def own_memory(process: int | str) -> int:
    """Returns the memory of a process in MiB, without the memory that it shares, such as Ray's
    store.
    """
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) >> 10
    return 0


def part(manifest: str, table: dict[str, tuple[int, dict[str, Any]]], keys: list[str]) -> bytes:
    """Returns a packed record of some trials."""
    trials = sorted((table[key] for key in keys), key=lambda trial: trial[0])
    text = manifest
    for name, key in LISTED.items():
        text = text.replace(
            f"\n{name} = []", f"\n{name} = {json.dumps([trial[key] for _, trial in trials])}", 1
        )
    own = f"[part]\nof = {len(table)}\nat = {[at for at, _ in trials]}\n\n"
    files = {"manifest.toml": text.replace("\n[", f"\n{own}[", 1), "lock": "", "trials.jsonl": ""}
    for _, trial in trials:
        outputs = {name: f"{name} of {trial['id']}\n" for name in OUTPUTS}
        files["trials.jsonl"] += json.dumps(line(trial, outputs)) + "\n"
        files.update({f"raw/{trial['id']}/{name}": output for name, output in outputs.items()})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            head = tarfile.TarInfo(f"part/{name}")
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content.encode()))
    return packed.getvalue()


def line(trial: dict[str, Any], outputs: dict[str, str]) -> dict[str, Any]:
    """Returns a line of `trials.jsonl`."""
    return {
        "schema": 1,
        "trial": trial["id"],
        "key": trial["key"],
        "cell": trial["cell"],
        "seed_index": trial["seed_index"],
        "seed": trial["seed_index"],
        "status": "ok",
        "reason": None,
        "virtual_ns": 1,
        "wall_ms": 1,
        "sample": None,
        "remarks": [],
        "raw": f"raw/{trial['id']}",
        "files": {
            name: hashlib.sha256(output.encode()).hexdigest() for name, output in outputs.items()
        },
    }
