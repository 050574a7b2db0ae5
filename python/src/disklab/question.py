"""What is asked of the program: a suite, and what is changed in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Union

from disklab import program

Value = Union[str, int, float]
Settings = Mapping[str, Union[Value, Iterable[Value]]]


@dataclass(frozen=True)
class Question:
    """A suite by its name in the lab, or its file; with the values that some of its axes are to have."""

    suite: str
    settings: Settings
    seeds: int | str | None

    def options(self) -> list[str]:
        """What is changed, as the command line wants it."""
        words = []
        for axis, values in self.settings.items():
            listed = [values] if isinstance(values, (str, int, float)) else values
            words += ["--set", f"{axis}={','.join(map(_spelled, listed))}"]
        if self.seeds is not None:
            words += ["--seeds", str(self.seeds)]
        return words

    def words(self) -> list[str]:
        return [self.suite, *self.options()]

    def text(self) -> str | None:
        """Of the suite's file, where it is one of the user's own."""
        if "/" not in self.suite and not self.suite.endswith(".toml"):
            return None
        try:
            return Path(self.suite).read_text()
        except OSError as error:
            raise program.Error(f"cannot read the suite {self.suite}: {error.strerror}") from error

    def plan(self) -> dict[str, Any]:
        """The trials, their needs, and the kernels, which are built where they are missing."""
        plan: dict[str, Any] = program.ask(["plan", *self.words()])
        missing = [kernel["name"] for kernel in plan["kernels"] if kernel["missing"]]
        for name in missing:
            program.tell(["kernel", "build", *([] if name == "newest" else ["--kernel", name])])
        if missing:
            plan = program.ask(["plan", *self.words()])
        return plan


def _spelled(value: Value) -> str:
    """As a suite's file has it: numbers without exponents, truth in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    return format(Decimal(str(value)), "f") if isinstance(value, float) else str(value)
