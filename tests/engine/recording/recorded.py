"""Scenarios that are recorded as they run, without Spark."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from muntin import EARLIEST, Module
from muntin.testing import Batch
from muntin_engine import Recorder, Recording
from muntin_engine.plan import Plan
from muntin_engine.sinks.recordings.recording_files import CELLS
from muntin_engine.sinks.recordings.recording_writer import RecordedQuery, RecordingWriter
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.recorded_rows import RowRecording
from muntin_engine.wire.task_as_data import task_to_data
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Run
from tests.scenarios.scenario import Scenario


class RecordedRun(Run):
    """A run of a query that is recorded.

    Attributes:
        changes: The changes of the output of each micro-batch.
    """

    def __init__(self, scenario: Scenario, evaluator: str, folder: Path, **limits: Any) -> None:
        """Begin a run and its recording.

        Args:
            scenario: The query, and the mishaps on its way; its streams are drawn by `arrivals`.
            evaluator: The name of the evaluator that runs the query.
            folder: The folder of the recording.
            limits: Limits of the `Recorder`.
        """
        plan = scenario.query.evaluators[evaluator]
        super().__init__(scenario.query, plan, scenario.mishaps)
        self._data = task_to_data(plan, self.task)
        self._recorder = Recorder(folder, **limits)
        self._number = -1
        self._partitions = itertools.count()
        self.changes: list[list[dict[str, Any]]] = []
        self.start()

    def start(self) -> None:
        """Begin a run in the recording, as a query does at each of its starts, with the state that is there."""
        self._writer = RecordingWriter(self._recorder)
        self._writer.begin(RecordedQuery(self._data, self._cells_table), "id", self._number)

    def record_in(self, folder: Path) -> None:
        """Begin a recording in another folder, with the state that is there."""
        self._recorder = Recorder(folder)
        self.start()

    def process(self, arrival: Arrival, extra_rows: Sequence[Mapping[str, Any]] = ()) -> None:
        """Evaluate a micro-batch, and record it."""
        self._number += 1
        self._partitions = itertools.count()
        super().process(arrival, extra_rows)
        self.changes.append(self.output_changes)
        self._pass_on()
        self._writer.commit(self._number, "id", self.last.items())

    @property
    def _rows_recording(self) -> RowRecording:
        return self._writer.rows

    def _pass_on(self) -> None:
        """Hand the results of the micro-batch to another query, if one reads them."""

    def _distributed(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        cut = self._random.randint(0, len(rows))
        recorded = self._rows_recording.of_task(self._number, next(self._partitions))
        batches = [self.query.projected(part) for part in (rows[:cut], rows[cut:]) if part]
        return distribute(self.task, batches, recorded)

    def _cells_table(self) -> pa.Table:
        rows: list[dict[str, Any]] = []
        for bucket, cells in self.cells.items():
            rows += [{"bucket": bucket, "name": name, "data": data} for name, data in cells.cells.items()]
        return pa.Table.from_pylist(rows, CELLS)


def arrivals(scenario: Scenario) -> Iterator[Arrival]:
    """Draw the arrivals of a scenario, micro-batch by micro-batch, as `Scenario.check_run` does."""
    random = Random(scenario.mishaps.seed)
    clock = EARLIEST
    for batches in itertools.zip_longest(*(stream.batches() for stream in scenario.arriving), fillvalue=Batch(())):
        if scenario.query.has_clock and random.random() < 0.5:
            clock = max(clock, 0) + random.randint(0, 20)
        signals = frozenset(signal for signal in sorted(scenario.query.signals) if random.random() < 0.2)
        yield Arrival(batches, clock, signals)


def program_modules(plan: Plan) -> list[Any]:
    """Return the modules and functions of a plan: no plugin offers them, so a recording has to be given them."""
    modules: list[Module] = [module.module for module in plan.modules]
    condition = [] if plan.join is None or plan.join.on is None else [plan.join.on.function]
    return [*modules, *condition]


def recorded(scenario: Scenario, evaluator: str, folder: Path, **limits: Any) -> tuple[RecordedRun, Recording]:
    """Run a scenario over all of its streams, and return the run and its recording.

    Args:
        scenario: The scenario.
        evaluator: The name of the evaluator that runs its query.
        folder: The folder of the recording.
        limits: Limits of the `Recorder`.
    """
    run = RecordedRun(scenario, evaluator, folder, **limits)
    for arrival in arrivals(scenario):
        run.process(arrival)
    return run, Recording(folder, modules=program_modules(scenario.query.evaluators[evaluator]))


def recorded_from_second_batch(scenario: Scenario, evaluator: str, folder: Path) -> Recording:
    """Record a scenario from its second micro-batch on, with the state that the query had after the first one.

    Args:
        scenario: The scenario, of at least two micro-batches.
        evaluator: The name of the evaluator that runs its query.
        folder: A folder for the recording.
    """
    run = RecordedRun(scenario, evaluator, folder / "of the first")
    first, *later_arrivals = arrivals(scenario)
    run.process(first)
    run.record_in(folder / "recording")
    for arrival in later_arrivals:
        run.process(arrival)
    recording = Recording(folder / "recording", modules=program_modules(scenario.query.evaluators[evaluator]))
    assert recording.runs[0].cells_file is not None
    return recording


def recorded_insertions(recording: Recording) -> list[dict[str, Any]]:
    """Return the rows of a recording that insert events; the column `k0` has their keys, and `i0` their payloads."""
    insertions: list[dict[str, Any]] = []
    for batch in recording.batches:
        for part in batch.parts:
            insertions += [row for row in part.rows.to_pylist() if row["change"] == "insert"]
    return insertions
