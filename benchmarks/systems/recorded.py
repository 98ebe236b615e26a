"""The columnar evaluator as a query writer runs it, with sinks: recorded or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.data import Files
from benchmarks.measurement import Run
from benchmarks.question import Question
from benchmarks.systems.muntin_query import BUCKETS, specification_of
from benchmarks.systems.system import System
from benchmarks.windows import ANSWERS, Hopping
from muntin_engine import Query, events, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Written(System):
    """A query that writes its results, and is not recorded."""

    name = "muntin written"
    needs_spark = True
    has = (Hopping,)

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Write the results to nowhere."""
        from benchmarks.streaming import run_query

        def drop(batch: DataFrame, _: int) -> None:
            batch.write.format("noop").mode("overwrite").save()

        def start(checkpoint: Path) -> Any:
            record = self._recording(checkpoint)
            return _query(question, files).write(results=drop, checkpoint=checkpoint, available_now=True, record=record)

        return run_query(start, limit)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Return the results."""
        from benchmarks.streaming import collect_stream

        rows = _query(question, files).results()
        return collect_stream(rows.selectExpr("key", "window.start AS start", "value")).cast(ANSWERS)

    def _recording(self, checkpoint: Path) -> Path | None:
        """Return where it is recorded; None if it is not."""
        del checkpoint
        return None


class Recorded(Written):
    """The same query, all of whose rows are recorded."""

    name = "muntin recorded"

    def _recording(self, checkpoint: Path) -> Path | None:
        return checkpoint.with_name("recording")


def _query(question: Question, files: Files) -> Query:
    from benchmarks.session import spark_session
    from benchmarks.streaming import stream_of

    stream = stream_of(spark_session(), files)
    known = events(stream, key="key", at="at", watermark=f"{question.delay} seconds", buckets=BUCKETS)
    averages = known.window(specification_of(question.windows), evaluator="columnar")
    return averages.aggregate(value=module(f"stats.{question.aggregate}", "value"))
