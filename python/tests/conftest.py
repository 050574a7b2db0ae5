"""A record made here without a cluster, and clusters of several nodes on this machine, each with a
cache of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

import disklab
from disklab import program

SUITE = """\
question = "Is it the same on a cluster?"
seeds = 12
memory = "256 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
kernel = "newest"

[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
policy = ["pid", "round-robin:4k"]
"""
TRIALS = 24
# That a node was killed is seen in seconds.
SOON = {"health_check_period_ms": 500}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def skip_without_root(why: str) -> NoReturn:
    """What root can do on any Linux; a failure where that may not be left out."""
    assert not os.environ.get("DISKLAB_NEED_ROOT"), why
    pytest.skip(why)


@pytest.fixture(scope="session", autouse=True)
def _kernel() -> None:
    """Without a guest kernel there is nothing to run."""
    try:
        program.ask(["kernel", "path"])
    except program.Error as error:
        if os.environ.get("DISKLAB_NEED_GUEST"):
            raise
        pytest.skip(f"no guest kernel: {error}")


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "sweep.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="session")
def here(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the sweep leaves on one machine without Ray."""
    return disklab.sweep(suite, out=tmp_path_factory.mktemp("here") / "record")


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A filesystem of that size."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        skip_without_root(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        # A node that was just told to end may have it open still.
        subprocess.run(["umount", "--lazy", folder], check=True)


class Nodes:
    """A cluster whose head runs nothing; nodes are added with what a test wants of them."""

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self._folder = folder
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "_system_config": SOON, **_frugal()},
        )
        self.address = self._cluster.address

    def add(self, name: str, cache: Path | None = None, **environment: str) -> Any:
        cache = cache or self._folder / name
        cache.mkdir(exist_ok=True)
        variables = {"XDG_CACHE_HOME": str(cache), **environment}
        return self._cluster.add_node(num_cpus=1, env_vars=variables, **_frugal())

    def wait_for_work(self, name: str) -> None:
        """Until a batch has just begun there."""
        trials = self._folder / name / "disklab" / "trials"
        before = set(trials.glob("*"))
        until = time.monotonic() + 60
        while not set(trials.glob("*")) - before:
            assert time.monotonic() < until, f"nothing begins on {name}"
            time.sleep(0.01)

    def kill(self, node: Any) -> None:
        """With all that runs there, as a machine that is switched off."""
        import psutil

        (raylet,) = node.all_processes["raylet"]
        head = psutil.Process(raylet.process.pid)
        head.suspend()
        running = head.children(recursive=True)
        for process in running:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._cluster.remove_node(node, allow_graceful=False)

    def clear(self) -> None:
        for node in list(self._cluster.worker_nodes):
            # So that it takes leave, and is not taken for one that is there.
            self._cluster.remove_node(node)

    @contextlib.contextmanager
    def occupied(self, node: Any) -> Iterator[Callable[[], None]]:
        """Its processor has something else to do until it is let go. Sweeps meanwhile are this
        process's.
        """
        import ray

        class Occupation:
            def begin(self) -> None:
                """Returns when it has the processor."""

        occupation: Any = ray.remote(Occupation)
        ray.init(self.address, log_to_driver=False)
        try:
            actor = occupation.options(
                num_cpus=1, label_selector={"ray.io/node-id": node.node_id}
            ).remote()
            ray.get(actor.begin.remote())
            yield lambda: ray.kill(actor)
        finally:
            ray.shutdown()

    def close(self) -> None:
        self._cluster.shutdown()


def _frugal() -> dict[str, Any]:
    return {"object_store_memory": 200 << 20, "memory": 4 << 30, "include_dashboard": False}


@pytest.fixture(scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """To start one takes longer than most tests."""
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    yield nodes
    nodes.close()


@pytest.fixture
def nodes(_cluster: Nodes) -> Iterator[Nodes]:
    """None yet, and none for the test after this."""
    yield _cluster
    _cluster.clear()


def raw_outputs(record: Path) -> dict[str, str]:
    """A digest of each raw output that must repeat, by trial and file; without what is only about
    to be put there.
    """
    named = ("disks.json", "fio.json", "guest.jsonl", "requests.trace.gz")
    files = [path for path in (record / "raw").glob("[!.]*/**/*") if path.name in named]
    return {
        str(path.relative_to(record)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def assert_same(first: Path, second: Path) -> None:
    """To disklab, and to whoever compares files without asking it."""
    same = subprocess.run(
        [program.find(), "same", first, second], capture_output=True, text=True, check=False
    )
    assert same.returncode == 0, same.stdout + same.stderr
    assert not [*first.glob("raw/.*"), *second.glob("raw/.*")]
    outputs = raw_outputs(first)
    assert len(outputs) == 4 * TRIALS
    assert outputs == raw_outputs(second)


def lines(record: Path) -> int:
    path = record / "trials.jsonl"
    return path.read_text().count("\n") if path.exists() else 0


def wait_for(record: Path, count: int) -> None:
    begun = time.monotonic()
    while lines(record) < count:
        assert time.monotonic() - begun < 120, f"{lines(record)} trials in two minutes"
        time.sleep(0.02)


def driver(address: str, suite: Path, out: Path) -> subprocess.Popen[str]:
    """A sweep in a process of its own, which can be killed."""
    text = f"import disklab; disklab.sweep({str(suite)!r}, {address!r}, out={str(out)!r})"
    return subprocess.Popen(
        [sys.executable, "-c", text], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
