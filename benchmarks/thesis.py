"""`python -m benchmarks.thesis`: evaluators beside the methods of the thesis, by what is counted.

Jin Li, Window Queries over Data Streams, 2008: the sweep of figure 6-10 with the related methods of section 3.1, and
slack against punctuation, figures 6-11 and 6-12. All figures are counted, so they are the same in every run; the tables
of the page *Slices and state* are from here.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.bucket import Bucket, BucketQuery, answers_of, forget_decoded_state
from benchmarks.questions.question import ticks
from muntin import INFINITY, Aggregate, Event, IncrementalAggregate, hopping
from muntin.changes import Insertion, Punctuation
from muntin.progress import bounded_delay
from muntin.testing import Computation, KeyedChange, Script, WindowedQuery
from muntin.windows import HoppingWindows
from muntin_engine.testing import band_disorder, block_disorder, latencies, mean_error, measure, wrong_share
from muntin_stats import Average, Count

RANGE: Final = 4_000
"""Rows of a window. The time of a row is its number."""

SLIDES: Final = (100, 400, 1_000, 4_000)


@dataclass
class Work:
    """What a method does.

    Attributes:
        touches: The number of times that a payload was read; one that is read twice counts twice.
        merges: The number of times that two states were merged.
    """

    touches: int = 0
    merges: int = 0


Largest: TypeAlias = dict[int, float]
"""The largest payload of each window, by the number of its first row, negative if that is before the stream."""

Method: TypeAlias = Callable[[Sequence[float], int, int, Work], Largest]
"""Computes the largest payload of each window, given the payloads, size and slide of windows, and the work to count."""

_MODULE_WORK = Work()
"""The work of the two modules below. A plan makes its modules itself, so they cannot be handed a counter."""


class LargestOfAll(Aggregate[float, float]):
    """The largest payload, from all members of a window."""

    name, version = "thesis.largest_of_all", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the largest."""
        _MODULE_WORK.touches += len(payloads)
        return max(payloads)


class LargestSoFar(IncrementalAggregate[float, float | None, float]):
    """The largest payload, from a state that cannot forget: there is neither `remove_events` nor `deduct`."""

    name, version = "thesis.largest_so_far", "1.0.0"

    def create_state(self) -> float | None:
        """Return the largest of nothing."""
        return None

    def add_events(self, state: float | None, payloads: Sequence[float]) -> float | None:
        """Return the largest so far."""
        _MODULE_WORK.touches += len(payloads)
        largest = max(payloads)
        return largest if state is None else max(state, largest)

    def combine(self, state: float | None, other: float | None) -> float | None:
        """Return the larger of two."""
        _MODULE_WORK.merges += 1
        if state is None or other is None:
            return other if state is None else state
        return max(state, other)

    def compute_result(self, state: float | None) -> float:
        """Return the largest."""
        assert state is not None, "the engine makes no result of an empty window"
        return state


def buffering(payloads: Sequence[float], size: int, slide: int, work: Work) -> Largest:
    """Keep the rows, and compute each window from all its members: the general evaluator."""
    return _by_engine("general", LargestOfAll, payloads, size, slide, work)


def slices(payloads: Sequence[float], size: int, slide: int, work: Work) -> Largest:
    """Keep a state per slice, and merge those of each window: the sliced evaluator."""
    return _by_engine("sliced", LargestSoFar, payloads, size, slide, work)


def _by_engine(
    evaluator: str,
    module: type[Aggregate[float, float] | IncrementalAggregate[float, Any, float]],
    payloads: Sequence[float],
    size: int,
    slide: int,
    work: Work,
) -> Largest:
    """Compute the largest payload per window with a bucket of the engine, and count the work of module and engine."""
    query = BucketQuery(hopping(size, slide), module, evaluator, progress=bounded_delay(0))
    bucket = Bucket(query)
    forget_decoded_state()
    _MODULE_WORK.touches = 0
    _MODULE_WORK.merges = 0

    # A last row far behind the others closes their windows; its own stay open.
    numbers = np.append(np.arange(len(payloads)), len(payloads) + 2 * size)
    values = np.append(payloads, 0.0)
    largest: Largest = {}
    for first in range(0, len(numbers), size):
        places = numbers[first : first + size]
        rows = query.rows(np.zeros(len(places), np.int64), places, values[first : first + size])
        answers = answers_of(bucket.process(bucket.send(rows)))
        largest.update(zip(ticks(answers["start"]).tolist(), answers["value"].to_pylist(), strict=True))

    work.touches += _MODULE_WORK.touches
    work.merges += _MODULE_WORK.merges
    return largest


