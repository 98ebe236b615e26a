"""Hostile use of queries in this process: modules that fail, tables that change, many keys, a hot key, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from muntin import Aggregate, IncrementalAggregate, Operator, hopping, session, snapshot, tumbling
from muntin.errors import ModuleContractError, ModuleFailedError, QueryError
from muntin_engine import Query, events, module
from tests.modules.members import Count, Members, Total

READINGS: Final = pa.table({"sensor": ["a", "b", "a"], "at": [1, 2, 11], "x": [1, 2, 3]})


def windows_of_ten(frame: Any, **calls: Any) -> Query:
    """Return a query that aggregates readings by sensor in windows of ten ticks."""
    return events(frame, key="sensor", at="at").window(tumbling(10)).aggregate(**calls)


# -------------------------------------------------------------------------------------------------- modules that fail


def fails_on_three(xs: list[int]) -> int:
    if 3 in xs:
        raise ValueError("no threes")
    return len(xs)


class FailsOnThree(Aggregate[int, int]):
    """An aggregate that raises."""

    name, version = "hostile.aggregate", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return fails_on_three(list(payloads))


class AddsNoThree(IncrementalAggregate[int, int, int]):
    """An aggregate whose state takes no three."""

    name, version = "hostile.incremental", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + fails_on_three(list(payloads))

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return state


class YieldsAndFails(Operator[int, int]):
    """An operator that raises after a row."""

    name, version = "hostile.operator", "1"

    def compute_result(self, payloads: Sequence[int]) -> Iterable[int]:
        yield 1
        fails_on_three(list(payloads))


class ExitsOnThree(Aggregate[int, int]):
    """An aggregate that would end the process."""

    name, version = "hostile.exit", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 3 in payloads:
            raise SystemExit("no threes")
        return 0


@pytest.mark.parametrize("evaluator", ["auto", "general"])
@pytest.mark.parametrize("failing", [fails_on_three, FailsOnThree, AddsNoThree, YieldsAndFails, ExitsOnThree])
def test_the_error_of_a_module_has_its_key_and_window(failing: Any, evaluator: str) -> None:
    # The only three among the readings is of the sensor a, at 11.
    windowed = events(READINGS, key="sensor", at="at").window(tumbling(10), evaluator=evaluator)
    call = module(failing, "x")
    query = windowed.apply(call) if call.cls.is_operator else windowed.aggregate(n=call)

    with pytest.raises(ModuleFailedError, match=r"no threes\n  key: \('a',\)\n  window: \[10, 20\)"):
        query.results()


def returns_text(xs: list[int]) -> int:
    return "text"  # type: ignore[return-value]


class ReturnsDict(Aggregate[int, list[int]]):
    """An aggregate that returns something else than it declares."""

    name, version = "hostile.dict", "1"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return {"a": 1}  # type: ignore[return-value]


@pytest.mark.parametrize(("lying", "value"), [(returns_text, "'text' of type str"), (ReturnsDict, "of type dict")])
def test_a_value_of_another_type_stops_the_query(lying: Any, value: str) -> None:
    reading_of_b = READINGS.slice(1, 1)
    with pytest.raises(ModuleContractError, match=rf"{value}(.|\n)*\n  key: \('b',\)"):
        windows_of_ten(reading_of_b, n=module(lying, "x")).results()


def test_a_query_runs_after_one_that_failed() -> None:
    with pytest.raises(ModuleFailedError):
        windows_of_ten(READINGS, n=module(FailsOnThree, "x")).results()
    assert len(windows_of_ten(READINGS, n=module(Count)).results()) == 3


# ------------------------------------------------------------------------------------- many keys, one hot key, no rows


def test_a_million_keys_have_a_window_each() -> None:
    count = 1_000_000
    # Each sensor has one reading, and its number is the value.
    table = pa.table({"sensor": np.arange(count), "at": np.arange(count) % 10, "x": np.arange(count)})
    results = windows_of_ten(table, total=module("stats.sum", "x")).results()
    assert len(results) == count
    assert pa.compute.all(pa.compute.equal(results["sensor"], results["total"])).as_py()


@pytest.mark.parametrize(
    ("window", "windows_of_a_row"),
    [(tumbling(100_000), 1), (hopping(100_000, 50_000), 2), (session(10), 1), (snapshot(), 1)],
)
def test_the_windows_of_one_hot_key_have_all_rows(window: Any, windows_of_a_row: int) -> None:
    count = 200_000
    table = pa.table({"at": np.arange(count), "x": np.ones(count, np.int64)})
    results = events(table, at="at").window(window).aggregate(total=module("stats.sum", "x")).results()
    assert sum(results["total"].to_pylist()) == windows_of_a_row * count


NO_READINGS: Final = READINGS.slice(0, 0)

# By its kind, what makes an empty frame, given a folder for files.
EMPTY_FRAMES: Final[dict[str, Callable[[Path], Any]]] = {
    "Arrow table": lambda folder: NO_READINGS,
    "Arrow dataset": lambda folder: pa.dataset.dataset(NO_READINGS),
    "Arrow reader": lambda folder: pa.RecordBatchReader.from_batches(READINGS.schema, []),
    "pandas": lambda folder: NO_READINGS.to_pandas().astype({"sensor": "string"}),
    "Polars": lambda folder: pl.DataFrame(NO_READINGS),
    "lazy Polars": lambda folder: pl.DataFrame(NO_READINGS).lazy(),
    "DuckDB": lambda folder: duckdb.from_arrow(NO_READINGS),
    "Parquet": lambda folder: write_parquet(NO_READINGS, folder / "none.parquet"),
}

GIVE_ARROW_TABLES: Final = frozenset({"Arrow table", "Arrow dataset", "Arrow reader", "Parquet"})
"""The kinds of frames whose results are Arrow tables; those of others are of the frame's own type."""


