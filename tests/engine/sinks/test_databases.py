"""Tables of PostgreSQL and SQLite: each micro-batch in one transaction with its number."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
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
        """Return a new sink of a table."""
        separator = "&" if "?" in self.address else "?"
        return DatabaseTable(f"{self.address}{separator}table={quote(name)}")

    def connect(self) -> Any:
        if self.is_sqlite:
            return sqlite3.connect(self.address.removeprefix("sqlite:"))
        return psycopg.connect(self.address)

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Execute a statement in a transaction of its own, and return its rows, if it has any."""
        with closing(self.connect()) as connection:
            cursor = connection.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
        return cast("list[tuple[Any, ...]]", rows)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, none if it is not there, with their windows as records."""
        table_names = "sqlite_master WHERE name" if self.is_sqlite else "pg_tables WHERE tablename"
        if not self.execute(f"SELECT 1 FROM {table_names} = '{table}'"):
            return []
        rows: list[dict[str, Any]] = []
        columns = self.columns(table)
        for values in self.execute(f"SELECT * FROM {table}"):
            row = dict(zip(columns, values, strict=True))
            window = {"start": row["window_start"], "end": row["window_end"]}
            rows.append(row | {"window": window})
        return rows

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table."""
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
    for (name,) in database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        database.execute(f'DROP TABLE "{name}"')
    return database


