"""The output of a replay: changes of results micro-batch by micro-batch, and the results after each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin_engine.recording.live_table import LiveTable, Row
from muntin_engine.recording.row_differences import row_differences
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True, slots=True)
class ReplayedBatch:
    """The output of a micro-batch.

    Attributes:
        number: The number of the micro-batch, as Spark counted.
        run: The number of the start of the query in which it was evaluated, from 0.
        changes: The rows of the results, as sinks got them.
        late_rows: The rows that came behind the watermark, or were shed, with their reasons.
        rejected_rows: The rows that could not be events, with their reasons.
        evicted_rows: The rows of the second output, which row windows have for rows that leave.
        metrics: The metrics by name, over all buckets.
    """

    number: int
    run: int = 0
    changes: list[Row] = field(default_factory=list)
    late_rows: list[Row] = field(default_factory=list)
    rejected_rows: list[Row] = field(default_factory=list)
    evicted_rows: list[Row] = field(default_factory=list)
    metrics: Mapping[str, int] = field(default_factory=dict)


class Replayed:
    """The output of a replay.

    Attributes:
        batches: The output of each micro-batch.
    """

    def __init__(self, task: TaskPayload, batches: Sequence[ReplayedBatch]) -> None:
        """Take the query, and the output of each of its micro-batches."""
        self.batches = tuple(batches)
        self._task = task

    @property
    def evaluator(self) -> str:
        """The name of the evaluator that ran the replay."""
        return self._task.plan.choice.evaluator

    @property
    def changes(self) -> list[Row]:
        """All rows of the results, as sinks got them. If results may be corrected, there is a row for each change."""
        return [row for batch in self.batches for row in batch.changes]

    @property
    def results(self) -> list[Row]:
        """The results that are there in the end, ordered by the values of their columns.

        They are the changes as `fold` combines them: each result as it was revised last, without the columns `change`,
        `event_id` and `new_end`.
        """
        *_, last = self.live()
        return last

    @property
    def late_rows(self) -> list[Row]:
        """All late rows, with their reasons."""
        return [row for batch in self.batches for row in batch.late_rows]

    @property
    def rejected_rows(self) -> list[Row]:
        """All rejected rows, with their reasons."""
        return [row for batch in self.batches for row in batch.rejected_rows]

    @property
    def evicted_rows(self) -> list[Row]:
        """All rows of the second output."""
        return [row for batch in self.batches for row in batch.evicted_rows]

    def live(self) -> Iterator[list[Row]]:
        """Yield the results before the first micro-batch, which are none, and then those after each micro-batch."""
        table = LiveTable(self._task)
        yield []
        for batch in self.batches:
            table.add_changes(batch.changes)
            yield table.rows

    def check(self, **outputs: Iterable[Mapping[str, Any]]) -> None:
        """Raise unless outputs are as expected, in any order.

        Args:
            outputs: The expected rows of an output by its name: `results`, `changes`, `late_rows`, `rejected_rows` or
                `evicted_rows`. A row is a dict of the columns that matter; a value may be `pytest.approx(...)`.

        Raises:
            AssertionError: Rows are missing, or there are unexpected rows; the message lists both.
        """
        lines: list[str] = []
        for output, expected in outputs.items():
            differences = row_differences(getattr(self, output), expected)
            if differences:
                lines += [f"{output}:", *differences]
        if lines:
            raise AssertionError("\n".join(lines))
