"""What became of a record's trials, as its `trials.jsonl` tells it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from disklab import program

# So many trials without a result are told one by one.
MOST_TOLD = 5


@dataclass(frozen=True)
class Outcomes:
    record: Path
    # How many trials have a result, or failed by themselves.
    ended: int
    # Those that failed by themselves, with the reason.
    failed: dict[str, str]
    # Those that failed for a reason that may be their machine's.
    suspects: dict[str, str]

    @classmethod
    def read(cls, record: Path) -> Outcomes:
        ended: set[str] = set()
        failed: dict[str, str] = {}
        suspects: dict[str, str] = {}
        with open(record / "trials.jsonl") as lines:
            for line in lines:
                # One that is being written is not whole.
                if not line.endswith("\n"):
                    break
                said = json.loads(line)
                name, status = said["trial"], said["status"]
                # A later attempt is the one that counts.
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
        """The last one of a sweep of so many trials."""
        line = f"{self.ended} of {trials} trials"
        if self.failed:
            name, reason = next(iter(self.failed.items()))
            line += (
                f", {len(self.failed)} of them failed ({name} first: {reason}); "
                f"sweep(..., out={str(self.record)!r}, retry_failed=True) runs those again"
            )
        return line

    def complain(self) -> None:
        """Although it is recorded, what may be a machine's fault is no result."""
        if self.suspects:
            again = f"sweep(..., out={str(self.record)!r}, retry_failed=True)"
            raise without_result(self.suspects, "the machine that they ran on; see to it", again)


def without_result(reasons: Mapping[str, str], whose: str, again: str) -> program.Error:
    """Of trials, each with the reason."""
    count = "1 trial has" if len(reasons) == 1 else f"{len(reasons)} trials have"
    listed = [f"{name}: {reason}" for name, reason in list(reasons.items())[:MOST_TOLD]]
    if len(reasons) > MOST_TOLD:
        listed.append(f"and {len(reasons) - MOST_TOLD} more")
    return program.Error(
        f"{count} no result, which may be the fault of {whose}, and {again} runs them again:\n"
        + "\n".join(listed)
    )
