"""A sweep ends with the same record wherever it ran, whatever happened to nodes and driver."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest
from conftest import TRIALS, Nodes, assert_same, driver, lines, raw_outputs

import disklab


def wait_for(record: Path, count: int) -> None:
    begun = time.monotonic()
    while lines(record) < count:
        assert time.monotonic() - begun < 120, f"{lines(record)} trials in two minutes"
        time.sleep(0.02)


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
    # By the node that died, or by the worker whose trials went with it.
    assert " was lost" in capfd.readouterr().err
    assert_same(here, record)
    assert lines(record) == TRIALS
    assert not (tmp_path / ".record.incoming").exists()


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
    kept = raw_outputs(record)
    assert 0 < len(kept) < 4 * TRIALS
    assert disklab.sweep(suite, nodes.address, out=record) == record
    assert_same(here, record)
    # What was there was not run again.
    assert lines(record) == TRIALS
    assert kept.items() <= raw_outputs(record).items()
