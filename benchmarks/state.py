"""`python -m benchmarks.state`: the bytes of state and of memory that keys, rows and slices take, by kind of query.

A bucket is filled three times: with some keys, with twice as many, and with more of each key. The differences are what
a further key takes, and a further slice, session, row or event of a key. The table of the page *Size a query* is from
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from rich.console import Console

from benchmarks.bucket import START, BucketQuery, FilledBucket, fill_bucket
from benchmarks.data import SECOND
from benchmarks.systems.plain_averages import PlainAverage, PlainMax, RunningAverage, WholeAverage
from muntin import JoinKind, StreamOperator, hopping, session, snapshot, tumbling
from muntin.progress import bounded_delay
from muntin.rows import last
from muntin_stats import Average

_HOUR: Final = tumbling(3600 * SECOND)
_TEN_SECONDS: Final = tumbling(10 * SECOND)
_IN_STEPS: Final = hopping(600 * SECOND, 10 * SECOND)
_SESSIONS: Final = session(5 * SECOND)
_SPACING: Final = 10 * SECOND
"""The time from one row of a key to its next: each is in a slice and in a session of its own."""


class Total(StreamOperator[float, list[float], float]):
    """Adds up the values of a key, and emits nothing."""

    name, version = "bench.total", "1.0.0"

    def create_state(self) -> list[float]:
        """Return a sum of nothing."""
        return [0.0]

    def on_event(self, state: list[float], payload: float, time: int) -> list[float]:
        """Add a value to the sum."""
        state[0] += payload
        return []

    def is_empty(self, state: list[float]) -> bool:
        """False: the state keeps the sum for good."""
        return False


@dataclass(frozen=True)
class Kind:
    """A kind of query.

    Attributes:
        title: Computation, in words.
        unit: Unit of a key's state, one for each row of the measurement.
        query: Query.
        keys: Number of keys in the smaller of the bucket fillings.
        units: Number of units of each key in it.
    """

    title: str
    unit: str
    query: BucketQuery
    keys: int = 2_000
    units: int = 1


_LAST_ROWS: Final = BucketQuery(last(1_000), Average, in_order=True, progress=bounded_delay(0))

KINDS: Final = (
    Kind("a built-in average, hopping windows", "slice with rows", BucketQuery(_IN_STEPS, Average)),
    Kind("the same, keys are texts of 16 letters", "slice with rows", BucketQuery(_IN_STEPS, Average, key="string")),
    Kind("the same, of events that last", "range of windows", BucketQuery(_TEN_SECONDS, Average, lasting=4)),
    Kind("the same, of events with ids", "event", BucketQuery(_HOUR, Average, lasting=4, has_ids=True)),
    Kind("the same, sessions", "open session", BucketQuery(_SESSIONS, Average)),
    Kind("the same, snapshots", "event", BucketQuery(snapshot(), Average, lasting=4)),
    Kind("a class with `combine`, hopping windows", "slice with rows", BucketQuery(_IN_STEPS, PlainAverage)),
    Kind("the same, sessions", "open session", BucketQuery(_SESSIONS, PlainAverage)),
    Kind("a plain function, tumbling windows", "row", BucketQuery(_HOUR, WholeAverage)),
    Kind("the same, of events that last", "event", BucketQuery(_HOUR, WholeAverage, lasting=4)),
    Kind("the same, sessions", "row", BucketQuery(_SESSIONS, WholeAverage)),
    Kind("a class with `combine`, snapshots", "event", BucketQuery(snapshot(), PlainMax, lasting=4)),
    Kind("`general`, keys of a few events", "event", BucketQuery(_HOUR, Average, "general")),
    Kind("`general`, keys of hundreds of events", "event", BucketQuery(_HOUR, Average, "general"), 20, 200),
    Kind("`general`, events with ids", "event", BucketQuery(_HOUR, Average, "general", lasting=4, has_ids=True)),
    Kind("the last 1,000 rows of a key", "row", _LAST_ROWS),
    Kind("the same, a class with `remove_events`", "row", replace(_LAST_ROWS, module=RunningAverage)),
    Kind("`in_order`, the last 1,000 rows of a key, few so far", "row", replace(_LAST_ROWS, evaluator="in_order")),
    Kind(
        "`in_order`, the last 1,000 rows of a key, hundreds so far",
        "row",
        replace(_LAST_ROWS, evaluator="in_order"),
        20,
        200,
    ),
    Kind("a stream operator with a number", "row that waits", BucketQuery(None, Total, in_order=True)),
    Kind("events with ids that are the results", "event", BucketQuery(lasting=4, has_ids=True, passes_events=True)),
    Kind("an inner join", "event", BucketQuery(join=JoinKind.INNER, lasting=4)),
    Kind("an anti join", "event", BucketQuery(join=JoinKind.ANTI, lasting=4)),
)


@dataclass(frozen=True)
class Bytes:
    """The bytes that a kind of query takes in one place.

    Attributes:
        key: Bytes of each further key with its units.
        unit: Bytes of each further unit of a key.
    """

    key: float
    unit: float


@dataclass(frozen=True)
class Measured:
    """The bytes that a kind of query takes.

    Attributes:
        state: Bytes in the state store.
        memory: Bytes in the memory of the worker that has its bucket.
    """

    state: Bytes
    memory: Bytes


def measure(kind: Kind) -> Measured:
    """Measure the size of a key and of a unit of a kind of query, by three fillings of a bucket."""
    smaller = filled(kind, kind.keys, kind.units)
    more_keys = filled(kind, 2 * kind.keys, kind.units)
    more_units = filled(kind, kind.keys, 3 * kind.units)
    added_units = kind.keys * 2 * kind.units
    state = Bytes((more_keys.state - smaller.state) / kind.keys, (more_units.state - smaller.state) / added_units)
    memory = Bytes((more_keys.memory - smaller.memory) / kind.keys, (more_units.memory - smaller.memory) / added_units)
    return Measured(state, memory)


def filled(kind: Kind, keys: int, units: int) -> FilledBucket:
    """Return a bucket with keys that have so many units each, all from one micro-batch."""
    return fill_bucket(kind.query, _micro_batch(kind.query, keys, units))


def _micro_batch(query: BucketQuery, keys: int, units: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the only micro-batch; no list of them is held while the bucket is measured."""
    numbers = [10**12 + 7919 * key for key in range(keys)]
    names = [f"sensor {key:09}" for key in range(keys)]
    starts = []
    for place in range(units):
        starts += [START + SECOND + place * _SPACING] * keys
    values = [100 + row / 7 for row in range(keys * units)]
    yield query.rows((names if query.key == "string" else numbers) * units, starts, values)


def spell(count: float) -> str:
    """Return a number of bytes, from 100 on in two digits.

    Example:
        >>> spell(26.4), spell(148.0), spell(63_421)
        ('26', '150', '63,000')
    """
    digits = len(str(round(count)))
    return f"{round(count, 2 - digits if digits > 2 else None):,.0f}"


def row_of(kind: Kind) -> tuple[str, ...]:
    """Measure a kind of query, and return its row of the table."""
    measured = measure(kind)
    figures = (measured.state.key, measured.state.unit, measured.memory.key, measured.memory.unit)
    units = kind.unit if kind.units == 1 else f"{kind.unit}s"
    return (kind.title, str(kind.query.plan.choice.evaluator), f"{kind.units} {units}", *map(spell, figures))


def main() -> None:
    """Measure all kinds of queries, and print the table as the page has it."""
    console = Console(soft_wrap=True, markup=False)
    console.print("| query | evaluator | a key has | state: a key | one more | memory: a key | one more |")
    console.print("|---|---|---|---:|---:|---:|---:|")
    for kind in KINDS:
        console.print(f"| {' | '.join(row_of(kind))} |")


if __name__ == "__main__":
    main()
