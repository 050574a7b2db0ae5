"""Runs a batch of trials on a node of a cluster, with the program that is installed there.

The module is sent to the nodes as it is, so that a node without this package can report that. It
uses the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import importlib.util
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Largest number of bytes of files in one piece of a parcel, before compression.
PIECE = 32 << 20
_PR_SET_PDEATHSIG = 1
_checked: dict[str, str] = {}
# Number of trials that a node runs at a time, by its id.
_guests: dict[str, int] = {}


class Problem(Exception):
    """A reason why this node cannot run trials. Another node may be able to."""


def task(order: dict[str, Any]) -> dict[str, Any]:
    """Runs an order as a task of Ray, and adds the node's id to the answer."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    try:
        if node not in _guests:
            _guests[node] = next(
                int(there["Resources"].get("CPU", 1))
                for there in ray.nodes()
                if there["NodeID"] == node
            )
        answer = run({**order, "guests": _guests[node]}, ray.get)
    except Exception as error:
        # The error may be the node's or the program's; without the node's name nobody could tell
        # which.
        answer = {
            "problem": f"running a batch failed: {type(error).__name__}: {error}; Ray's log of "
            "this node says more"
        }
    answer["node"] = node
    return answer


def run(order: dict[str, Any], fetch: Callable[[Any], bytes]) -> dict[str, Any]:
    """Runs the trials of an order, and returns their record, or what the node lacks, or why the
    node cannot run them.

    `fetch` returns a piece of a parcel by its reference in the order.
    """
    answer: dict[str, Any] = {"host": socket.gethostname()}
    try:
        program = _program(order)
        cache = _cache()
        with _shared(cache / "in-use"), _scratch(cache / "trials") as scratch:
            lacking = [
                parcel["name"] for parcel in order["parcels"] if not _unpacked(parcel, cache, fetch)
            ]
            if lacking:
                answer["lacking"] = lacking
            else:
                answer.update(_run(program, order, scratch, cache, fetch))
    except Problem as problem:
        answer["problem"] = str(problem)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        answer["problem"] = f"{where}{error.strerror or error}"
    return answer


def _program(order: dict[str, Any]) -> Path:
    """Returns the path of the program, which has to have the driver's version and disk library."""
    if importlib.util.find_spec("disklab") is None and not os.environ.get("DISKLAB_PROGRAM"):
        raise Problem(
            f"the Python package disklab is not installed; install the wheel of {order['version']}"
        )
    named = os.environ.get("DISKLAB_PROGRAM")
    beside = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    found = [folder / "disklab" for folder in beside if os.access(folder / "disklab", os.X_OK)]
    path = named or (str(found[0]) if found else shutil.which("disklab"))
    if path is None or not os.access(path, os.X_OK):
        raise Problem(f"found no program disklab; install the wheel of {order['version']}")
    program = Path(path).resolve()
    if _checked.get(str(program)) != order["library"]:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if said != order["version"]:
            raise Problem(
                f"{program} is {said or 'not disklab'}, and the driver's program is "
                f"{order['version']}; install that version on the node"
            )
        if library_of(program) != order["library"]:
            raise Problem(
                f"the disk library of {program} differs from the driver's, though both are {said}, "
                "so that results could differ; install the driver's wheel on the node"
            )
        _checked[str(program)] = order["library"]
    return program


def library_of(program: Path) -> str:
    """Returns the SHA-256 of the disk library that a program's guests load."""
    for folder in ("deps", ".", "../lib/disklab"):
        library = program.parent / folder / "libdisklab_guest.so"
        if library.is_file():
            return hashlib.sha256(library.read_bytes()).hexdigest()
    raise Problem(f"{program} has no disk library beside it; install the wheel again")


def _cache() -> Path:
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(xdg) if xdg.startswith("/") else Path.home() / ".cache"
    cache = root / "disklab"
    for folder in ("kernels", "disks", "trials"):
        (cache / folder).mkdir(parents=True, exist_ok=True)
    return cache


