"""Frames have the record's numbers, to the last digit."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TRIALS

import disklab
from disklab import program
from disklab.frames import Frame


def rows(frame: object) -> list[dict[str, object]]:
    """What is missing is None, which pandas writes as NaN."""
    if not hasattr(frame, "iloc"):
        return frame.to_dicts()  # type: ignore[attr-defined]
    told = frame.to_dict("records")  # type: ignore[attr-defined]
    return [{name: None if value != value else value for name, value in row.items()} for row in told]


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
