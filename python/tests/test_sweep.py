"""Tests that a sweep ends with the same record wherever it ran, and whatever happened to nodes and
driver.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import TRIALS, Nodes, assert_same, driver, lines, raw_outputs, wait_for

import disklab
from disklab.gatherer import Gatherer
from disklab.progress import Progress


def test_a_node_that_is_killed_half_way_changes_nothing(
    nodes: Nodes, suite: Path, here: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    nodes.add("stays")
    dies = nodes.add("dies")
    record = tmp_path / "record"

    def kill() -> None:
        wait_for(record, TRIALS // 4)
        nodes.wait_for_work("dies")
        nodes.kill(dies)

    killer = threading.Thread(target=kill)
    killer.start()
    assert disklab.sweep(suite, nodes.address, out=record) == record
    killer.join()
    # Either the node that died is reported, or the worker that was lost with its trials.
    assert " was lost" in capfd.readouterr().err
    assert_same(here, record)
    assert lines(record) == TRIALS
    assert not (tmp_path / ".record.incoming").exists()


def test_a_cluster_without_a_node_is_waited_for_and_told(
    nodes: Nodes,
    suite: Path,
    here: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only = nodes.add("only")
    remark = Progress.remark

    def remarked(progress: Progress, text: str) -> None:
        remark(progress, text)
        if text.startswith("the cluster has no node"):
            nodes.add("another")

    monkeypatch.setattr(Progress, "remark", remarked)

    def kill() -> None:
        nodes.wait_for_work("only")
        nodes.kill(only)

    killer = threading.Thread(target=kill)
    killer.start()
    record = disklab.sweep(suite, nodes.address, out=tmp_path / "record")
    killer.join()
    said = capfd.readouterr().err
    assert said.count("disklab: the cluster has no node with a processor; the sweep waits") == 1, (
        said
    )
    assert said.count(" has joined; the sweep goes on\n") == 1, said
    assert "its trials go to the others" not in said
    assert_same(here, record)


def test_the_last_line_counts_what_is_in_the_record(
    nodes: Nodes,
    suite: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests that trials are counted that were added in the moment of Ctrl-C."""
    nodes.add("steady")
    record = tmp_path / "record"
    add = Gatherer.add

    def interrupted(gatherer: Gatherer, part: bytes, without: Sequence[str] = ()) -> dict[str, Any]:
        answer = add(gatherer, part, without)
        monkeypatch.setattr(Gatherer, "add", add)
        raise KeyboardInterrupt(answer)

    monkeypatch.setattr(Gatherer, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        disklab.sweep(suite, nodes.address, out=record)
    assert lines(record) > 0
    assert capfd.readouterr().err.endswith(f"\n{lines(record)} of {TRIALS} trials\n")


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_driver_that_ends_early_loses_nothing(
    nodes: Nodes, suite: Path, here: Path, tmp_path: Path, sign: signal.Signals
) -> None:
    nodes.add("steady")
    record = tmp_path / "record"
    first = driver(nodes.address, suite, record)
    wait_for(record, 1)
    first.send_signal(sign)
    _, said = first.communicate(timeout=60)
    assert first.returncode != 0
    if sign == signal.SIGINT:
        assert f"sweep(..., out='{record}') goes on" in said
        assert said.splitlines()[-1] == "KeyboardInterrupt"
        assert f"\n{lines(record)} of {TRIALS} trials\n" in said, said
    kept = raw_outputs(record)
    assert 0 < len(kept) < 4 * TRIALS
    assert disklab.sweep(suite, nodes.address, out=record) == record
    assert_same(here, record)
    # Trials of the record were not run again.
    assert lines(record) == TRIALS
    assert kept.items() <= raw_outputs(record).items()
