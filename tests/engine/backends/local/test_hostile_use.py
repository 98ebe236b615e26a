"""Hostile use of queries in this process: modules that fail, tables that change, many keys, a hot key, threads."""

from __future__ import annotations

import re
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


def of_tens(frame: Any, **calls: Any) -> Query:
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


class Exits(Aggregate[int, int]):
    """An aggregate that would end the process."""

    name, version = "hostile.exit", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 3 in payloads:
            raise SystemExit("no threes")
        return 0


@pytest.mark.parametrize("evaluator", ["auto", "general"])
@pytest.mark.parametrize("failing", [fails_on_three, FailsOnThree, AddsNoThree, YieldsAndFails, Exits])
def test_the_error_of_a_module_has_its_key_and_window(failing: Any, evaluator: str) -> None:
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
    with pytest.raises(ModuleContractError, match=rf"{value}(.|\n)*\n  key: \('b',\)"):
        of_tens(READINGS.slice(1, 1), n=module(lying, "x")).results()


def test_a_query_runs_after_one_that_failed() -> None:
    with pytest.raises(ModuleFailedError):
        of_tens(READINGS, n=module(FailsOnThree, "x")).results()
    assert len(of_tens(READINGS, n=module(Count)).results()) == 3


# ------------------------------------------------------------------------------------- many keys, one hot key, no rows


def test_a_million_keys_have_a_window_each() -> None:
    count = 1_000_000
    table = pa.table({"sensor": np.arange(count), "at": np.arange(count) % 10, "x": np.arange(count)})
    results = of_tens(table, total=module("stats.sum", "x")).results()
    assert len(results) == count
    assert pa.compute.all(pa.compute.equal(results["sensor"], results["total"])).as_py()


@pytest.mark.parametrize(
    ("window", "shares"), [(tumbling(100_000), 1), (hopping(100_000, 50_000), 2), (session(10), 1), (snapshot(), 1)]
)
def test_one_hot_key_has_all_rows(window: Any, shares: int) -> None:
    count = 200_000
    table = pa.table({"at": np.arange(count), "x": np.ones(count, np.int64)})
    results = events(table, at="at").window(window).aggregate(total=module("stats.sum", "x")).results()
    assert sum(results["total"].to_pylist()) == shares * count


NO_READINGS: Final = READINGS.slice(0, 0)

EMPTY_FRAMES: Final[dict[str, Callable[[Path], Any]]] = {
    "Arrow table": lambda folder: NO_READINGS,
    "Arrow dataset": lambda folder: pa.dataset.dataset(NO_READINGS),
    "Arrow reader": lambda folder: pa.RecordBatchReader.from_batches(READINGS.schema, []),
    "pandas": lambda folder: NO_READINGS.to_pandas().astype({"sensor": "string"}),
    "Polars": lambda folder: pl.DataFrame(NO_READINGS),
    "lazy Polars": lambda folder: pl.DataFrame(NO_READINGS).lazy(),
    "DuckDB": lambda folder: duckdb.from_arrow(NO_READINGS),
    "Parquet": lambda folder: _written_file(NO_READINGS, folder / "none.parquet"),
}


def _written_file(table: pa.Table, path: Path) -> str:
    pq.write_table(table, path)
    return str(path)


@pytest.mark.parametrize("kind", EMPTY_FRAMES)
def test_no_rows_give_no_results_of_the_same_kind_and_columns(kind: str, tmp_path: Path) -> None:
    frame = EMPTY_FRAMES[kind](tmp_path)
    query = of_tens(frame, n=module(Count), total=module("stats.sum", "x"), spread=module(np.ptp, "x", returns=int))
    results: Any = query.results()
    assert isinstance(results, pa.Table if kind in ("Arrow dataset", "Arrow reader", "Parquet") else type(frame))
    results = results.collect() if kind == "lazy Polars" else results
    assert list(results.columns if hasattr(results, "columns") and kind != "Arrow table" else results.schema.names)
    assert len(results) == 0


# ------------------------------------------------------------------------------------------ again, at once, and changed


