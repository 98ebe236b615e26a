"""Tables of PostgreSQL and SQLite: each micro-batch in one transaction with its number."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, quote, urlsplit

import psycopg
import pyarrow as pa
import pytest

from muntin.errors import QueryError
from muntin_engine.errors import SetupError, StateError
from muntin_engine.sinks.database_table import DatabaseTable
from muntin_engine.sinks.written_batch import WrittenBatch
from muntin_engine.testing import ArrowBatch, check_sink
from tests.engine.sinks.postgresql_server import PASSWORD, running_server


class Place:
    """A database, and statements to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_sqlite = address.startswith("sqlite:")

    def table(self, name: str) -> DatabaseTable:
        return DatabaseTable(f"{self.address}{'&' if '?' in self.address else '?'}table={quote(name)}")

    def connect(self) -> Any:
        if self.is_sqlite:
            return sqlite3.connect(self.address.removeprefix("sqlite:"))
        return psycopg.connect(self.address)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as connection:
            cursor = connection.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
        return cast("list[tuple[Any, ...]]", rows)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, none if it is not there, with their windows as records."""
        table_names = "sqlite_master WHERE name" if self.is_sqlite else "pg_tables WHERE tablename"
        if not self.ask(f"SELECT 1 FROM {table_names} = '{table}'"):
            return []
        rows: list[dict[str, Any]] = []
        columns = self.columns(table)
        for values in self.ask(f"SELECT * FROM {table}"):
            row = dict(zip(columns, values, strict=True))
            window = {"start": row["window_start"], "end": row["window_end"]}
            rows.append(row | {"window": window})
        return rows

    def columns(self, table: str) -> list[str]:
        with closing(self.connect()) as connection:
            return [name for name, *_ in connection.execute(f"SELECT * FROM {table}").description]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(f"sqlite:{tmp_path / 'results.db'}")
    database = Place(request.getfixturevalue("server"))
    for (name,) in database.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        database.ask(f'DROP TABLE "{name}"')
    return database


def write(sink: DatabaseTable, batch_id: int, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> None:
    sink.take_count(len(rows))
    sink.write(cast("Any", ArrowBatch(pa.Table.from_pylist(rows, schema))), batch_id)


def opened(place: Place, table: str = "bikes", query: str = "q1", keys: tuple[str, ...] = ()) -> DatabaseTable:
    sink = place.table(table)
    sink.keyed_by(keys)
    sink.open(query)
    return sink


def test_a_micro_batch_that_comes_again_changes_nothing(place: Place) -> None:
    sink = opened(place)
    assert sink.last_written == WrittenBatch(-1)
    sink.take_input_id("offsets of 0")
    sink.take_watermark(10)
    write(sink, 0, [{"n": 1}, {"n": 2}])
    assert sink.last_written == WrittenBatch(0, "offsets of 0")
    write(sink, 0, [{"n": 2}, {"n": 1}])
    again = opened(place)
    write(again, 0, [{"n": 1}, {"n": 2}])
    write(again, 1, [], pa.schema({"n": pa.int64()}))
    write(again, 2, [{"n": 3}])
    assert place.ask("SELECT n FROM bikes ORDER BY n") == [(1,), (2,), (3,)]
    assert place.ask("SELECT query_id, batch, watermark FROM muntin_batches") == [("q1", 2, 10)]


@pytest.mark.cases(2)
@pytest.mark.filterwarnings("ignore:Exception ignored.*Connection:pytest.PytestUnraisableExceptionWarning")  # a crash
@pytest.mark.parametrize("changes", [False, True], ids=["appended", "merged"])
def test_a_table_keeps_the_laws_of_sinks(place: Place, changes: bool) -> None:
    lines_between_crashes = 9 if place.is_sqlite else 25
    if "MUNTIN_KILLS" in os.environ:
        lines_between_crashes = 1
    held = check_sink(
        place.table,
        place.rows,
        changes=changes,
        every=lines_between_crashes,
        take_away=lambda table: place.ask(f"DELETE FROM {table} WHERE window_start = 20"),
    )
    assert held.pop("a new column is taken with its values, or refused").startswith("a new column is refused: ")
    assert set(held.values()) == {"holds"}


def test_every_type_of_a_result_arrives_as_it_was(place: Place) -> None:
    start = datetime(2024, 5, 1, 8, tzinfo=UTC)
    extent = pa.struct({"start": pa.timestamp("us", "UTC"), "end": pa.timestamp("us", "UTC")})
    schema = pa.schema(
        {
            "station name": pa.string(),
            "per%": pa.float64(),
            "window": extent,
            "is_full": pa.bool_(),
            "short": pa.int16(),
            "size": pa.int64(),
            "km": pa.decimal128(30, 10),
            "day": pa.date32(),
            "local": pa.timestamp("us"),
            "took": pa.duration("us"),
            "raw": pa.binary(),
            "stops": pa.list_(pa.struct({"at": pa.timestamp("us", "UTC"), "km": pa.decimal128(5, 2)})),
            "counts": pa.map_(pa.string(), pa.int64()),
        }
    )
    row = {
        "station name": 'no"rth\t\\N',
        "per%": float("inf"),
        "window": {"start": start, "end": start + timedelta(minutes=10)},
        "is_full": True,
        "short": -5,
        "size": 2**62,
        "km": Decimal("12345678901234567890.0123456789"),
        "day": date(2024, 5, 1),
        "local": start.replace(tzinfo=None, microsecond=5),
        "took": timedelta(days=-1, microseconds=7),
        "raw": b"\x00\xff",
        "stops": [{"at": start, "km": Decimal("1.50")}],
        "counts": [("a", 1)],
    }
    sink = opened(place)
    write(sink, 0, [row, dict.fromkeys(row)], schema)
    values, nulls = place.ask("SELECT * FROM bikes ORDER BY short IS NULL")
    assert set(nulls) == {None}
    if place.is_sqlite:
        assert values == (
            *('no"rth\t\\N', float("inf"), "2024-05-01T08:00:00.000000Z", "2024-05-01T08:10:00.000000Z", 1, -5, 2**62),
            *("12345678901234567890.0123456789", "2024-05-01", "2024-05-01T08:00:00.000005", -86_399_999_993),
            *(b"\x00\xff", '[{"at":"2024-05-01T08:00:00.000000Z","km":1.50}]', '{"a":1}'),
        )
        assert place.ask("SELECT unixepoch(window_start) FROM bikes LIMIT 1") == [(start.timestamp(),)]
    else:
        window = row["window"]
        assert values == (
            *(row["station name"], row["per%"], window["start"], window["end"], True, -5, 2**62),  # type: ignore[index]
            *(row["km"], row["day"], row["local"], row["took"], row["raw"]),
            *([{"at": "2024-05-01T08:00:00.000000Z", "km": 1.5}], {"a": 1}),
        )


CHANGES = pa.schema(
    {
        "station": pa.string(),
        "lifetime": pa.struct({"start": pa.int64(), "end": pa.int64()}),
        "change": pa.string(),
        "event_id": pa.int64(),
        "new_end": pa.int64(),
        "n": pa.int64(),
    }
)


def change(kind: str, station: str | None, event_id: int, n: int, end: int, new_end: int | None = None) -> Any:
    lifetime = {"start": 0, "end": end}
    return {
        **{"station": station, "lifetime": lifetime, "change": kind, "event_id": event_id},
        **{"n": n, "new_end": new_end},
    }


def test_changes_add_up_to_one_row_for_each_live_result(place: Place) -> None:
    sink = opened(place, keys=("station",))
    first = [
        change("insert", "north", 1, 5, 10),
        change("insert", None, 1, 7, 10),
        change("insert", "south", 1, 6, 10),
        change("retract", "south", 1, 6, 10),
    ]
    write(sink, 0, first, CHANGES)
    rows = "SELECT station, event_id, n, lifetime_start, lifetime_end FROM bikes ORDER BY station IS NULL, station, n"
    assert place.ask(rows) == [("north", 1, 5, 0, 10), (None, 1, 7, 0, 10)]
    second = [  # in any order, as after a shuffle
        change("revise", "north", 1, 5, 20, 30),
        change("revise", "north", 1, 5, 10, 20),
        change("retract", None, 1, 7, 10),
        change("insert", None, 2, 8, 10),
        change("insert", "west", 1, 9, 10),
        change("revise", "west", 1, 9, 10, 15),
    ]
    for _ in range(2):
        write(sink, 1, second, CHANGES)
        assert place.ask(rows) == [("north", 1, 5, 0, 30), ("west", 1, 9, 0, 15), (None, 2, 8, 0, 10)]
    assert place.columns("bikes") == ["station", "lifetime_start", "lifetime_end", "event_id", "n"]


def test_a_table_that_is_there_takes_the_same_columns_and_more(place: Place) -> None:
    kind = "INTEGER" if place.is_sqlite else "serial"
    place.ask(f"CREATE TABLE bikes (seen {kind} PRIMARY KEY, n bigint, name text)")
    write(opened(place), 0, [{"n": 1, "name": "a"}])
    assert place.ask("SELECT seen, n FROM bikes") == [(1, 1)]


def test_sqlite_does_not_tell_upper_from_lower_case_in_names_of_columns(tmp_path: Path) -> None:
    place = Place(f"sqlite:{tmp_path / 'results.db'}")
    place.ask("CREATE TABLE bikes (N bigint, Name text)")
    write(opened(place), 0, [{"n": 1, "name": "a"}])
    write(opened(place), 1, [{"n": 2, "name": "b"}])  # `open` finds the row that was written last
    assert place.ask("SELECT N, Name FROM bikes") == [(1, "a"), (2, "b")]
    with pytest.raises(QueryError, match=r"the column 'NAME' of .* is TEXT, and the output has INTEGER"):
        write(opened(place), 2, [{"n": 3, "NAME": 4}])
    place.ask("DELETE FROM bikes WHERE n = 2")
    with pytest.raises(StateError, match="lacks the row that was written last"):
        opened(place)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"n": 1, "km": 2.0},
            "has no column 'km', which the output has: it has n\n  add it, as (REAL|double precision)",
        ),
        ({"n": "one"}, "the column 'n' of .* is (BIGINT|bigint), and the output has (TEXT|text)\n"),
        ({"a": {"b": 1}, "a_b": 2}, "two columns of the output would be 'a_b'"),
    ],
)
def test_a_table_with_other_columns_is_refused(place: Place, row: dict[str, Any], message: str) -> None:
    place.ask("CREATE TABLE bikes (n bigint)")
    sink = opened(place)
    with pytest.raises(QueryError, match=message):
        write(sink, 0, [row])
    assert sink.last_written == WrittenBatch(-1)
    write(sink, 0, [{"n": 1}])
    assert place.ask("SELECT n FROM bikes") == [(1,)]


def test_a_table_belongs_to_one_query_until_it_is_dropped(place: Place) -> None:
    write(opened(place), 0, [{"n": 1}])
    write(opened(place, "other"), 5, [{"n": 1}])
    with pytest.raises(QueryError, match="holds the output of another query: of q1, and this one is q2"):
        opened(place, query="q2")
    place.ask("DROP TABLE bikes")
    with pytest.raises(StateError, match="is gone, or its row in muntin_batches, and this query wrote to it"):
        opened(place)
    sink = opened(place, query="q2")
    write(sink, 0, [{"n": 2}])
    assert place.ask("SELECT n FROM bikes") == [(2,)]
    place.ask("DELETE FROM muntin_batches")
    with pytest.raises(StateError, match="is gone"):
        write(sink, 1, [{"n": 3}])


def test_readers_see_micro_batches_as_a_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = opened(place)
    write(sink, 0, [{"n": 1}])
    readings = []
    database = type(sink._database)
    append = database.append

    def append_and_crash(self: Any, *arguments: Any) -> None:
        append(self, *arguments)
        readings.append(place.ask("SELECT n FROM bikes"))
        raise OSError("killed here")

    monkeypatch.setattr(database, "append", append_and_crash)
    with pytest.raises(OSError, match="killed here"):
        write(sink, 1, [{"n": 2}, {"n": 3}])
    assert readings == [[(1,)]]
    monkeypatch.setattr(database, "append", append)
    assert (place.ask("SELECT n FROM bikes"), sink.last_written) == ([(1,)], WrittenBatch(0))
    write(sink, 1, [{"n": 2}, {"n": 3}])
    assert place.ask("SELECT n FROM bikes ORDER BY n") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("times", [1, 2])
def test_a_micro_batch_is_repeated_once_when_its_connection_is_lost(
    server: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(server)
    place.ask("DROP TABLE IF EXISTS lost")
    sink = opened(place, "lost", f"lost {times}")
    database = type(sink._database)
    append = database.append
    connections_to_cut = [None] * times

    def cut_short(self: Any, cursor: Any, *arguments: Any) -> None:
        append(self, cursor, *arguments)
        if connections_to_cut:
            connections_to_cut.pop()
            place.ask(f"SELECT pg_terminate_backend({cursor.connection.info.backend_pid}, 5000)")

    monkeypatch.setattr(database, "append", cut_short)
    if times == 2:
        with pytest.raises(psycopg.OperationalError):
            write(sink, 0, [{"n": 1}])
    write(sink, 0, [{"n": 1}])
    assert place.ask("SELECT n FROM lost") == [(1,)]


def test_a_schema_may_be_named(server: str) -> None:
    place = Place(server)
    place.ask('CREATE SCHEMA "data mart"')
    sink = opened(place, "data mart.bikes")
    write(sink, 0, [{"n": 1}])
    assert place.ask('SELECT n, batch FROM "data mart".bikes, "data mart".muntin_batches') == [(1, 0)]
    assert opened(place, "data mart.bikes").last_written == WrittenBatch(0)


def test_a_password_is_shown_nowhere(server: str, capfd: pytest.CaptureFixture[str]) -> None:
    port = parse_qs(urlsplit(server).query)["port"][0]

    def table_with(password: str) -> DatabaseTable:
        return DatabaseTable(f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres?table=secrets")

    sink = table_with(quote(PASSWORD, safe=""))
    sink.open("q")
    write(sink, 0, [{"n": 1}])
    assert str(sink) == f"postgresql://postgres@127.0.0.1:{port}/postgres?table=secrets"
    with pytest.raises(SetupError, match="cannot be reached") as refused:
        table_with("wr0ng").open("q")
    with pytest.raises(QueryError, match="is not an address of a PostgreSQL database") as unread:
        table_with("wr0ng%zz")
    with pytest.raises(QueryError, match="does not name a table") as nameless:
        DatabaseTable(f"postgresql://postgres:wr0ng@127.0.0.1:{port}/postgres?password=wr0ng")
    out, err = capfd.readouterr()
    messages = [repr(error.value) for error in (refused, unread, nameless)]
    for text in (*messages, out, err):
        assert "wr0ng" not in text
        assert PASSWORD not in text


@pytest.mark.parametrize("address", ["sqlite:", "sqlite:a.db", "sqlite://a.db?table=t", "sqlite:a.db?table=t&x=1"])
def test_an_address_names_a_file_and_a_table(address: str) -> None:
    with pytest.raises(QueryError, match="does not name a table of a database\n  expected postgresql://"):
        DatabaseTable(address)


def test_a_file_in_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be opened: unable to open database file"):
        DatabaseTable(f"sqlite:{tmp_path}/nowhere/a.db?table=t").open("q")


def test_the_row_that_was_written_last_is_missed_when_it_is_gone(place: Place) -> None:
    """Of the last row all columns are compared that a database finds again as they were written."""
    zoned = datetime(2024, 5, 1, 8, 30, 0, 1, tzinfo=UTC)
    last = {"n": 3, "name": "it's \u00e9", "is_open": True, "price": Decimal("2.50"), "day": date(2024, 5, 1)}
    last |= {"at": zoned, "local": zoned.replace(tzinfo=None), "km": 0.1, "none": None, "tags": ["a"]}
    schema = pa.schema(
        [
            *(("n", pa.int64()), ("name", pa.string()), ("is_open", pa.bool_()), ("price", pa.decimal128(9, 2))),
            *(("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("us"))),
            *(("km", pa.float32()), ("none", pa.string()), ("tags", pa.list_(pa.string()))),
        ]
    )
    sink = opened(place)
    write(sink, 0, [last | {"n": number} for number in range(3)], schema)
    write(sink, 1, [last], schema)
    write(sink, 2, [], schema)
    ((last_row,),) = place.ask("SELECT last_row FROM muntin_batches")
    assert set(json.loads(last_row)) == set(schema.names) - {"km", "tags"}
    place.ask("DELETE FROM bikes WHERE n < 3")
    assert opened(place).last_written == WrittenBatch(2), "old rows may be deleted"

    place.ask("UPDATE bikes SET name = 'another' WHERE n = 3")
    with pytest.raises(
        StateError, match=r"lacks the row that was written last, up to micro-batch 2: \{\"n\":3,"
    ) as caught:
        opened(place)
    (advice,) = [line for line in str(caught.value).splitlines() if "on purpose" in line]
    place.ask(advice.partition(": ")[2])
    assert opened(place).last_written == WrittenBatch(2)


def test_of_changes_that_only_delete_no_row_is_known(place: Place) -> None:
    sink = opened(place, keys=("station",))
    write(sink, 0, [change("insert", "north", 1, 1, 10), change("insert", "south", 2, 2, 10)])
    write(sink, 1, [change("retract", "south", 2, 2, 10)])
    assert place.ask("SELECT last_row FROM muntin_batches") == [(None,)]
    assert opened(place, keys=("station",)).last_written == WrittenBatch(1)


def test_a_file_is_not_locked_as_long_as_the_error_of_a_statement_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is read-only for a moment; the exception, with its traceback, is kept meanwhile."""
    monkeypatch.setattr("muntin_engine.sinks.databases._PATIENCE", 0.1)
    place = Place(f"sqlite:{tmp_path / 'results.db'}")
    sink = opened(place)
    write(sink, 0, [{"n": 1}])
    failing = "BEFORE INSERT ON bikes BEGIN SELECT RAISE(ABORT, 'attempt to write a readonly database'); END"
    place.ask(f"CREATE TRIGGER is_read_only {failing}")
    with pytest.raises(sqlite3.IntegrityError, match="readonly database") as error:
        write(sink, 1, [{"n": 2}])
    place.ask("DROP TRIGGER is_read_only")
    write(sink, 1, [{"n": 2}])
    assert place.ask("SELECT n FROM bikes ORDER BY n") == [(1,), (2,)]
    assert error.value.__traceback__ is not None
