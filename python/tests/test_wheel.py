"""Tests the wheel: one line runs the suite of `make demo` in a bare environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_bare_environment_runs_the_demo(tmp_path: Path) -> None:
    wheel = os.environ.get("DISKLAB_WHEEL")
    if not wheel:
        pytest.skip("DISKLAB_WHEEL names no wheel; `make test-python` makes one")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--python",
        python,
    ]
    subprocess.run([*pip, "install", "--no-index", Path(wheel).absolute()], check=True)
    # These variables would lead to the source or to another program.
    left_out = ("PYTHONPATH", "DISKLAB_PROGRAM", "DISKLAB_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    # One seed instead of three takes a third of the time.
    line = "import disklab; print(disklab.sweep('read-policy-quick', seeds=1))"
    done = subprocess.run(
        [python, "-c", line],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record = tmp_path / done.stdout.strip()
    lines = [json.loads(line) for line in (record / "trials.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["ok"] * 36
