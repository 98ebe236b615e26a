# mypy: disable-error-code="no-untyped-def, no-untyped-call, no-any-return, var-annotated"
"""A class that SQLite itself uses gives the same numbers as a module."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from muntin import hopping, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin_adapters import from_sqlite_aggregate

ROWS = [(0, 3), (1, -1), (2, 4), (3, 1), (4, 5), (6, 9), (7, 2), (9, 6)]


class Spread:
    """An aggregate of the plain kind."""

    def __init__(self):
        self.values = []

    def step(self, value: int):
        self.values.append(value)

    def finalize(self) -> int:
        self.values.sort()
        return self.values.pop() - self.values[0] if len(self.values) > 1 else 0


class SumOf:
    """A window function, which SQLite moves over the rows by step and inverse."""

    def __init__(self):
        self.total = 0

    def step(self, value: int):
        self.total += value

    def inverse(self, value: int):
        self.total -= value

    def value(self) -> int:
        return self.total

    def finalize(self) -> int:
        return self.total


class Covariance:
    """An aggregate of two columns."""

    def __init__(self):
        self.n, self.x, self.y, self.xy = 0, 0, 0, 0

    def step(self, x: int, y: int):
        self.n, self.x, self.y, self.xy = self.n + 1, self.x + x, self.y + y, self.xy + x * y

    def finalize(self) -> int:
        return self.n * self.xy - self.x * self.y


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE readings (at INTEGER, value INTEGER)")
        connection.executemany("INSERT INTO readings VALUES (?, ?)", ROWS)
        yield connection


def test_an_aggregate_gives_each_tumbling_window_what_group_by_gives(database: sqlite3.Connection) -> None:
    database.create_aggregate("spread", 1, Spread)
    rows = database.execute("SELECT spread(value) FROM readings GROUP BY at / 4 ORDER BY at / 4")
    assert modules_results(from_sqlite_aggregate(Spread, name="sqlite.spread", version="1"), 4, 4) == rows.fetchall()


def test_a_window_function_gives_each_hopping_window_what_sqlites_own_gives(database: sqlite3.Connection) -> None:
    # windows   [-2......2)[..      each row's window in SQL ends with it; ours that end one tick after a row are those
    #                [0......4)
    database.create_window_function("sumof", 1, SumOf)
    sql = "SELECT at, sumof(value) OVER (ORDER BY at RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) FROM readings"
    expected = dict(database.execute(sql).fetchall())
    module = from_sqlite_aggregate(SumOf, name="sqlite.sum_of", version="1")
    assert {end - 1: value for end, (value,) in output(module, 4, 1).items() if end - 1 in expected} == expected


def test_one_state_that_slides_gives_what_sqlites_own_gives(database: sqlite3.Connection) -> None:
    database.create_window_function("sumof", 1, SumOf)
    sql = "SELECT sumof(value) OVER (ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM readings"
    module = from_sqlite_aggregate(SumOf, name="sqlite.sum_of", version="1")()
    state, found = module.create_state(), []
    for place, (_, value) in enumerate(ROWS):
        state = module.add_events(state, [value])
        if place > 2:
            state = module.remove_events(state, [ROWS[place - 3][1]])
        found.append((module.compute_result(state),))
    assert found == database.execute(sql).fetchall()


def test_an_aggregate_of_two_columns_gives_what_sqlite_gives(database: sqlite3.Connection) -> None:
    database.create_aggregate("covariance", 2, Covariance)  # type: ignore[arg-type]  # its stub knows no such step
    module = from_sqlite_aggregate(Covariance, name="sqlite.covariance", version="1")()
    state = module.add_events(module.create_state(), ROWS)
    assert (module.compute_result(state),) == database.execute("SELECT covariance(at, value) FROM readings").fetchone()


def output(module, size: int, hop: int) -> dict[int, tuple[int, ...]]:
    """Return the results of windows by their ends."""
    script = Script()
    for place, (at, value) in enumerate(ROWS):
        script = script.point(str(place), at, value)
    window = tumbling(size) if size == hop else hopping(size, hop)
    rows = script.close().run(WindowedQuery(window, [Computation(module())]))[None]
    return {row.window.end: row.value for row in rows}


def modules_results(module, size: int, hop: int) -> list[tuple[int, ...]]:
    return [value for _, value in sorted(output(module, size, hop).items())]
