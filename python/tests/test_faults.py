"""What fails by a machine's fault is no result, and what fails by its own is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SUITE, Nodes, lines, mounted, raw_outputs

import disklab
from disklab.gatherer import Gatherer
from disklab.progress import Progress
from disklab.question import Question, Settings

SEEDS = 3
# Each trial writes more than the disk below has, once its clock moves.
WRITES = SUITE.replace("seeds = 12", f"seeds = {SEEDS}").replace("20ms", "500ms").replace(', "round-robin:4k"', "") + (
    '"workload.rw" = ["randwrite"]\n'
)


def test_a_disk_that_fills_up_in_a_trial_is_no_result(
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
        assert f"{SEEDS} trials have no result" in said, said
        assert f"on node {tight.node_id[:8]}" in said and "No space left on device" in said, said
        assert f"sweep(..., out={str(record)!r}) runs them again" in said, said
        assert lines(record) == 0
        # With another node the same line goes on.
        roomy = nodes.add("roomy")
        with nodes.occupied(roomy) as let_go:
            remark = Progress.remark

            def remarked(progress: Progress, text: str) -> None:
                remark(progress, text)
                let_go()

            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(Progress, "remark", remarked)
                disklab.sweep(suite, nodes.address, out=record)
    said = capfd.readouterr().err
    assert f"node {tight.node_id[:8]}" in said and "failed and is tried elsewhere" in said, said
    assert roomy.node_id[:8] not in said
    assert raw_outputs(record) == raw_outputs(disklab.sweep(suite, out=tmp_path / "here"))
    assert len(raw_outputs(record)) == 4 * SEEDS


def test_what_failed_is_told_in_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [("a", "failed"), ("b", "failed"), ("a", "ok"), ("c", "ok"), ("d", "failed")]
    text = [json.dumps({"trial": name, "status": status, "reason": f"{name}'s own"}) for name, status in outcomes]
    (tmp_path / "trials.jsonl").write_text("\n".join(text) + '\n{"trial": "e", "sta')
    gatherer = Gatherer.__new__(Gatherer)
    gatherer.record = tmp_path
    Progress(5, 1, 1000).end(gatherer.failed(), tmp_path)
    assert capsys.readouterr().err == (
        "4 of 5 trials, 2 of them failed (b first: b's own); "
        f"sweep(..., out='{tmp_path}', retry_failed=True) runs those again\n"
    )


def test_a_full_disk_below_the_record_is_said(nodes: Nodes, suite: Path, tmp_path: Path) -> None:
    nodes.add("good")
    with mounted(tmp_path / "full", "400k") as folder:
        with pytest.raises(disklab.Error, match="No space left on device") as raised:
            disklab.sweep(suite, nodes.address, out=folder / "record")
        assert str(folder) in str(raised.value)


def test_a_cluster_that_is_not_there_is_said_before_a_record_is_begun(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(disklab.Error, match=r"no Ray cluster answers at 127\.0\.0\.1:1: Connection refused"):
        disklab.sweep(suite, "127.0.0.1:1", out=tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_an_address_of_another_cluster_is_said(nodes: Nodes, suite: Path, tmp_path: Path) -> None:
    node = nodes.add("good")
    with nodes.occupied(node), pytest.raises(disklab.Error, match=r"is on the Ray cluster at .* already"):
        disklab.sweep(suite, "192.0.2.7:6379", out=tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_settings_may_be_numbers() -> None:
    settings: Settings = {
        "workload.iodepth": [1, 4],
        "disk.2.seek": 1.5,
        "policy.small": 1e-07,
        "array": "a,b",
        "x": [True],
    }
    assert Question("suite", settings, 3).options() == [
        *("--set", "workload.iodepth=1,4"),
        *("--set", "disk.2.seek=1.5"),
        *("--set", "policy.small=0.0000001"),
        *("--set", "array=a,b"),
        *("--set", "x=true"),
        *("--seeds", "3"),
    ]
