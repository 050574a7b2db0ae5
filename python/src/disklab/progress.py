"""Shows the progress of a sweep: one line that changes on a terminal, and elsewhere a new line
every 30 s.
"""

from __future__ import annotations

import sys
import time

from disklab.batches import Batch

# Least time between two lines, in seconds: where there is no terminal, and on one.
SELDOM = 30.0
OFTEN = 0.5


class Progress:
    def __init__(self, trials: int, remaining: int, wall_ms: int) -> None:
        self._trials, self._done = trials, trials - remaining
        self._left_ms = self._all_ms = wall_ms
        self._begun = self._told = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def ended(self, batch: Batch, added: int, left: int) -> None:
        """Counts a batch that has ended. `left` of its trials run again."""
        self._done += added
        took = sum(trial.wall_ms for trial in batch.trials) * (1 - left / max(len(batch.trials), 1))
        self._left_ms = max(0, self._left_ms - int(took))

    def draw(self, running: int) -> None:
        now = time.monotonic()
        if now - self._told < (OFTEN if self._terminal else SELDOM):
            return
        self._told = now
        line = (
            f"{self._done} of {self._trials} trials, {running} batches on the cluster"
            f"{self._left(now)}"
        )
        print(
            f"\r\033[K{line}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def _left(self, now: float) -> str:
        behind = self._all_ms - self._left_ms
        if not behind:
            return ""
        minutes = (now - self._begun) * self._left_ms / behind / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left"

    def remark(self, text: str) -> None:
        print(f"{self._line_back()}disklab: {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clears the line, which the next message then uses."""
        print(self._line_back(), end="", file=sys.stderr, flush=True)

    def _line_back(self) -> str:
        return "\r\033[K" if self._terminal else ""
