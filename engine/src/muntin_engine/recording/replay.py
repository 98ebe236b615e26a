"""A recorded query, run again in this process: map tasks, the exchange and buckets, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from muntin_engine.backends.local.batch_output import BatchOutput
from muntin_engine.backends.local.local_query import LocalQuery, exchanged_rows
from muntin_engine.recording.layout import CellsOfBuckets
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, REJECTED_ROWS, RESULTS
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.wire.shuffle import SIDE
from muntin_engine.wire.task_payload import TaskPayload

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayedBatch:
    """The output of a micro-batch.

    Attributes:
        number: Its number, as Spark counted.
        run: Which start of the query it is of, from 0.
        changes: The rows of the results, as sinks got them.
        late_rows: The rows that came behind the watermark, or were shed, with their reasons.
        rejected_rows: The rows that could not be events, with their reasons.
        evicted_rows: The rows of the second output.
        metrics: The metrics by name, over all buckets.
    """

    number: int
    run: int = 0
    changes: list[Row] = field(default_factory=list)
    late_rows: list[Row] = field(default_factory=list)
    rejected_rows: list[Row] = field(default_factory=list)
    evicted_rows: list[Row] = field(default_factory=list)
    metrics: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_output(cls, number: int, run: int, output: BatchOutput) -> ReplayedBatch:
        """Read the output of a query as rows."""
        rows_by_output: dict[str, list[Row]] = {}
        for name, tables in output.tables.items():
            rows_by_output[name] = [row for table in tables for row in table.to_pylist()]
        return cls(
            number,
            run,
            changes=rows_by_output[RESULTS],
            late_rows=rows_by_output[LATE_ROWS],
            rejected_rows=rows_by_output[REJECTED_ROWS],
            evicted_rows=rows_by_output[EVICTED_ROWS],
            metrics=output.metrics,
        )


class Replay:
    """A query that runs in this process, micro-batch by micro-batch."""

    def __init__(self, task: TaskPayload, cells: CellsOfBuckets | None = None) -> None:
        """Take a query, and the state that it begins with."""
        self._query = LocalQuery(task, cells)

    @property
    def task(self) -> TaskPayload:
        """The query."""
        return self._query.task

    def start_from(self, cells: CellsOfBuckets) -> None:
        """Begin with a state: the cells of each bucket."""
        self._query = LocalQuery(self.task, cells)

    def restart(self, task: TaskPayload) -> None:
        """Go on as a new process, which has the cells and the query alone."""
        self._query.restart(task)

    def take(self, number: int, parts: Sequence[RecordedPart], run: int = 0) -> ReplayedBatch:
        """Evaluate a micro-batch.

        Args:
            number: Its number.
            parts: The rows of its map tasks, or some of them; progress is as recorded, whatever rows are left.
            run: Which start of the query it is of.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        if self.task.plan.choice.keeps_state:
            blobs = self._query.process_exchanged(row for part in parts for row in recorded_exchange(self.task, part))
        else:
            blobs = self._query.process(part.batches() for part in parts)
        return ReplayedBatch.of_output(number, run, BatchOutput.of_blobs(self.task, blobs))

    def close(self, number: int, run: int = 0) -> ReplayedBatch:
        """Close the stream, as `on_end="close"` does: windows that are open are emitted."""
        return ReplayedBatch.of_output(number, run, BatchOutput.of_blobs(self.task, self._query.close()))


def recorded_exchange(task: TaskPayload, part: RecordedPart) -> Iterator[dict[str, Any]]:
    """Yield what a map task sends to the buckets, a row at a time; the progress is that which was recorded."""
    report = part.report
    for row in exchanged_rows(task, part.batches()):
        is_progress = row["rows"] is None and row["evaluator_blobs"] is None
        if is_progress and report.inputs:
            side = row[SIDE] if len(task.inputs) > 1 else 0
            row.update(report.inputs[side].columns(), signals=list(report.signals))
        yield row


class LiveTable:
    """The results that are there, by the changes so far."""

    def __init__(self, task: TaskPayload) -> None:
        plan = task.plan
        self._keys = [key.name for key in plan.keys]
        self._lifetime = plan.lifetime_column
        self._named: dict[Any, Row] = {}
        self._others: list[Row] = []

    def take(self, changes: Iterable[Row]) -> None:
        """Take the changes of a micro-batch."""
        for given in changes:
            if "event_id" not in given:
                self._others.append(given)
                continue
            row = {name: value for name, value in given.items() if name not in ("change", "event_id", "new_end")}
            name = (*(freeze(given[key]) for key in self._keys), given["event_id"])
            if given["change"] == "insert":
                self._named[name] = row
                continue
            self._named.pop(name, None)  # a recording may begin after it was inserted
            if given["change"] == "revise":
                self._named[name] = row | {self._lifetime: {**row[self._lifetime], "end": given["new_end"]}}

    @property
    def rows(self) -> list[Row]:
        """The rows, in an order that does not depend on how they were computed."""
        return sorted([*self._named.values(), *self._others], key=lambda row: [_sortable(row[name]) for name in row])


def _sortable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return (1, [_sortable(part) for part in value.values()])
    if isinstance(value, list | tuple):
        return (1, [_sortable(part) for part in value])
    if value is None:
        return (0, 0)
    return (2, value) if not isinstance(value, float) or value == value else (3, 0)  # noqa: PLR0124
