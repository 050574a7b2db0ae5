"""Makes a record here without a cluster, and clusters of several nodes on this machine, each with a
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
# With this setting, Ray notices within seconds that a node was killed.
SOON = {"health_check_period_ms": 500}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def skip_without_root(why: str) -> NoReturn:
    """Skips a test of something that root can do on any Linux. Fails where such tests may not be
    skipped.
    """
    assert not os.environ.get("DISKLAB_NEED_ROOT"), why
    pytest.skip(why)


@pytest.fixture(scope="session", autouse=True)
def _kernel() -> None:
    """Skips all tests if there is no guest kernel."""
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
    """Returns the record of the sweep on one machine without Ray."""
    return disklab.sweep(suite, out=tmp_path_factory.mktemp("here") / "record")


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mounts a filesystem of this size."""
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
        # A node that was just stopped may still have it open.
        subprocess.run(["umount", "--lazy", folder], check=True)


class Nodes:
    """A cluster whose head runs nothing. Tests add nodes with the environment that they need."""

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
        """Waits until a batch has just begun on this node."""
        trials = self._folder / name / "disklab" / "trials"
        before = set(trials.glob("*"))
        until = time.monotonic() + 60
        while not set(trials.glob("*")) - before:
            assert time.monotonic() < until, f"nothing begins on {name}"
            time.sleep(0.01)

    def kill(self, node: Any) -> None:
        """Kills a node with all its processes, as if the machine were switched off."""
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
            # The removal is graceful, so that the cluster does not count the node as alive.
            self._cluster.remove_node(node)

    @contextlib.contextmanager
    def occupied(self, node: Any) -> Iterator[Callable[[], None]]:
        """Keeps the node's processor busy until the yielded function is called. Sweeps meanwhile
        run in the session of this process.
        """
        import ray

        class Occupation:
            def begin(self) -> None:
                """Returns once the actor has the processor."""

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
    """Starts one cluster for all tests, since starting takes longer than most tests."""
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    yield nodes
    nodes.close()


@pytest.fixture
def nodes(_cluster: Nodes) -> Iterator[Nodes]:
    """Returns the cluster without nodes, and removes a test's nodes afterwards."""
    yield _cluster
    _cluster.clear()


def raw_outputs(record: Path) -> dict[str, str]:
    """Returns a digest of each raw output that must repeat, by trial and file. Files that are still
    being written are left out.
    """
    named = ("disks.json", "fio.json", "guest.jsonl", "requests.trace.gz")
    files = [path for path in (record / "raw").glob("[!.]*/**/*") if path.name in named]
    return {
        str(path.relative_to(record)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def assert_same(first: Path, second: Path) -> None:
    """Checks that two records are the same for disklab, and that their files are the same."""
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
        assert time.monotonic() - begun < 900, f"{lines(record)} trials in a quarter of an hour"
        time.sleep(0.02)


def driver(address: str, suite: Path, out: Path) -> subprocess.Popen[str]:
    """Starts a sweep in a process of its own, which can be killed."""
    text = f"import disklab; disklab.sweep({str(suite)!r}, {address!r}, out={str(out)!r})"
    return subprocess.Popen(
        [sys.executable, "-c", text], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
