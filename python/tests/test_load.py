"""Tests that frames have the record's numbers, to the last digit."""

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
from disklab.frames import Frame, Table


def rows(frame: object) -> list[dict[str, object]]:
    """Returns rows with None for missing values, which pandas writes as NaN."""
    if isinstance(frame, polars.DataFrame):
        return frame.to_dicts()
    assert isinstance(frame, pandas.DataFrame)
    told = frame.to_dict("records")
    return [
        {str(name): None if pandas.isna(value) else value for name, value in row.items()}
        for row in told
    ]


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
    counted = [row for row in bins if row["trial"] == trial and row["latency"] == "clat"]
    found = sum(row["requests"] for row in counted)  # type: ignore[misc]
    assert found == sum(report["jobs"][0]["read"]["clat_ns"]["bins"].values())
    told = subprocess.run(
        [program.find(), "trace", here, trial], capture_output=True, text=True, check=True
    ).stdout
    requests = [
        row
        for row in rows(disklab.load(here, "traces", frame))
        if row["trial"] == trial and not row["mark"]
    ]
    names = ("sector", "sectors", "submitted_ns", "started_ns", "ended_ns")
    expected = [
        [int(row[name]) for name in names]
        for row in csv.DictReader(io.StringIO(told))
        if row["disk"]
    ]
    assert [[row[name] for name in names] for row in requests] == expected
    assert len(expected) > 100


def test_several_records_are_one_table(here: Path, tmp_path: Path) -> None:
    shutil.copytree(here, tmp_path / "again")
    # A record that is given by two paths is loaded once.
    (tmp_path / "link").symlink_to(here)
    both = disklab.load([here, tmp_path / "again", tmp_path / "link"])
    assert len(both) == 2 * TRIALS
    assert sorted(both["run"].unique()) == ["again", "record"]


def test_what_is_no_record_is_said(tmp_path: Path) -> None:
    with pytest.raises(disklab.Error, match="is not a record"):
        disklab.load(tmp_path)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@pytest.mark.parametrize("table", ["results", "trials", "metrics", "histograms", "traces"])
def test_a_record_without_trials_is_an_empty_frame(
    here: Path, tmp_path: Path, table: Table, frame: Frame
) -> None:
    shutil.copytree(here, tmp_path / "empty", ignore=shutil.ignore_patterns("raw"))
    (tmp_path / "empty" / "trials.jsonl").write_text("")
    (tmp_path / "empty" / "trials.last").write_text('{"lines":0,"chain":""}\n')
    (tmp_path / "empty" / "raw").mkdir()
    found = disklab.load(tmp_path / "empty", table, frame)
    assert len(found) == 0
    assert {"trial", "suite", "run"} <= set(found.columns)


def test_what_there_is_none_of_is_said(here: Path) -> None:
    for table in ("no", "../../etc"):
        with pytest.raises(
            disklab.Error, match=f"unknown table '{table}'; known: results, trials, metrics"
        ):
            disklab.load(here, table)  # type: ignore[arg-type]
    with pytest.raises(disklab.Error, match="unknown frame 'spark'; known: pandas, polars"):
        disklab.load(here, frame="spark")  # type: ignore[arg-type]


AXES: dict[str, tuple[list[str | None], list[object]]] = {
    "ramp": (["0", "9ms", "1.5us", "60s"], [0, 9_000_000, 1_500, 60_000_000_000]),
    "memory": (
        ["900MiB", "1GiB", "1.5GB", "1000000000"],
        [900 << 20, 1 << 30, 1_500_000_000, 1_000_000_000],
    ),
    "device.rate_outer": (["210MB/s", "190MiB/s", "0", "4kB/s"], [210_000_000, 190 << 20, 0, 4000]),
    "disk.2.seek": (["1", "1.414", "2", None], [1.0, 1.414, 2.0, None]),
    "disks": (["2", None, "4", "8"], [2, None, 4, 8]),
    "scheduler.mixed": (["1", "9ms", "2", "4"], ["1", "9ms", "2", "4"]),
    "policy.both": (["9ms", "4KiB", "0", "0"], ["9ms", "4KiB", "0", "0"]),
    "workload.rw": (["randread", "1", None, "8"], ["randread", "1", None, "8"]),
}


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_axes_over_numbers_have_numbers(
    tmp_path: Path, frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        {axis: values[at] for axis, (values, _) in AXES.items() if values[at] is not None}
        for at in range(4)
    ]
    trials = {
        "trial": list("abcd"),
        "jobs": ["1", "16", None, "4"],
        "parameters": [json.dumps(cell) for cell in cells],
    }
    metrics = {
        "trial": list("abcd"),
        "disk": [None] * 4,
        "metric": ["iops"] * 4,
        "value": [1.0, 2.0, 3.0, 4.0],
    }
    text, number = pyarrow.string(), pyarrow.float64()
    schemas = {
        "trials": (trials, pyarrow.schema([(name, text) for name in trials])),
        "metrics": (
            metrics,
            pyarrow.schema([(name, number if name == "value" else text) for name in metrics]),
        ),
    }

    def export(words: list[str]) -> None:
        for table, (columns, schema) in schemas.items():
            folder = Path(words[words.index("--output") + 1]) / table / "suite=s" / "run=r"
            folder.mkdir(parents=True)
            pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), folder / "0.parquet")

    monkeypatch.setattr(program, "ask", export)
    found = disklab.load(tmp_path, frame=frame)
    told = rows(found)
    for axis, (_, expected) in AXES.items():
        assert [row[axis] for row in told] == expected, axis
    assert [row["jobs"] for row in told] == [1, 16, None, 4]
    kinds = {name: str(kind).lower() for name, kind in zip(found.columns, found.dtypes)}
    assert {name for name, kind in kinds.items() if kind == "int64"} == {
        *("jobs", "ramp", "memory", "device.rate_outer", "disks")
    }
    assert {name for name, kind in kinds.items() if kind == "float64"} == {"disk.2.seek", "iops"}


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_whole_numbers_beside_missing_ones_are_not_rounded(
    tmp_path: Path, frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests numbers that a floating number cannot hold, in a column with missing values such as
    those of a trace's marks.
    """
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
