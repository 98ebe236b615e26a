"""The fixture that tests a streaming job: micro-batches, the watermark, restarts, and rows that are compared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from muntin import session, tumbling
from muntin.errors import ModuleFailedError, QueryError
from muntin.progress import bounded_delay
from muntin_engine import OnePass, Query, StateError, StateMismatchError, events, module, one_pass, union
from muntin_engine.backends.planning.needs_spark import NeedsSparkError
from muntin_engine.testing.streaming import StartsJob, assert_rows
from muntin_engine.testing.streaming import streaming as any_streaming
from muntin_engine.testing.streaming.job import JobFunction, StreamingJob
from muntin_engine.testing.streaming.job_on_spark import json_of
from tests.docs.pages import DOCS, ROOT
from tests.docs.runner import open_page
from tests.docs.test_code_blocks import assert_shown
from tests.modules.members import Count, Members, Total
from tests.modules.restarts import Calls

__all__ = ["any_streaming"]

PAGE = DOCS / "how-to/test-a-streaming-job.md"
TESTS_ON_PAGE = (
    "test_an_hour_is_counted_when_it_is_over",
    "test_a_ride_that_comes_after_its_hour_is_late",
    "test_longer_windows_need_a_new_checkpoint",
)
ON_BOTH = ["local", pytest.param("spark", marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def muntin_spark(spark: SparkSession) -> SparkSession:
    return spark


@pytest.fixture(params=ON_BOTH)
def streaming(request: pytest.FixtureRequest, any_streaming: StartsJob) -> StartsJob:
    """The fixture under test, with a job in this process and, nightly, on Spark."""

    def start(
        function: JobFunction, schema: str | None = None, *, backend: str | None = request.param, **schemas: str
    ) -> StreamingJob:
        return any_streaming(function, schema, backend=backend, **schemas)

    return start


@pytest.fixture(scope="module")
def names_of_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The functions and values that the code on the page defines, by name."""
    with open_page(PAGE, tmp_path_factory.mktemp("page"), None) as running:
        for printed in running.run():
            assert_shown(printed)
        yield running.namespace


@pytest.mark.parametrize("name", TESTS_ON_PAGE)
def test_the_tests_on_the_page_pass(name: str, names_of_page: dict[str, Any], streaming: StartsJob) -> None:
    assert {page_name for page_name in names_of_page if page_name.startswith("test_")} == {*TESTS_ON_PAGE}
    names_of_page[name](streaming)


def counted(rows: Any) -> Query:
    """Count the rows of each key in windows of ten ticks; rows may come five ticks late."""
    return events(rows, key="k", at="at", watermark=5).window(tumbling(10)).aggregate(n=module(Count))


def test_the_queries_of_one_pass_are_tested_each_by_itself(streaming: StartsJob) -> None:
    def two_queries(rows: Any) -> OnePass:
        stream = events(rows, key="k", at="at", watermark=5)
        return one_pass(
            tens=stream.window(tumbling(10)).aggregate(n=module(Count)),
            twenties=stream.window(tumbling(20)).aggregate(n=module(Count)),
        )

    with pytest.raises(QueryError, match=r"queries\['tens'\]"):
        streaming(cast(Any, two_queries), "k string, at long").feed({"k": "a", "at": 1})
    twenties = streaming(lambda rows: two_queries(rows).queries["twenties"], "k string, at long")
    twenties.feed({"k": "a", "at": 1}, {"k": "a", "at": 11})
    assert_rows(twenties.close(), [{"k": "a", "n": 2}])


def test_a_row_or_a_stream_that_does_not_fit_is_refused(streaming: StartsJob) -> None:
    job = streaming(counted, "k string, at long")
    with pytest.raises(QueryError, match="does not fit the columns k, at"):
        job.feed({"key": "a", "at": 1})
    with pytest.raises(QueryError, match="does not fit the columns k, at"):
        job.feed(("a", 1, 2))
    with pytest.raises(QueryError, match=r"no stream 'sides'\n  expected: feed\(rows=\[\.\.\.\]\)"):
        job.feed(sides=[])
    with pytest.raises(QueryError, match="one stream or several"):
        streaming(counted)


def test_a_job_keeps_its_state_from_micro_batch_to_micro_batch(streaming: StartsJob) -> None:
    job = streaming(counted, "k string, at long")
    assert job.feed(("a", 1), ("b", 2)) == []
    assert job.feed(("a", 3)) == []
    assert_rows(job.advance(10), [{"k": "a", "start": 0, "end": 10, "n": 2}, {"k": "b", "n": 1}])
    assert len(job.results) == 2


