"""What a replay gave: the changes of the results micro-batch by micro-batch, and the results that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muntin_engine.recording.comparing import unlike
from muntin_engine.recording.replay import LiveTable, ReplayedBatch, Row
from muntin_engine.wire.task_payload import TaskPayload


class Replayed:
    """The output of a replay.

    Attributes:
        batches: The output of each micro-batch.
    """

    def __init__(self, task: TaskPayload, batches: Sequence[ReplayedBatch]) -> None:
        """Take the output of each micro-batch of a query."""
        self.batches = tuple(batches)
        self._task = task

    @property
    def evaluator(self) -> str:
        """The name of the evaluator that computed it."""
        return self._task.plan.choice.evaluator

    @property
    def changes(self) -> list[Row]:
        """All rows of the results, as sinks got them: where results may be corrected, a row for each change."""
        return [row for batch in self.batches for row in batch.changes]

    @property
    def results(self) -> list[Row]:
        """The results that are there in the end, in the order of their columns.

        They are what `fold` makes of the changes: without `change`, `event_id` and `new_end`, and each as revised last.
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
        """Yield the results that are there before the first micro-batch, which are none, and after each."""
        there = LiveTable(self._task)
        yield []
        for batch in self.batches:
            there.take(batch.changes)
            yield there.rows

    def check(self, **outputs: Iterable[Mapping[str, Any]]) -> None:
        """Raise unless outputs are as expected, in any order.

        Args:
            outputs: The expected rows of an output by its name: `results`, `changes`, `late_rows`, `rejected_rows` or
                `evicted_rows`. A row is a dict of the columns that matter; a value may be `pytest.approx(...)`.

        Raises:
            AssertionError: Rows are missing, or there are others; it lists both.
        """
        told = {name: unlike(getattr(self, name), expected) for name, expected in outputs.items()}
        if any(told.values()):
            raise AssertionError(
                "\n".join(line for name, lines in told.items() if lines for line in [f"{name}:", *lines])
            )
