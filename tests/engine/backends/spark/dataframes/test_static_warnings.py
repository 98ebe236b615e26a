"""The warnings of rows of a static input that were rejected or skipped."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
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

COUNTS_OF_12 = BucketCounts(accepted=4, rejected={"null time": 2})
COUNTS_OF_6 = BucketCounts(accepted=0, rejected={"duplicate id": 1})
"""What two buckets of a query have counted, 12 and 6."""

THREE_OF_SEVEN = (
    "rides: 3 of 7 rows of the static input were rejected: 2 null time, 1 duplicate id\n"
    "  the query's rejected_rows() returns them, each with its reason"
)
"""The warning of both buckets."""


class Driver:
    """A driver whose other threads run when a test says so.

    Attributes:
        waiting: The functions that other threads are to call after a while.
        is_idle: True if Spark runs no job.
        warnings: The warnings under test.
    """

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.is_idle = False
        self.warnings = StaticWarnings(self.waiting.append, lambda: self.is_idle)

    def report(self, query: int, counts: Mapping[int, BucketCounts]) -> None:
        """Add what buckets of a query have counted, as a task that ends does."""
        self.warnings.add_counts({(query, bucket): bucket_counts for bucket, bucket_counts in counts.items()})

    def let_threads_run(self) -> None:
        """Call all functions that wait; what they have called later waits on."""
        waiting = list(self.waiting)
        self.waiting.clear()
        for function in waiting:
            function()


@pytest.fixture
def accumulator_id() -> Iterator[int]:
    """The id of an accumulator of which Spark knows nothing."""
    yield -77
    accumulators._accumulatorRegistry.pop(-77, None)


def test_a_query_is_warned_of_when_its_last_bucket_was_computed(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=2)
    driver.report(query, {12: COUNTS_OF_12})
    assert caplog.messages == []
    driver.report(query, {6: COUNTS_OF_6})
    assert caplog.messages == [THREE_OF_SEVEN]


def test_a_bucket_that_is_computed_again_counts_once_before_and_after_the_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=2)
    driver.report(query, {12: COUNTS_OF_12})
    driver.report(query, {12: COUNTS_OF_12})
    driver.report(query, {6: COUNTS_OF_6})
    assert caplog.messages == [THREE_OF_SEVEN]

    driver.report(query, {12: COUNTS_OF_12})
    driver.report(query, {6: COUNTS_OF_6})
    driver.is_idle = True
    driver.let_threads_run()
    driver.warnings.warn_of_incomplete()
    assert caplog.messages == [THREE_OF_SEVEN]


def test_a_query_of_which_spark_needs_only_some_buckets_is_warned_of_once_when_spark_is_idle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=16)
    driver.report(query, {12: COUNTS_OF_12, 6: COUNTS_OF_6})
    driver.let_threads_run()
    assert caplog.messages == []

    driver.is_idle = True
    driver.let_threads_run()
    counts, advice = THREE_OF_SEVEN.splitlines()
    assert caplog.messages == [f"{counts}\n  so far: 2 of 16 buckets were computed\n{advice}"]

    driver.let_threads_run()
    driver.warnings.warn_of_incomplete()
    assert len(caplog.messages) == 1


def test_an_incomplete_query_is_warned_of_at_the_end_of_the_program_if_spark_was_never_idle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=16)
    driver.report(query, {12: COUNTS_OF_12})
    driver.warnings.warn_of_incomplete()
    assert "2 of 6 rows" in caplog.text


def test_queries_are_told_apart_and_one_without_rejected_rows_is_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    good_query = driver.warnings.expect("good", buckets=1)
    bad_query = driver.warnings.expect("bad", buckets=1)
    unknown_query = 99
    driver.warnings.add_counts(
        {
            (good_query, 0): BucketCounts(accepted=9, rejected={}),
            (bad_query, 0): BucketCounts(accepted=1, rejected={"null id": 1}),
            (unknown_query, 0): COUNTS_OF_6,
        }
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
"""The columns that are read into the fields of `Sale`, by position; each may be null."""

SKIPPED_BY_BEST = {"shops.best": SkippedNulls("shops.best 1.0.0", ("store", "by"), ("shop", "clerk"))}
"""The columns, and the fields, whose nulls `Best` does not take."""

SKIPPED = (
    "rides: 1{} rows of the static input were skipped by shops.best 1.0.0: store or by is null\n"
    "  to get them it reads shop and clerk as '... | None'; "
    "to leave them out for all, without a warning: .where('store IS NOT NULL AND by IS NOT NULL')"
)


def test_rows_that_a_module_skips_are_warned_of_beside_those_that_are_rejected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=2, skipping=SKIPPED_BY_BEST)
    counts = COUNTS_OF_12._replace(skipped={"shops.best": 1, "a module that may skip nothing": 3})

    driver.report(query, {12: counts})
    driver.warnings.warn_of_incomplete()
    warning_of_rejected, *_ = caplog.messages
    assert warning_of_rejected.startswith("rides: 2 of 6 rows")
    assert caplog.record_tuples[1] == ("muntin.skipped", logging.WARNING, SKIPPED.format(""))

    caplog.clear()
    driver.report(query, {6: COUNTS_OF_6})
    assert caplog.messages == [THREE_OF_SEVEN, SKIPPED.format(" of 7")]


def test_a_query_whose_modules_skipped_nothing_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=1, skipping=SKIPPED_BY_BEST)
    driver.report(query, {12: BucketCounts(accepted=4, rejected={})})
    assert caplog.messages == []


def test_only_modules_that_read_a_record_are_warned_of() -> None:
    assert skipped_nulls(task_of(Best(), SALE).plan) == SKIPPED_BY_BEST
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
        i0=pa.array(["a", None, "b", None]),  # shop
        i1=pa.array([1.0, 2.0, None, 1.0]),  # price, which may be null
        i2=pa.array(["x", "y", None, "z"]),  # clerk
    )
    # It skips the second row and the third one; the last one is rejected, as it has no time.
    assert bucket_input(task, sales).row_counts.unaccepted_by(task.labels_of_skipping_modules) == {"shops.best": 2}


STARTS = [1, None, 5, 9, None, 12]


@pytest.mark.parametrize(
    ("task", "ends", "expected"),
    [
        (
            task_of(is_static=True),
            {"end": [4, 4, 5, 12, 4, 13]},  # the third event ends where it starts
            BucketCounts(accepted=3, rejected={"null time": 2, "empty lifetime": 1}),
        ),
        (sliced(Total(), is_static=True), {}, BucketCounts(accepted=4, rejected={"null time": 2})),
        (sliced(Sums(), is_static=True), {}, BucketCounts(accepted=4, rejected={"null time": 2})),
    ],
    ids=["general", "sliced", "columnar"],
)
def test_a_worker_counts_what_its_buckets_put_out(
    task: TaskPayload, ends: dict[str, list[int]], expected: BucketCounts, accumulator_id: int
) -> None:
    accumulator: Accumulator[Counts] = Accumulator(accumulator_id, {}, CountsParam())
    reporter = CountReporter(accumulator, query=3)
    output = list(run_bucket(task, 0, MemoryCells(), bucket_input(task, rows(start=STARTS, **ends))))
    reporter.report(12, output, skipped={}, overflows={})
    reporter.report(6, [], skipped={"total": 2}, overflows={})
    assert accumulator.value == {
        (3, 12): expected,
        (3, 6): BucketCounts(accepted=0, rejected={}, skipped={"total": 2}),
    }


def test_the_counts_of_a_worker_reach_the_warnings_of_the_driver(
    accumulator_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver()
    query = driver.warnings.expect("rides", buckets=2)
    accumulator_of_driver: Accumulator[Counts] = Accumulator(accumulator_id, {}, CountsParam(driver.warnings))

    # A worker gets a copy of the reporter, with an accumulator of its own.
    pickled = pickle.dumps(CountReporter(accumulator_of_driver, query))
    accumulators._accumulatorRegistry.pop(accumulator_id)
    reporter_of_worker: CountReporter = pickle.loads(pickled)
    reporter_of_worker.accumulator.add({(query, 12): COUNTS_OF_12})
    reporter_of_worker.accumulator.add({(query, 6): COUNTS_OF_6})

    accumulator_of_driver.add(reporter_of_worker.accumulator._value)
    assert caplog.messages == [THREE_OF_SEVEN]
    assert accumulator_of_driver.value == {}