@contextlib.contextmanager
def _shared(path: Path) -> Iterator[None]:
    """Locks the cache for sharing, so that `disklab clean` does not remove what is in use."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    """Makes a temporary folder. If this process is killed, the folder's lock is free, and the next
    run of disklab removes the folder.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent))
    try:
        with open(folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (folder / ".lock").rename(folder / "lock")
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pack(folder: Path, below: Sequence[str] = ("",)) -> Iterator[bytes]:
    """Yields the files of a folder without their holes, in pieces. The first piece has the files'
    names, modes and sizes.
    """
    files = sorted(path for part in below for path in (folder / part).rglob("*") if path.is_file())
    heads = [
        (str(path.relative_to(folder)), path.stat().st_mode & 0o777, path.stat().st_size)
        for path in files
    ]
    yield zlib.compress(json.dumps(heads).encode())
    extents: list[tuple[int, int, int]] = []
    data = io.BytesIO()
    for number, path in enumerate(files):
        with open(path, "rb") as file:
            for start, end in _data(file.fileno()):
                while start < end:
                    length = min(end - start, PIECE - data.tell())
                    extents.append((number, start, length))
                    data.write(os.pread(file.fileno(), length, start))
                    start += length
                    if data.tell() >= PIECE:
                        yield _piece(extents, data)
                        extents, data = [], io.BytesIO()
    if extents:
        yield _piece(extents, data)


def _piece(extents: list[tuple[int, int, int]], data: io.BytesIO) -> bytes:
    # The lowest level is enough: filesystems that hold little data compress well with any.
    return zlib.compress(json.dumps(extents).encode() + b"\n" + data.getbuffer(), 1)


def _data(file: int) -> Iterator[tuple[int, int]]:
    """Yields the begin and end of each part of a file that is not a hole."""
    end = 0
    size = os.fstat(file).st_size
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def unpack(pieces: Iterator[bytes], folder: Path) -> None:
    """Writes the files of a parcel into a folder."""
    paths = []
    for name, mode, size in json.loads(zlib.decompress(next(pieces))):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            file.truncate(size)
        path.chmod(mode)
        paths.append(path)
    for piece in pieces:
        listed, _, data = zlib.decompress(piece).partition(b"\n")
        at = 0
        for number, start, length in json.loads(listed):
            with open(paths[number], "r+b") as file:
                try:
                    file.seek(start)
                    file.write(memoryview(data)[at : at + length])
                    file.flush()
                except OSError as error:
                    raise OSError(error.errno, error.strerror, str(paths[number])) from None
            at += length


def _unpacked(parcel: dict[str, Any], cache: Path, fetch: Callable[[Any], bytes]) -> bool:
    """Returns whether the kernel or the disks of a parcel are in the cache, and unpacks them if the
    order has their pieces. If another process is unpacking the same parcel, waits for it.
    """
    parent = cache / parcel["kind"]
    folder = parent / parcel["folder"]
    if (folder / parcel["last"]).exists():
        return True
    if not parcel["pieces"]:
        return False
    with open(parent / f"{parcel['name']}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / parcel["last"]).exists():
            return True
        temporary = parent / f".tmp-{parcel['name']}"
        shutil.rmtree(temporary, ignore_errors=True)
        free = shutil.disk_usage(parent).free
        if free < parcel["bytes"]:
            needed = parcel["bytes"] >> 20
            raise Problem(
                f"{parcel['what']} needs {needed} MiB in {parent}, and {free >> 20} MiB are free; "
                "free some space there"
            )
        try:
            temporary.mkdir()
            unpack((fetch(piece) for piece in parcel["pieces"]), temporary)
            os.sync()
            # The file `last` is written last: a folder without it was left by a process that was
            # killed.
            shutil.rmtree(folder, ignore_errors=True)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return True


def _run(
    program: Path, order: dict[str, Any], scratch: Path, cache: Path, fetch: Callable[[Any], bytes]
) -> dict[str, Any]:
    home = scratch / "share"
    home.mkdir()
    unpack((fetch(piece) for piece in order["share"]), home)
    suite = order["suite"]
    if order["text"] is not None:
        path = scratch / suite
        path.write_text(order["text"])
        suite = str(path)
    part = scratch / "part"
    command = [
        str(program),
        "run",
        suite,
        *order["options"],
        "--trial",
        ",".join(order["trials"]),
        "--out",
        str(part),
    ]
    folders = {
        parcel["name"]: str(cache / "kernels" / parcel["folder"])
        for parcel in order["parcels"]
        if parcel["kind"] == "kernels"
    }
    kernels = [(name, folders[key]) for name, key in order["kernels"].items()]
    given = "".join(f"{_quoted(name)} = {_quoted(path)}\n" for name, path in kernels)
    environment = {
        **os.environ,
        "DISKLAB_HOME": str(home),
        "DISKLAB_KERNELS": given,
        # Other batches run on this node, and their guests need memory too.
        "DISKLAB_GUESTS": str(order["guests"]),
    }
    with _processor() as processor:
        code, said = _wait([*command, "--jobs", "1", "--json"], environment, processor, scratch)
    # Exit status 1 means that a trial failed, which is a result.
    if code not in (0, 1) or not (part / "manifest.toml").exists():
        raise Problem(
            said.removeprefix("error: ")
            or f"disklab run ended with {code} without a message; the kernel's log may say why"
        )
    return {"suspects": _suspects(part), "part": _packed(part)}


def _quoted(text: str) -> str:
    """Returns a text as a string of TOML."""
    return json.dumps(text, ensure_ascii=False)


@contextlib.contextmanager
def _processor() -> Iterator[int | None]:
    """Reserves a processor that no other batch on this machine has, and yields its number; None if
    all are taken. A guest stays on one processor.
    """
    folder = Path(tempfile.gettempdir()) / f"disklab-processors-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for processor in sorted(os.sched_getaffinity(0)):
        with open(folder / str(processor), "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield processor
            return
    yield None


def _wait(
    command: list[str], environment: dict[str, str], processor: int | None, scratch: Path
) -> tuple[int, str]:
    """Runs a command, and returns its exit status and its standard error.

    The command is interrupted when this process ends, however it ends.
    """
    with open(scratch / "stderr", "w+") as stderr:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment,
            preexec_fn=lambda: ends_with_parent(processor),
        )
        try:
            code = child.wait()
        except BaseException:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise
        stderr.seek(0)
        return code, stderr.read().strip()


def ends_with_parent(processor: int | None = None) -> None:
    """Prepares a child process before its program begins: the child is interrupted when its parent
    ends, and runs on one processor if one is given.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    if processor is not None:
        os.sched_setaffinity(0, {processor})


def _suspects(part: Path) -> dict[str, str]:
    """Returns the failed trials whose failure may be this machine's fault, with the reasons."""
    lines = [json.loads(line) for line in (part / "trials.jsonl").read_text().splitlines()]
    failed = [
        line for line in lines if line["status"] == "failed" and line.get("fault") == "machine"
    ]
    return {line["trial"]: line["reason"] for line in failed}


def _packed(part: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(part, arcname="part")
    return packed.getvalue()