def write_parquet(table: pa.Table, path: Path) -> str:
    """Write a table to a file, and return the file's path as text."""
    pq.write_table(table, path)
    return str(path)


@pytest.mark.parametrize("kind", EMPTY_FRAMES)
def test_no_rows_give_no_results_of_the_same_kind_and_columns(kind: str, tmp_path: Path) -> None:
    frame = EMPTY_FRAMES[kind](tmp_path)
    query = windows_of_ten(
        frame, n=module(Count), total=module("stats.sum", "x"), spread=module(np.ptp, "x", returns=int)
    )
    results: Any = query.results()

    assert isinstance(results, pa.Table if kind in GIVE_ARROW_TABLES else type(frame))
    if kind == "lazy Polars":
        results = results.collect()
    names = results.column_names if isinstance(results, pa.Table) else list(results.columns)
    assert names == ["sensor", "window", "n", "total", "spread"]
    assert len(results) == 0


# ------------------------------------------------------------------------------------------ again, at once, and changed


def test_a_query_that_runs_twice_gives_the_same() -> None:
    query = windows_of_ten(READINGS, xs=module(Members, "x"))
    assert query.results().equals(query.results())
    assert len(query.rejected_rows()) == 0
    assert query.results().equals(windows_of_ten(READINGS, xs=module(Members, "x")).results())


def random_readings(count: int) -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "sensor": random.integers(0, 50, count),
            "at": random.integers(0, 1_000, count),
            "x": random.integers(0, 9, count),
        }
    )


def totals(frame: Any) -> Query:
    return windows_of_ten(frame, total=module(Total, "x"), n=module("stats.count"))


def rows_of(results: Any) -> list[str]:
    """Return the rows of an Arrow table or of a frame of Polars, each as text, in order."""
    if isinstance(results, pl.LazyFrame):
        results = results.collect()
    return sorted(map(repr, pa.table(results).to_pylist()))


def run_in_threads(run: Callable[[], None]) -> None:
    """Call a function in six threads at once, and wait until all have returned."""
    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("make", [pl.DataFrame, lambda table: pl.DataFrame(table).lazy(), pa.table])
def test_threads_that_run_one_query_at_once_all_have_its_rows(make: Callable[[pa.Table], Any]) -> None:
    table = random_readings(20_000)
    query = totals(make(table))
    rows_of_threads: list[list[str]] = []

    run_in_threads(lambda: rows_of_threads.append(rows_of(query.results())))

    assert rows_of_threads == [rows_of(totals(table).results())] * 6


