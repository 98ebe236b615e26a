"""A recording of a query: what came, micro-batch by micro-batch, as plain data in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from muntin import INFINITY
from muntin_engine.errors import RecordingError
from muntin_engine.exchange.recorded_rows import ROWS, STOPPED
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.plan import Plan
from muntin_engine.plan.plain_plan import Known
from muntin_engine.recording.comparing import unlike_exactly
from muntin_engine.recording.described_query import evaluators_of, plan_of, task_of
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.replay import CellsOfBuckets, Replay
from muntin_engine.recording.replayed import Replayed
from muntin_engine.recording.story import Story, without_earlier

RUNS: Final = "runs"
BATCHES: Final = "batches"
FORMAT: Final = 1


@dataclass(frozen=True)
class RecordedRun:
    """One start of the query.

    Attributes:
        number: Its number, from 0.
        data: The query as data.
        first_batch: The number of its first micro-batch.
        cells_file: The state that it began with, unless that is what the micro-batches before have left.
    """

    number: int
    data: Mapping[str, Any]
    first_batch: int = 0
    cells_file: Path | None = None

    def cells(self) -> CellsOfBuckets:
        """Return the state that it began with, by bucket and name."""
        found: dict[int, dict[str, bytes]] = {}
        for row in pq.read_table(self.cells_file).to_pylist():
            found.setdefault(row["bucket"], {})[row["name"]] = row["data"]
        return found


class Recording:
    """A recording of a query that `write(record=...)` made, which can be replayed without Spark.

    Attributes:
        path: Its folder.
        runs: The starts of the query, in order.
        batches: Its micro-batches, in order; each that was committed is there once.
        stopped: Why it goes no further, in words; empty if nothing stopped it.

    Cost: rows are read when they are wanted, and kept from then on.

    Example:
        >>> Recording("recordings/rides").replay().results  # doctest: +SKIP
        [{'station': 'north', 'window': {'start': 0, 'end': 10}, 'km': 3.0}]
    """

    def __init__(self, path: str | PathLike[str], modules: Sequence[Any] = ()) -> None:
        """Open a recording.

        Args:
            path: Its folder.
            modules: Modules of the query that no installed plugin offers and that were not imported: their classes, or
                modules themselves where a parameter is no plain data; functions, and classes of windows, triggers and
                progress policies, too.

        Raises:
            RecordingError: There is no recording, or one that this version cannot read.
        """
        self.path = Path(fspath(path))
        self._known = Known.given(modules)
        self.runs = tuple(self._read_runs())
        self.batches: tuple[RecordedBatch, ...] = tuple(self._read_batches())
        stopped = self.path / STOPPED
        self.stopped: str = json.loads(stopped.read_text())["reason"] if stopped.exists() else ""

    @cached_property
    def plan(self) -> Plan:
        """The plan of the query, as it was first started.

        Raises:
            RecordingError: A module of it is not here.
        """
        return plan_of(self.runs[0].data, self._known)

    @cached_property
    def evaluators(self) -> tuple[str, ...]:
        """The evaluators that can replay it, the cheapest first; where it begins with a state, that of the state."""
        if any(run.cells_file is not None for run in self.runs):
            return (self.plan.choice.evaluator,)
        return tuple(evaluators_of(self.runs[0].data, self._known))

    @property
    def differences(self) -> tuple[str, ...]:
        """What is not of the version here that was recorded, in words: Muntin, and modules."""
        from importlib.metadata import version

        here = version("muntin-engine")
        of_muntin = {run.data["muntin"] for run in self.runs} - {here}
        plans = [plan_of(run.data, self._known) for run in self.runs]
        del plans  # reading them finds the modules
        told = [f"muntin-engine was {there}, and is {here} here" for there in sorted(of_muntin)]
        return (*told, *dict.fromkeys(self._known.differences))

    def task(self, run: int = 0, evaluator: str | None = None) -> TaskPayload:
        """Return the query of a run, as a new process has it."""
        data = self.runs[run].data
        return task_of(data, plan_of(data, self._known, evaluator))

    def with_batches(self, batches: Iterable[RecordedBatch]) -> Recording:
        """Return the same query with other micro-batches; nothing is written."""
        found = object.__new__(Recording)
        vars(found).update({**vars(self), "batches": tuple(batches)})
        return found

    def replay(self, evaluator: str | None = None, *, restarts: bool = True) -> Replayed:
        """Run the query again, in this process and without Spark.

        Args:
            evaluator: How windows are computed, as for `window`; None for the way in which the query ran.
            restarts: True to restart where the query did: a new process has the state and new modules alone.

        Raises:
            RecordingError: A module is not here, or the evaluator cannot run the query, or not from its first state.
            ModuleFailedError: A module raised an exception, with its key and window.

        Cost: that of the query, in one thread.
        """
        if evaluator is not None and evaluator not in self.evaluators and len(self.evaluators) == 1:
            raise RecordingError(
                f"the recording begins with a state of the {self.evaluators[0]} evaluator, so {evaluator} cannot go on"
                "\n  leave evaluator= out; or record the query from its first micro-batch on"
            )
        run = self.batches[0].run if self.batches else 0
        replay, taken = Replay(self.task(run, evaluator)), []
        for batch in self.batches:
            if batch.run != run and restarts:
                replay.restart(self.task(batch.run, evaluator))
            run = batch.run
            starts = (one for one in self.runs[: run + 1] if one.cells_file and one.first_batch == batch.number)
            for start in starts:  # a run may have begun so whose first micro-batch another one repeats
                replay.start_from(start.cells())
            took = replay.close(batch.number, run) if batch.is_end else replay.take(batch.number, batch.parts, run)
            taken.append(took)
        return Replayed(replay.task, taken)

    def story(self, keys: Sequence[Any] | None = None) -> Story:
        """Return what became of each row, and what made and changed each result.

        It is told by evaluating the query key by key, whatever evaluator ran it. So a result may differ in the last
        digits of a float.

        Args:
            keys: The keys that it is told of, each a value, or a tuple of one per key column. None for all.

        Raises:
            RecordingError: A module is not here.
            ModuleFailedError: A module raised an exception, with its key and window.

        Cost: that of the general evaluator, which computes each result from all rows that are in it.
        """
        from muntin_engine.recording.telling import tell

        batches = self.batches if keys is None else tuple(batch.of_keys(keys) for batch in self.batches)
        story = tell(self.task(), batches)
        if self.runs[0].cells_file is None or not self.batches:
            return story
        since = self.batches[0].metrics.get("newest", INFINITY)
        told = f"rows from before micro-batch {self.batches[0].number} are not in the recording, nor results of them"
        return replace(story, notes=(told,), changes=without_earlier(story.changes, since))

    def check_evaluators(self) -> None:
        """Raise unless all evaluators that can run the query have the same results after each micro-batch.

        Raises:
            AssertionError: Two differ; it names the evaluators, the micro-batch and the rows.
        """
        one, *others = self.evaluators
        expected = list(self.replay(one).live())
        for other in others:
            for place, (wanted, found) in enumerate(zip(expected, self.replay(other).live(), strict=True)):
                if told := unlike_exactly(found, wanted):
                    number = self.batches[place - 1].number
                    raise AssertionError("\n".join([f"{other} differs from {one} after micro-batch {number}:", *told]))

    def _read_runs(self) -> Iterator[RecordedRun]:
        files = sorted((self.path / RUNS).glob("*.json"))
        if not files:
            raise RecordingError(
                f"{self.path} is not a recording: there is no {RUNS}/0000.json\n"
                "  expected: the folder that query.write(record=...) was given"
            )
        for number, file in enumerate(files):
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise RecordingError(
                    f"{file} has the format {data['format']}, and this version reads {FORMAT}\n"
                    f"  use muntin-engine {data['query']['muntin']}, which wrote it"
                )
            cells = self.path / RUNS / data["cells"] if data["cells"] else None
            yield RecordedRun(number, data["query"], data["first_batch"], cells)

    def _read_batches(self) -> Iterator[RecordedBatch]:
        for file in sorted((self.path / BATCHES).glob("*.json")):
            data = json.loads(file.read_text(encoding="utf-8"))
            number = data["batch"]
            files = tuple(self.path / ROWS / f"{number:08}" / name for name in data["files"])
            yield RecordedBatch(number, data["run"], data["metrics"], files, data["is_end"])
