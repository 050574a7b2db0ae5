"""Reads the outcomes of a record's trials from its `trials.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from disklab import program

# Largest number of trials without a result that an error lists.
MOST_TOLD = 5


@dataclass(frozen=True)
class Outcomes:
    record: Path
    # Number of trials that have a result, or failed by their own fault.
    ended: int
    # Trials that failed by their own fault, with the reasons.
    failed: dict[str, str]
    # Trials that failed for a reason that may be their machine's, with the reasons.
    suspects: dict[str, str]

    @classmethod
    def read(cls, record: Path) -> Outcomes:
        ended: set[str] = set()
        failed: dict[str, str] = {}
        suspects: dict[str, str] = {}
        with open(record / "trials.jsonl") as lines:
            for line in lines:
                # A line that is still being written is incomplete.
                if not line.endswith("\n"):
                    break
                said = json.loads(line)
                name, status = said["trial"], said["status"]
                # If a trial was tried again, the last attempt counts.
                ended.discard(name)
                failed.pop(name, None)
                suspects.pop(name, None)
                if status == "failed" and said.get("fault") == "machine":
                    suspects[name] = said["reason"]
                elif status != "interrupted":
                    ended.add(name)
                    if status == "failed":
                        failed[name] = said["reason"]
        return cls(record, len(ended), failed, suspects)

    def line(self, trials: int) -> str:
        """Returns the last line that a sweep of this many trials prints."""
        line = f"{self.ended} of {trials} trials"
        if self.failed:
            name, reason = next(iter(self.failed.items()))
            line += (
                f", {len(self.failed)} of them failed ({name} first: {reason}); "
                f"sweep(..., out={str(self.record)!r}, retry_failed=True) runs those again"
            )
        return line

    def complain(self) -> None:
        """Raises an error if trials failed by what may be a machine's fault: although they are
        recorded, they have no result.
        """
        if self.suspects:
            again = f"sweep(..., out={str(self.record)!r}, retry_failed=True)"
            raise without_result(self.suspects, "the machine that they ran on; see to it", again)


def without_result(reasons: Mapping[str, str], whose: str, again: str) -> program.Error:
    """Returns the error for trials that failed for these reasons."""
    count = "1 trial has" if len(reasons) == 1 else f"{len(reasons)} trials have"
    listed = [f"{name}: {reason}" for name, reason in list(reasons.items())[:MOST_TOLD]]
    if len(reasons) > MOST_TOLD:
        listed.append(f"and {len(reasons) - MOST_TOLD} more")
    return program.Error(
        f"{count} no result, which may be the fault of {whose}, and {again} runs them again:\n"
        + "\n".join(listed)
    )
