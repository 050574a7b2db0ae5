"""Divides trials into batches, whose trials begin on the same disks and run on one node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Shortest and longest time of a batch, in ms. A node checks kernel, tools and disks once for each
# batch, which a short batch would not be worth.
SHORTEST = 10_000
LONGEST = 60_000
# Number of batches for each processor of the cluster, so that at the end none is idle for long.
FOR_EACH = 8
# Least number of batches for each processor, even if they are shorter than SHORTEST.
LEAST_FOR_EACH = 2
# Largest number of trials in a batch: they are lost with a node, and the driver holds their results
# at one time.
MOST_TRIALS = 32


@dataclass(frozen=True)
class Trial:
    """A trial, with the fields of `disklab plan`."""

    name: str
    key: str
    wall_ms: int
    processors: int
    memory: int

    @classmethod
    def read(cls, planned: dict[str, Any]) -> Trial:
        return cls(
            planned["id"],
            planned["key"],
            planned["wall_ms"],
            planned["processors"],
            planned["memory"],
        )


@dataclass
class Batch:
    trials: list[Trial]
    # Key of the prepared disks that the trials begin on; None for bare disks.
    disks: str | None
    # Ids of nodes on which some of the trials failed for a reason that may be the node's.
    elsewhere: set[str] = field(default_factory=set)
    # Number of times that a node was lost with the batch.
    lost: int = 0

    @property
    def memory(self) -> int:
        return max(trial.memory for trial in self.trials)

    @property
    def processors(self) -> int:
        return max(trial.processors for trial in self.trials)


def length(trials: Iterable[Trial], processors: float) -> int:
    """Returns the time that a batch should take, in ms."""
    for_each = sum(trial.wall_ms for trial in trials) / max(processors, 1)
    return int(min(max(for_each / FOR_EACH, SHORTEST), LONGEST, for_each / LEAST_FOR_EACH))


def cut(trials: Iterable[Trial], disks: str | None, length_ms: int) -> Iterator[Batch]:
    """Cuts trials into batches that take at most `length_ms`, in their order. The trials of a batch
    need the same number of processors and the same memory.
    """
    open_ones: dict[tuple[int, int], list[Trial]] = {}
    for trial in trials:
        needs = (trial.processors, trial.memory)
        batch = open_ones.setdefault(needs, [])
        took = sum(trial.wall_ms for trial in batch)
        if batch and (took + trial.wall_ms > length_ms or len(batch) >= MOST_TRIALS):
            yield Batch(batch, disks)
            open_ones[needs] = batch = []
        batch.append(trial)
    yield from (Batch(batch, disks) for batch in open_ones.values())