def test_closing_a_job_gives_the_open_windows_and_ends_it(streaming: StartsJob) -> None:
    job = streaming(counted, "k string, at long")
    job.feed((None, 15))
    assert_rows(job.close(), [{"k": None, "start": 10, "n": 1}])
    with pytest.raises(StateError, match="closed"):
        job.feed(("a", 20))


def test_a_job_keeps_rejected_and_late_rows(streaming: StartsJob) -> None:
    job = streaming(counted, "k string, at long")
    job.feed(("a", 1))
    job.advance(10)
    job.feed(("a", None), ("a", 9))
    assert_rows(job.rejected_rows, [{"reason": "null time"}])
    assert_rows(job.late_rows, [{"reason": "late", "late_by": 1, "row": '{"at": 9, "k": "a"}'}])


def test_a_stream_without_a_micro_batch_is_not_closed(streaming: StartsJob) -> None:
    with pytest.raises(StateError, match="no micro-batch yet, so there is nothing to close"):
        streaming(counted, "k string, at long").close()


def test_timestamps_are_texts_or_datetimes_and_come_back_as_text(streaming: StartsJob) -> None:
    def newest(times: list[datetime]) -> datetime:
        return max(times)

    def with_newest(rows: Any) -> Query:
        stream = events(rows, key="k", at="at", watermark="1 minute").window(tumbling("1 hour"))
        return stream.aggregate(at=module(newest, "at", returns=datetime), n=module(Count))

    job = streaming(with_newest, "k string, at timestamp, x double")
    job.feed(("a", "2024-05-01T08:05:00Z", 1), ("a", datetime(2024, 5, 1, 8, 30, tzinfo=UTC), None))
    hour = {"k": "a", "start": "2024-05-01T08:00:00Z", "end": "2024-05-01T09:00:00Z", "n": 2}
    assert job.advance("2024-05-01T09:00:00Z") == [{**hour, "at": "2024-05-01T08:30:00Z"}]


def test_columns_may_be_of_any_type(streaming: StartsJob) -> None:
    def passed(rows: Any) -> Query:
        return events(rows, key="k", at="at", watermark=0).to_query()

    schema = "k date, at int, d decimal(6,2), b binary, f float, s struct<x: int, y: array<string>>, m map<string, int>"
    row = {
        "k": "2024-05-01",
        "at": 3,
        "d": Decimal("1.50"),
        "b": b"bytes",
        "f": 0.5,
        "s": {"x": 1, "y": ["a", None]},
        "m": {"one": 1},
    }
    (passed_row,) = streaming(passed, schema).feed(row)
    assert passed_row == {
        "k": date(2024, 5, 1),
        "start": 3,
        "end": 4,
        "d": Decimal("1.50"),
        "b": b"bytes",
        "f": 0.5,
        "s": {"x": 1, "y": ["a", None]},
        "m": [("one", 1)],
    }


def test_streams_of_a_join_go_by_their_names(streaming: StartsJob) -> None:
    def pairs(bids: Any, auctions: Any) -> Query:
        stream = events(bids, key="k", at="at", watermark=0)
        auction_events = events(auctions, key="k", start="opens", end="closes", watermark=0)
        return stream.join(auction_events, left_columns=["price"], right_columns=["seller"])

    bid_schema = "k string, at long, price int"
    auction_schema = "k string, opens long, closes long, seller string"
    job = streaming(pairs, bids=bid_schema, auctions=auction_schema)
    job.feed(auctions=[("a", 0, 10, "eve")])
    assert_rows(job.feed(bids=[("a", 5, 7), ("b", 5, 8)]), [{"k": "a", "start": 5, "price": 7, "seller": "eve"}])
    with pytest.raises(QueryError, match="no stream 'asks'"):
        job.feed(asks=[])


def totals_of_counts(rows: Any) -> Query:
    """Return totals, in windows of twenty ticks, of the counts of all keys."""
    windows = counted(rows).as_events(key=None).window(tumbling(20))
    return windows.aggregate(all=module(Members, "n"), total=module(Total, "n"))


