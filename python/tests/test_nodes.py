"""Tests that nodes that cannot run trials are named with what they lack, and excluded."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TRIALS, Nodes, assert_same, lines, mounted, skip_without_root

import disklab
from disklab import program
from disklab.connection import connected
from disklab.gatherer import Gatherer
from disklab.progress import Progress
from disklab.question import Question
from disklab.sweeping import Sweep


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Mounts a filesystem that is too small for a kernel."""
    with mounted(tmp_path / "small", "2m") as folder:
        yield folder


@pytest.fixture
def another_version(tmp_path: Path) -> Path:
    path = tmp_path / "old" / "disklab"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho disklab 0.0.1\n")
    path.chmod(0o755)
    return path


def with_fio(replacement: Path, folder: Path) -> str:
    """Returns a program that finds a replacement in fio's place, as on another machine: disklab
    looks for tools in no `PATH`.
    """
    if (
        subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode
        != 0
    ):
        skip_without_root("no mount namespace can be made here")
    real, fio = program.find(), shutil.which("fio")
    assert fio
    folder.mkdir()
    path = folder / "disklab"
    path.write_text(
        f"#!/bin/sh\nexec unshare --mount sh -c "
        f'\'mount --bind {replacement} {fio} && exec {real} "$@"\' sh "$@"\n'
    )
    path.chmod(0o755)
    # The driver checks a node's disk library, which is beside its program.
    library = next(path for path in real.parent.rglob("libdisklab_guest.so"))
    (folder / library.name).symlink_to(library)
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Returns a program whose output is not text."""
    path = tmp_path / "broken" / "disklab"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nprintf '\\377\\n'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def another_kernel(tmp_path: Path) -> Path:
    """Makes a cache with a kernel of the same name that differs, as if another compiler had built
    it there.
    """
    (kernel,) = {
        Path(planned["path"]).parent for planned in program.ask(["plan", "smoke"])["kernels"]
    }
    copy = tmp_path / "kernels" / "disklab" / "kernels" / kernel.name
    shutil.copytree(kernel, copy)
    with open(copy / "linux", "ab") as file:
        file.write(b"another build")
    was, now = (
        hashlib.sha256((folder / "linux").read_bytes()).hexdigest() for folder in (kernel, copy)
    )
    about = (copy / "kernel.toml").read_text()
    assert was in about
    (copy / "kernel.toml").write_text(about.replace(was, now))
    return tmp_path / "kernels"


@pytest.fixture
def without_fio(tmp_path: Path) -> str:
    return with_fio(Path("/dev/null"), tmp_path / "without")


@pytest.fixture
def another_fio(tmp_path: Path) -> str:
    """Returns a program that finds another fio: its version is the same, and its file differs."""
    found = shutil.which("fio")
    assert found
    shutil.copy(found, tmp_path / "fio")
    with open(tmp_path / "fio", "ab") as file:
        file.write(b"another build")
    return with_fio(tmp_path / "fio", tmp_path / "another")


def test_nodes_that_cannot_are_named_and_left_out(
    nodes: Nodes,
    suite: Path,
    here: Path,
    small: Path,
    another_version: Path,
    without_fio: str,
    another_fio: str,
    another_kernel: Path,
    broken: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = nodes.add("good")
    unfit = {
        "small": nodes.add("small", cache=small),
        "old": nodes.add("old", DISKLAB_PROGRAM=str(another_version)),
        "lacks": nodes.add("lacks", DISKLAB_PROGRAM=without_fio),
        "differs": nodes.add("differs", DISKLAB_PROGRAM=another_fio),
        "kernel": nodes.add("kernel", cache=another_kernel),
        "broken": nodes.add("broken", DISKLAB_PROGRAM=str(broken)),
    }
    with nodes.occupied(good) as let_go:
        # The good node alone would have run all trials before the last of the others was tried.
        remarks: list[str] = []
        remark = Progress.remark

        def remarked(progress: Progress, text: str) -> None:
            remark(progress, text)
            remarks.append(text)
            if len(remarks) == len(unfit):
                let_go()

        monkeypatch.setattr(Progress, "remark", remarked)
        record = disklab.sweep(suite, nodes.address, out=tmp_path / "record")
    said = capfd.readouterr().err
    for name, words in {
        "small": ["guest kernel", "MiB are free", "free some space there"],
        "old": ["disklab 0.0.1", "the driver's program is"],
        "lacks": ["fio"],
        "differs": ["tool fio"],
        "kernel": ["kernel newest", "SHA-256"],
        "broken": ["UnicodeDecodeError"],
    }.items():
        told = [
            part
            for part in said.split("disklab: ")
            if part.startswith(f"node {unfit[name].node_id[:8]}")
        ]
        assert len(told) == 1, said
        assert all(word in told[0] for word in words), told[0]
    assert good.node_id[:8] not in said
    assert_same(here, record)
    assert lines(record) == TRIALS


def test_without_a_node_that_can_it_says_why_and_goes_on_later(
    nodes: Nodes, suite: Path, another_version: Path, tmp_path: Path
) -> None:
    nodes.add("only", DISKLAB_PROGRAM=str(another_version))
    # Ray counts the node as alive for some seconds.
    nodes.kill(nodes.add("gone"))
    with pytest.raises(
        disklab.Error, match=r"no node is left that can run trials:\nnode \w{8} .*disklab 0\.0\.1"
    ):
        disklab.sweep(suite, nodes.address, out=tmp_path / "record")
    assert (tmp_path / "record" / "manifest.toml").exists()


def test_a_node_that_cannot_even_begin_a_batch_is_named(
    nodes: Nodes, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests a node that has, for example, another Python."""
    node = nodes.add("strange")
    (tmp_path / "only_here.py").write_text("def work(order):\n    raise NotImplementedError\n")
    question = Question(str(suite), {}, None)
    with connected(nodes.address):
        # The module is added after Ray has read where modules are.
        monkeypatch.syspath_prepend(tmp_path)
        work = importlib.import_module("only_here").work
        gatherer = Gatherer(question, tmp_path / "record", False)
        try:
            with pytest.raises(
                disklab.Error, match=r"no node is left that can run trials:\n.*only_here"
            ) as raised:
                Sweep(question, question.plan(), gatherer, work).run()
        finally:
            gatherer.close()
    assert f"node {node.node_id[:8]}" in str(raised.value), raised.value
    assert lines(tmp_path / "record") == 0
