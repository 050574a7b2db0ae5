"""Runs batches on Ray, which chooses the nodes. Batches that were lost are run again."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError

from disklab import node
from disklab.batches import Batch
from disklab.program import Error

# Batches that are given to Ray, for each processor: enough that no processor waits, and that a
# cluster that can grow does.
AHEAD = 4
LEAST_AHEAD = 64
# Number of lost nodes after which a batch itself may be the cause.
MOST_LOST = 10
# Number of batches with failed trials, without one that succeeded, after which a node is excluded.
MOST_FAILURES = 2
NODE_ID = "ray.io/node-id"
# The node's address in Ray's text about an exception of a task.
ADDRESS = re.compile(r"\(pid=\d+, ip=([^,)\s]+)")

Order = Callable[[Batch], "dict[str, Any]"]


class Cluster:
    """Runs batches on the nodes of a cluster, and yields each answer once."""

    def __init__(
        self, order: Order, remark: Callable[[str], None], work: Callable[..., Any] = node.task
    ) -> None:
        # Ray pickles the module by value, so that a node without this package can report that.
        ray.cloudpickle.register_pickle_by_value(node)
        self._task = ray.remote(max_retries=0)(work)
        self._order, self._remark = order, remark
        self._pending: deque[Batch] = deque()
        self._running: dict[ray.ObjectRef[Any], Batch] = {}
        self._nodes = nodes()
        self._excluded: dict[str, str] = {}
        self._failures: dict[str, int] = {}
        # Whether the cluster has no node at all.
        self.waiting = False

    def add(self, batches: Iterable[Batch]) -> None:
        self._pending.extend(batches)

    def again(self, batch: Batch) -> None:
        self._pending.appendleft(batch)

    @property
    def idle(self) -> bool:
        return not self._pending and not self._running

    @property
    def running(self) -> int:
        return len(self._running)

    def using(self) -> set[str | None]:
        """Returns the keys of the disks that batches still need."""
        return {batch.disks for batch in (*self._pending, *self._running.values())}

    def answers(self, timeout: float) -> Iterable[tuple[Batch, dict[str, Any]]]:
        """Yields the answers that come within `timeout` seconds, each once."""
        # The last node that can run trials may be lost after the others were excluded.
        if self._excluded and not self.others(set()):
            raise self._none_left()
        self._submit()
        if not self._running:
            # Nothing can run before the first disks are prepared.
            time.sleep(timeout)
            return
        done, _ = ray.wait(list(self._running), num_returns=1, timeout=timeout, fetch_local=False)
        if not done:
            self._look()
        for ref in done:
            yield from self._answer(ref)

    def _look(self) -> None:
        """Reports that the cluster has no node, since waiting looks like a trial that takes long.
        This is not an error: clusters grow.
        """
        there = nodes()
        if there and self.waiting:
            self._remark(f"{next(iter(there.values()))} has joined; the sweep goes on")
        elif not there and not self.waiting:
            self._remark(
                "the cluster has no node with a processor; the sweep waits for one, and Ctrl-C "
                "keeps the trials that ended"
            )
        self.waiting = not there

    def stop(self) -> Iterable[tuple[Batch, dict[str, Any]]]:
        """Stops running batches, and yields the answers of those that had ended."""
        done, others = ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        for ref in others:
            ray.cancel(ref)
        self._pending.clear()
        for ref in done:
            yield from self._answer(ref)

    def name(self, node_id: str) -> str:
        return self._nodes.get(node_id, f"node {node_id[:8]}")

    def record_failure(self, node_id: str, reason: str) -> None:
        """Records that trials failed on a node, which may be the node's fault."""
        self._failures[node_id] = self._failures.get(node_id, 0) + 1
        if self._failures[node_id] >= MOST_FAILURES:
            self.exclude(node_id, reason)

    def reset_failures(self, node_id: str) -> None:
        self._failures.pop(node_id, None)

    def others(self, without: set[str]) -> set[str]:
        """Returns the nodes that can run batches, except the nodes in `without`."""
        self._nodes |= nodes()
        return set(nodes()) - set(self._excluded) - without

    def exclude(self, node_id: str, reason: str) -> None:
        """Excludes a node: it gets no more batches."""
        if node_id in self._excluded:
            return
        left = self.others({node_id})
        rest = "its trials go to the others" if left else "it was the last node"
        self._excluded[node_id] = f"{self.name(node_id)}: {reason}"
        self._remark(f"{self._excluded[node_id]}\n{rest}")
        if not left:
            raise self._none_left()

    def _none_left(self) -> Error:
        reasons = "\n".join(self._excluded.values())
        return Error(
            f"no node is left that can run trials:\n{reasons}\n"
            "mend a node, then call sweep with the same `out` again"
        )

    def _submit(self) -> None:
        processors = ray.cluster_resources().get("CPU", 1)
        most = max(LEAST_AHEAD, int(AHEAD * processors))
        while self._pending and len(self._running) < most:
            batch = self._pending.popleft()
            left_out = {*self._excluded, *batch.elsewhere}
            selector = {NODE_ID: f"!in({','.join(sorted(left_out))})"} if left_out else None
            task = self._task.options(
                num_cpus=batch.processors,
                memory=batch.memory,
                label_selector=selector,
                name=batch.trials[0].name,
            )
            self._running[task.remote(self._order(batch))] = batch

    def _answer(self, ref: ray.ObjectRef[Any]) -> Iterable[tuple[Batch, dict[str, Any]]]:
        batch = self._running.pop(ref)
        try:
            answer = ray.get(ref)
        except TaskCancelledError:
            return
        except RayTaskError as error:
            self._broken(batch, error)
            return
        except RayError as error:
            self._lost(batch, error)
            return
        if "problem" in answer:
            self.again(batch)
            self.exclude(answer["node"], answer["problem"])
            return
        yield batch, answer

    def _broken(self, batch: Batch, error: RayTaskError) -> None:
        """Handles a batch that a node could not begin, for example with another Python."""
        # Ray replaces the node's exception by its own, which has the address in its text only.
        told = ADDRESS.search(str(error))
        address = told[1] if told else "an unknown address"
        there = [node_id for node_id, name in self._nodes.items() if f", {address})" in name]
        # The last line of a trace has the reason.
        reason = f"a batch could not be started: {str(error.cause).strip().splitlines()[-1]}"
        self._again(batch, f"on a node at {address}, {reason}")
        if len(there) == 1:
            self.record_failure(there[0], reason)
        else:
            self._remark(f"a node at {address}: {reason}")

    def _lost(self, batch: Batch, error: RayError) -> None:
        there = nodes()
        gone = set(self._nodes) - set(there)
        for node_id in gone:
            self._remark(
                f"{self._nodes.pop(node_id)} was lost"
                f"{'; its trials go to the others' if there else ''}"
            )
        if not gone:
            self._remark(f"a worker was lost with {batch.trials[0].name}: {error}".splitlines()[0])
        self._again(batch, str(error))

    def _again(self, batch: Batch, reason: str) -> None:
        batch.lost += 1
        if batch.lost >= MOST_LOST:
            trials = ", ".join(trial.name for trial in batch.trials)
            raise Error(
                f"nodes or their workers were lost {batch.lost} times with {trials}; "
                f"the last time: {reason}"
            )
        self.again(batch)


def nodes() -> dict[str, str]:
    """Returns the nodes that are alive and can run something: their names in messages, by id."""
    able = (node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1)
    return {
        node["NodeID"]: f"node {node['NodeID'][:8]} "
        f"({node['NodeManagerHostname']}, {node['NodeManagerAddress']})"
        for node in able
    }
