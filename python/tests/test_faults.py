"""Tests that failures by a machine's fault are not results, and that failures by a trial's own
fault are reported.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest
from conftest import SUITE, Nodes, lines, mounted, raw_outputs, wait_for

import disklab
from disklab.connection import _why
from disklab.gatherer import Gatherer
from disklab.outcomes import Outcomes
from disklab.progress import Progress
from disklab.question import Question, Settings

SEEDS = 3
# Each trial writes more than the small disk below can hold, once its clock moves.
WRITES = SUITE.replace("seeds = 12", f"seeds = {SEEDS}").replace("20ms", "500ms").replace(
    ', "round-robin:4k"', ""
) + ('"workload.rw" = ["randwrite"]\n')


@contextlib.contextmanager
def occupied_until_a_remark(nodes: Nodes, node: Any) -> Iterator[None]:
    """Keeps a node busy until the sweep prints a remark, so that it begins on other nodes."""
    with nodes.occupied(node) as let_go:
        remark = Progress.remark

        def remarked(progress: Progress, text: str) -> None:
            remark(progress, text)
            let_go()

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Progress, "remark", remarked)
            yield


def test_a_node_whose_disk_fills_up_in_a_trial_is_left_out(
    nodes: Nodes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "writes.toml"
    suite.write_text(WRITES)
    record = tmp_path / "record"
    with mounted(tmp_path / "tight", "140m") as cache:
        tight = nodes.add("tight", cache=cache)
        with pytest.raises(disklab.Error) as raised:
            disklab.sweep(suite, nodes.address, out=record)
        said = str(raised.value)
        assert "no node is left that can run trials" in said, said
        assert f"node {tight.node_id[:8]}" in said and "No space left on device" in said, said
        assert "free some space there" in said, said
        assert lines(record) == 0
        # With another node, the same call continues the sweep.
        roomy = nodes.add("roomy")
        with occupied_until_a_remark(nodes, roomy):
            disklab.sweep(suite, nodes.address, out=record)
    said = capfd.readouterr().err
    assert f"node {tight.node_id[:8]}" in said and "its trials go to the others" in said, said
    assert roomy.node_id[:8] not in said
    assert raw_outputs(record) == raw_outputs(disklab.sweep(suite, out=tmp_path / "here"))
    assert len(raw_outputs(record)) == 4 * SEEDS


@contextlib.contextmanager
def guests_killed(kernels: Path) -> Iterator[None]:
    """Kills guests whose kernel is below a folder, as a system without memory does."""
    done = threading.Event()

    def kill() -> None:
        while not done.wait(0.01):
            subprocess.run(["pkill", "-KILL", "-f", f"^{kernels}/"], check=False)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        done.set()
        killer.join()


def test_a_trial_whose_guest_is_killed_is_no_result(
    nodes: Nodes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "reads.toml"
    suite.write_text(SUITE.replace("seeds = 12", f"seeds = {SEEDS}"))
    record = tmp_path / "record"
    cache = tmp_path / "deadly"
    deadly = nodes.add("deadly", cache=cache)
    with guests_killed(cache / "disklab" / "kernels"):
        with pytest.raises(disklab.Error) as raised:
            disklab.sweep(suite, nodes.address, out=record)
        said = str(raised.value)
        assert f"{2 * SEEDS} trials have no result" in said, said
        assert f"on node {deadly.node_id[:8]}" in said and "SIGKILL" in said, said
        assert f"sweep(..., out={str(record)!r}) runs them again" in said, said
        assert lines(record) == 0
        with occupied_until_a_remark(nodes, nodes.add("other")):
            disklab.sweep(suite, nodes.address, out=record)
    assert "failed and is tried elsewhere" in capfd.readouterr().err
    assert lines(record) == 2 * SEEDS


def recorded(record: Path, outcomes: list[tuple[str, str, str | None]]) -> None:
    """Writes these trials, each with its status and its fault, and a line that is cut off."""
    told = [
        {"trial": name, "status": status, "reason": f"{name}'s own", "fault": fault}
        for name, status, fault in outcomes
    ]
    record.mkdir(exist_ok=True)
    (record / "trials.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in told) + '{"trial": "e", "sta'
    )


OWN: list[tuple[str, str, str | None]] = [
    *[("a", "failed", "machine"), ("b", "failed", "trial"), ("a", "ok", None), ("c", "ok", None)],
    *[("d", "failed", "trial"), ("e", "interrupted", None)],
]


def test_what_failed_is_told_in_the_end(tmp_path: Path) -> None:
    recorded(tmp_path, OWN)
    outcomes = Outcomes.read(tmp_path)
    outcomes.complain()
    assert outcomes.line(5) == (
        "4 of 5 trials, 2 of them failed (b first: b's own); "
        f"sweep(..., out='{tmp_path}', retry_failed=True) runs those again"
    )


def test_what_may_be_the_machines_fault_is_an_error(tmp_path: Path) -> None:
    recorded(tmp_path, [*OWN, ("c", "failed", "machine")])
    outcomes = Outcomes.read(tmp_path)
    assert outcomes.line(5).startswith("3 of 5 trials, 2 of them failed (b first")
    with pytest.raises(disklab.Error) as raised:
        outcomes.complain()
    said = str(raised.value)
    assert "1 trial has no result" in said and "\nc: c's own" in said, said
    assert f"sweep(..., out='{tmp_path}', retry_failed=True) runs them again" in said, said


def test_a_full_disk_below_a_record_made_here_is_an_error(
    suite: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with mounted(tmp_path / "full", "3m") as folder:
        goes_on = r"the record keeps its trials, and sweep\(\.\.\., out='.*/record'\) goes on"
        with pytest.raises(disklab.Error, match=rf"ended with 5; {goes_on}"):
            disklab.sweep(suite, settings={"policy": "pid"}, out=folder / "record")
        assert lines(folder / "record") == 0
    said = capfd.readouterr().err
    assert re.search(r"error: .* needs about \d+ MiB in .*, and .* are free; free some", said), said
    assert said.endswith("0 of 12 trials\n"), said


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces the real program: it plans five trials, and runs them by a shell script."""

    def make(script: str) -> None:
        path = tmp_path / "disklab"
        path.write_text(
            '#!/bin/sh\ncase "$*" in *plan*) '
            'echo \'{"kernels": [], "trials": [1, 2, 3, 4, 5]}\'; exit;; esac\n' + script
        )
        path.chmod(0o755)
        monkeypatch.setenv("DISKLAB_PROGRAM", str(path))

    return make


