# mypy: disable-error-code="no-untyped-def, no-untyped-call, no-any-return, var-annotated"
"""Code that accumulates obeys the laws of incremental aggregates once adapted, whatever it does to accumulators."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

from muntin_adapters import (
    from_aggregate_function,
    from_aggregator,
    from_combine_fn,
    from_sqlite_aggregate,
    from_statistic,
)
from tests.plugins.forms import broken_laws


class MeanFn:
    """A `CombineFn` of Beam whose accumulators are tuples."""

    def create_accumulator(self):
        return 0.0, 0

    def add_input(self, accumulator, value: float):
        return accumulator[0] + value, accumulator[1] + 1

    def merge_accumulators(self, accumulators):
        totals, counts = zip(*accumulators, strict=True)
        return sum(totals), sum(counts)

    def extract_output(self, accumulator) -> float:
        return accumulator[0] / accumulator[1]


class LargestFn:
    """Changes whatever Beam lets it change: accumulators that come first, and the one it makes the output of."""

    def __init__(self, n: int = 2):
        self.n = n
        self.is_ready = False

    def setup(self):
        self.is_ready = True

    def create_accumulator(self):
        assert self.is_ready
        return []

    def add_input(self, accumulator, value: int):
        raise AssertionError("there is add_inputs")

    def add_inputs(self, accumulator, values):
        accumulator.extend(values)
        return accumulator

    def merge_accumulators(self, accumulators):
        first, *other_accumulators = accumulators
        for other in other_accumulators:
            first.extend(other)
        return first

    def compact(self, accumulator):
        accumulator.sort()
        del accumulator[: -self.n]
        return accumulator

    def extract_output(self, accumulator) -> list[int]:
        accumulator.sort(reverse=True)
        while len(accumulator) > self.n:
            accumulator.pop()
        return accumulator

    def teardown(self):
        self.is_ready = False


class GroupsFn:
    """Shares parts of one accumulator with another, and keeps them in a dict with a default."""

    def create_accumulator(self):
        return defaultdict(list)

    def add_input(self, accumulator, value: int):
        accumulator[value % 3].append(value)
        return accumulator

    def merge_accumulators(self, accumulators):
        first, *other_accumulators = accumulators
        for other in other_accumulators:
            for group, values in other.items():
                first[group] = first[group] + values if group in first else values
        return first

    def extract_output(self, accumulator) -> dict[int, int]:
        return {group: len(accumulator.pop(group)) for group in list(accumulator)}


class WeightedAverage:
    """An aggregate function of PyFlink that takes two columns, and retracts."""

    def create_accumulator(self):
        return [0, 0]

    def accumulate(self, accumulator, value: int, weight: int):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator, accumulators):
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator) -> float | None:
        return accumulator[0] / accumulator[1] if accumulator[1] else None


class Reading(NamedTuple):
    """A record of the columns that `WeightedAverage` takes."""

    value: int
    weight: int


@pytest.mark.parametrize("payload", [Reading(5, 2), (5, 2)])
def test_the_fields_of_a_record_are_arguments_of_accumulate(payload):
    module = from_aggregate_function(WeightedAverage, name="flink.weighted", version="1.0.0", input=Reading)()
    assert module.add_events(module.create_state(), [payload]) == [10, 2]


class Row(tuple[Any, ...]):
    """A value that is no plain data, as PyFlink's rows are."""

    __slots__ = ()


class WithRows(WeightedAverage):
    """Keeps a row in its accumulator, which has to be written as plain data and read again."""

    def create_accumulator(self):
        return [Row((0, 0))]

    def accumulate(self, accumulator, value: int, weight: int):
        (total, weights), *_ = accumulator
        accumulator[0] = Row((total + value * weight, weights + weight))

    def get_value(self, accumulator) -> int:
        assert isinstance(accumulator[0], Row)
        return int(accumulator[0][0])


@dataclass
class Buffer:
    """A state that is a dataclass, as `state=` may say."""

    total: int = 0
    count: int = 0


class Average:
    """An `Aggregator` as Spark's Scala has it, with annotations, which changes the first of two buffers."""

    def zero(self) -> Buffer:
        return Buffer()

    def reduce(self, buffer: Buffer, value: int) -> Buffer:
        buffer.total += value
        buffer.count += 1
        return buffer

    def merge(self, buffer: Buffer, other: Buffer) -> Buffer:
        buffer.total += other.total
        buffer.count += other.count
        return buffer

    def finish(self, buffer: Buffer) -> float:
        return buffer.total / buffer.count


class Collecting:
    """An aggregator whose first buffer is one list for all windows, which it changes."""

    zero: list[str] = []  # noqa: RUF012  # a value that everybody shares, as a careless writer has it

    def reduce(self, buffer, value: str):
        buffer.append(value)
        return buffer

    def merge(self, buffer, other):
        return buffer + other

    def finish(self, buffer) -> str:
        buffer.sort()
        return "".join(buffer)


