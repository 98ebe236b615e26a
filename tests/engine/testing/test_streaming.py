"""The fixture that tests a streaming job: micro-batches, the watermark, restarts, and rows that are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events, module
from muntin_engine.testing.streaming import StartsJob, assert_rows, streaming
from tests.docs.pages import DOCS
from tests.docs.runner import open_page
from tests.docs.test_code_blocks import assert_shown

__all__ = ["streaming"]

PAGE = DOCS / "how-to/test-a-streaming-job.md"
TESTS = (
    "test_an_hour_is_counted_when_it_is_over",
    "test_a_ride_that_comes_after_its_hour_is_late",
    "test_longer_windows_need_a_new_checkpoint",
)


@pytest.fixture(scope="module")
def muntin_spark(spark: SparkSession) -> SparkSession:
    return spark


@pytest.fixture(scope="module")
def shown(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the page defines."""
    with open_page(PAGE, tmp_path_factory.mktemp("page"), spark) as running:
        for printed in running.run():
            assert_shown(printed)
        yield running.namespace


@pytest.mark.nightly
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_on_the_page_pass(name: str, shown: dict[str, Any], streaming: StartsJob) -> None:
    assert {shown_name for shown_name in shown if shown_name.startswith("test_")} == {*TESTS}
    shown[name](streaming)


def counted(rows: DataFrame) -> Query:
    return events(rows, key="k", at="at", watermark=5).window(tumbling(10)).aggregate(n=module("stats.count"))


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


@pytest.mark.nightly
def test_state_goes_on_over_starts_and_the_end_closes_what_is_open(streaming: StartsJob) -> None:
    job = streaming(counted, "k string, at long")
    assert job.feed(("a", 1), ("b", 2)) == []
    assert job.feed(("a", 3)) == []
    assert_rows(job.advance(10), [{"k": "a", "start": 0, "end": 10, "n": 2}, {"k": "b", "n": 1}])
    job.feed((None, 15), ("a", None))
    assert_rows(job.close(), [{"k": None, "start": 10, "n": 1}])
    assert len(job.results) == 3
    assert_rows(job.rejected_rows, [{"reason": "null time"}])


def test_rows_that_differ_are_listed() -> None:
    rows = [{"k": "a", "n": 1.0}, {"k": "b", "n": 2.0}]
    assert_rows(rows, [{"n": pytest.approx(2.0)}, {"n": 1.0}])
    assert_rows([], [])
    with pytest.raises(AssertionError) as caught:
        assert_rows(rows, [{"k": "a"}, {"k": "c"}])
    message = "the rows differ\n  missing     {'k': 'c'}\n  unexpected  {'k': 'b'}"
    assert str(caught.value) == message
