"""Trials that go to a node together: they begin on the same disks, and are worth the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# A batch is to take so long, in ms: a node looks at kernel, tools and disks once for each.
SHORTEST = 10_000
LONGEST = 60_000
# Each processor of the cluster gets so many, so that none is idle for long in the end.
FOR_EACH = 8
# And so many even where they are short.
LEAST_FOR_EACH = 2
# What a node that is lost takes with it, and what the driver holds at a time.
MOST_TRIALS = 32


@dataclass(frozen=True)
class Trial:
    """As `disklab plan` tells of it."""

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
    # The key of the disks that they begin on, none of bare ones.
    disks: str | None
    # Nodes where some of them failed for a reason that may be the node's.
    elsewhere: set[str] = field(default_factory=set)
    # How often a node was lost with it.
    lost: int = 0

    @property
    def memory(self) -> int:
        return max(trial.memory for trial in self.trials)

    @property
    def processors(self) -> int:
        return max(trial.processors for trial in self.trials)


def length(trials: Iterable[Trial], processors: float) -> int:
    """How long a batch is to take, in ms."""
    for_each = sum(trial.wall_ms for trial in trials) / max(processors, 1)
    return int(min(max(for_each / FOR_EACH, SHORTEST), LONGEST, for_each / LEAST_FOR_EACH))


def cut(trials: Iterable[Trial], disks: str | None, length_ms: int) -> Iterator[Batch]:
    """Batches of so long, of trials that need as much of a node, in their order."""
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
