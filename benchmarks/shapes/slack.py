"""Slack against punctuation (thesis, figures 6-11 and 6-12): how wrong results are, and how late.

Slack bounds disorder by a guess: a buffer sorts rows that come within it (BSort), and a later row is dropped.
Punctuation says what is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from typing import Any, Final, TypeAlias

from benchmarks.shapes.panels import Panel
from muntin import INFINITY, Event, IncrementalAggregate, hopping
from muntin.changes import Insertion, Punctuation
from muntin.testing import Computation, KeyedChange, Script, WindowedQuery
from muntin.windows import HoppingWindows
from muntin_engine.testing import band_disorder, block_disorder, latencies, mean_error, wrong_share
from muntin_engine.testing import measure as measure_engine
from muntin_stats import Average, Count

Reduce: TypeAlias = Callable[[Sequence[float]], float]
Results: TypeAlias = dict[int, float]
"""The result of each window, by its start."""


@dataclass
class Answered:
    """An answer, and when it came.

    Attributes:
        results: It.
        latencies: Of each result, how many steps of the stream it came after the punctuation that covers its window.
    """

    results: Results = field(default_factory=dict)
    latencies: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Trial:
    """A query over a stream in disorder, and the slacks to try.

    Attributes:
        title: What it is.
        windows: Over what the query computes.
        module: What it computes.
        reduce: The same, of a list.
        disorder: Brings a stream in order into disorder.
        slacks: In ticks.
        unit: A tick.
        error: How wrong results are, in percent, beside the true ones.
    """

    title: str
    windows: HoppingWindows
    module: IncrementalAggregate[Any, Any, Any]
    reduce: Reduce
    disorder: Callable[[Script], Script]
    slacks: Sequence[int]
    unit: str
    error: Callable[[Results, Results], float]


TRIALS: Final = (
    Trial(
        "average of 64 s every 6.4 s, a band of 3.2 s",
        hopping(6_400, 640),
        Average(),
        fmean,
        lambda script: band_disorder(script, 320, seed=1, every=64),
        (0, 32, 64, 128, 256, 320),
        "10 ms",
        mean_error,
    ),
    Trial(
        "count of 600 s every 60 s, blocks of 490 s",
        hopping(600, 60),
        Count(),
        len,
        lambda script: block_disorder(script, 490, seed=1),
        (0, 54, 109, 218, 327, 434, 491, 600),
        "s",
        wrong_share,
    ),
)


def measure(*, is_quick: bool) -> Iterator[Panel]:
    """Yield errors in percent and latencies in rows over slack."""
    for trial in TRIALS:
        script = trial.disorder(rows_of(trial.windows, 300 if is_quick else 3_000))
        truth, punctuated = true_results(trial, script), by_punctuation(trial, script)
        slacked = {
            f"{name} slack": [by_slack(trial, script, slack, is_generous=is_generous) for slack in trial.slacks]
            for name, is_generous in (("consistent", False), ("generous", True))
        }
        measures: dict[str, Callable[[Answered], float]] = {
            "error, %": lambda answered: trial.error(answered.results, truth),  # noqa: B023  # used at once
            "rows behind the punctuation": lambda answered: fmean(answered.latencies),
        }
        for up, take in measures.items():
            series = {name: [take(answered) for answered in some] for name, some in slacked.items()}
            level, is_drawn = {"punctuation": take(punctuated)}, up.startswith("error")
            yield Panel(trial.title, f"slack, {trial.unit}", up, trial.slacks, series, level, is_drawn=is_drawn)


def rows_of(windows: HoppingWindows, count: int, seed: int = 1) -> Script:
    """Return a stream in order, about ten windows long, with payloads that rise and fall."""
    random, span = Random(seed), 10 * windows.size
    times = sorted(random.sample(range(span), count))
    events = [Event.point(at, float(random.randint(0, 100) + 100 * at // span)) for at in times]
    steps = [KeyedChange(None, Insertion(number, event)) for number, event in enumerate(events)]
    return Script((*steps, Punctuation(INFINITY)))


def true_results(trial: Trial, script: Script) -> Results:
    """Return the results over the whole stream, each from all rows in it."""
    members: dict[int, list[float]] = {}
    for step in script.changes():
        for start in starts_over(trial.windows, step.change.event.start):
            members.setdefault(start, []).append(step.change.event.payload)
    return {start: trial.reduce(payloads) for start, payloads in members.items()}


def by_slack(trial: Trial, script: Script, slack: int, *, is_generous: bool) -> Answered:
    """Answer a query with slack: a window ends when a row is so much later than its end.

    Args:
        trial: The query.
        script: The stream, whose punctuation is not read.
        slack: In ticks.
        is_generous: True if a row that is too late for some of its windows counts in the others; consistent slack drops
            it from all.
    """
    windows, answered = trial.windows, Answered()
    members: dict[int, list[float]] = {}
    emitted: list[tuple[int, int]] = []
    newest = closed = -INFINITY
    for place, step in enumerate(script.steps, 1):
        if isinstance(step, KeyedChange):
            at = step.change.event.start
            starts = starts_over(windows, at)
            still_open = [start for start in starts if start + windows.size > closed]
            for start in still_open if is_generous or len(still_open) == len(starts) else ():
                members.setdefault(start, []).append(step.change.event.payload)
            newest = max(newest, at)
            closed = newest - slack
        elif step == Punctuation(INFINITY):
            closed = INFINITY
        for start in sorted(start for start in members if start + windows.size <= closed):
            answered.results[start] = trial.reduce(members.pop(start))
            emitted.append((place, start + windows.size))
    answered.latencies = latencies(script, emitted)
    return answered


def by_punctuation(trial: Trial, script: Script) -> Answered:
    """Answer a query with the engine, by the punctuation of the stream."""
    measured = measure_engine(script, WindowedQuery(trial.windows, [Computation(trial.module)]), evaluator="sliced")
    return Answered({row.window.start: row.value[0] for row in measured.output[None]}, measured.latencies)


def starts_over(windows: HoppingWindows, tick: int) -> list[int]:
    """Return the starts of the windows over a tick."""
    last = tick // windows.hop * windows.hop
    return list(range(last, tick - windows.size, -windows.hop))
