"""The warnings of rows of a static input that were rejected or skipped."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark import accumulators
from pyspark.accumulators import Accumulator

from muntin import Aggregate, Operator
from muntin.schemas import describe
from muntin_engine.backends.spark.dataframes.static_warnings import CountReporter, Counts, CountsParam, StaticWarnings
from muntin_engine.backends.static_counts import BucketCounts
from muntin_engine.plan.skipped_nulls import SkippedNulls, skipped_nulls
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.evaluators.arrays.test_array_evaluator import sliced
from tests.engine.plan.test_metrics import Sums, Total
from tests.engine.wire.payloads import bucket_input, rows, task_of

A_BUCKET = BucketCounts(4, {"null time": 2})
ANOTHER = BucketCounts(0, {"duplicate id": 1})
THREE_OF_SEVEN = (
    "rides: 3 of 7 rows of the static input were rejected: 2 null time, 1 duplicate id\n"
    "  the query's rejected_rows() returns them, each with its reason"
)


class Driver:
    """A driver whose other threads run when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.is_idle = False
        self.rejections = StaticWarnings(self.later, lambda: self.is_idle)

    def later(self, function: Callable[[], None]) -> None:
        self.waiting.append(function)

    def wait(self) -> None:
        waiting, self.waiting = self.waiting, []
        for function in waiting:
            function()


@pytest.fixture
def ids() -> Iterator[int]:
    """The id of an accumulator of which Spark knows nothing."""
    yield -77
    accumulators._accumulatorRegistry.pop(-77, None)


