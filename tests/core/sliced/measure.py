"""What evaluation over slices with Python states costs: `python -m tests.core.sliced.measure`, from the repository.

One core, no Spark, seeded data. Each figure is the best of three runs, in seconds of CPU unless it says otherwise.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, product
from operator import itemgetter
from random import Random
from time import process_time
from typing import Any

from muntin import IncrementalAggregate, hopping, tumbling
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.state_lifting import GroupedRows, lift
from muntin_engine.evaluators.slices.states import StateStore
from muntin_engine.state.codec import Codec, records_in
from muntin_stats.average import Average
from tests.core.sliced.build import Feed


class Mean(IncrementalAggregate[float, list[Any], float]):
    """A plain average, its state a list of two numbers."""

    name, version = "measure.mean", "1.0.0"

    def create_state(self) -> list[Any]:
        return [0.0, 0]

    def add_events(self, state: list[Any], payloads: Sequence[float]) -> list[Any]:
        state[0] += sum(payloads)
        state[1] += len(payloads)
        return state

    def combine(self, state: list[Any], other: list[Any]) -> list[Any]:
        state[0] += other[0]
        state[1] += other[1]
        return state

    def compute_result(self, state: list[Any]) -> float:
        return float(state[0] / state[1])


class DeductingMean(Mean):
    """The same with `deduct`."""

    def deduct(self, state: list[Any], other: list[Any]) -> list[Any]:
        state[0] -= other[0]
        state[1] -= other[1]
        return state


class TupleMean(IncrementalAggregate[float, tuple[float, int], float]):
    """The same, its state a tuple."""

    name, version = "measure.tuple_mean", "1.0.0"

    def create_state(self) -> tuple[float, int]:
        return (0.0, 0)

    def add_events(self, state: tuple[float, int], payloads: Sequence[float]) -> tuple[float, int]:
        return state[0] + sum(payloads), state[1] + len(payloads)

    def combine(self, state: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
        return state[0] + other[0], state[1] + other[1]

    def compute_result(self, state: tuple[float, int]) -> float:
        return state[0] / state[1]


def query(windows: HoppingWindows, module: Any, mode: Any = "adaptive") -> SlicedQuery:
    codec = Codec(records_in(module.state_type()))
    return SlicedQuery.of([SliceGrid.of(windows)], [Binding(module, itemgetter(0))], 1, codec, mode)


def grouped(keys: int, slices: int, counts: Sequence[int]) -> GroupedRows:
    """Return rows of every key in every slice, so many per group in turn."""
    random = Random(1)
    bounds = [0]
    for group in range(keys * slices):
        bounds.append(bounds[-1] + counts[group % len(counts)])
    return GroupedRows(
        [(f"key {place}",) for place in range(keys)],
        list(range(keys)) * slices,
        [number for number in range(slices) for _ in range(keys)],
        bounds,
        [[random.random() for _ in range(bounds[-1])]],
    )


def best(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        gc.collect()
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def take(query: SlicedQuery, blobs: Sequence[bytes]) -> StateStore:
    store = StateStore(query)
    store.take(blobs, -NEVER)
    return store


def lifting() -> None:
    for title, rows in [
        ("1,000,000 rows in 166,667 groups", grouped(10_000, 17, [6])),
        ("1,000,000 rows in 800,000 groups", grouped(50_000, 16, [1, 1, 1, 2])),
    ]:
        for module in (Mean(), TupleMean()):
            tumbled = query(tumbling(1), module)
            blob = lift(tumbled, rows)
            print(f"{title}, {module.name}")
            print(f"  lifted and encoded {best(partial(lift, tumbled, rows)):.2f}, {len(blob):,} bytes")
            taken = best(partial(take, tumbled, [blob]))
            store = StateStore(tumbled)
            store.take([blob], -NEVER)
            start = process_time()
            (runs,) = store.close(0, -NEVER, NEVER)
            print(f"  taken {taken:.2f}, closed {process_time() - start:.2f}: {len(runs.names):,} results")


def threshold() -> None:
    print("rows or states on the map side, 40,000 groups per blob: microseconds per group to lift, take and close")
    modules: tuple[Any, ...] = (Mean(), Average())
    for module, counts in product(modules, ([1], [1, 2], [2], [3], [6])):
        rows = grouped(10_000, 4, counts)
        print(f"  {module.name}, {sum(counts) / len(counts):.1f} rows per group")
        for blobs in (1, 2, 4):
            costs = [
                best(partial(lift_take_close, query(tumbling(1), module, mode), rows, blobs)) / blobs / 0.04
                for mode in ("lazy", "eager")
            ]
            print(f"    a group in {blobs} blobs: rows {costs[0]:.2f}, states {costs[1]:.2f}")


def lift_take_close(query: SlicedQuery, rows: GroupedRows, blobs: int) -> None:
    take(query, [lift(query, rows) for _ in range(blobs)]).close(0, -NEVER, NEVER)


def sliding() -> None:
    print("windows of all slices before, 1,000 keys, 200 slices a batch, 2 rows per slice: seconds per batch")
    for ratio in (2, 10, 60, 600):
        figures = []
        for module in (Mean(), DeductingMean()):
            windows = query(hopping(ratio, 1), module)
            store = StateStore(windows)
            blob = lift(windows, grouped(1000, 200 + ratio, [2]))
            store.take([blob], -NEVER)
            store.close(0, -NEVER, 1)
            start = process_time()
            (runs,) = store.close(0, 1, 201)
            took = process_time() - start
            figures.append(f"{took:.2f} ({took / len(runs.names) * 1e6:.2f} us per window)")
        print(f"  size/hop {ratio}: two stacks {figures[0]}, deducting {figures[1]}")


def batches() -> None:
    print("a batch of 1,000,000 rows over 1000 s in 8 buckets and 10 blobs each, one core for all: seconds per batch")
    random = Random(2)
    for keys, windows in product((1250, 12_500), (tumbling(60), hopping(600, 60), hopping(600, 10))):
        asked = query(windows, Mean())
        feed = Feed(asked)
        lifted, taken = [], []
        for batch in range(3):
            blobs = []
            for part in range(10):
                start = 1000 * batch + 100 * part
                rows = grouped_rows(asked, [(random.randrange(keys), start + place / 125) for place in range(12_500)])
                before = process_time()
                blobs.append(lift(asked, rows))
                lifted.append(process_time() - before)
            before = process_time()
            feed.run(blobs, Progress(1000 * (batch + 1), 1000 * (batch + 1), 1000 * (batch + 1) - 1))
            taken.append(process_time() - before)
        size = sum(len(data) for data in feed.cells.cells.values())
        print(
            f"  {8 * keys:,} keys, {windows}: lifted {8 * sum(lifted[10:]) / 2:.2f}, "
            f"taken, closed and written {8 * sum(taken[1:]) / 2:.2f}, state {8 * size:,} bytes"
        )


def grouped_rows(query: SlicedQuery, rows: Sequence[tuple[int, float]]) -> GroupedRows:
    """Return rows, given as key and second, as the caller of `lift` groups them."""
    groups = Counter((query.grids[0].slice_at(int(tick)), key) for key, tick in rows)
    ordered = sorted(groups)
    keys = sorted({key for _, key in ordered})
    places = {key: place for place, key in enumerate(keys)}
    return GroupedRows(
        [(f"key {key}",) for key in keys],
        [places[key] for _, key in ordered],
        [number for number, _ in ordered],
        [0, *accumulate(groups[found] for found in ordered)],
        [[1.5] * len(rows)],
    )


class Sketch(Mean):
    """As an average, with a state of 100 numbers, as a small sketch has."""

    name = "measure.sketch"
    state_bytes = 900

    def create_state(self) -> list[Any]:
        return [0.0, 0, *([0.5] * 98)]


def memory() -> None:
    print("most bytes of rows and states at a time, 100,000 rows over 1000 s, hopping(100, 50), a state of 900 bytes")
    random = Random(3)
    draws: list[tuple[str, Callable[[], int]]] = [
        ("2,000 keys alike", lambda: random.randrange(2000)),
        ("2,000 keys, Zipf", lambda: min(1999, int(random.paretovariate(0.5)) - 1)),
        ("20 keys alike", lambda: random.randrange(20)),
    ]
    for title, draw in draws:
        rows = [(draw(), place / 100) for place in range(100_000)]
        figures = []
        for mode in ("adaptive", "eager", "lazy"):
            asked = query(hopping(100, 50), Sketch(), mode)
            feed, most = Feed(asked), 0
            before = process_time()
            for start in range(0, len(rows), 1000):
                feed.run(
                    [lift(asked, grouped_rows(asked, rows[start : start + 1000]))], Progress(start // 100 - 5, start)
                )
                ((_, store, *_),) = feed.kept._stores.values()
                most = max(most, sum(store.memory()))
            figures.append(f"{mode} {most:,} ({process_time() - before:.1f} s)")
        print(f"  {title}: {', '.join(figures)}")


if __name__ == "__main__":
    gc.disable()
    lifting()
    threshold()
    sliding()
    batches()
    memory()