@pytest.fixture
def own_default_connection() -> Iterator[None]:
    """Give DuckDB another default connection: a thread that was refused may leave a result open on it."""
    connection = duckdb.default_connection()
    duckdb.set_default_connection(duckdb.connect())
    yield
    duckdb.set_default_connection(connection)


@pytest.mark.usefixtures("own_default_connection")
def test_threads_that_run_one_query_over_a_relation_have_its_rows_or_are_refused_by_muntin() -> None:
    table = random_readings(20_000)
    query = totals(duckdb.from_arrow(table))
    results: list[duckdb.DuckDBPyRelation] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(query.results())
        except Exception as error:  # of whatever type: the test judges it below
            errors.append(error)

    run_in_threads(run)

    # An error of DuckDB that Muntin passed on would not be a QueryError.
    assert len(results) + len(errors) == 6
    assert {type(error) for error in errors if not isinstance(error, QueryError)} == set()
    # Relations are computed when they are read: here one after the other, as they share the default connection.
    expected = rows_of(totals(table).results())
    assert [rows_of(relation.to_arrow_table()) for relation in results] == [expected] * len(results)


def test_results_that_the_default_connection_of_duckdb_refuses_are_an_error_of_the_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = totals(duckdb.from_arrow(READINGS))

    def refuse(rows: pa.Table) -> None:
        raise duckdb.Error("connection is busy with another call")

    monkeypatch.setattr(duckdb, "from_arrow", refuse)
    with pytest.raises(QueryError, match="the results cannot become a relation of DuckDB: connection is busy"):
        query.results()


def test_a_pandas_frame_is_read_when_the_query_runs() -> None:
    frame = READINGS.to_pandas()
    query = windows_of_ten(frame, total=module("stats.sum", "x"))
    frame.loc[frame["sensor"] == "b", "x"] = 50
    results = query.results()
    assert results.loc[results["sensor"] == "b", "total"].tolist() == [50]

    frame.drop(columns="x", inplace=True)  # the frame of the query itself, not a copy
    with pytest.raises(QueryError, match="has no column 'x' any more"):
        query.results()


def test_files_are_read_when_the_query_runs(tmp_path: Path) -> None:
    path = tmp_path / "readings.parquet"
    query = windows_of_ten(write_parquet(READINGS, path), total=module("stats.sum", "x"))
    assert sum(query.results()["total"].to_pylist()) == 6

    write_parquet(READINGS.slice(0, 1), path)
    assert query.results()["total"].to_pylist() == [1]

    path.unlink()
    with pytest.raises(QueryError, match=r"readings\.parquet"):
        query.results()


def test_a_file_whose_column_has_changed_its_type_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "readings.parquet"
    query = windows_of_ten(write_parquet(READINGS, path), total=module("stats.sum", "x"))
    write_parquet(READINGS.set_column(2, "x", pa.array(["one", "two", "three"])), path)
    with pytest.raises(QueryError, match="'x' is of type VARCHAR instead of BIGINT"):
        query.results()


def generated_batches() -> Iterator[pa.RecordBatch]:
    yield from READINGS.to_batches()


@pytest.mark.parametrize(
    "thing",
    [generated_batches(), [{"at": 1}], {"at": [1]}, np.zeros(3), pd.Series([1]), duckdb.connect(), None, 7, object()],
)
def test_what_is_no_table_is_refused(thing: Any) -> None:
    with pytest.raises(QueryError, match=r"events\(\) reads a DataFrame of Spark's, or a table in this process"):
        events(thing, at="at")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (generated_batches(), "pyarrow.Table.from_pylist(list(rows))"),
        ([{"at": 1}], "pyarrow.Table.from_pylist(rows)"),
        ({"at": [1]}, "pyarrow.table(columns)"),
        (np.zeros(3), "pandas.DataFrame(array, columns=[...])"),
        (pd.Series([1]), "series.to_frame()"),
    ],
)
def test_what_makes_a_table_of_the_refused_thing_is_said(thing: Any, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        events(thing, at="at")
    assert message in str(raised.value)
