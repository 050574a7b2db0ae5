"""Records as frames of pandas or polars."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from disklab import program

if TYPE_CHECKING:
    import pandas
    import polars

Table = Literal["results", "trials", "metrics", "histograms", "traces"]
Frame = Literal["pandas", "polars"]
# What tells the trials of several records apart.
NAME = ["suite", "run", "trial"]


def load(
    runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], table: Table = "results", frame: Frame = "pandas"
) -> pandas.DataFrame | polars.DataFrame:
    """A table of one record or several.

    `results` has a row for each trial: the axes and the parameters of its cell, and each number of the whole trial in a
    column of its own. The others are as `disklab export` writes them (docs/FORMAT.md, Tables).
    """
    listed = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    with tempfile.TemporaryDirectory(prefix="disklab-") as folder:
        traces = ["--traces"] if table == "traces" else []
        program.ask(["export", *listed, "--format", "parquet", "--output", folder, *traces])
        tables = Path(folder)
        if frame == "polars":
            if table != "results":
                return _polars(tables, table)
            return _join_polars(_polars(tables, "trials"), _polars(tables, "metrics"))
        if table != "results":
            return _pandas(tables, table)
        return _join_pandas(_pandas(tables, "trials"), _pandas(tables, "metrics"))


def _pandas(folder: Path, table: str) -> pandas.DataFrame:
    try:
        import pandas
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise program.Error(f"a frame of pandas wants {error.name}: pip install 'disklab[pandas]'") from error
    names = pyarrow.schema([("suite", pyarrow.string()), ("run", pyarrow.string())])
    partitions = pyarrow.dataset.partitioning(names, flavor="hive")
    read = pyarrow.dataset.dataset(folder / table, partitioning=partitions).to_table()
    # pandas' own columns of whole numbers have none that is missing: it would make them floating ones, and round them.
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
        raise program.Error("a frame of polars wants polars: pip install 'disklab[polars]'") from error
    files = str(folder / table / "**" / "*.parquet")
    return polars.read_parquet(files, hive_schema={"suite": polars.String, "run": polars.String})


def _join_pandas(trials: pandas.DataFrame, metrics: pandas.DataFrame) -> pandas.DataFrame:
    import pandas

    whole = metrics[metrics["disk"].isna()].pivot(index=NAME, columns="metric", values="value")
    parameters = pandas.DataFrame([_numbers(text) for text in trials.pop("parameters")], index=trials.index)
    return trials.join(parameters).merge(whole, how="left", left_on=NAME, right_index=True)


def _join_polars(trials: polars.DataFrame, metrics: polars.DataFrame) -> polars.DataFrame:
    import polars

    whole = metrics.filter(polars.col("disk").is_null()).pivot("metric", index=NAME, values="value")
    numbers = [_numbers(text) for text in trials["parameters"]]
    names = list(dict.fromkeys(name for row in numbers for name in row))
    columns = [polars.Series(name, [row.get(name) for row in numbers], strict=False) for name in names]
    return trials.drop("parameters").with_columns(columns).join(whole, on=NAME, how="left", maintain_order="left")


def _numbers(parameters: object) -> dict[str, Any]:
    """Of a cell, by axis; text where a value has a unit. What is missing is None to polars and NaN to pandas."""
    told = json.loads(parameters) if isinstance(parameters, str) else {}
    return {name: _number(value) for name, value in told.items()}


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
