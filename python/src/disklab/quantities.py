"""Converts values of an axis to numbers: times in ns, sizes in bytes, rates in bytes a second."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Union

Numbers = Union["list[int | None]", "list[float | None]"]

TIMES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
SIZES = {
    **{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40},
    **{"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000},
}
# The kind of quantity of each unit, and its factor.
UNITS = {
    "": ("plain", 1),
    **{unit: ("time", factor) for unit, factor in TIMES.items()},
    **{unit: ("size", factor) for unit, factor in SIZES.items()},
    **{f"{unit}/s": ("rate", factor) for unit, factor in SIZES.items()},
}
NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)([A-Za-z]*(?:/s)?)")
# Limit of whole numbers: the values of a column of them are smaller.
MOST = 1 << 63


def numbers(values: Iterable[str | None]) -> Numbers | None:
    """Returns all values as whole numbers, or else all as floating numbers. Returns `None` if a
    value is not a number, or if the values are of different kinds.
    """
    kinds = set()
    amounts: list[Decimal | None] = []
    for value in values:
        if value is None:
            amounts.append(None)
            continue
        found = NUMBER.fullmatch(value)
        if found is None or found[2] not in UNITS:
            return None
        kind, factor = UNITS[found[2]]
        amount = Decimal(found[1]) * factor
        amounts.append(amount)
        # A plain 0 fits every kind.
        if kind != "plain" or amount:
            kinds.add(kind)
    # A size without a unit is in bytes.
    if len(kinds) > 1 and kinds != {"plain", "size"}:
        return None
    if all(
        amount is None or (abs(amount) < MOST and amount == amount.to_integral_value())
        for amount in amounts
    ):
        return [None if amount is None else int(amount) for amount in amounts]
    return [None if amount is None else float(amount) for amount in amounts]