def write(sink: DatabaseTable, batch_id: int, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> None:
    """Write rows as a micro-batch."""
    sink.take_count(len(rows))
    sink.write(cast("Any", ArrowBatch(pa.Table.from_pylist(rows, schema))), batch_id)


def opened(place: Place, table: str = "bikes", query: str = "q1", keys: tuple[str, ...] = ()) -> DatabaseTable:
    """Return a new sink of a table, opened by a query, as a run of the query begins with it."""
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
    write(sink, 0, [{"n": 2}, {"n": 1}])  # the same rows in another order

    sink_of_next_run = opened(place)
    write(sink_of_next_run, 0, [{"n": 1}, {"n": 2}])
    write(sink_of_next_run, 1, [], pa.schema({"n": pa.int64()}))
    write(sink_of_next_run, 2, [{"n": 3}])
    assert place.execute("SELECT n FROM bikes ORDER BY n") == [(1,), (2,), (3,)]
    assert place.execute("SELECT query_id, batch, watermark FROM muntin_batches") == [("q1", 2, 10)]


@pytest.mark.cases(2)
# A crash leaves a connection open.
@pytest.mark.filterwarnings("ignore:Exception ignored.*Connection:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("changes", [False, True], ids=["appended", "merged"])
def test_a_table_keeps_the_laws_of_sinks_and_refuses_new_columns(place: Place, changes: bool) -> None:
    # The more lines of the sink lie between two crashes, the fewer crashes are tried.
    lines_between_crashes = 9 if place.is_sqlite else 25
    if "MUNTIN_KILLS" in os.environ:
        lines_between_crashes = 1

    verdicts = check_sink(
        place.table,
        place.rows,
        changes=changes,
        every=lines_between_crashes,
        take_away=lambda table: place.execute(f"DELETE FROM {table} WHERE window_start = 20"),  # what was written last
    )
    verdict_of_new_column = verdicts.pop("a new column is taken with its values, or refused")
    assert verdict_of_new_column.startswith("a new column is refused: ")
    assert set(verdicts.values()) == {"holds"}


START = datetime(2024, 5, 1, 8, tzinfo=UTC)
ROW_OF_ALL_TYPES: dict[str, Any] = {
    "station name": 'no"rth\t\\N',
    "per%": float("inf"),
    "window": {"start": START, "end": START + timedelta(minutes=10)},
    "is_full": True,
    "short": -5,
    "size": 2**62,
    "km": Decimal("12345678901234567890.0123456789"),
    "day": date(2024, 5, 1),
    "local": START.replace(tzinfo=None, microsecond=5),
    "took": timedelta(days=-1, microseconds=7),
    "raw": b"\x00\xff",
    "stops": [{"at": START, "km": Decimal("1.50")}],
    "counts": [("a", 1)],
}
SCHEMA_OF_ALL_TYPES = pa.schema(
    {
        "station name": pa.string(),
        "per%": pa.float64(),
        "window": pa.struct({"start": pa.timestamp("us", "UTC"), "end": pa.timestamp("us", "UTC")}),
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


def test_sqlite_has_a_value_of_every_type_as_a_number_or_as_text(tmp_path: Path) -> None:
    place = Place(f"sqlite:{tmp_path / 'results.db'}")
    write(opened(place), 0, [ROW_OF_ALL_TYPES], SCHEMA_OF_ALL_TYPES)
    (values,) = place.execute("SELECT * FROM bikes")
    assert dict(zip(place.columns("bikes"), values, strict=True)) == {
        "station name": 'no"rth\t\\N',
        "per%": float("inf"),
        "window_start": "2024-05-01T08:00:00.000000Z",
        "window_end": "2024-05-01T08:10:00.000000Z",
        "is_full": 1,
        "short": -5,
        "size": 2**62,
        "km": "12345678901234567890.0123456789",
        "day": "2024-05-01",
        "local": "2024-05-01T08:00:00.000005",
        "took": -86_399_999_993,  # microseconds
        "raw": b"\x00\xff",
        "stops": '[{"at":"2024-05-01T08:00:00.000000Z","km":1.50}]',
        "counts": '{"a":1}',
    }
    assert place.execute("SELECT unixepoch(window_start) FROM bikes") == [(START.timestamp(),)]


def test_postgresql_has_a_value_of_every_type_as_it_was_and_nested_ones_as_json(server: str) -> None:
    place = Place(server)
    place.execute("DROP TABLE IF EXISTS types")
    write(opened(place, "types", "query of types"), 0, [ROW_OF_ALL_TYPES], SCHEMA_OF_ALL_TYPES)
    (values,) = place.execute("SELECT * FROM types")
    row = dict(ROW_OF_ALL_TYPES)
    window = row.pop("window")
    assert dict(zip(place.columns("types"), values, strict=True)) == row | {
        "window_start": window["start"],
        "window_end": window["end"],
        "stops": [{"at": "2024-05-01T08:00:00.000000Z", "km": 1.5}],
        "counts": {"a": 1},
    }


def test_a_null_of_every_type_is_a_null(place: Place) -> None:
    write(opened(place), 0, [dict.fromkeys(ROW_OF_ALL_TYPES)], SCHEMA_OF_ALL_TYPES)
    (values,) = place.execute("SELECT * FROM bikes")
    assert set(values) == {None}


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


def change(
    kind: str, station: str | None, *, id: int, n: int, end: int = 10, new_end: int | None = None
) -> dict[str, Any]:
    """Return a change of a result that lasts from 0 to its end, as a row of `CHANGES`."""
    lifetime = {"start": 0, "end": end}
    return {"change": kind, "station": station, "event_id": id, "n": n, "lifetime": lifetime, "new_end": new_end}


def test_changes_add_up_to_one_row_for_each_live_result(place: Place) -> None:
    sink = opened(place, keys=("station",))
    first_changes = [
        change("insert", "north", id=1, n=5),
        change("insert", None, id=1, n=7),
        change("insert", "south", id=1, n=6),
        change("retract", "south", id=1, n=6),
    ]
    write(sink, 0, first_changes, CHANGES)
    live_rows = (
        "SELECT station, event_id, n, lifetime_start, lifetime_end FROM bikes ORDER BY station IS NULL, station, n"
    )
    assert place.execute(live_rows) == [("north", 1, 5, 0, 10), (None, 1, 7, 0, 10)]

    second_changes = [  # in any order, as after a shuffle
        change("revise", "north", id=1, n=5, end=20, new_end=30),
        change("revise", "north", id=1, n=5, end=10, new_end=20),
        change("retract", None, id=1, n=7),
        change("insert", None, id=2, n=8),
        change("insert", "west", id=1, n=9),
        change("revise", "west", id=1, n=9, end=10, new_end=15),
    ]
    write(sink, 1, second_changes, CHANGES)
    expected_rows = [("north", 1, 5, 0, 30), ("west", 1, 9, 0, 15), (None, 2, 8, 0, 10)]
    assert place.execute(live_rows) == expected_rows
    write(sink, 1, second_changes, CHANGES)  # it comes again
    assert place.execute(live_rows) == expected_rows
    assert place.columns("bikes") == ["station", "lifetime_start", "lifetime_end", "event_id", "n"]


def test_a_table_that_is_there_may_have_columns_which_the_output_does_not_have(place: Place) -> None:
    counting_type = "INTEGER" if place.is_sqlite else "serial"
    place.execute(f"CREATE TABLE bikes (row_number {counting_type} PRIMARY KEY, n bigint, name text)")
    write(opened(place), 0, [{"n": 1, "name": "a"}])
    assert place.execute("SELECT row_number, n FROM bikes") == [(1, 1)]


def test_sqlite_does_not_tell_upper_from_lower_case_in_names_of_columns(tmp_path: Path) -> None:
    place = Place(f"sqlite:{tmp_path / 'results.db'}")
    place.execute("CREATE TABLE bikes (N bigint, Name text)")
    write(opened(place), 0, [{"n": 1, "name": "a"}])
    write(opened(place), 1, [{"n": 2, "name": "b"}])  # `open` finds the row that was written last
    assert place.execute("SELECT N, Name FROM bikes") == [(1, "a"), (2, "b")]
    with pytest.raises(QueryError, match=r"the column 'NAME' of .* is TEXT, and the output has INTEGER"):
        write(opened(place), 2, [{"n": 3, "NAME": 4}])
    place.execute("DELETE FROM bikes WHERE n = 2")
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
    ids=["a column more", "a column of another type", "two columns of one name"],
)
def test_rows_that_do_not_fit_the_columns_of_a_table_are_refused_and_those_that_do_are_written(
    place: Place, row: dict[str, Any], message: str
) -> None:
    place.execute("CREATE TABLE bikes (n bigint)")
    sink = opened(place)
    with pytest.raises(QueryError, match=message):
        write(sink, 0, [row])
    assert sink.last_written == WrittenBatch(-1)
    write(sink, 0, [{"n": 1}])
    assert place.execute("SELECT n FROM bikes") == [(1,)]


def test_a_table_belongs_to_one_query_until_it_is_dropped(place: Place) -> None:
    write(opened(place, query="q1"), 0, [{"n": 1}])
    write(opened(place, "another table", query="q1"), 5, [{"n": 1}])
    with pytest.raises(QueryError, match="holds the output of another query: of q1, and this one is q2"):
        opened(place, query="q2")

    place.execute("DROP TABLE bikes")
    write(opened(place, query="q2"), 0, [{"n": 2}])
    assert place.execute("SELECT n FROM bikes") == [(2,)]


@pytest.mark.parametrize("statement", ["DROP TABLE bikes", "DELETE FROM muntin_batches"])
def test_a_table_that_is_gone_or_its_row_is_not_begun_anew(place: Place, statement: str) -> None:
    sink = opened(place)
    write(sink, 0, [{"n": 1}])
    place.execute(statement)
    with pytest.raises(StateError, match="is gone"):
        write(sink, 1, [{"n": 2}])


def test_a_table_that_its_query_wrote_to_is_missed_when_the_query_starts_again(place: Place) -> None:
    write(opened(place), 0, [{"n": 1}])
    place.execute("DROP TABLE bikes")
    with pytest.raises(StateError, match="is gone, or its row in muntin_batches, and this query wrote to it"):
        opened(place)


def test_readers_see_micro_batches_as_a_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = opened(place)
    write(sink, 0, [{"n": 1}])
    database = type(sink._database)
    append = database.append
    rows_seen_by_readers = []

    def append_and_crash(self: Any, *arguments: Any) -> None:
        append(self, *arguments)
        rows_seen_by_readers.extend(place.execute("SELECT n FROM bikes"))
        raise OSError("killed here")

    monkeypatch.setattr(database, "append", append_and_crash)
    with pytest.raises(OSError, match="killed here"):
        write(sink, 1, [{"n": 2}, {"n": 3}])
    assert rows_seen_by_readers == [(1,)]

    monkeypatch.setattr(database, "append", append)
    assert place.execute("SELECT n FROM bikes") == [(1,)]
    assert sink.last_written == WrittenBatch(0)
    write(sink, 1, [{"n": 2}, {"n": 3}])
    assert place.execute("SELECT n FROM bikes ORDER BY n") == [(1,), (2,), (3,)]


def cut_connections(sink: DatabaseTable, place: Place, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server end the connection of a sink so many times, each time when rows were sent and not committed."""
    database = type(sink._database)
    append = database.append
    attempts = count(1)

    def append_and_cut(self: Any, cursor: Any, *arguments: Any) -> None:
        append(self, cursor, *arguments)
        if next(attempts) <= times:
            place.execute(f"SELECT pg_terminate_backend({cursor.connection.info.backend_pid}, 5000)")

    monkeypatch.setattr(database, "append", append_and_cut)


def test_a_micro_batch_is_repeated_when_its_connection_is_lost(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(server)
    place.execute("DROP TABLE IF EXISTS lost")
    sink = opened(place, "lost", query="lost once")
    cut_connections(sink, place, 1, monkeypatch)
    write(sink, 0, [{"n": 1}])
    assert place.execute("SELECT n FROM lost") == [(1,)]


def test_a_micro_batch_whose_connection_is_lost_again_fails_and_can_be_written_later(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(server)
    place.execute("DROP TABLE IF EXISTS lost")
    sink = opened(place, "lost", query="lost twice")
    cut_connections(sink, place, 2, monkeypatch)
    with pytest.raises(psycopg.OperationalError):
        write(sink, 0, [{"n": 1}])
    write(sink, 0, [{"n": 1}])
    assert place.execute("SELECT n FROM lost") == [(1,)]


def test_a_table_may_be_in_a_schema_of_postgresql_that_has_the_table_of_batches_too(server: str) -> None:
    place = Place(server)
    place.execute('CREATE SCHEMA "data mart"')
    sink = opened(place, "data mart.bikes")
    write(sink, 0, [{"n": 1}])
    assert place.execute('SELECT n, batch FROM "data mart".bikes, "data mart".muntin_batches') == [(1, 0)]
    assert opened(place, "data mart.bikes").last_written == WrittenBatch(0)


def test_a_password_is_shown_nowhere(server: str, capfd: pytest.CaptureFixture[str]) -> None:
    port = parse_qs(urlsplit(server).query)["port"][0]

    def table_with(password: str) -> DatabaseTable:
        return DatabaseTable(f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres?table=secrets")

    sink = table_with(quote(PASSWORD, safe=""))
    sink.open("q")
    write(sink, 0, [{"n": 1}])
    assert str(sink) == f"postgresql://postgres@127.0.0.1:{port}/postgres?table=secrets"

    with pytest.raises(SetupError, match="cannot be reached") as unreachable:
        table_with("wr0ng").open("q")
    with pytest.raises(QueryError, match="is not an address of a PostgreSQL database") as unreadable:
        table_with("wr0ng%zz")
    with pytest.raises(QueryError, match="does not name a table") as without_table:
        DatabaseTable(f"postgresql://postgres:wr0ng@127.0.0.1:{port}/postgres?password=wr0ng")
    messages = [repr(error.value) for error in (unreachable, unreadable, without_table)]
    for text in (*messages, *capfd.readouterr()):
        assert "wr0ng" not in text
        assert PASSWORD not in text


@pytest.mark.parametrize("address", ["sqlite:", "sqlite:a.db", "sqlite://a.db?table=t", "sqlite:a.db?table=t&x=1"])
def test_an_address_names_a_file_and_a_table(address: str) -> None:
    with pytest.raises(QueryError, match="does not name a table of a database\n  expected postgresql://"):
        DatabaseTable(address)


def test_a_file_in_a_folder_that_is_not_there_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be opened: unable to open database file"):
        DatabaseTable(f"sqlite:{tmp_path}/nowhere/a.db?table=t").open("q")


def test_the_row_that_was_written_last_is_missed_when_it_is_gone(place: Place) -> None:
    """Of the last row all columns are compared that a database finds again as they were written."""
    moment = datetime(2024, 5, 1, 8, 30, 0, 1, tzinfo=UTC)
    columns = {
        "n": (3, pa.int64()),
        "name": ("it's \u00e9", pa.string()),
        "is_open": (True, pa.bool_()),
        "price": (Decimal("2.50"), pa.decimal128(9, 2)),
        "day": (date(2024, 5, 1), pa.date32()),
        "at": (moment, pa.timestamp("us", "UTC")),
        "local": (moment.replace(tzinfo=None), pa.timestamp("us")),
        "km": (0.1, pa.float32()),
        "none": (None, pa.string()),
        "tags": (["a"], pa.list_(pa.string())),
    }
    row = {name: value for name, (value, _) in columns.items()}
    schema = pa.schema({name: data_type for name, (_, data_type) in columns.items()})
    sink = opened(place)
    write(sink, 0, [row | {"n": number} for number in range(3)], schema)
    write(sink, 1, [row], schema)
    write(sink, 2, [], schema)

    ((last_row,),) = place.execute("SELECT last_row FROM muntin_batches")
    assert set(json.loads(last_row)) == set(columns) - {"km", "tags"}
    place.execute("DELETE FROM bikes WHERE n < 3")
    assert opened(place).last_written == WrittenBatch(2), "old rows may be deleted"

    place.execute("UPDATE bikes SET name = 'another' WHERE n = 3")
    refusal = r"lacks the row that was written last, up to micro-batch 2: \{\"n\":3,"
    with pytest.raises(StateError, match=refusal) as caught:
        opened(place)

    # Who has changed the table on purpose finds in the error the statement that lets the query go on.
    (advice,) = [line for line in str(caught.value).splitlines() if "on purpose" in line]
    _, _, statement = advice.partition(": ")
    place.execute(statement)
    assert opened(place).last_written == WrittenBatch(2)


def test_the_statement_of_advice_works_for_a_table_with_a_quote_in_its_name(place: Place) -> None:
    table = "o'clock"
    write(opened(place, table), 0, [{"n": 1}])
    place.execute(f'DELETE FROM "{table}"')
    with pytest.raises(StateError, match="lacks the row that was written last") as caught:
        opened(place, table)
    _, _, statement = str(caught.value).partition("on purpose: ")
    place.execute(statement)
    assert opened(place, table).last_written == WrittenBatch(0)


def test_a_micro_batch_that_only_deletes_leaves_no_last_row_to_be_missed(place: Place) -> None:
    sink = opened(place, keys=("station",))
    write(sink, 0, [change("insert", "north", id=1, n=1), change("insert", "south", id=2, n=2)])
    write(sink, 1, [change("retract", "south", id=2, n=2)])
    assert place.execute("SELECT last_row FROM muntin_batches") == [(None,)]
    assert opened(place, keys=("station",)).last_written == WrittenBatch(1)


def test_a_write_that_failed_does_not_lock_the_file_while_somebody_keeps_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is read-only for a moment. The error has a traceback, whose frames keep what they used alive."""
    monkeypatch.setattr("muntin_engine.sinks.databases._PATIENCE", 0.1)
    place = Place(f"sqlite:{tmp_path / 'results.db'}")
    sink = opened(place)
    write(sink, 0, [{"n": 1}])
    fail = "SELECT RAISE(ABORT, 'attempt to write a readonly database')"
    place.execute(f"CREATE TRIGGER is_read_only BEFORE INSERT ON bikes BEGIN {fail}; END")
    with pytest.raises(sqlite3.IntegrityError, match="readonly database") as error:
        write(sink, 1, [{"n": 2}])
    place.execute("DROP TRIGGER is_read_only")
    write(sink, 1, [{"n": 2}])
    assert place.execute("SELECT n FROM bikes ORDER BY n") == [(1,), (2,)]
    assert error.value.__traceback__ is not None
