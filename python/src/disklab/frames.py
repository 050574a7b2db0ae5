"""Records as frames of pandas or polars."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from disklab import program

if TYPE_CHECKING:
    import pandas
    import polars

Table = Literal["trials", "histograms", "traces"]


def load(
    runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    table: Table = "trials",
    frame: Literal["pandas", "polars"] = "pandas",
) -> pandas.DataFrame | polars.DataFrame:
    """A table of one record or several, as `disklab export` writes it (docs/FORMAT.md)."""
    listed = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    with tempfile.TemporaryDirectory(prefix="disklab-") as folder:
        program.ask(["export", *listed, "--format", "parquet", "-o", folder + "/export"])
        files = sorted((Path(folder) / "export" / table).rglob("*.parquet"))
        return _read(files, frame)


def _read(files: list[Path], frame: str) -> pandas.DataFrame | polars.DataFrame:
    if frame == "polars":
        import polars

        return polars.read_parquet(files, hive_partitioning=True)
    import pyarrow.dataset

    return pyarrow.dataset.dataset(files, partitioning="hive").to_table().to_pandas()
