"""Tables of Delta Lake and of Iceberg, without Spark."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog

from muntin.errors import QueryError
from muntin_engine import DatabaseTable, DeltaLakeTable, IcebergTable, Sink
from muntin_engine.errors import StateError
from muntin_engine.sinks.sink_arguments import choose_sinks
from muntin_engine.testing import ArrowBatch, check_sink


def make_delta(folder: Path) -> Sink:
    return DeltaLakeTable(folder)


def read_delta(folder: Path) -> pa.Table:
    return DeltaTable(folder).to_pyarrow_table() if DeltaTable.is_deltatable(str(folder)) else pa.table({})


def restore_delta(folder: Path) -> None:
    """Restore a table to the version before the last one."""
    table = DeltaTable(folder)
    table.restore(table.version() - 1)


def make_iceberg(folder: Path) -> Sink:
    return IcebergTable("bikes.hours", folder)


def catalog_of(folder: Path) -> Any:
    return load_catalog("muntin", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())


def iceberg_table(folder: Path) -> Any:
    return catalog_of(folder).load_table("bikes.hours")


def read_iceberg(folder: Path) -> pa.Table:
    has_table = (folder / "catalog.db").exists() and catalog_of(folder).table_exists("bikes.hours")
    return iceberg_table(folder).scan().to_arrow() if has_table else pa.table({})


def roll_back_iceberg(folder: Path) -> None:
    """Roll a table back to the last snapshot of the micro-batch before the last.

    A micro-batch may have several snapshots, each with the mark of the query in a property of its summary.
    """

    def mark_of(snapshot: Any) -> str | None:
        for name, value in snapshot.summary.additional_properties.items():
            if name.startswith("muntin."):
                return str(value)
        return None

    table = iceberg_table(folder)
    last_mark = mark_of(table.current_snapshot())
    earlier_snapshots = [snapshot for snapshot in table.snapshots() if mark_of(snapshot) not in (None, last_mark)]
    table.manage_snapshots().rollback_to_snapshot(earlier_snapshots[-1].snapshot_id).commit()


def make_sqlite(folder: Path) -> Sink:
    return DatabaseTable(f"sqlite:{folder}.db?table=hours")


def read_sqlite(folder: Path) -> pa.Table:
    with closing(sqlite3.connect(f"{folder}.db")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'hours'").fetchall():
            return pa.table({})
        connection.row_factory = sqlite3.Row
        return pa.Table.from_pylist([dict(row) for row in connection.execute("SELECT * FROM hours")])


@dataclass(frozen=True)
class Format:
    """Tables of one format.

    Attributes:
        make: A function that makes a sink of the table in a folder.
        read: A function that reads the rows there, without Muntin.
    """

    make: Callable[[Path], Sink]
    read: Callable[[Path], pa.Table]


@dataclass(frozen=True)
class LakeFormat(Format):
    """A format whose tables have versions.

    Attributes:
        take_away: A function that puts the table back before its last micro-batch.
    """

    take_away: Callable[[Path], None]


LAKES = {
    "delta": LakeFormat(make_delta, read_delta, restore_delta),
    "iceberg": LakeFormat(make_iceberg, read_iceberg, roll_back_iceberg),
}
TABLES = {**LAKES, "sqlite": Format(make_sqlite, read_sqlite)}


@pytest.mark.cases(1)
@pytest.mark.parametrize("lake", LAKES.values(), ids=LAKES)
@pytest.mark.parametrize("changes", [False, True], ids=["appended", "merged"])
def test_tables_with_versions_keep_the_laws_of_sinks(tmp_path: Path, lake: LakeFormat, changes: bool) -> None:
    lines_between_crashes = 1 if "MUNTIN_KILLS" in os.environ else 9
    verdicts = check_sink(
        lambda place: lake.make(tmp_path / place),
        lambda place: lake.read(tmp_path / place),
        changes=changes,
        every=lines_between_crashes,
        take_away=lambda place: lake.take_away(tmp_path / place),
    )
    assert set(verdicts.values()) == {"holds"}


def test_addresses_name_catalogues_and_folders() -> None:
    arguments = {
        "results": "iceberg:/data/lake/bikes.hours",
        "late_rows": "iceberg:bikes.late",
        "metrics": "delta:lake/m",
    }
    sinks = choose_sinks({"": arguments}, "checkpoint")[""]
    assert [str(sink) for sink in sinks.values()] == [
        "IcebergTable('bikes.hours', '/data/lake')",
        "IcebergTable('bikes.late', 'default')",
        "DeltaLakeTable('lake/m')",
    ]
    assert sinks["metrics"].destination == f"delta:{Path('lake/m').absolute()}"


def test_the_password_of_a_catalogue_is_not_shown() -> None:
    table = IcebergTable("a.b", {"type": "sql", "uri": "postgresql://user:hidden@host/catalog"})
    assert "hidden" not in str(table)
    assert "hidden" not in table.destination


@pytest.mark.parametrize("name", ["hours", ".hours", "bikes."])
def test_a_name_without_a_namespace_is_no_table_of_iceberg(name: str) -> None:
    with pytest.raises(QueryError, match="is no table of Iceberg"):
        IcebergTable(name)


@pytest.mark.parametrize("table_format", TABLES.values(), ids=TABLES)
def test_readers_see_a_merge_whole_while_it_is_written(tmp_path: Path, table_format: Format) -> None:
    """Each micro-batch replaces all rows of the one before, so that a reader finds the five rows of one of them."""
    table = tmp_path / "table"
    rows_and_numbers: set[tuple[int, int]] = set()
    is_over = Event()

    def changes(number: int, kind: str) -> list[dict[str, Any]]:
        return [{"change": kind, "event_id": 10 * number + place, "n": number} for place in range(5)]

    def read_on() -> None:
        """Note how many rows there are, and of how many micro-batches, as often as possible."""
        while not is_over.is_set():
            numbers = table_format.read(table)["n"].to_pylist()
            rows_and_numbers.add((len(numbers), len(set(numbers))))

    sink: Any = table_format.make(table)
    sink.keyed_by([])
    sink.open("q")
    sink.write(ArrowBatch(pa.Table.from_pylist(changes(0, "insert"))), 0)
    reader = Thread(target=read_on)
    reader.start()
    for number in range(1, 6):
        rows = [*changes(number, "insert"), *changes(number - 1, "retract")]
        sink.write(ArrowBatch(pa.Table.from_pylist(rows)), number)
    is_over.set()
    reader.join()
    assert rows_and_numbers == {(5, 1)}


def write_numbers(sink: Any, numbers: Sequence[int], query: str = "q") -> None:
    """Write micro-batches of one row each, whose `n` is their number."""
    sink.open(query)
    for number in numbers:
        sink.write(ArrowBatch(pa.table({"n": [number]})), number)


def last_written(sink: Any, query: str = "q") -> int:
    """Open a sink, as each run of a query does, and return the last micro-batch that its table has; -1 for none."""
    sink.open(query)
    number: int = sink.last_written.number
    return number


def numbers_in_delta(folder: Path) -> list[int]:
    return sorted(read_delta(folder)["n"].to_pylist())


def numbers_in_iceberg(folder: Path) -> list[int]:
    return sorted(read_iceberg(folder)["n"].to_pylist())


@pytest.mark.nightly
@pytest.mark.parametrize("by_time", [False, True], ids=["version", "time"])
def test_a_delta_table_that_was_restored_has_the_micro_batches_of_that_version(tmp_path: Path, by_time: bool) -> None:
    write_numbers(DeltaLakeTable(tmp_path), [0, 1])
    time.sleep(0.01)
    time_of_version_1 = datetime.now(UTC)
    time.sleep(0.01)
    write_numbers(DeltaLakeTable(tmp_path), [2, 3])
    DeltaTable(tmp_path).restore(time_of_version_1 if by_time else 1)
    assert numbers_in_delta(tmp_path) == [0, 1]
    for _ in range(2):
        assert last_written(DeltaLakeTable(tmp_path)) == 1
        write_numbers(DeltaLakeTable(tmp_path), range(101), query="other")  # its commits hide those of the query
    write_numbers(DeltaLakeTable(tmp_path), [2])
    assert last_written(DeltaLakeTable(tmp_path)) == 2

    # A restore that is taken back, by another restore, changes nothing.
    DeltaTable(tmp_path).restore(0)
    DeltaTable(tmp_path).restore(DeltaTable(tmp_path).version() - 1)
    assert last_written(DeltaLakeTable(tmp_path)) == 2

    # The version 0 has one micro-batch of the query, and none of the other one.
    DeltaTable(tmp_path).restore(0)
    assert last_written(DeltaLakeTable(tmp_path)) == 0
    assert last_written(DeltaLakeTable(tmp_path), query="other") == -1


def overwrite(folder: Path) -> None:
    write_deltalake(folder, pa.table({"n": [9]}), mode="overwrite")


def delete_all(folder: Path) -> None:
    DeltaTable(folder).delete()


@pytest.mark.parametrize(("change", "operation"), [(overwrite, "WRITE"), (delete_all, "DELETE")])
def test_a_delta_table_whose_rows_were_all_taken_away_is_refused_to_its_query_and_not_to_a_new_one(
    tmp_path: Path, change: Callable[[Path], object], operation: str
) -> None:
    write_numbers(DeltaLakeTable(tmp_path), [0, 1, 2])
    change(tmp_path)
    message = (
        rf"version 3 of .*, by {operation}, took away what the query wrote up to micro-batch 2\n  what the checkpoint"
    )
    with pytest.raises(StateError, match=message):
        last_written(DeltaLakeTable(tmp_path))
    write_numbers(DeltaLakeTable(tmp_path), [0], query="one with a new checkpoint")


def test_a_delta_table_may_be_maintained_and_rows_be_deleted_on_purpose(tmp_path: Path) -> None:
    write_numbers(DeltaLakeTable(tmp_path), range(3))
    DeltaTable(tmp_path).delete("n = 0")
    DeltaTable(tmp_path).optimize.compact()
    DeltaTable(tmp_path).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    write_deltalake(tmp_path, pa.table({"n": [1]}), mode="overwrite", predicate="n = 1")
    assert last_written(DeltaLakeTable(tmp_path)) == 2
    write_numbers(DeltaLakeTable(tmp_path), [3])
    assert numbers_in_delta(tmp_path) == [1, 2, 3]


@pytest.mark.parametrize("lake", LAKES.values(), ids=LAKES)
def test_a_table_that_loses_rows_while_its_query_runs_is_noticed(tmp_path: Path, lake: LakeFormat) -> None:
    sink: Any = lake.make(tmp_path)
    write_numbers(sink, [0, 1, 2])
    lake.take_away(tmp_path)
    with pytest.raises(StateError, match=r"has lost what micro-batch 2 of this run wrote: it has 1\n  what the"):
        sink.write(ArrowBatch(pa.table({"n": [3]})), 3)


def test_an_iceberg_table_that_was_rolled_back_has_the_micro_batches_of_that_snapshot(tmp_path: Path) -> None:
    write_numbers(make_iceberg(tmp_path), [0, 1, 2, 3])
    snapshot_of_0, snapshot_of_1, *_ = iceberg_table(tmp_path).snapshots()
    iceberg_table(tmp_path).manage_snapshots().rollback_to_snapshot(snapshot_of_1.snapshot_id).commit()
    assert numbers_in_iceberg(tmp_path) == [0, 1]
    assert last_written(make_iceberg(tmp_path)) == 1
    write_numbers(make_iceberg(tmp_path), [0, 1, 2], query="other")
    assert last_written(make_iceberg(tmp_path)) == 1, "micro-batches of another query do not count"
    write_numbers(make_iceberg(tmp_path), [2])
    assert last_written(make_iceberg(tmp_path)) == 2

    iceberg_table(tmp_path).manage_snapshots().rollback_to_snapshot(snapshot_of_0.snapshot_id).commit()
    assert last_written(make_iceberg(tmp_path)) == 0
    assert last_written(make_iceberg(tmp_path), query="other") == -1


def test_an_iceberg_table_may_lose_snapshots_and_rows_but_not_all_of_them(tmp_path: Path) -> None:
    write_numbers(make_iceberg(tmp_path), [0, 1, 2])
    table = iceberg_table(tmp_path)
    table.delete("n = 0")
    table.append(pa.table({"n": [7]}))
    assert last_written(make_iceberg(tmp_path)) == 2

    for snapshot in table.snapshots()[:-1]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert last_written(make_iceberg(tmp_path)) == 2, "by the property of the table"

    iceberg_table(tmp_path).delete()
    message = (
        r"snapshot \d+ of .*, by delete, took away what the query wrote up to micro-batch 2\n  what the checkpoint"
    )
    with pytest.raises(StateError, match=message):
        last_written(make_iceberg(tmp_path))


RECORDS = pa.struct([("line", pa.string()), ("stop", pa.struct([("at", pa.timestamp("us", "UTC"))]))])
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class KeyedChanges:
    """Writes changes of a table with the keys `key` and `line`, whose rows have the same ids in all keys.

    A row is so found only by its key. Its `n` is ten times the place of its key, and its id.

    Attributes:
        sink: The sink of the table.
        key_type: The type of `key`.
        keys: The values of `key`.
    """

    sink: Any
    key_type: pa.DataType
    keys: Sequence[Any]

    def write(self, batch_id: int, *changes: tuple[str, int, int]) -> None:
        """Write a micro-batch of changes, each with the place of its key and the id of its row."""
        rows: list[dict[str, Any]] = []
        for kind, place, id in changes:
            key = self.keys[place]
            rows.append({"change": kind, "key": key, "line": "north", "event_id": id, "n": 10 * place + id})
        texts = dict.fromkeys(("change", "line"), pa.string())
        numbers = dict.fromkeys(("event_id", "n"), pa.int64())
        schema = pa.schema({**texts, **numbers, "key": self.key_type})
        self.sink.write(ArrowBatch(pa.Table.from_pylist(rows, schema)), batch_id)


def keyed_changes(sink: Any, key_type: pa.DataType, keys: Sequence[Any], query: str = "q") -> KeyedChanges:
    """Open a sink for changes with these keys."""
    sink.keyed_by(["key", "line"])
    sink.open(query)
    return KeyedChanges(sink, key_type, keys)


@pytest.mark.parametrize(
    ("key_type", "keys"),
    [
        (
            RECORDS,
            [{"line": "a", "stop": {"at": NOON}}, {"line": "a", "stop": None}, {"line": "b", "stop": None}, None],
        ),
        (pa.list_(pa.float64()), [[1.0, float("nan")], [1.0], [], None]),
    ],
    ids=["records", "arrays"],
)
@pytest.mark.parametrize("table_format", TABLES.values(), ids=TABLES)
def test_a_changelog_whose_keys_are_records_or_arrays_is_merged_key_by_key(
    tmp_path: Path, table_format: Format, key_type: pa.DataType, keys: list[Any]
) -> None:
    table = tmp_path / "table"
    changes = keyed_changes(table_format.make(table), key_type, keys)
    changes.write(0, *[("insert", place, 1) for place in range(4)])
    changes.write(1, ("retract", 0, 1), ("insert", 0, 2), ("retract", 3, 1), ("insert", 1, 2))
    assert sorted(table_format.read(table)["n"].to_pylist()) == [2, 11, 12, 21]
    changes.write(2, ("retract", 1, 1), ("retract", 2, 1))
    assert sorted(table_format.read(table)["n"].to_pylist()) == [2, 12]
    assert last_written(changes.sink) == 2


@pytest.mark.parametrize("lake", LAKES.values(), ids=LAKES)
def test_a_null_is_another_key_than_a_record_of_nulls(tmp_path: Path, lake: LakeFormat) -> None:
    changes = keyed_changes(lake.make(tmp_path), RECORDS, [None, {"line": None, "stop": None}])
    changes.write(0, ("insert", 0, 1), ("insert", 1, 1))
    changes.write(1, ("retract", 1, 1))
    assert lake.read(tmp_path)["n"].to_pylist() == [1]
    changes.write(2, ("insert", 1, 2), ("retract", 0, 1))
    assert lake.read(tmp_path)["n"].to_pylist() == [12]


@pytest.mark.parametrize("table_format", TABLES.values(), ids=TABLES)
def test_a_key_may_have_a_dot_in_its_name(tmp_path: Path, table_format: Format) -> None:
    def changes(*rows: tuple[str, str, int]) -> Any:
        names = ("change", "bike.station", "event_id")
        return ArrowBatch(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]))

    sink: Any = table_format.make(tmp_path / "table")
    sink.keyed_by(["bike.station"])
    sink.open("q")
    sink.write(changes(("insert", "north", 1), ("insert", "south", 1)), 0)
    sink.write(changes(("retract", "north", 1), ("insert", "north", 2)), 1)
    rows = table_format.read(tmp_path / "table").to_pylist()
    assert {(row["bike.station"], row["event_id"]) for row in rows} == {("north", 2), ("south", 1)}


@pytest.mark.parametrize("key_type", [pa.string(), pa.list_(pa.string())], ids=["texts", "arrays"])
@pytest.mark.parametrize("lake", LAKES.values(), ids=LAKES)
def test_a_merge_that_replaces_all_rows_takes_nothing_from_another_query_of_the_table(
    tmp_path: Path, lake: LakeFormat, key_type: pa.DataType
) -> None:
    keys = ["a"] if key_type == pa.string() else [["a"]]
    keyed_changes(lake.make(tmp_path), key_type, keys, query="other").write(0)  # a micro-batch without rows
    changes = keyed_changes(lake.make(tmp_path), key_type, keys)
    changes.write(0, ("insert", 0, 1))
    changes.write(1, ("retract", 0, 1), ("insert", 0, 2))
    assert last_written(lake.make(tmp_path), query="other") == 0


def test_a_partitioned_iceberg_table_takes_a_micro_batch_whose_changes_cancel_out(tmp_path: Path) -> None:
    """Such a micro-batch deletes nothing and appends no rows, and pyiceberg takes no stream without a record batch."""

    def write_changes(batch_id: int, *changes: tuple[str, int]) -> None:
        """Write a micro-batch of changes of rows, of which the number is the id too."""
        rows = [{"change": change, "event_id": number, "n": number} for change, number in changes]
        sink.write(cast("Any", ArrowBatch(pa.Table.from_pylist(rows))), batch_id)

    sink = make_iceberg(tmp_path)
    sink.keyed_by([])
    sink.open("q")
    write_changes(0, ("insert", 1))
    with iceberg_table(tmp_path).update_spec() as partitions:
        partitions.add_identity("n")
    write_changes(1, ("insert", 2), ("retract", 2))
    write_changes(2, ("insert", 3), ("retract", 1))
    assert numbers_in_iceberg(tmp_path) == [3]
    assert last_written(make_iceberg(tmp_path)) == 2