def test_a_query_that_runs_twice_gives_the_same() -> None:
    query = of_tens(READINGS, xs=module(Members, "x"))
    assert query.results().equals(query.results())
    assert len(query.rejected_rows()) == 0
    assert query.results().equals(of_tens(READINGS, xs=module(Members, "x")).results())


@pytest.mark.parametrize("make", [pl.DataFrame, lambda table: pl.DataFrame(table).lazy(), duckdb.from_arrow, pa.table])
def test_threads_run_queries_at_once(make: Callable[[pa.Table], Any]) -> None:
    random = np.random.default_rng(3)
    count = 20_000
    table = pa.table(
        {
            "sensor": random.integers(0, 50, count),
            "at": random.integers(0, 1_000, count),
            "x": random.integers(0, 9, count),
        }
    )
    frame = make(table)
    query = of_tens(frame, total=module(Total, "x"), n=module("stats.count"))
    expected = _rows(of_tens(table, total=module(Total, "x"), n=module("stats.count")).results())
    outcomes: list[Any] = []

    def run() -> None:
        try:
            outcomes.append(_rows(query.results()) == expected)
        except (QueryError, duckdb.Error) as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A relation is its connection's, which takes one call at a time and says so.
    refused = [outcome for outcome in outcomes if outcome is not True]
    assert [refusal for refusal in refused if not re.search("connection (is busy|has an open result)", refusal)] == []
    assert outcomes == [True] * 6 or isinstance(frame, duckdb.DuckDBPyRelation)


def _rows(results: Any) -> list[str]:
    if isinstance(results, pl.LazyFrame):
        results = results.collect()
    if isinstance(results, duckdb.DuckDBPyRelation):
        results = results.to_arrow_table()
    return sorted(map(repr, pa.table(results).to_pylist()))


def test_a_pandas_frame_is_read_when_the_query_runs() -> None:
    frame = READINGS.to_pandas()
    query = of_tens(frame, total=module("stats.sum", "x"))
    frame.loc[frame["sensor"] == "b", "x"] = 50
    assert dict(query.results()[["sensor", "total"]].iloc[[0]].to_numpy().tolist()) == {"b": 50}
    frame.drop(columns="x", inplace=True)  # this is what the test is about
    with pytest.raises(QueryError, match="x"):
        query.results()


def test_files_are_read_when_the_query_runs(tmp_path: Path) -> None:
    path = tmp_path / "readings.parquet"
    query = of_tens(_written_file(READINGS, path), total=module("stats.sum", "x"))
    assert sum(query.results()["total"].to_pylist()) == 6
    _written_file(READINGS.slice(0, 1), path)
    assert query.results()["total"].to_pylist() == [1]
    path.unlink()
    with pytest.raises(QueryError, match=r"readings\.parquet"):
        query.results()


def test_a_frame_whose_columns_change_their_type_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "readings.parquet"
    query = of_tens(_written_file(READINGS, path), total=module("stats.sum", "x"))
    _written_file(READINGS.set_column(2, "x", pa.array(["one", "two", "three"])), path)
    with pytest.raises(QueryError, match="x"):
        query.results()


def batches() -> Iterator[pa.RecordBatch]:
    yield from READINGS.to_batches()


@pytest.mark.parametrize(
    "thing", [batches(), [{"at": 1}], {"at": [1]}, np.zeros(3), pd.Series([1]), duckdb.connect(), None, 7, object()]
)
def test_what_is_no_table_is_refused(thing: Any) -> None:
    with pytest.raises(QueryError, match=r"events\(\) reads a DataFrame of Spark's, or a table in this process"):
        events(thing, at="at")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (batches(), "pyarrow.Table.from_pylist(list(rows))"),
        ([{"at": 1}], "pyarrow.Table.from_pylist(rows)"),
        ({"at": [1]}, "pyarrow.table(columns)"),
        (np.zeros(3), "pandas.DataFrame(array, columns=[...])"),
        (pd.Series([1]), "series.to_frame()"),
    ],
)
def test_what_makes_a_table_is_said(thing: Any, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        events(thing, at="at")
    assert message in str(raised.value)
