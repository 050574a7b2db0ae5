"""What runs on a node of a cluster: a batch of trials, by the program there.

It is sent to the nodes as it is, so that one without this package can say so: the standard library
only.
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

# The bytes of files that one piece of a parcel has at most, before they are packed.
PIECE = 32 << 20
_PR_SET_PDEATHSIG = 1
_checked: dict[str, str] = {}
# How many trials a node runs at a time.
_guests: dict[str, int] = {}


class Problem(Exception):
    """Why this node cannot carry trials out. Another may."""


def task(order: dict[str, Any]) -> dict[str, Any]:
    """What a node of Ray is given."""
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
        # Of the node or of the program; without its name nobody could tell which.
        answer = {
            "problem": f"it failed in a way that nobody thought of: {type(error).__name__}: {error}"
        }
    answer["node"] = node
    return answer


def run(order: dict[str, Any], fetch: Callable[[Any], bytes]) -> dict[str, Any]:
    """Runs the trials of an order, and answers with their record; or with what the node lacks, or
    is unfit for.

    `fetch` gets a piece of a parcel, by what the order calls it.
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
    """The program, of the driver's version and with the driver's disk library."""
    if importlib.util.find_spec("disklab") is None and not os.environ.get("DISKLAB_PROGRAM"):
        raise Problem(
            f"there is no Python package disklab; install the wheel of {order['version']} there"
        )
    named = os.environ.get("DISKLAB_PROGRAM")
    beside = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    found = [folder / "disklab" for folder in beside if os.access(folder / "disklab", os.X_OK)]
    path = named or (str(found[0]) if found else shutil.which("disklab"))
    if path is None or not os.access(path, os.X_OK):
        raise Problem(f"there is no program disklab; install the wheel of {order['version']} there")
    program = Path(path).resolve()
    if _checked.get(str(program)) != order["library"]:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if said != order["version"]:
            raise Problem(
                f"{program} is {said or 'no disklab'}, and the driver's is {order['version']}; "
                "install that there"
            )
        if library_of(program) != order["library"]:
            raise Problem(
                f"{program} has another disk library than the driver's, though both are {said}: "
                f"results could differ; "
                "install the driver's wheel there"
            )
        _checked[str(program)] = order["library"]
    return program


def library_of(program: Path) -> str:
    """The SHA-256 of the disk library that a program's guests load."""
    for folder in ("deps", ".", "../lib/disklab"):
        library = program.parent / folder / "libdisklab_guest.so"
        if library.is_file():
            return hashlib.sha256(library.read_bytes()).hexdigest()
    raise Problem(f"{program} has no disk library beside it; install the wheel there anew")


def _cache() -> Path:
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(xdg) if xdg.startswith("/") else Path.home() / ".cache"
    cache = root / "disklab"
    for folder in ("kernels", "disks", "trials"):
        (cache / folder).mkdir(parents=True, exist_ok=True)
    return cache


@contextlib.contextmanager
def _shared(path: Path) -> Iterator[None]:
    """Keeps `disklab clean` from taking away what is used."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    """A temporary folder; what a killed one leaves is removed by the next run of disklab, since its
    lock is free.
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
    """The files of a folder without their holes, in pieces. The first tells their names, modes and
    sizes.
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
    # Filesystems without data in them pack well however little is tried.
    return zlib.compress(json.dumps(extents).encode() + b"\n" + data.getbuffer(), 1)


def _data(file: int) -> Iterator[tuple[int, int]]:
    """What of a file is not holes."""
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
    """Makes the files of a parcel in a folder."""
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
    """Whether the kernel or the disks of a parcel are in the cache, now. Others who make the same
    are waited for.
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
                f"{parcel['what']} take {needed} MiB in {parent}, and {free >> 20} MiB are free: "
                "make room there"
            )
        try:
            temporary.mkdir()
            unpack((fetch(piece) for piece in parcel["pieces"]), temporary)
            os.sync()
            # A folder without what is written last is one that somebody was killed at.
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
        # Others run beside this one, whose guests need memory too.
        "DISKLAB_GUESTS": str(order["guests"]),
    }
    with _processor() as processor:
        code, said = _wait([*command, "--jobs", "1", "--json"], environment, processor, scratch)
    # 1 is a trial that failed, which is a result.
    if code not in (0, 1) or not (part / "manifest.toml").exists():
        raise Problem(
            said.removeprefix("error: ") or f"disklab run ended with {code} and said nothing"
        )
    return {"suspects": _suspects(part), "part": _packed(part)}


def _quoted(text: str) -> str:
    """As TOML has strings."""
    return json.dumps(text, ensure_ascii=False)


@contextlib.contextmanager
def _processor() -> Iterator[int | None]:
    """A processor that no other batch on this machine has, while there are such; guests are kept on
    one.
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
    """How a command ended, and what it complained of.

    It ends with this process, however that ends.
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
    """In a child before it begins: it is interrupted when its parent ends, and has one processor
    where one is named.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    if processor is not None:
        os.sched_setaffinity(0, {processor})


def _suspects(part: Path) -> dict[str, str]:
    """Trials that failed, with the reason, where that may be this machine's fault."""
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
