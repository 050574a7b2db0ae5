"""Finds and calls the disklab program that comes with this package, and reads its answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Error(Exception):
    """An error: what was tried, on what, what went wrong, and what to do."""


def find() -> Path:
    """Returns the path of the program: `$DISKLAB_PROGRAM`, else the one that was installed with
    this package, else the first in `$PATH`.
    """
    named = os.environ.get("DISKLAB_PROGRAM")
    if named:
        if os.access(named, os.X_OK):
            return Path(named).resolve()
        raise Error(f"DISKLAB_PROGRAM={named} is not a program that can run; unset it, or name one")
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        beside = Path(folder) / "disklab"
        if os.access(beside, os.X_OK):
            return beside
    in_path = shutil.which("disklab")
    if in_path is None:
        raise Error(
            "found no program `disklab` beside Python or in PATH; install the wheel that has it "
            "(python/README.md)"
        )
    return Path(in_path)


def ask(arguments: Sequence[str | os.PathLike[str]]) -> Any:
    """Runs the program, and returns its answer, which is JSON."""
    command = [find(), "--json", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Error(
            complaint(done.stderr)
            or f"{_shown(command)} ended with {done.returncode} without a message"
        )
    return answer(done.stdout)


def answer(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError as error:
        raise Error(
            f"cannot read the answer of disklab, which is not JSON: {said[:200]!r}; install a "
            "program and a package of the same version"
        ) from error


def version() -> str:
    """Returns the line that `disklab --version` prints."""
    return subprocess.run(
        [find(), "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def tell(arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Runs a command of the program that may take long. The program reports its progress itself."""
    command = [find(), *arguments]
    code = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), check=False
    ).returncode
    if code != 0:
        raise Error(f"{_shown(command)} ended with {code}; its message is above")


def complaint(stderr: str) -> str:
    """Returns the program's error message, without its prefix."""
    return stderr.strip().removeprefix("error: ")


def _shown(command: Sequence[str | os.PathLike[str]]) -> str:
    return "`" + " ".join(os.fspath(word) for word in command) + "`"
