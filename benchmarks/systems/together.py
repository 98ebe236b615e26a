"""Several questions about one stream: in one pass, or a Spark query for each, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.data import Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.question import Question
from benchmarks.systems.muntin_query import BUCKETS, specification_of
from benchmarks.systems.system import System
from benchmarks.windows import ANSWERS
from benchmarks.windows.together import KINDS, Together, marked
from muntin_engine import Query, events, module, one_pass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine.writing import SinkLike


class OneByOne(System):
    """A query for each question. Its time is that of all, and a row counts once."""

    name = "muntin one by one"
    needs_spark = True
    has = (Together,)

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Write the results of each to nowhere."""

        def drop(batch: DataFrame, _: int) -> None:
            batch.write.format("noop").mode("overwrite").save()

        runs: list[Run] = []
        for asked in self._passes(_queries(question, files)):
            runs.append(_run(asked, dict.fromkeys(asked, drop), limit))
        return _in_all(runs)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Write the results of each to a table."""
        from benchmarks.streaming import LONGEST_CHECK

        tables: list[pa.Table] = [ANSWERS.empty_table()]

        def keep(place: int) -> Callable[[DataFrame, int], None]:
            def take(batch: DataFrame, _: int) -> None:
                rows = batch.selectExpr("key", "window.start AS start", "value")
                tables.append(marked(rows.toArrow().cast(ANSWERS), place))

            return take

        queries = _queries(question, files)
        sinks = {name: keep(place) for place, name in enumerate(queries)}
        for asked in self._passes(queries):
            if _run(asked, {name: sinks[name] for name in asked}, LONGEST_CHECK).is_cut:
                raise TimeoutError(f"it was stopped after {LONGEST_CHECK} s")
        return pa.concat_tables(tables)

    def _passes(self, queries: Mapping[str, Query]) -> Sequence[Mapping[str, Query]]:
        """Return the queries of each pass over the input."""
        return [{name: query} for name, query in queries.items()]


class OnePass(OneByOne):
    """One query for all of them."""

    name = "muntin one pass"

    def _passes(self, queries: Mapping[str, Query]) -> Sequence[Mapping[str, Query]]:
        return [queries]


def _queries(question: Question, files: Files) -> Mapping[str, Query]:
    from benchmarks.session import spark_session
    from benchmarks.streaming import stream_of

    assert question.aggregate == "average", f"the {question.aggregate} over several windows is in no work"
    stream = stream_of(spark_session(), files)
    known = events(stream, key="key", at="at", watermark=f"{question.delay} seconds", buckets=BUCKETS)
    return {
        f"question_{place}": known.window(specification_of(kind)).aggregate(value=module("stats.average", "value"))
        for place, kind in enumerate(KINDS)
    }


def _run(asked: Mapping[str, Query], sinks: Mapping[str, SinkLike], limit: float) -> Run:
    from benchmarks.streaming import run_query

    return run_query(
        lambda checkpoint: one_pass(**asked).write(results=sinks, checkpoint=checkpoint, available_now=True), limit
    )


def _in_all(runs: Sequence[Run]) -> Run:
    """Return runs over the same input as one: each micro-batch takes what it took in all of them."""
    batches = [
        Batch(same[0].rows, sum(batch.seconds for batch in same))
        for same in zip(*(run.batches for run in runs), strict=False)
    ]
    memory = Memory(max(run.memory.jvm for run in runs), max(run.memory.python for run in runs))
    worked = sum(run.cpu_seconds or 0.0 for run in runs)
    return Run(sum(run.seconds for run in runs), tuple(batches), memory, any(run.is_cut for run in runs), worked)
