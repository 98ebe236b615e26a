"""Short ways to write what the benchmarks' tests need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.bars import Bar
from benchmarks.measurement import Batch, Memory, Run, Summary, summarize
from benchmarks.options import Options
from benchmarks.question import Question
from benchmarks.report import WorkReport
from benchmarks.trial import Trial
from benchmarks.windows import ANSWERS, Hopping
from benchmarks.works import Work

QUESTION = Question("average", Hopping(60, 60))


def answers(*rows: tuple[int, int, float]) -> pa.Table:
    """Answers from key, start in seconds, and value."""
    keys, starts, values = zip(*rows, strict=True) if rows else ((), (), ())
    ticks = pa.array([start * 1_000_000 for start in starts], ANSWERS.field("start").type)
    return pa.table([pa.array(keys, pa.int64()), ticks, pa.array(values, pa.float64())], schema=ANSWERS)


def run_of(*seconds: float, rows: int = 1000, **more: Any) -> Run:
    """A run whose batches took so long."""
    batches = tuple(Batch(rows, time, 10, 100, 50) for time in seconds)
    return Run(sum(seconds), batches, Memory(2_000_000, 1_000_000), **more)


def summary_of(*seconds: float, **more: Any) -> Summary:
    return summarize([run_of(*seconds, **more)])


def trial_of(system: str, *seconds: float, question: Question = QUESTION, **more: Any) -> Trial:
    runs = [run_of(*seconds)] if seconds else []
    return Trial(system, question, 5, check_seconds=1.5, windows_checked=7, runs=runs, **more)


def report_of(*trials: Trial, bars: Sequence[Bar] = ()) -> WorkReport:
    question = trials[0].question
    names = tuple(trial.system for trial in trials)
    work = Work("some-work", question.aggregate, 10_000, (question.windows,), names, tuple(bars))
    return WorkReport(work, 1_000_000, trials)


def options_of(folder: Path, **more: Any) -> Options:
    return Options(works=(), rows=1_000_000, repeats=3, limit=300, folder=folder, environments={}, **more)