def test_what_failed_here_by_itself_is_told(
    program: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record"
    recorded(record, OWN)
    program(f"""echo '{{"record": "{record}"}}'; exit 1""")
    assert disklab.sweep("suite") == record
    assert capsys.readouterr().err.startswith(
        "4 of 5 trials, 2 of them failed (b first: b's own); sweep("
    )


def test_a_program_that_could_not_go_on_is_an_error(program: Any, tmp_path: Path) -> None:
    record = tmp_path / "record"
    recorded(record, OWN)
    program(f"""echo '{{"record": "{record}"}}'; exit 5""")
    with pytest.raises(
        disklab.Error,
        match=r"ended with 5; the record keeps .*, and sweep\(\.\.\., out='.*/record'\) goes on",
    ):
        disklab.sweep("suite")
    program("kill -9 $$")
    with pytest.raises(disklab.Error, match="ended with -9 without a message"):
        disklab.sweep("suite")


def test_ctrl_c_here_says_what_is_kept(suite: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    text = f"import disklab; disklab.sweep({str(suite)!r}, out={str(record)!r}, jobs=1)"
    here = subprocess.Popen(
        [sys.executable, "-c", text], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(record, 1)
    here.send_signal(signal.SIGINT)
    _, said = here.communicate(timeout=60)
    assert here.returncode != 0
    assert (
        f"disklab: interrupted; trials that ended are kept, and sweep(..., out='{record}') goes on"
        in said
    ), said
    assert f"\n{Outcomes.read(record).ended} of 24 trials\n" in said, said


def test_a_gatherer_that_is_killed_says_what_is_kept(suite: Path, tmp_path: Path) -> None:
    gatherer = Gatherer(Question(str(suite), {}, None), tmp_path / "record", False)
    os.kill(gatherer.process, signal.SIGKILL)
    try:
        with pytest.raises(
            disklab.Error,
            match=r"ended with -9 without a message; .* keeps .*, and sweep\(.*/record'\) goes on",
        ):
            while True:
                gatherer.check()
    finally:
        gatherer.close()


@pytest.mark.parametrize("half", ["", '{"part": "'], ids=["between", "within a line"])
def test_an_answer_that_never_comes_is_not_waited_for(
    program: Any, tmp_path: Path, half: str
) -> None:
    (tmp_path / "part").write_bytes(b"")
    packed = subprocess.run(
        ["tar", "-C", tmp_path, "-c", "part"], capture_output=True, check=True
    ).stdout
    program(
        f"""echo '{{"record": "{tmp_path}/record"}}'; read part; printf '%s' '{half}'; kill -9 $$"""
    )
    gatherer = Gatherer(Question("suite", {}, None), None, False)
    try:
        with pytest.raises(disklab.Error, match="ended with -9"):
            gatherer.add(packed)
    finally:
        gatherer.close()


def test_the_answer_to_an_earlier_part_is_not_taken_for_a_later_ones(
    program: Any, tmp_path: Path
) -> None:
    """Tests the case in which Ctrl-C came between the two parts."""
    (tmp_path / "part").write_bytes(b"")
    packed = subprocess.run(
        ["tar", "-C", tmp_path, "-c", "part"], capture_output=True, check=True
    ).stdout
    program(
        f"""echo '{{"record": "{tmp_path}/record"}}'; echo '{{"part": "earlier", "added": ["a"]}}';
        read part
part=${{part%/part*}}; echo '{{"part": "'"${{part#*: \\"}}"'/part", "added": ["b"]}}'; read part"""
    )
    gatherer = Gatherer(Question("suite", {}, None), None, False)
    try:
        assert gatherer.add(packed)["added"] == ["b"]
    finally:
        gatherer.close()


def test_a_full_disk_below_the_record_is_said(nodes: Nodes, suite: Path, tmp_path: Path) -> None:
    nodes.add("good")
    with mounted(tmp_path / "full", "400k") as folder:
        with pytest.raises(disklab.Error, match="No space left on device") as raised:
            disklab.sweep(suite, nodes.address, out=folder / "record")
        assert str(folder) in str(raised.value)


def test_a_cluster_that_is_not_there_is_said_before_a_record_is_begun(
    suite: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        disklab.Error, match=r"no Ray cluster answers at 127\.0\.0\.1:1: Connection refused"
    ):
        disklab.sweep(suite, "127.0.0.1:1", out=tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_an_address_of_another_cluster_is_said(nodes: Nodes, suite: Path, tmp_path: Path) -> None:
    node = nodes.add("good")
    with (
        nodes.occupied(node),
        pytest.raises(disklab.Error, match=r"this process is on the one at .* already"),
    ):
        disklab.sweep(suite, "192.0.2.7:6379", out=tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_settings_may_be_numbers() -> None:
    settings: Settings = {
        "workload.iodepth": [1, 4],
        "disk.2.seek": 1.5,
        "policy.small": 1e-07,
        "array": "a,b",
        "x": [True],
        "y": numpy.array([1, 4]),
        "z": (numpy.float32(0.1), numpy.int64(4), numpy.bool_(False), Decimal("1e3")),
        "disks": numpy.int64(4),
    }
    assert Question("suite", settings, 3).options() == [
        *("--set", "workload.iodepth=1,4"),
        *("--set", "disk.2.seek=1.5"),
        *("--set", "policy.small=0.0000001"),
        *("--set", "array=a,b"),
        *("--set", "x=true"),
        *("--set", "y=1,4"),
        *("--set", "z=0.1,4,false,1000"),
        *("--set", "disks=4"),
        *("--seeds", "3"),
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"linear": [1, 4], "steps": 3},
            r"settings: workload\.iodepth: a range can be given in a suite's file only",
        ),
        ([None], r"settings: workload\.iodepth: None is neither a number nor a text"),
        ([[1, 4]], r"settings: workload\.iodepth: \[1, 4\] is neither"),
    ],
)
def test_settings_that_are_no_values_are_said(value: Any, said: str) -> None:
    with pytest.raises(disklab.Error, match=said):
        disklab.sweep("smoke", settings={"workload.iodepth": value})


def test_a_name_that_begins_with_a_dash_is_a_name(nodes: Nodes, tmp_path: Path) -> None:
    for address in (None, nodes.address):
        with pytest.raises(disklab.Error, match="unknown suite `--help`"):
            disklab.sweep("--help", address, out=tmp_path / "record")
    with pytest.raises(disklab.Error, match="--help"):
        disklab.load("--help")


def joined(cause: str) -> Exception:
    """Returns the error with which Ray reports that it cannot join a cluster."""
    try:
        try:
            raise RuntimeError(cause)
        except RuntimeError as error:
            raise ConnectionError("Failed to connect") from error
    except ConnectionError as error:
        return error


def test_a_cluster_that_wants_a_token_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # In some versions of Ray, a text is all that is left of the cause.
    trace = (
        "cannot: Traceback:\n  File x\nray.exceptions.AuthenticationError: the token is missing\n"
    )
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    said = "Failed to connect: ray.exceptions.AuthenticationError: the token is missing"
    assert _why(joined(trace)) == f"{said}; the cluster needs a token: set RAY_AUTH_MODE=token"
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert _why(joined(trace)) == said
    assert _why(joined("nobody is there")).startswith(
        "Failed to connect: RuntimeError: nobody is there; `ray start --head`"
    )
