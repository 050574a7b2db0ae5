"""Runs a suite's trials here or on a cluster, and keeps their record."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from disklab import node, program
from disklab.batches import Batch, Trial, cut, length
from disklab.connection import connected
from disklab.gatherer import Gatherer
from disklab.node import ends_with_parent, library_of
from disklab.outcomes import Outcomes, without_result
from disklab.progress import Progress
from disklab.question import Question, Settings

# Seconds between looks at a cluster.
LOOK = 0.2
# Largest number of nodes on which a trial is tried if it fails for what may be the node's fault.
MOST_NODES = 3


def sweep(
    suite: str | os.PathLike[str],
    address: str | None = None,
    *,
    settings: Settings | None = None,
    seeds: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    retry_failed: bool = False,
) -> Path:
    """Runs a suite, and returns the folder of its record.

    `suite` is the name of a suite in the lab, or a file; `settings` changes axes of it, as `--set`
    does. Without an `address`, trials run here, `jobs` at a time (by default one for each
    processor). With an address, they run on the Ray cluster there; "auto" is the cluster that this
    machine belongs to. `out` is the record's folder, by default a new one in ./records; an existing
    record is continued. However a sweep ends, trials that ended are kept. The last line says how
    many trials failed by their own fault. If trials failed by what may be a machine's fault, the
    sweep raises an error.
    """
    question = Question(os.fspath(suite), settings or {}, seeds)
    plan = question.plan()
    folder = None if out is None else Path(out)
    if address is None:
        outcomes = _here(question, plan, folder, jobs, retry_failed)
    elif jobs is not None:
        raise program.Error(
            "jobs: on a cluster, Ray chooses how many trials each node runs; leave `jobs` out"
        )
    else:
        outcomes = _on_cluster(question, plan, folder, address, retry_failed)
    outcomes.complain()
    return outcomes.record


def _on_cluster(
    question: Question, plan: dict[str, Any], out: Path | None, address: str, retry_failed: bool
) -> Outcomes:
    with connected(address):
        gatherer = Gatherer(question, out, retry_failed)
        try:
            Sweep(question, plan, gatherer).run()
        finally:
            gatherer.close()
            outcomes = _told(gatherer.record, plan)
    return outcomes


def _here(
    question: Question, plan: dict[str, Any], out: Path | None, jobs: int | None, retry_failed: bool
) -> Outcomes:
    """Runs the suite in one process of the program, which knows how many guests this machine can
    run.
    """
    words = [
        *([] if out is None else [f"--out={out}"]),
        *([] if jobs is None else ["--jobs", str(jobs)]),
    ]
    words += [*(["--retry-failed"] if retry_failed else []), *question.words()]
    child = subprocess.Popen(
        [program.find(), "run", "--json", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is sent on below, since in a notebook it reaches this process only.
        start_new_session=True,
        preexec_fn=ends_with_parent,
    )
    try:
        said, _ = child.communicate()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate()
        # A run that had not begun yet answers with an error, which has no record.
        if said and "record" in program.answer(said):
            record = Path(program.answer(said)["record"])
            print(f"disklab: {_interrupted(record)}", file=sys.stderr, flush=True)
            _told(record, plan)
        raise
    ended = f"disklab run ended with {child.returncode}"
    if not said or "record" not in program.answer(said):
        raise program.Error(
            f"{ended} without a message"
            if child.returncode < 0
            else f"{ended}; its message is above"
        )
    outcomes = _told(Path(program.answer(said)["record"]), plan)
    # Exit status 1 means that a trial failed, which is a result.
    if child.returncode not in (0, 1):
        goes_on = f"sweep(..., out={str(outcomes.record)!r}) goes on"
        raise program.Error(f"{ended}; the record keeps its trials, and {goes_on}")
    return outcomes


def _told(record: Path, plan: dict[str, Any]) -> Outcomes:
    """Prints the last line, once nobody writes the record any more, and returns the outcomes."""
    outcomes = Outcomes.read(record)
    print(outcomes.line(len(plan["trials"])), file=sys.stderr, flush=True)
    return outcomes


def _interrupted(record: Path) -> str:
    return f"interrupted; trials that ended are kept, and sweep(..., out={str(record)!r}) goes on"


class Sweep:
    """The trials of a suite that are still to be run, and the cluster that runs them."""

    def __init__(
        self,
        question: Question,
        plan: dict[str, Any],
        gatherer: Gatherer,
        work: Callable[[dict[str, Any]], dict[str, Any]] = node.task,
    ) -> None:
        # Ray is imported only if a cluster is used.
        import ray

        from disklab.cluster import Cluster
        from disklab.parcels import Parcels

        self._question, self._gatherer = question, gatherer
        trials = (Trial.read(trial) for trial in plan["trials"])
        remaining = set(gatherer.begun["remaining"])
        self._trials = {trial.name: trial for trial in trials if trial.name in remaining}
        self._unready = set(self._trials)
        self._parcels = Parcels(gatherer.begun)
        self._fixed = self._fixed_order(plan)
        self._progress = Progress(
            len(plan["trials"]),
            len(self._trials),
            sum(trial.wall_ms for trial in self._trials.values()),
        )
        self._cluster = Cluster(self._order, self._progress.remark, work)
        self._length = length(self._trials.values(), ray.cluster_resources().get("CPU", 1))
        # Trials without a result for which no node is left, with the reason of the last failure.
        self._open: dict[str, str] = {}

    def _fixed_order(self, plan: dict[str, Any]) -> dict[str, Any]:
        found = program.find()
        text = self._question.text()
        suite = self._question.suite if text is None else Path(self._question.suite).name
        return {
            "version": program.version(),
            "library": library_of(found),
            "share": self._parcels.share,
            "suite": suite,
            "text": text,
            "options": self._question.options(),
            "kernels": {kernel["name"]: kernel["key"][:12] for kernel in plan["kernels"]},
        }

    def _order(self, batch: Batch) -> dict[str, Any]:
        trials = [trial.key for trial in batch.trials]
        return {**self._fixed, "trials": trials, "parcels": self._parcels.needed_by(batch.disks)}

    def run(self) -> None:
        try:
            while self._unready or not self._cluster.idle:
                self._take_ready()
                for batch, answer in self._cluster.answers(LOOK):
                    self._take(batch, answer)
                if not self._cluster.waiting:
                    self._progress.draw(self._cluster.running)
                self._gatherer.check()
            self._complain()
        except KeyboardInterrupt:
            for batch, answer in self._cluster.stop():
                self._take(batch, answer)
            self._progress.remark(_interrupted(self._gatherer.record))
            raise
        finally:
            self._progress.end()

    def _take_ready(self) -> None:
        for said in self._gatherer.ready():
            if said["path"]:
                self._parcels.know(said["disks"], said["path"])
            # A trial that has several names is run once, and its result is recorded under each
            # name.
            trials = {
                self._trials[name].key: self._trials[name] for name in reversed(said["trials"])
            }
            self._unready.difference_update(said["trials"])
            self._cluster.add(cut(reversed(trials.values()), said["disks"], self._length))

    def _take(self, batch: Batch, answer: dict[str, Any]) -> None:
        if "lacking" in answer:
            self._parcels.pack(answer["lacking"])
            self._cluster.again(batch)
            return
        where, suspects = answer["node"], answer["suspects"]
        # A failure of the trial itself happens on every node. A failure that may be the node's
        # fault is not a result, and the trial is tried on other nodes.
        kept = self._gatherer.add(answer["part"], tuple(suspects))
        if "refused" in kept:
            self._cluster.again(batch)
            self._cluster.exclude(where, kept["refused"])
            return
        self._parcels.keep(self._cluster.using())
        if suspects:
            left = self._suspected(batch, where, suspects)
        else:
            left = 0
            self._cluster.reset_failures(where)
        self._progress.ended(batch, len(kept["added"]), left)

    def _suspected(self, batch: Batch, where: str, suspects: dict[str, str]) -> int:
        """Tries trials on another node, if one is left. Returns the number of these trials."""
        # The batch lists a trial with several names under one of them only.
        keys = {self._trials[name].key for name in suspects if name in self._trials}
        trials = [trial for trial in batch.trials if trial.key in keys]
        name, reason = next(iter(suspects.items()))
        elsewhere = {*batch.elsewhere, where}
        if len(elsewhere) >= MOST_NODES or not self._cluster.others(elsewhere):
            named = self._cluster.name(where)
            self._open.update({name: f"on {named}: {reason}" for name, reason in suspects.items()})
            self._progress.remark(
                f"{named}: {name} failed, and no other node is left for it: {reason}"
            )
            return 0
        self._cluster.again(Batch(trials, batch.disks, elsewhere, batch.lost))
        self._progress.remark(
            f"{self._cluster.name(where)}: {name} failed and is tried elsewhere: {reason}"
        )
        self._cluster.record_failure(where, reason)
        return len(trials)

    def _complain(self) -> None:
        """Raises an error for failures that may be nodes' faults. They are in no record, so that
        the next sweep runs these trials again.
        """
        if self._open:
            again = f"sweep(..., out={str(self._gatherer.record)!r})"
            raise without_result(self._open, "the nodes that they ran on; see to these", again)
