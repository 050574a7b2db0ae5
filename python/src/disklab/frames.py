"""Records as frames of pandas or polars."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from disklab import program
from disklab.quantities import Numbers, numbers

if TYPE_CHECKING:
    import pandas
    import polars

Table = Literal["results", "trials", "metrics", "histograms", "traces"]
Frame = Literal["pandas", "polars"]
# Columns that identify a trial among those of several records.
NAME = ["suite", "run", "trial"]


def load(
    runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    table: Table = "results",
    frame: Frame = "pandas",
) -> pandas.DataFrame | polars.DataFrame:
    """Returns a table of one record or several.

    `results` has a row for each trial: the axes and the parameters of its cell, and a column for
    each number of the whole trial. An axis whose values are all numbers of one kind has numbers:
    times in ns, sizes in bytes, rates in bytes a second. The other tables have the columns that
    `disklab export` writes (docs/FORMAT.md, Tables).
    """
    _check("table", table, get_args(Table))
    _check("frame", frame, get_args(Frame))
    listed = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    with tempfile.TemporaryDirectory(prefix="disklab-") as folder:
        # Only the needed tables are exported, so that the rest of a record may be damaged.
        wanted = "trials,metrics" if table == "results" else table
        program.ask(
            ["export", "--format", "parquet", "--output", folder, "--table", wanted, "--", *listed]
        )
        tables = Path(folder)
        if frame == "polars":
            if table != "results":
                return _polars(tables, table)
            return _join_polars(_polars(tables, "trials"), _polars(tables, "metrics"))
        if table != "results":
            return _pandas(tables, table)
        return _join_pandas(_pandas(tables, "trials"), _pandas(tables, "metrics"))


def _check(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise program.Error(f"unknown {what} {given!r}; known: {', '.join(known)}")


def _pandas(folder: Path, table: str) -> pandas.DataFrame:
    try:
        import pandas
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise program.Error(
            f"cannot make a frame of pandas: {error.name} is not installed; "
            "pip install 'disklab[pandas]'"
        ) from error
    names = pyarrow.schema([("suite", pyarrow.string()), ("run", pyarrow.string())])
    partitions = pyarrow.dataset.partitioning(names, flavor="hive")
    read = pyarrow.dataset.dataset(folder / table, partitioning=partitions).to_table()
    # pandas' default columns of whole numbers cannot have missing values: pandas would convert them
    # to floating numbers and round them.
    kinds = {
        pyarrow.uint64(): pandas.UInt64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    made: pandas.DataFrame = read.to_pandas(types_mapper=kinds.get)
    return made


def _polars(folder: Path, table: str) -> polars.DataFrame:
    try:
        import polars
    except ImportError as error:
        raise program.Error(
            "cannot make a frame of polars: polars is not installed; pip install 'disklab[polars]'"
        ) from error
    files = str(folder / table / "**" / "*.parquet")
    return polars.read_parquet(files, hive_schema={"suite": polars.String, "run": polars.String})


def _join_pandas(trials: pandas.DataFrame, metrics: pandas.DataFrame) -> pandas.DataFrame:
    import pandas

    whole = metrics[metrics["disk"].isna()].pivot(index=NAME, columns="metric", values="value")
    for axis, values in _axes(trials["jobs"], trials.pop("parameters")).items():
        found = numbers(values)
        kind = None if found is None else "Int64" if _are_whole(found) else "float64"
        trials[axis] = pandas.Series(
            values if found is None else found, index=trials.index, dtype=kind
        )
    # pandas cannot join an empty table by columns of text.
    return (
        trials if whole.empty else trials.merge(whole, how="left", left_on=NAME, right_index=True)
    )


def _join_polars(trials: polars.DataFrame, metrics: polars.DataFrame) -> polars.DataFrame:
    import polars

    whole = metrics.filter(polars.col("disk").is_null()).pivot("metric", index=NAME, values="value")
    columns = []
    for axis, values in _axes(trials["jobs"], trials["parameters"]).items():
        found = numbers(values)
        kind = (
            polars.String
            if found is None
            else polars.Int64
            if _are_whole(found)
            else polars.Float64
        )
        columns.append(polars.Series(axis, values if found is None else found, dtype=kind))
    return (
        trials.drop("parameters")
        .with_columns(columns)
        .join(whole, on=NAME, how="left", maintain_order="left")
    )


def _axes(jobs: Iterable[object], parameters: Iterable[object]) -> dict[str, list[str | None]]:
    """Returns the values of the axes over numbers, one for each trial, by axis."""
    rows = [json.loads(told) if isinstance(told, str) else {} for told in parameters]
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        "jobs": [value if isinstance(value, str) else None for value in jobs],
        **{name: [row.get(name) for row in rows] for name in names},
    }


def _are_whole(found: Numbers) -> bool:
    return not any(isinstance(value, float) for value in found)
