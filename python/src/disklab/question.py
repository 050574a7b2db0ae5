"""Defines a question to the program: a suite, and changes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any, Protocol, Union

from disklab import program


class Scalar(Protocol):
    """A number of numpy."""

    def item(self) -> Any: ...


Value = Union[str, int, float, Decimal, Scalar]
Settings = Mapping[str, Union[Value, Iterable[Value]]]


@dataclass(frozen=True)
class Question:
    """A suite by its name in the lab or its file, with new values for some of its axes."""

    suite: str
    settings: Settings
    seeds: int | str | None

    def options(self) -> list[str]:
        """Returns the options that change the suite, for the command line."""
        words = []
        for axis, values in self.settings.items():
            words += [
                "--set",
                f"{axis}={','.join(_spelled(axis, value) for value in _listed(axis, values))}",
            ]
        if self.seeds is not None:
            words += ["--seeds", str(self.seeds)]
        return words

    def words(self) -> list[str]:
        """Returns the last words of a command line. After `--`, no name of a suite can be an
        option.
        """
        return [*self.options(), "--", self.suite]

    def text(self) -> str | None:
        """Returns the text of the suite's file; None for a suite of the lab."""
        if "/" not in self.suite and not self.suite.endswith(".toml"):
            return None
        try:
            return Path(self.suite).read_text()
        except OSError as error:
            raise program.Error(
                f"cannot read the suite {self.suite}: {error.strerror}; name a suite's file, or a "
                "suite that `disklab list` prints"
            ) from error

    def plan(self) -> dict[str, Any]:
        """Returns the trials, their needs, and the kernels. Builds kernels that are missing."""
        plan: dict[str, Any] = program.ask(["plan", *self.words()])
        missing = [kernel["name"] for kernel in plan["kernels"] if kernel["missing"]]
        for name in missing:
            program.tell(["kernel", "build", *([] if name == "newest" else ["--kernel", name])])
        if missing:
            plan = program.ask(["plan", *self.words()])
        return plan


def _listed(axis: str, values: object) -> Iterable[object]:
    if isinstance(values, Mapping):
        raise program.Error(
            f"settings: {axis}: a range can be given in a suite's file only, in [axes] "
            "(docs/FORMAT.md); give the values, as a list"
        )
    # An array of numpy without a dimension is a single value.
    if (
        isinstance(values, Iterable)
        and not isinstance(values, (str, bytes))
        and getattr(values, "ndim", None) != 0
    ):
        return values
    return [values]


def _spelled(axis: str, value: object) -> str:
    """Returns a value in the spelling of suites' files: numbers without exponents, booleans in
    lower case.
    """
    if isinstance(value, str):
        return value
    # The text of a number of numpy has the fewest digits that identify it. In single precision, its
    # `item` would have more.
    item = value if isinstance(value, Number) or not hasattr(value, "item") else value.item()
    if isinstance(item, bool):
        return str(item).lower()
    try:
        return format(Decimal(str(item)), "f")
    except ArithmeticError:
        raise program.Error(f"settings: {axis}: {value!r} is neither a number nor a text") from None
