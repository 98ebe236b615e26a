"""Queries over the results of queries, in this process: the rows of the two one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest

from muntin import early, hopping, snapshot, tumbling
from muntin.errors import ModuleFailedError, QueryError
from muntin.triggers import every_count
from muntin_engine import EventStream, Query, events, module
from muntin_engine.testing.streaming import StartsJob, assert_rows, streaming
from tests.modules.members import Count, Total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["streaming"]

# The times of rides by key, in windows of ten:
#   a  0 |.x........|10 ..x.......|20 ..........|30 ...x......|40
#   b  0 |.....x....|10
#   null                                                            40 |.......x..|50
RIDES = pa.table(
    {"k": ["a", "b", "a", "a", None], "at": pa.array([1, 5, 12, 33, 47]), "km": [1.0, 2.0, 4.0, None, 3.0]}
)


def rides(frame: Any = RIDES, **arguments: Any) -> EventStream:
    """Return the events of a table of rides, with other arguments of events() where they are given."""
    return events(frame, **{"key": "k", "at": "at"} | arguments)


def counts(frame: Any = RIDES, **arguments: Any) -> Query:
    """Return a query that counts rides by key in windows of ten, with more arguments of window()."""
    return rides(frame).window(tumbling(10), **arguments).aggregate(n=module(Count), km=module(Total, "km"))


def rows_of(query: Query, *names: str) -> list[tuple[Any, ...]]:
    """Return the values of some columns of the results, and behind them the starts of their lifetimes, in order."""
    table = pa.table(query.results())
    extent = "window" if "window" in table.column_names else "lifetime"
    rows: list[tuple[Any, ...]] = []
    for row in table.to_pylist():
        values = [row[name] for name in names]
        rows.append((*values, row[extent]["start"]))
    return sorted(rows, key=repr)


def test_results_are_events_of_another_query_that_keep_their_key() -> None:
    query = counts().as_events().window(tumbling(20)).aggregate(all=module(Total, "n"), windows=module(Count))
    assert rows_of(query, "k", "all", "windows") == [
        # key, rides, windows with rides, start
        ("a", 1.0, 1, 20),
        ("a", 2.0, 2, 0),
        ("b", 1.0, 1, 0),
        (None, 1.0, 1, 40),
    ]


@pytest.mark.parametrize("name", ["the zone", "a`b", "km/h"])
def test_a_key_and_a_selected_column_may_have_any_name(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    frame = RIDES.rename_columns([name, "at", "km"])
    query = rides(frame, key=quoted).window(tumbling(10)).aggregate(n=module(Count))
    again = query.as_events().window(tumbling(20)).aggregate(windows=module(Count))
    assert rows_of(again, name, "windows") == [("a", 1, 20), ("a", 2, 0), ("b", 1, 0), (None, 1, 40)]
    assert sorted(pa.table(query.select(name, "n").results()).column_names) == sorted([name, "n"])
    assert pa.table(rides(frame, key=quoted).to_query().results()).column_names == [name, "lifetime", "km"]
    with pytest.raises(QueryError, match="would replace a column that makes rows events"):
        rides(frame, key=quoted).with_columns(**{name: "km"})


def test_results_of_the_results_of_a_frame_are_of_its_kind() -> None:
    query = counts(pl.DataFrame(RIDES)).as_events(key=None).window(tumbling(100)).aggregate(n=module(Total, "n"))
    results: Any = query.results()
    assert isinstance(results, pl.DataFrame)
    assert results["n"].to_list() == [5.0]


def test_eager_results_are_events_of_another_query() -> None:
    query = counts(emit="eager").as_events(key=None).window(snapshot()).aggregate(n=module(Total, "n"))
    assert rows_of(query, "n") == [(1.0, 10), (1.0, 30), (1.0, 40), (2.0, 0)]


def test_a_result_that_is_retracted_is_an_event_that_is_retracted(streaming: StartsJob) -> None:
    def total_of_counts(rows: Any) -> Query:
        inner = events(rows, key="k", at="at", watermark=0).window(tumbling(10), emit="eager")
        return inner.aggregate(n=module(Count)).as_events(key=None).window(tumbling(10)).aggregate(n=module(Total, "n"))

    job = streaming(total_of_counts, "k string, at long")
    job.feed({"k": "a", "at": 1})
    job.feed({"k": "a", "at": 2})  # retracts the count of 1: with it, the total would be 3
    assert_rows(job.feed({"k": "b", "at": 25}), [{"start": 0, "end": 10, "n": 2.0}])


def test_results_are_joined_and_filtered_as_any_events() -> None:
    query = counts()
    long_windows = query.as_events().where("km > 1")
    joined = query.as_events().join(long_windows, left_columns=["n"], right_columns={"length": "km"})
    assert rows_of(joined, "k", "length") == [("a", 4.0, 10), ("b", 2.0, 0), (None, 3.0, 40)]


def test_the_results_of_a_chain_are_events_of_a_third_query() -> None:
    second = counts().as_events().window(tumbling(20)).aggregate(n=module(Total, "n"))
    query = second.as_events(key=None).window(hopping(40, 20)).aggregate(n=module(Total, "n"))
    assert rows_of(query, "n") == [(1.0, 40), (2.0, 20), (3.0, -20), (4.0, 0)]


def test_an_error_of_the_query_before_is_raised_as_it_is() -> None:
    def fails(values: list[float]) -> float:
        raise ValueError("no")

    query = rides().window(tumbling(10)).aggregate(x=module(fails, "km", returns=float))
    with pytest.raises(ModuleFailedError, match="no"):
        query.as_events().window(tumbling(20)).aggregate(n=module(Count)).results()


def test_output_that_cannot_be_events_of_another_query_is_refused_with_the_reason() -> None:
    with pytest.raises(QueryError, match=r"not retracted.*\n.*refinement='retract'"):
        counts(emit=early(every_count(1))).as_events()
    with pytest.raises(QueryError, match="last steps of a query"):
        counts().where("n > 1").as_events()
    with pytest.raises(QueryError, match="there is no such output"):
        counts().as_events(output="evicted_rows")
    with pytest.raises(QueryError, match="'nothing'"):
        counts().as_events(order="nothing")


@pytest.mark.nightly
def test_a_chain_of_queries_has_the_rows_of_spark(spark: SparkSession) -> None:
    def chain(frame: DataFrame | pa.Table) -> Query:
        inner = counts(frame, emit="eager").as_events()
        return inner.window(tumbling(20), emit="eager").aggregate(n=module(Total, "n"), km=module(Total, "km"))

    expected = chain(spark.createDataFrame(RIDES)).results().toArrow()
    results: Any = chain(RIDES).results()
    assert results.schema.equals(expected.schema)
    assert sorted(map(repr, results.to_pylist())) == sorted(map(repr, expected.to_pylist()))