def test_a_query_is_warned_of_when_its_last_bucket_was_computed(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    take = driver.rejections.add_counts
    query = driver.rejections.expect("rides", 2)
    take({(query, 12): A_BUCKET})
    assert caplog.messages == []
    take({(query, 6): ANOTHER})
    assert caplog.messages == [THREE_OF_SEVEN]


def test_a_bucket_that_is_computed_again_counts_once(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    take = driver.rejections.add_counts
    query = driver.rejections.expect("rides", 2)
    for bucket, counts in [(12, A_BUCKET), (12, A_BUCKET), (6, ANOTHER), (12, A_BUCKET), (6, ANOTHER)]:
        take({(query, bucket): counts})
    driver.is_idle = True
    driver.wait()
    driver.rejections.warn_of_incomplete()
    assert caplog.messages == [THREE_OF_SEVEN]


def test_a_query_of_which_some_buckets_are_enough_is_warned_of_when_spark_is_idle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    take = driver.rejections.add_counts
    query = driver.rejections.expect("rides", 16)
    take({(query, 12): A_BUCKET, (query, 6): ANOTHER})
    driver.wait()
    assert caplog.messages == []
    driver.is_idle = True
    driver.wait()
    first, second = THREE_OF_SEVEN.splitlines()
    assert caplog.messages == [f"{first}\n  so far: 2 of 16 buckets were computed\n{second}"]
    driver.wait()
    driver.rejections.warn_of_incomplete()
    assert len(caplog.messages) == 1


def test_what_nobody_has_waited_for_is_told_at_the_end_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    driver.rejections.add_counts({(driver.rejections.expect("rides", 16), 12): A_BUCKET})
    driver.rejections.warn_of_incomplete()
    assert "2 of 6 rows" in caplog.text


def test_queries_are_told_apart_and_one_without_rejected_rows_is_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    good, bad = (driver.rejections.expect(name, 1) for name in ("good", "bad"))
    driver.rejections.add_counts(
        {(good, 0): BucketCounts(9, {}), (bad, 0): BucketCounts(1, {"null id": 1}), (99, 0): ANOTHER}
    )
    assert [message.partition(" rows")[0] for message in caplog.messages] == ["bad: 1 of 2"]
    assert not driver.waiting


class Sale(NamedTuple):
    shop: str
    price: float | None
    clerk: str


class Best(Operator[Sale, Sale]):
    name, version = "shops.best", "1.0.0"

    def compute_result(self, payloads: Sequence[Sale]) -> Sequence[Sale]:
        return payloads


class Cheapest(Aggregate[Sale, float]):
    name, version = "shops.cheapest", "1.0.0"

    def compute_result(self, payloads: Sequence[Sale]) -> float:
        raise AssertionError


SALE = [describe(str | None, "store"), describe(float | None, "price"), describe(str | None, "by")]
BEST = {"shops.best": SkippedNulls("shops.best 1.0.0", ("store", "by"), ("shop", "clerk"))}
SKIPPED = (
    "rides: 1{} rows of the static input were skipped by shops.best 1.0.0: store or by is null\n"
    "  to get them it reads shop and clerk as '... | None'; "
    "to leave them out for all, without a warning: .where('store IS NOT NULL AND by IS NOT NULL')"
)


def test_rows_that_a_module_skips_are_warned_of_beside_those_that_are_rejected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    query = driver.rejections.expect("rides", 2, BEST)
    driver.rejections.add_counts({(query, 12): A_BUCKET._replace(skipped={"shops.best": 1, "another": 3})})
    driver.rejections.warn_of_incomplete()
    so_far, *_ = caplog.messages
    assert so_far.startswith("rides: 2 of 6 rows")
    assert caplog.record_tuples[1] == ("muntin.skipped", logging.WARNING, SKIPPED.format(""))
    caplog.clear()
    driver.rejections.add_counts({(query, 6): ANOTHER})
    assert caplog.messages == [THREE_OF_SEVEN, SKIPPED.format(" of 7")]


def test_a_query_that_skips_nothing_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    driver.rejections.add_counts({(driver.rejections.expect("rides", 1, BEST), 12): BucketCounts(4, {})})
    assert caplog.messages == []


def test_only_modules_that_read_a_record_are_warned_of() -> None:
    assert skipped_nulls(task_of(Best(), SALE).plan) == BEST
    assert skipped_nulls(task_of(Cheapest(), SALE).plan)["m"].columns == ("store", "by")
    assert skipped_nulls(task_of(Sums()).plan) == {}
    of_struct = skipped_nulls(task_of(Cheapest(), [describe(Sale | None, "s")]).plan)
    assert of_struct == {
        "m": SkippedNulls("shops.cheapest 1.0.0", ("s.shop", "s.clerk", "s"), ("shop", "clerk", "input"))
    }


def test_a_worker_counts_what_its_modules_skip() -> None:
    task = task_of(Best(), SALE, is_static=True, is_point=True, inputs=(pa.string(), pa.float64(), pa.string()))
    sales = rows(
        start=[1, 2, 3, None],
        i0=pa.array(["a", None, "b", None]),
        i1=pa.array([1.0, 2.0, None, 1.0]),
        i2=pa.array(["x", "y", None, "z"]),
    )
    assert bucket_input(task, sales).row_counts.unaccepted_by(task.labels_of_skipping_modules) == {"shops.best": 2}


STARTS = [1, None, 5, 9, None, 12]


@pytest.mark.parametrize(
    ("task", "ends", "expected"),
    [
        (task_of(is_static=True), {"end": [4, 4, 5, 12, 4, 13]}, (3, {"null time": 2, "empty lifetime": 1})),
        (sliced(Total(), is_static=True), {}, (4, {"null time": 2})),
        (sliced(Sums(), is_static=True), {}, (4, {"null time": 2})),
    ],
    ids=["general", "sliced", "columnar"],
)
def test_a_worker_counts_what_its_buckets_put_out(
    task: TaskPayload, ends: dict[str, list[int]], expected: tuple[int, dict[str, int]], ids: int
) -> None:
    accumulator: Accumulator[Counts] = Accumulator(ids, {}, CountsParam())
    reporter = CountReporter(accumulator, 3)
    reporter.report(
        12, list(run_bucket(task, 0, MemoryCells(), bucket_input(task, rows(start=STARTS, **ends)))), {}, {}
    )
    reporter.report(6, [], {"total": 2}, {})
    assert accumulator.value == {(3, 12): BucketCounts(*expected), (3, 6): BucketCounts(0, {}, {"total": 2})}


def test_a_worker_keeps_counts_and_the_driver_hands_them_on(ids: int, caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    query = driver.rejections.expect("rides", 2)
    of_driver: Accumulator[Counts] = Accumulator(ids, {}, CountsParam(driver.rejections))
    pickled = pickle.dumps(CountReporter(of_driver, query))
    accumulators._accumulatorRegistry.pop(ids)  # a worker has its own
    of_worker: CountReporter = pickle.loads(pickled)
    of_worker.accumulator.add({(query, 12): A_BUCKET})
    of_worker.accumulator.add({(query, 6): ANOTHER})
    of_driver.add(of_worker.accumulator._value)
    assert caplog.messages == [THREE_OF_SEVEN]
    assert of_driver.value == {}
