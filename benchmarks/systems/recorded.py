"""The columnar evaluator as a query writer runs it, with a sink: recorded or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.data import Files
from benchmarks.measurement import Run
from benchmarks.questions.question import Question
from benchmarks.systems.muntin import BUILT_IN, COLUMNAR, events_of
from benchmarks.systems.muntin_windows import window_of
from benchmarks.systems.spark import StreamSystem, run_query, stream_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


class WrittenSystem(StreamSystem):
    """A query that writes its results to nowhere by `write`.

    Args:
        name: The name of the system.
        is_recorded: True if all of its rows are recorded.
    """

    def __init__(self, name: str, *, is_recorded: bool) -> None:
        super().__init__(name, COLUMNAR.results)
        self._is_recorded = is_recorded

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Write the results to nowhere."""

        def drop(batch: DataFrame, _: int) -> None:
            batch.write.format("noop").mode("overwrite").save()

        def start(checkpoint: Path) -> StreamingQuery:
            record = checkpoint.with_name("recording") if self._is_recorded else None
            rows = events_of(stream_of(files), question, files.delay)
            query = rows.window(window_of(question), evaluator="columnar").aggregate(value=BUILT_IN)
            return query.write(results=drop, checkpoint=checkpoint, available_now=True, record=record)

        return run_query(start, limit)


WRITTEN: Final = WrittenSystem("muntin written", is_recorded=False)
RECORDED: Final = WrittenSystem("muntin recorded", is_recorded=True)