def negative_tuples(payloads: Sequence[float], size: int, slide: int, work: Work) -> Largest:
    """Keep a heap of the rows in the window; each comes once more when it leaves, and is taken out again."""
    rows: deque[tuple[int, float]] = deque()
    heap: list[float] = []  # negative payloads, so the largest is the first, with some that have left
    departed: Counter[float] = Counter()  # how often a payload in the heap has left
    largest: Largest = {}
    number = 0
    for start in _window_starts(len(payloads), size, slide):
        while number < min(start + size, len(payloads)):
            rows.append((number, payloads[number]))
            heappush(heap, -payloads[number])
            work.touches += 1
            number += 1
        while rows and rows[0][0] < start:
            _, payload = rows.popleft()
            departed[payload] += 1
            work.touches += 1
        while heap and departed[-heap[0]]:
            departed[-heappop(heap)] -= 1
        largest[start] = -heap[0]
    work.touches += len(rows)  # they leave the last window
    return largest


def paired_windows(payloads: Sequence[float], size: int, slide: int, work: Work) -> Largest:
    """Cut each slide where a window starts and where one ends, and merge the fragments of each window anew.

    S. Krishnamurthy, C. Wu and M. Franklin: On-the-fly sharing for streamed aggregation, SIGMOD 2006.
    """
    cuts = sorted({*range(0, len(payloads), slide), *range(size % slide, len(payloads), slide)})
    fragments: dict[int, float] = {}
    for first, stop in zip(cuts, [*cuts[1:], len(payloads)], strict=True):
        fragments[first] = max(payloads[first:stop])
        work.touches += stop - first
    largest: Largest = {}
    for start in _window_starts(len(payloads), size, slide):
        parts = [fragments[first] for first in cuts if start <= first < start + size]
        work.merges += len(parts) - 1
        largest[start] = max(parts)
    return largest


def base_intervals(payloads: Sequence[float], size: int, slide: int, work: Work) -> Largest:
    """Merge two neighbours into an interval twice as long, and so on; a window is at most two of each length.

    A. Arasu and J. Widom: Resource sharing in continuous sliding-window aggregates, VLDB 2004.
    """
    levels = [list(payloads)]
    work.touches += len(payloads)
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([max(below[place], below[place + 1]) for place in range(0, len(below) - 1, 2)])
        work.merges += len(levels[-1])
    largest: Largest = {}
    for start in _window_starts(len(payloads), size, slide):
        parts = list(_intervals(levels, max(0, start), min(len(payloads), start + size)))
        work.merges += len(parts) - 1
        largest[start] = max(parts)
    return largest


def _intervals(levels: list[list[float]], start: int, end: int) -> Iterator[float]:
    """Yield the values of the fewest intervals that make up `[start, end)`."""
    for values in levels:
        if start >= end:
            return
        if start % 2:
            yield values[start]
        if end % 2 and start < end:
            yield values[end - 1]
        start = (start + 1) // 2
        end //= 2