def test_results_that_are_events_have_the_watermark_of_their_query(streaming: StartsJob) -> None:
    job = streaming(totals_of_counts, "k string, at long")
    assert job.feed(("a", 1), ("b", 2), ("a", 13)) == []
    assert job.feed(("a", 24)) == []  # the inner query is complete up to 19
    (row,) = job.feed(("a", 25))  # and now up to 20
    assert sorted(row.pop("all")) == [1, 1, 1]
    assert row == {"start": 0, "end": 20, "total": 3.0}


def test_a_job_over_the_results_of_another_query_is_neither_advanced_nor_closed(streaming: StartsJob) -> None:
    job = streaming(totals_of_counts, "k string, at long")
    job.feed(("a", 1))
    with pytest.raises(QueryError, match="this job reads the results of another query"):
        job.advance(100)
    with pytest.raises(QueryError, match="this query reads another query's results"):
        job.close()


def test_results_that_are_retracted_are_retracted_in_the_query_after(streaming: StartsJob) -> None:
    def chained(rows: Any) -> Query:
        stream = events(rows, at="at", watermark=30, buckets=2).window(tumbling(10), emit="speculative")
        return stream.aggregate(n=module(Count)).as_events().window(tumbling(30)).aggregate(all=module(Members, "n"))

    job = streaming(chained, "at long")
    job.feed((1,), (15,))
    job.feed((2,), (3,))  # changes the count of [0, 10)
    job.feed((12,), (40,))  # changes that of [10, 20)
    job.feed((90,))
    assert [(row["start"], sorted(row["all"])) for row in job.results] == [(0, [2, 3]), (30, [1])]
    assert job.late_rows == []


def test_a_union_a_heartbeat_and_a_clock_are_streams_of_the_job(streaming: StartsJob) -> None:
    def united(rides: Any, walks: Any, beats: Any, clock: Any) -> Query:
        ridden = events(rides, key="k", at="at").with_heartbeat(beats, at="at", delay="1 minute").with_clock(clock)
        walked = events(walks, key="k", at="at", watermark="1 minute")
        return union(rides=ridden, walks=walked).window(tumbling("1 hour")).aggregate(n=module(Count))

    schema = "k string, at timestamp"
    job = streaming(united, rides=schema, walks=schema, beats="at timestamp", clock="now timestamp")
    job.feed(rides=[("a", "2024-05-01T08:05:00Z")], clock=[("2024-05-01T08:06:00Z",)])
    job.feed(walks=[("a", "2024-05-01T08:10:00Z"), ("a", "2024-05-01T09:01:00Z")])
    assert_rows(job.feed(beats=[("2024-05-01T09:01:00Z",)]), [{"k": "a", "start": "2024-05-01T08:00:00Z", "n": 2}])


def test_the_clock_of_the_machine_is_read_in_each_micro_batch(streaming: StartsJob) -> None:
    def counted_by_the_clock(rows: Any) -> Query:
        idle = bounded_delay("1 hour").with_idle("1 ms", lag="1 minute")
        stream = events(rows, key="k", at="at", watermark=idle).with_clock(every="1 ms")
        return stream.window(tumbling("1 hour")).aggregate(n=module(Count))

    job = streaming(counted_by_the_clock, "k string, at timestamp")
    job.feed(("a", "2024-05-01T08:05:00Z"))
    job.feed()
    # The source fell silent in the past: by the clock of this machine it is idle, and its windows are over.
    assert_rows(job.results, [{"k": "a", "n": 1}])


def test_a_job_that_is_restarted_with_another_query_goes_on_with_the_state_or_is_refused(
    streaming: StartsJob, caplog: pytest.LogCaptureFixture
) -> None:
    def with_totals(rows: Any) -> Query:
        stream = events(rows, key="k", at="at", watermark=5).window(tumbling(10))
        return stream.aggregate(n=module("stats.count"), x=module("stats.sum", "x"))

    def without_totals(rows: Any) -> Query:
        return events(rows, key="k", at="at", watermark=5).window(tumbling(10)).aggregate(n=module("stats.count"))

    def in_sessions(rows: Any) -> Query:
        return events(rows, key="k", at="at", watermark=5).window(session(10)).aggregate(n=module("stats.count"))

    job = streaming(without_totals, "k string, at long, x double")
    job.restart(without_totals)  # nothing is stored yet
    job.feed(("a", 1, 2.0))

    job.restart(with_totals)
    with caplog.at_level("WARNING", "muntin.checkpoint"):
        job.feed(("a", 2, 3.0))
    assert "was added and sees rows from now on: it is complete for windows that start after 1" in caplog.text
    assert_rows(job.advance(10), [{"k": "a", "n": 2, "x": 3.0}])

    with pytest.raises(StateMismatchError, match="window"):
        job.restart(in_sessions)


