"""What is asked of the program: a suite, and what is changed in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any, Protocol, Union

from disklab import program


class Scalar(Protocol):
    """A number as numpy has them."""

    def item(self) -> Any: ...


Value = Union[str, int, float, Decimal, Scalar]
Settings = Mapping[str, Union[Value, Iterable[Value]]]


@dataclass(frozen=True)
class Question:
    """A suite by its name in the lab, or its file; with the values that some of its axes are to
    have.
    """

    suite: str
    settings: Settings
    seeds: int | str | None

    def options(self) -> list[str]:
        """What is changed, as the command line wants it."""
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
        """The last of a command line: whatever the suite is called, its name is no option."""
        return [*self.options(), "--", self.suite]

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


def _listed(axis: str, values: object) -> Iterable[object]:
    if isinstance(values, Mapping):
        raise program.Error(
            f"settings: {axis}: ranges stand in a suite's file, in [axes] (docs/FORMAT.md); "
            "give the values, as a list"
        )
    # An array without a dimension is a number.
    if (
        isinstance(values, Iterable)
        and not isinstance(values, (str, bytes))
        and getattr(values, "ndim", None) != 0
    ):
        return values
    return [values]


def _spelled(axis: str, value: object) -> str:
    """As a suite's file has it: numbers without exponents, truth in small letters."""
    if isinstance(value, str):
        return value
    # A number of numpy has the fewest digits as it is: of single precision, the item has more.
    item = value if isinstance(value, Number) or not hasattr(value, "item") else value.item()
    if isinstance(item, bool):
        return str(item).lower()
    try:
        return format(Decimal(str(item)), "f")
    except ArithmeticError:
        raise program.Error(f"settings: {axis}: {value!r} is neither a number nor a text") from None
