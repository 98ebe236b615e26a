"""`python -m benchmarks.metering`: what it costs to measure how long modules take.

The general evaluator, in this process and without Spark, with meters and without, in turn. The quickest run of each
counts: whatever else the machine does only ever makes one slower. Windows with two rows each are the worst case there
is, since a call of a module is never shorter.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from operator import itemgetter
from random import Random
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.systems.plain_aggregates import PlainAverage
from muntin import hopping
from muntin.windows import HoppingWindows
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.exchange.bucket_task import without_collector
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec

ROUNDS: Final = 15
BATCHES: Final = 8
ROWS: Final = 5_000
SECOND: Final = 1_000_000


class Shape(NamedTuple):
    """A stream of ten rows a second.

    Attributes:
        name: What is special about it.
        window: Its windows.
        keys: How many keys it has.
        lasts: How many seconds an event lasts.
    """

    name: str
    window: HoppingWindows
    keys: int
    lasts: int


SHAPES: Final = (
    Shape("two rows to a window", hopping("10 seconds", "10 seconds"), 50, 0),
    Shape("one window per row and key", hopping("60 seconds", "60 seconds"), 5_000, 0),
    Shape("overlapping windows", hopping("10 minutes", "1 minute"), 200, 300),
)


def main() -> None:
    """Measure all shapes and show the table."""
    table = Table("shape", "without", "with", "cost")
    for shape in SHAPES:
        batches = list(stream(shape))
        times: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(2 * ROUNDS):
            is_timed = turn % 2 == 1
            times[is_timed].append(run(shape, batches, is_timed))
        off, on = min(times[False]), min(times[True])
        table.add_row(shape.name, f"{off:.3f} s", f"{on:.3f} s", f"{100 * (on / off - 1):+.1f} %")
    Console().print(table)


def stream(shape: Shape) -> Iterator[tuple[list[tuple[tuple[int], list[InputChange]]], Progress]]:
    """Yield batches as a bucket takes them."""
    random, at = Random(1), 0
    for _ in range(BATCHES):
        groups: dict[tuple[int], list[InputChange]] = {}
        for _ in range(ROWS):
            at += SECOND // 10
            end = at + max(1, shape.lasts * SECOND)
            row = InputChange(None, at, end, (random.random(),))
            groups.setdefault((random.randrange(shape.keys),), []).append(row)
        yield list(groups.items()), Progress(at - 5 * SECOND, at + max(1, shape.lasts * SECOND), at)


def run(
    shape: Shape, batches: list[tuple[list[tuple[tuple[int], list[InputChange]]], Progress]], is_timed: bool
) -> float:
    """Return the seconds that a bucket needs for some batches."""
    meter = Meter(time.perf_counter_ns if is_timed else None)
    query = EvaluatorQuery(shape.window, (Binding(PlainAverage(), itemgetter(0), meter),), has_ids=False)
    bucket = KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {})
    gc.collect()
    with without_collector():
        started = time.process_time()
        for changes, progress in batches:
            bucket.process(changes, progress)
            meter.take()
        return time.process_time() - started


if __name__ == "__main__":
    main()