class Median:
    """An aggregate of SQLite that takes values out of its state when it finishes, after which SQLite drops it."""

    def __init__(self):
        self.values = []

    def step(self, value: float | None):
        if value is not None:
            self.values.append(value)

    def finalize(self) -> float | None:
        self.values.sort()
        return self.values.pop(len(self.values) // 2) if self.values else None


class SumOf:
    """A window function of SQLite, which takes any number of columns and also takes them back."""

    def __init__(self):
        self.total = 0

    def step(self, *values):
        self.total += sum(values)

    def inverse(self, *values):
        self.total -= sum(values)

    def value(self):
        return self.total

    def finalize(self):
        raise AssertionError("there is value()")


class Count:
    """An aggregate of SQLite that takes no column."""

    def __init__(self):
        self.count = 0

    def step(self):
        self.count += 1

    def finalize(self) -> int:
        return self.count


def test_an_aggregate_without_arguments_is_called_once_for_each_payload():
    module = from_sqlite_aggregate(Count, name="sqlite.number", version="1.0.0")()
    assert module.add_events(module.create_state(), [None, None]) == {"count": 2}


class Mean:
    """A statistic of River with all that it may have: weights, reverting, and sums and differences of two."""

    def __init__(self):
        self.n = 0.0
        self.mean = 0.0

    def update(self, x: float, w: float = 1.0):
        self.n += w
        self.mean += (w / self.n) * (x - self.mean)

    def revert(self, x: float, w: float = 1.0):
        self.n -= w
        self.mean = self.mean - (w / self.n) * (x - self.mean) if self.n else 0.0

    def __add__(self, other):
        mean = Mean()
        mean.n = self.n + other.n
        mean.mean = (self.mean * self.n + other.mean * other.n) / mean.n if mean.n else 0.0
        return mean

    def __sub__(self, other):
        difference = Mean()
        difference.n = self.n - other.n
        difference.mean = (self.mean * self.n - other.mean * other.n) / difference.n if difference.n else 0.0
        return difference

    def get(self) -> float:
        return self.mean


class Covariance:
    """A statistic that keeps its parts in slots, three of which are statistics."""

    __slots__ = ("n", "product", "x", "y")

    def __init__(self):
        self.x = Mean()
        self.y = Mean()
        self.product = Mean()
        self.n = 0

    def update(self, x: float, y: float):
        self.x.update(x)
        self.y.update(y)
        self.product.update(x * y)
        self.n += 1

    def get(self) -> float:
        return self.product.get() - self.x.get() * self.y.get()


class Distinct:
    """A statistic that says itself what its state is, as those written in other languages do."""

    def __init__(self, most: int = 100):
        self._inside = deque(maxlen=most)

    def __getstate__(self):
        return ",".join(map(str, self._inside)).encode()

    def __setstate__(self, state):
        self._inside.extend(map(int, filter(None, state.split(b","))))

    def update(self, x: int):
        self._inside.append(x)

    def get(self) -> int:
        return len(set(self._inside))


class Wrapped:
    """A statistic with an attribute that says itself what its state is."""

    def __init__(self):
        self.inner = Distinct(most=1000)

    def update(self, x: int):
        self.inner.update(x)

    def get(self) -> int:
        return self.inner.get()


def test_an_object_that_says_what_its_state_is_is_stored_as_that():
    module = from_statistic(Distinct, name="river.distinct", version="1.0.0")(most=2)
    assert module.add_events(module.create_state(), [1, 2, 3]) == b"2,3"


LAWFUL = (
    (from_combine_fn(MeanFn, name="beam.mean", version="1.0.0")(), {}),
    (from_combine_fn(LargestFn, name="beam.largest", version="1.0.0")(n=3), {}),
    (from_combine_fn(GroupsFn, name="beam.groups", version="1.0.0")(), {}),
    (from_aggregate_function(WeightedAverage, name="flink.weighted", version="1.0.0")(), {}),
    (
        from_aggregate_function(
            WithRows,
            name="flink.rows",
            version="1.0.0",
            serialize=lambda accumulator: list(map(list, accumulator)),
            deserialize=lambda state: list(map(Row, state)),
            without=["combine", "remove_events"],
        )(),
        {},
    ),
    (from_aggregator(Average, name="spark.average", version="1.0.0")(), {}),
    (from_aggregator(Average, name="spark.average", version="1.0.0", state=Buffer)(), {}),
    (from_aggregator(Collecting(), name="spark.collecting", version="1.0.0")(), {}),
    (from_sqlite_aggregate(Median, name="sqlite.median", version="1.0.0")(), {}),
    (from_sqlite_aggregate(SumOf, name="sqlite.total", version="1.0.0", input=tuple[int, int], result=int)(), {}),
    (from_statistic(Mean, name="river.mean", version="1.0.0")(), {}),
    (from_statistic(Covariance, name="river.covariance", version="1.0.0")(), {}),
    (from_statistic(Wrapped, name="river.wrapped", version="1.0.0")(), {"payloads": st.integers(0, 5)}),
)


@pytest.mark.parametrize(("module", "attributes"), LAWFUL, ids=lambda value: getattr(value, "name", ""))
def test_a_module_that_an_adapter_made_keeps_all_laws(module, attributes):
    assert broken_laws(module, **attributes) == []