def test_what_a_module_keeps_on_itself_is_gone_after_a_micro_batch(streaming: StartsJob) -> None:
    def forgetful(rows: Any) -> Query:
        return events(rows, at="at", watermark=0).window(tumbling(10)).aggregate(x=module(Calls, "x"))

    job = streaming(forgetful, "at long, x bigint")
    job.feed((1, 1), (2, 2))
    job.feed((3, 3), (4, 4))
    assert_rows(job.advance(10), [{"x": 1 + 2 + 3 + 4}])  # the module returns -1 if it remembers three of them


def test_a_micro_batch_that_failed_comes_again_before_the_next_one(any_streaming: StartsJob, tmp_path: Path) -> None:
    mended = tmp_path / "mended"  # a file that is there when the module is mended

    def largest_inverse(values: list[float]) -> float:
        if mended.exists():
            values = [value for value in values if value != 0.0]
        return max(1 / value for value in values)

    def job_of(rows: Any) -> Query:
        windows = events(rows, at="at", watermark=0).window(tumbling(10))
        return windows.aggregate(x=module(largest_inverse, "x", returns=float))

    job = any_streaming(job_of, "at long, x double")
    job.feed((1, 0.0), (2, 2.0))
    for row in ((10, 4.0), (20, 5.0)):
        with pytest.raises(ModuleFailedError, match="division by zero"):
            job.feed(row)

    mended.touch()
    assert_rows(job.feed((30, 1.0)), [{"start": 0, "x": 0.5}, {"start": 10, "x": 0.25}, {"start": 20, "x": 0.2}])


def test_a_job_that_uses_what_only_spark_has_runs_there_with_a_warning(any_streaming: StartsJob) -> None:
    def after_tick_1(rows: Any) -> Query:
        return counted(rows.where("at > 1"))

    with pytest.warns(UserWarning, match=r"the job uses df\.where, which only Spark has, so it runs on Spark"):
        job = any_streaming(after_tick_1, "k string, at long")
    job.feed(("a", 1), ("a", 2))
    assert_rows(job.advance(10), [{"k": "a", "n": 1}])


def test_a_job_in_this_process_that_uses_what_only_spark_has_is_refused(any_streaming: StartsJob) -> None:
    def by_where(rows: Any) -> Query:
        return counted(rows.where("at > 1"))

    def by_with_column(rows: Any) -> Query:
        return counted(rows.withColumn("at", rows["at"] + 1))

    with pytest.raises(NeedsSparkError, match="'where'"):
        any_streaming(by_where, "k string, at long", backend="local")
    with pytest.raises(NeedsSparkError, match="'withColumn'"):
        any_streaming(by_with_column, "k string, at long", backend="local")
    with pytest.raises(NeedsSparkError, match="v VARIANT is of a type that only Spark has"):
        any_streaming(counted, "k string, at long, v variant", backend="local")


@pytest.mark.usefixtures("spark")
def test_a_job_in_this_process_that_uses_columns_or_functions_of_spark_is_refused(any_streaming: StartsJob) -> None:
    def by_key(rows: Any) -> Query:
        return events(rows, key=F.col("k"), at="at", watermark=5).window(tumbling(10)).aggregate(n=module(Count))

    def by_condition(rows: Any) -> Query:
        return counted(rows).as_events().where(F.col("n") > 1).to_query()

    def by_expression(rows: Any) -> Query:
        return events(rows, at="hash(at)", watermark=5).window(tumbling(10)).aggregate(n=module(Count))

    for function in (by_key, by_condition, by_expression):
        with pytest.raises(NeedsSparkError):
            any_streaming(function, "k string, at long", backend="local")


def test_a_backend_that_there_is_not_is_refused(any_streaming: StartsJob) -> None:
    with pytest.raises(QueryError, match="no backend 'flink'"):
        any_streaming(counted, "k string, at long", backend="flink")


def test_a_job_whose_function_runs_its_query_is_refused(any_streaming: StartsJob) -> None:
    def by_write(rows: Any) -> Any:
        return counted(rows).write(checkpoint="checkpoint", results="results")

    def by_results(rows: Any) -> Any:
        return counted(rows).results()

    for function, call in ((by_write, "write"), (by_results, "results")):
        job = any_streaming(function, "k string, at long")
        with pytest.raises(QueryError, match=rf"{call}\(\) runs a query, and this is one over the stream of a job"):
            job.feed(("a", 1))


