"""`disklab gather`, which alone writes the record."""

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
    """The record of a sweep while it is written: `begun` says what it lacks."""

    def __init__(self, question: Question, out: Path | None, retry_failed: bool) -> None:
        # Open as long as the child may write.
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115
        # How a sweep goes on whose record is there.
        self._kept = ""
        folder = [] if out is None else [f"--out={out}"]
        retry = ["--retry-failed"] if retry_failed else []
        self._child = subprocess.Popen(
            [program.find(), "gather", *folder, *retry, *question.words()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            # Ctrl-C is for whoever asked; this ends when its input does.
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
            f"; what is in the record is kept, and sweep(..., out={str(self.record)!r}) goes on"
        )
        self.process = self._child.pid
        # The record's lock is ours: what is there was left by a driver that was killed.
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
            # It was killed.
            if not line.endswith("\n"):
                break
            said = json.loads(line)
            (self._answers if "part" in said else self._ready).put(said)
        self._answers.put(None)

    def ready(self) -> Iterator[dict[str, Any]]:
        """Sets of prepared disks, and their trials, that are there since this was last asked."""
        while True:
            try:
                said = self._ready.get_nowait()
            except queue.Empty:
                return
            if "failed" in said:
                raise program.Error(said["failed"])
            yield said

    def check(self) -> None:
        """That it is still there."""
        if self._child.poll() is not None:
            raise self._gone()

    def add(self, part: bytes, without: Sequence[str] = ()) -> dict[str, Any]:
        """Adds the trials of a packed record, and says which those are; when this returns they are
        safe on disk.
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
        # Without an answer, after Ctrl-C, it may be read still.
        shutil.rmtree(folder, ignore_errors=True)
        return answer

    def _no_place(self, error: Exception) -> program.Error:
        why = getattr(error, "strerror", None) or error
        return program.Error(
            f"what came from a node cannot be written to {self._incoming}: {why}; "
            f"what is in the record is kept: make "
            f"room there, and sweep(..., out={str(self.record)!r}) goes on"
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
            # Ctrl-C may have come before the answer to an earlier one.
            if answer["part"] == str(part):
                return answer

    def close(self) -> None:
        # Of one that is gone, what is not sent yet is of no use.
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        self._child.wait()
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _gone(self) -> program.Error:
        code = self._child.wait()
        self._stderr.seek(0)
        said = program.complaint(self._stderr.read())
        return program.Error(
            said or f"disklab gather ended with {code} and said nothing{self._kept}"
        )


def _unpack(part: bytes, folder: Path) -> None:
    packed = folder / "packed"
    packed.write_bytes(part)
    with tarfile.open(packed) as archive:
        # Older Pythons have no filters; what comes is from nodes of ours.
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    packed.unlink()
