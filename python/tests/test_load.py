"""Frames have the record's numbers, to the last digit."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import TRIALS

import disklab
from disklab import program
from disklab.frames import Frame


def rows(frame: object) -> list[dict[str, object]]:
    """What is missing is None, which pandas writes as NaN."""
    if isinstance(frame, polars.DataFrame):
        return frame.to_dicts()
    assert isinstance(frame, pandas.DataFrame)
    told = frame.to_dict("records")
    return [{str(name): None if pandas.isna(value) else value for name, value in row.items()} for row in told]


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_results_are_the_records(here: Path, frame: Frame) -> None:
    results = {row["trial"]: row for row in rows(disklab.load(here, frame=frame))}
    lines = [json.loads(line) for line in (here / "trials.jsonl").read_text().splitlines()]
    assert len(results) == len(lines) == TRIALS
    for line in lines:
        row = results[line["trial"]]
        assert (row["key"], row["policy"], row["seed_index"]) == (
            line["key"],
            line["cell"]["policy"],
            line["seed_index"],
        )
        for name in ("iops", "bw_bytes", "lat_mean_ns", "p50_ns", "p99_ns"):
            assert row[name] == line["sample"][name], name
        assert row["read.iops"] == line["sample"]["read"]["iops"]


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_histograms_and_traces_are_the_raw_outputs(here: Path, frame: Frame) -> None:
    trial = json.loads((here / "trials.jsonl").read_text().splitlines()[0])["trial"]
    bins = rows(disklab.load(here, "histograms", frame))
    report = json.loads((here / "raw" / trial / "fio.json").read_text())
    found = sum(row["requests"] for row in bins if row["trial"] == trial and row["latency"] == "clat")  # type: ignore[misc]
    assert found == sum(report["jobs"][0]["read"]["clat_ns"]["bins"].values())
    told = subprocess.run([program.find(), "trace", here, trial], capture_output=True, text=True, check=True).stdout
    requests = [row for row in rows(disklab.load(here, "traces", frame)) if row["trial"] == trial and not row["mark"]]
    names = ("sector", "sectors", "submitted_ns", "started_ns", "ended_ns")
    expected = [[int(row[name]) for name in names] for row in csv.DictReader(io.StringIO(told)) if row["disk"]]
    assert [[row[name] for name in names] for row in requests] == expected
    assert len(expected) > 100


def test_several_records_are_one_table(here: Path, tmp_path: Path) -> None:
    shutil.copytree(here, tmp_path / "again")
    # Named twice, in two ways, it is one.
    (tmp_path / "link").symlink_to(here)
    both = disklab.load([here, tmp_path / "again", tmp_path / "link"])
    assert len(both) == 2 * TRIALS
    assert sorted(both["run"].unique()) == ["again", "record"]


def test_what_is_no_record_is_said(tmp_path: Path) -> None:
    with pytest.raises(disklab.Error, match="is not a record"):
        disklab.load(tmp_path)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_whole_numbers_beside_missing_ones_are_not_rounded(
    tmp_path: Path, frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a floating number holds, in a column where another is missing, as a trace's marks have none."""
    number = 2**53 + 1
    rows_there = {"started_ns": [number, None], "fua": [True, None]}
    schema = pyarrow.schema([("started_ns", pyarrow.uint64()), ("fua", pyarrow.bool_())])

    def export(words: list[str]) -> None:
        folder = Path(words[words.index("--output") + 1]) / "traces" / "suite=s" / "run=r"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table(rows_there, schema=schema), folder / "0.parquet")

    monkeypatch.setattr(program, "ask", export)
    found = rows(disklab.load(tmp_path, "traces", frame))
    assert [(row["started_ns"], row["fua"]) for row in found] == [(number, True), (None, None)]