def _window_starts(rows: int, size: int, slide: int) -> range:
    """Return the starts of the windows that have a row."""
    return range((-size // slide + 1) * slide, rows, slide)


METHODS: Final[Mapping[str, Method]] = {
    "buffering": buffering,
    "negative tuples": negative_tuples,
    "paired windows": paired_windows,
    "base intervals": base_intervals,
    "slices": slices,
}


def work_per_row(rows: int, size: int, slide: int) -> dict[str, float]:
    """Return how often each method touches a row or merges a state, per row of a stream of random payloads.

    Raises:
        AssertionError: Two methods gave different answers.
    """
    payloads = np.random.default_rng(1).random(rows).tolist()
    expected: Largest | None = None
    counts = {}
    for name, method in METHODS.items():
        work = Work()
        largest = method(payloads, size, slide, work)
        assert expected is None or largest == expected, f"{name} gave other answers than buffering"
        expected = largest
        counts[name] = (work.touches + work.merges) / rows
    return counts


@dataclass
class Answered:
    """The answer to a query over a stream in disorder.

    Attributes:
        results: The result of each window, by its start.
        latencies: For each result, the number of rows by which it came after the punctuation that covers its window.
    """

    results: dict[int, float] = field(default_factory=dict)
    latencies: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Disordered:
    """A query over a stream in disorder, and the slacks to try.

    Attributes:
        title: Query, in words.
        windows: Windows of the query.
        module: Module of the query.
        reduce: Function that computes the module's result from a list.
        disorder: Function that brings a stream in order into disorder.
        slacks: Slacks, in ticks.
        error: Function that computes the error of results in percent, from the results and the true ones.
    """

    title: str
    windows: HoppingWindows
    module: IncrementalAggregate[Any, Any, Any]
    reduce: Callable[[Sequence[float]], float]
    disorder: Callable[[Script], Script]
    slacks: Sequence[int]
    error: Callable[[dict[int, float], dict[int, float]], float]


DISORDERED: Final = (
    Disordered(
        "average of 64 s every 6.4 s, a band of 3.2 s; slack in 10 ms",
        hopping(6_400, 640),
        Average(),
        fmean,
        lambda script: band_disorder(script, 320, seed=1, every=64),
        (0, 32, 64, 128, 256, 320),
        mean_error,
    ),
    Disordered(
        "count of 600 s every 60 s, blocks of 490 s; slack in s",
        hopping(600, 60),
        Count(),
        len,
        lambda script: block_disorder(script, 490, seed=1),
        (0, 54, 109, 218, 327, 434, 491, 600),
        wrong_share,
    ),
)


def stream_in_order(windows: HoppingWindows, count: int) -> Script:
    """Return a stream of rows in order, about ten windows long, with payloads that rise and fall."""
    random = Random(1)
    span = 10 * windows.size
    steps = []
    for number, at in enumerate(sorted(random.sample(range(span), count))):
        event = Event.point(at, float(random.randint(0, 100) + 100 * at // span))
        steps.append(KeyedChange(None, Insertion(number, event)))
    return Script((*steps, Punctuation(INFINITY)))


def true_results(query: Disordered, script: Script) -> dict[int, float]:
    """Return the results over the whole stream, each from all rows in it."""
    members: dict[int, list[float]] = {}
    for step in script.changes():
        for start in _starts_over(query.windows, step.change.event.start):
            members.setdefault(start, []).append(step.change.event.payload)
    return {start: query.reduce(payloads) for start, payloads in members.items()}


def by_slack(query: Disordered, script: Script, slack: int, *, is_generous: bool) -> Answered:
    """Answer a query with slack: a window is closed once a row is later than its end by the slack.

    Args:
        query: The query.
        script: The stream, whose punctuation is not read.
        slack: The slack, in ticks.
        is_generous: True if a row that is too late for some of its windows counts in the others; consistent slack drops
            it from all.
    """
    windows = query.windows
    members: dict[int, list[float]] = {}
    answered = Answered()
    emitted: list[tuple[int, int]] = []
    newest = -INFINITY
    closed = -INFINITY
    for place, step in enumerate(script.steps, 1):
        if isinstance(step, KeyedChange):
            event = step.change.event
            starts = _starts_over(windows, event.start)
            open_starts = [start for start in starts if start + windows.size > closed]
            if is_generous or len(open_starts) == len(starts):
                for start in open_starts:
                    members.setdefault(start, []).append(event.payload)
            newest = max(newest, event.start)
            closed = newest - slack
        elif step == Punctuation(INFINITY):
            closed = INFINITY

        # Windows that are closed now are answered.
        for start in sorted(start for start in members if start + windows.size <= closed):
            answered.results[start] = query.reduce(members.pop(start))
            emitted.append((place, start + windows.size))
    answered.latencies = latencies(script, emitted)
    return answered


def by_punctuation(query: Disordered, script: Script) -> Answered:
    """Answer a query with the engine, by the punctuation of the stream."""
    measured = measure(script, WindowedQuery(query.windows, [Computation(query.module)]), evaluator="sliced")
    results = {row.window.start: row.value[0] for row in measured.output[None]}
    return Answered(results, measured.latencies)


def _starts_over(windows: HoppingWindows, tick: int) -> list[int]:
    """Return the starts of the windows over a tick."""
    last = tick // windows.hop * windows.hop
    return list(range(last, tick - windows.size, -windows.hop))


def main() -> None:
    """Print the tables."""
    console = Console()
    table = Table("slide, rows", *METHODS, title=f"touches and merges per row, windows of {RANGE:,} rows")
    for slide in SLIDES:
        counts = work_per_row(3 * RANGE, RANGE, slide)
        table.add_row(str(slide), *(f"{count:.2f}" for count in counts.values()))
    console.print(table)

    for query in DISORDERED:
        script = query.disorder(stream_in_order(query.windows, 3_000))
        truth = true_results(query, script)
        table = Table("slack", "consistent, error in %", "generous", "rows behind the punctuation", title=query.title)
        for slack in query.slacks:
            consistent = by_slack(query, script, slack, is_generous=False)
            generous = by_slack(query, script, slack, is_generous=True)
            errors = [f"{query.error(answered.results, truth):.3g}" for answered in (consistent, generous)]
            table.add_row(str(slack), *errors, f"{fmean(consistent.latencies):.1f}")
        punctuated = by_punctuation(query, script)
        error = query.error(punctuated.results, truth)
        table.add_row("punctuation", f"{error:.3g}", "", f"{fmean(punctuated.latencies):.1f}")
        console.print(table)


if __name__ == "__main__":
    main()
