"""Runs `disklab gather`, which alone writes the record."""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from disklab import program
from disklab.node import ends_with_parent
from disklab.question import Question


class Gatherer:
    """Writes the record of a sweep through `disklab gather`. `begun` lists the trials that it
    lacks.
    """

    def __init__(self, question: Question, out: Path | None, retry_failed: bool) -> None:
        # The file stays open as long as the child may write to it.
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115
        # The end of an error: how to continue a sweep whose record exists.
        self._kept = ""
        folder = [] if out is None else [f"--out={out}"]
        retry = ["--retry-failed"] if retry_failed else []
        self._child = subprocess.Popen(
            [program.find(), "gather", *folder, *retry, *question.words()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            # Ctrl-C is for the caller. The child ends when its input does.
            start_new_session=True,
            preexec_fn=ends_with_parent,
        )
        assert self._child.stdin and self._child.stdout
        self._input, self._output = self._child.stdin, self._child.stdout
        self._ready: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        line = self._output.readline()
        if not line:
            raise self._gone()
        self.begun: dict[str, Any] = json.loads(line)
        self.record = Path(self.begun["record"])
        self._kept = (
            f"; the record keeps its trials, and sweep(..., out={str(self.record)!r}) goes on"
        )
        self.process = self._child.pid
        # The record is locked for this process: an old folder was left by a driver that was killed.
        self._incoming = self.record.parent / f".{self.record.name}.incoming"
        shutil.rmtree(self._incoming, ignore_errors=True)
        try:
            self._incoming.mkdir()
        except OSError as error:
            self.close()
            raise self._no_place(error) from error
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._output:
            # A line is cut off if the child was killed.
            if not line.endswith("\n"):
                break
            said = json.loads(line)
            (self._answers if "part" in said else self._ready).put(said)
        self._answers.put(None)

    def ready(self) -> Iterator[dict[str, Any]]:
        """Yields sets of disks that were prepared since the last call, each with its trials."""
        while True:
            try:
                said = self._ready.get_nowait()
            except queue.Empty:
                return
            if "failed" in said:
                raise program.Error(said["failed"])
            yield said

    def check(self) -> None:
        """Raises an error if the child has ended."""
        if self._child.poll() is not None:
            raise self._gone()

    def add(self, part: bytes, without: Sequence[str] = ()) -> dict[str, Any]:
        """Adds the trials of a packed record, and returns the child's answer, which names them.
        They are then safe on disk.
        """
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(dir=self._incoming))
            _unpack(part, folder)
        except (OSError, tarfile.TarError) as error:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise self._no_place(error) from error
        answer = self._add(folder / "part", without)
        # If Ctrl-C came before the answer, the child may still be reading the folder.
        shutil.rmtree(folder, ignore_errors=True)
        return answer

    def _no_place(self, error: Exception) -> program.Error:
        why = getattr(error, "strerror", None) or error
        return program.Error(
            f"cannot write a node's results to {self._incoming}: {why}; the record keeps its "
            f"trials: free some space there, and sweep(..., out={str(self.record)!r}) goes on"
        )

    def _add(self, part: Path, without: Sequence[str]) -> dict[str, Any]:
        try:
            print(
                json.dumps({"part": str(part), "without": list(without)}),
                file=self._input,
                flush=True,
            )
        except BrokenPipeError:
            raise self._gone() from None
        while True:
            answer = self._answers.get()
            if answer is None:
                raise self._gone()
            if "conflict" in answer:
                raise program.Error(answer["conflict"])
            # The first answers may be those to parts that were interrupted by Ctrl-C.
            if answer["part"] == str(part):
                return answer

    def close(self) -> None:
        # If the child is gone, nobody needs the input that was not sent yet.
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        self._child.wait()
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _gone(self) -> program.Error:
        code = self._child.wait()
        self._stderr.seek(0)
        said = program.complaint(self._stderr.read())
        return program.Error(
            said or f"disklab gather ended with {code} without a message{self._kept}"
        )


def _unpack(part: bytes, folder: Path) -> None:
    packed = folder / "packed"
    packed.write_bytes(part)
    with tarfile.open(packed) as archive:
        # Older versions of Python have no filters. The archives come from nodes of this sweep.
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    packed.unlink()