def test_a_job_whose_function_returns_no_query_is_refused(any_streaming: StartsJob) -> None:
    with pytest.raises(QueryError, match="returns a int"):
        any_streaming(lambda rows: 3, "k string, at long").feed(("a", 1))  # type: ignore[arg-type, return-value]


def test_a_test_without_spark_imports_no_pyspark(tmp_path: Path) -> None:
    """A suite in which the job of this module runs, where importing PySpark fails."""
    (tmp_path / "conftest.py").write_text(
        "import sys\nsys.modules['pyspark'] = None\npytest_plugins = ['muntin_engine.testing.streaming']\n",
        encoding="utf-8",
    )
    (tmp_path / "test_job.py").write_text(
        "from muntin import tumbling\n"
        "from muntin_engine import events, module\n\n\n"
        "def counted(rows):\n"
        "    windows = events(rows, key='k', at='at', watermark=5).window(tumbling(10))\n"
        "    return windows.aggregate(n=module(len, 'at', returns=int))\n\n\n"
        "def test_job(streaming):\n"
        "    job = streaming(counted, 'k string, at long')\n"
        "    job.feed(('a', 1))\n"
        "    assert job.advance(10) == [{'k': 'a', 'start': 0, 'end': 10, 'n': 1}]\n",
        encoding="utf-8",
    )
    suite = str(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", suite, suite]
    pytest_run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert pytest_run.returncode == 0, pytest_run.stdout + pytest_run.stderr


def test_rows_are_compared_by_the_named_columns_in_any_order() -> None:
    assert_rows([{"k": "a", "n": 1.0}, {"k": "b", "n": 2.0}], [{"n": pytest.approx(2.0)}, {"n": 1.0}])
    assert_rows([], [])


def test_rows_that_differ_are_listed() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_rows([{"k": "a", "n": 1.0}, {"k": "b", "n": 2.0}], [{"k": "a"}, {"k": "c"}])
    assert str(caught.value) == "the rows differ\n  missing     {'k': 'c'}\n  unexpected  {'k': 'b'}"


LENGTH = timedelta(days=-1, hours=-2, minutes=-3, seconds=-4, microseconds=-50)


@pytest.mark.parametrize(
    ("type_name", "length", "text"),
    [
        ("day to second", LENGTH, "'-1 02:03:04.000050' DAY TO SECOND"),
        ("hour to second", LENGTH, "'-26:03:04.000050' HOUR TO SECOND"),
        ("minute to second", LENGTH, "'-1563:04.000050' MINUTE TO SECOND"),
        ("second", LENGTH, "'-93784.000050' SECOND"),
        ("day to hour", timedelta(hours=26), "'1 02' DAY TO HOUR"),
        ("hour to minute", timedelta(hours=26), "'26:00' HOUR TO MINUTE"),
        ("day", timedelta(0), "'0' DAY"),
        ("hour", LENGTH, "'-26:03:04.000050' HOUR TO SECOND"),  # the column has no minutes: Spark refuses the row
    ],
)
def test_a_length_of_time_is_written_for_spark_in_the_units_of_its_column(
    type_name: str, length: timedelta, text: str
) -> None:
    data_type = StructType.fromJson(
        {"fields": [{"name": "x", "type": f"interval {type_name}", "nullable": True, "metadata": {}}]}
    )
    assert json_of({"x": length}, data_type) == {"x": f"INTERVAL {text}"}


def test_columns_of_lengths_of_time_take_timedeltas(streaming: StartsJob) -> None:
    def passed(rows: Any) -> Query:
        return events(rows, at="at", watermark=0).to_query()

    schema = (
        "at int, a interval day to second, b interval second, c interval hour, "
        "s struct<x: interval minute to second>, l array<interval day>, m map<string, interval day to second>"
    )
    row = {
        "a": timedelta(days=2, microseconds=-1),
        "b": timedelta(seconds=-90),
        "c": timedelta(hours=48),
        "s": {"x": timedelta(hours=1)},
        "l": [timedelta(days=3), None],
        "m": {"one": timedelta(minutes=1)},
    }
    (passed_row,) = streaming(passed, schema).feed({"at": 3, **row})
    assert passed_row == {"start": 3, "end": 4, **row, "m": [("one", timedelta(minutes=1))]}
