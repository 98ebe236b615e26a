"""The applications of TiLT's evaluation on the engine's evaluators by themselves: in this process, without Spark.

There is one bucket for each part of a query, and a batch per file. Reading the files is measured, as it is of pandas.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch
from benchmarks.question import Question
from benchmarks.systems.stages import Asked, Events, OperatorStage, PairStage, WindowStage, columns_of
from benchmarks.systems.system import System
from benchmarks.tilt import (
    Averages,
    CrestFactor,
    Crossings,
    HeartBeats,
    Interpolation,
    Kurtosis,
    RelativeStrength,
    RootMeanSquare,
)
from benchmarks.windows import ANSWERS, Tilt
from benchmarks.windows.tilt import BEAT, CHANGES, DAYS, LONG, MINUTE, RATE, SHORT, STEP, TURN, Application
from benchmarks.windows.windows import table_of, ticks
from muntin import count_by_start
from muntin_engine.exchange.bucket_task import without_collector
from muntin_stats.columns.average import ColumnarAverage
from muntin_stats.columns.count import ColumnarCount
from muntin_stats.columns.standard_deviation import ColumnarStandardDeviation

Step: TypeAlias = Callable[[Events], pa.Table]
"""Takes a batch of readings, and returns the answers that it completes."""

_AVERAGE: Final = ColumnarAverage()


class TiltInProcess(System):
    """Columnar windows, joins of pairs, stream operators and the general evaluator, as each question has them."""

    name = "muntin in process"
    has = (Tilt,)

    @property
    def note(self) -> str | None:
        """Say that there is no Spark."""
        return "in process, without Spark, on one core: a bucket for each part of a query, and a batch per file"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run all batches through the stages."""
        assert isinstance(question.windows, Tilt)
        done: list[Batch] = []
        gc.collect()
        with MemoryWatch.over(os.getpid(), with_root=True) as watch, without_collector():
            worked, started = time.process_time(), time.perf_counter()
            step, before = _STEPS[question.windows.application](), started
            for batch in _batches(question, files):
                results = len(step(batch))
                now = time.perf_counter()
                done.append(Batch(len(batch.keys), now - before, results))
                before = now
                if now - started > limit:
                    break
            seconds, worked = time.perf_counter() - started, time.process_time() - worked
        is_cut = len(done) < len(files.paths)
        return Run(seconds, tuple(done), Memory(python=watch.peak.python), is_cut=is_cut, cpu_seconds=worked)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run all batches through the stages and keep what comes out."""
        assert isinstance(question.windows, Tilt)
        step = _STEPS[question.windows.application]()
        return pa.concat_tables(step(batch) for batch in _batches(question, files))


def _batches(question: Question, files: Files) -> Iterator[Events]:
    newest = 0
    for path in files.paths:
        table = pq.read_table(path).combine_chunks()
        at = ticks(table["at"])
        newest = max(newest, int(at.max()))
        value = table["value"].chunk(0)
        watermark = newest - question.delay * MICROSECONDS
        yield Events(table["key"].to_numpy(), at, at + 1, {"value": value}, watermark)


def _trend() -> Step:
    asked: list[Asked] = [{name: (_AVERAGE, "value")} for name in ("short", "long")]
    short, long = (
        WindowStage(size * MICROSECONDS, MICROSECONDS, average, at_end=True)
        for size, average in zip((SHORT, LONG), asked, strict=True)
    )
    pairs, crossings = PairStage(), OperatorStage(Crossings(), Averages._make)

    def step(readings: Events) -> pa.Table:
        found = crossings.take(pairs.take(short.take(readings), long.take(readings)))
        return _answers([(key, at, both.short - both.long) for key, at, both in found])

    return step


def _strength() -> Step:
    asked: Asked = {"index": (RelativeStrength(), "change"), "changes": (ColumnarCount(), "change")}
    pairs = PairStage()
    windows = WindowStage(CHANGES * MICROSECONDS, MICROSECONDS, asked, at_end=True)

    def step(prices: Events) -> pa.Table:
        before = prices.shifted(MICROSECONDS)._replace(columns={"before": prices.columns["value"]})
        both = pairs.take(before, prices)
        change = pc.subtract(both.columns["value"], both.columns["before"])
        found = windows.take(both._replace(columns={"change": change}))
        return _table(found, found.columns["index"]).filter(pc.equal(found.columns["changes"], CHANGES))

    return step


def _normalised() -> Step:
    asked: Asked = {"mean": (_AVERAGE, "value"), "deviation": (ColumnarStandardDeviation(0), "value")}
    windows, pairs = WindowStage(MINUTE * MICROSECONDS, MINUTE * MICROSECONDS, asked), PairStage()

    def step(readings: Events) -> pa.Table:
        found = pairs.take(readings, windows.take(readings))
        value, mean, deviation = (found.columns[name] for name in ("value", "mean", "deviation"))
        score = pc.divide(pc.subtract(value, mean), deviation)
        return _table(found, score).filter(pc.greater(deviation, 0.0))

    return step


def _imputed() -> Step:
    windows = WindowStage(MINUTE * MICROSECONDS, MINUTE * MICROSECONDS, {"mean": (_AVERAGE, "value")})
    pairs = PairStage()

    def step(rows: Events) -> pa.Table:
        value = rows.columns["value"]
        known = pc.if_else(pc.greater_equal(value, 85.0), value, pa.scalar(None, pa.float64()))
        readings = rows._replace(columns={"value": known})
        found = pairs.take(readings, windows.take(readings))
        return _table(found, pc.coalesce(found.columns["value"], found.columns["mean"]))

    return step


def _resampled() -> Step:
    stage = OperatorStage(Interpolation(STEP), itemgetter(0), count_by_start(2))

    def step(rows: Events) -> pa.Table:
        is_kept = rows.columns["value"].to_numpy() < 100
        keys, starts, ends = rows.keys[is_kept], rows.starts[is_kept], rows.ends[is_kept]
        columns = {"value": rows.columns["value"].filter(pa.array(is_kept))}
        return _answers(stage.take(Events(keys, starts, ends, columns, rows.watermark)))

    return step


def _beats() -> Step:
    stage = OperatorStage(HeartBeats(RATE), itemgetter(0))

    def step(rows: Events) -> pa.Table:
        phase = (rows.starts // MICROSECONDS + 17 * rows.keys) % BEAT
        pulse = np.maximum(0.0, 1 - np.abs(phase - 80) / 4)
        heart = pa.array(rows.columns["value"].to_numpy() / 100 + 8 * pulse)
        found = stage.take(rows._replace(columns={"value": heart}))
        return _answers([(key, beat.at, beat.energy) for key, _, beat in found])

    return step


def _vibration() -> Step:
    modules = (Kurtosis(), RootMeanSquare(), CrestFactor())
    asked: Asked = {module.name: (module, "value") for module in modules}
    windows = WindowStage(TURN * MICROSECONDS, TURN * MICROSECONDS, asked)

    def step(rows: Events) -> pa.Table:
        found = windows.take(rows._replace(columns={"value": pc.subtract(rows.columns["value"], 100.0)}))
        figures = enumerate(found.columns.values())
        return pa.concat_tables(_table(found._replace(keys=found.keys * 3 + place), some) for place, some in figures)

    return step


def _unusual() -> Step:
    asked: Asked = {"mean": (_AVERAGE, "value"), "deviation": (ColumnarStandardDeviation(1), "value")}
    windows = WindowStage(DAYS * TURN * MICROSECONDS, TURN * MICROSECONDS, asked, at_end=True)
    pairs = PairStage()

    def step(payments: Events) -> pa.Table:
        usual = windows.take(payments)
        found = pairs.take(payments, usual._replace(ends=usual.starts + TURN * MICROSECONDS))
        value, mean, deviation = (found.columns[name] for name in ("value", "mean", "deviation"))
        return _table(found, value).filter(pc.greater(value, pc.add(mean, pc.multiply(deviation, 3.0))))

    return step


def _table(events: Events, value: pa.Array) -> pa.Table:
    return pa.table([events.keys, pa.array(events.starts, ANSWERS.field("start").type), value], schema=ANSWERS)


def _answers(rows: list[tuple[int, int, Any]]) -> pa.Table:
    key, start, value = columns_of(rows)
    return table_of(np.array(key, np.int64), np.array(start, np.int64), np.array(value, np.float64))


_STEPS: Final[dict[Application, Callable[[], Step]]] = {
    "trend": _trend,
    "strength": _strength,
    "normalised": _normalised,
    "imputed": _imputed,
    "resampled": _resampled,
    "beats": _beats,
    "vibration": _vibration,
    "unusual": _unusual,
}
