"""Tables of Delta Lake and of Iceberg, without Spark."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
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


def make_iceberg(folder: Path) -> Sink:
    return IcebergTable("bikes.hours", folder)


def read_iceberg(folder: Path) -> Any:
    if not (folder / "catalog.db").exists():
        return []
    catalog = load_catalog("muntin", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    return catalog.load_table("bikes.hours").scan().to_arrow() if catalog.table_exists("bikes.hours") else []


def make_sqlite(folder: Path) -> Sink:
    return DatabaseTable(f"sqlite:{folder}.db?table=hours")


def read_sqlite(folder: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"{folder}.db")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'hours'").fetchall():
            return []
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM hours")]


def restore_delta(folder: Path) -> None:
    """Restore a table to the version before the last one."""
    table = DeltaTable(folder)
    table.restore(table.version() - 1)


def iceberg_table(folder: Path) -> Any:
    catalog = load_catalog("muntin", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    return catalog.load_table("bikes.hours")


def roll_back_iceberg(folder: Path) -> None:
    """Roll a table back to the last snapshot of the micro-batch before the last."""
    table = iceberg_table(folder)
    properties = table.current_snapshot().summary.additional_properties
    (mark,) = [value for name, value in properties.items() if name.startswith("muntin.")]
    earlier_marks: list[int] = []
    for snapshot in table.snapshots():
        properties = snapshot.summary.additional_properties
        has_mark = any(name.startswith("muntin.") for name in properties)
        if has_mark and mark not in properties.values():
            earlier_marks.append(snapshot.snapshot_id)
    table.manage_snapshots().rollback_to_snapshot(earlier_marks[-1]).commit()


LAKES = {"delta": (make_delta, read_delta, restore_delta), "iceberg": (make_iceberg, read_iceberg, roll_back_iceberg)}
TABLES = {name: lake[:2] for name, lake in LAKES.items()} | {"sqlite": (make_sqlite, read_sqlite)}


@pytest.mark.cases(1)
@pytest.mark.parametrize(("make", "read", "take_away"), LAKES.values(), ids=LAKES)
@pytest.mark.parametrize("changes", [False, True], ids=["appended", "merged"])
def test_tables_keep_the_laws(
    tmp_path: Path,
    make: Callable[[Path], Sink],
    read: Callable[[Path], Any],
    take_away: Callable[[Path], None],
    changes: bool,
) -> None:
    lines_between_crashes = 1 if "MUNTIN_KILLS" in os.environ else 9
    held = check_sink(
        lambda place: make(tmp_path / place),
        lambda place: read(tmp_path / place),
        changes=changes,
        every=lines_between_crashes,
        take_away=lambda place: take_away(tmp_path / place),
    )
    assert set(held.values()) == {"holds"}


def test_addresses_name_catalogues_and_folders(tmp_path: Path) -> None:
    arguments = {
        "results": "iceberg:/data/lake/bikes.hours",
        "late_rows": "iceberg:bikes.late",
        "metrics": "delta:lake/m",
    }
    chosen = choose_sinks({"": arguments}, "checkpoint")[""]
    assert [str(sink) for sink in chosen.values()] == [
        "IcebergTable('bikes.hours', '/data/lake')",
        "IcebergTable('bikes.late', 'default')",
        "DeltaLakeTable('lake/m')",
    ]
    assert chosen["metrics"].destination == f"delta:{Path('lake/m').absolute()}"
    secret = {"type": "sql", "uri": "postgresql://user:hidden@host/catalog"}
    assert "hidden" not in str(IcebergTable("a.b", secret)) + IcebergTable("a.b", secret).destination
    for name in ("hours", ".hours", "bikes."):
        with pytest.raises(QueryError, match="is no table of Iceberg"):
            IcebergTable(name)


@pytest.mark.parametrize(("make", "read"), TABLES.values(), ids=TABLES)
def test_readers_see_a_merge_whole_while_it_is_written(
    tmp_path: Path, make: Callable[[Path], Sink], read: Callable[[Path], Any]
) -> None:
    """Each micro-batch of some rows replaces all of those before it, so that each reader finds one number alone."""
    table = tmp_path / "table"
    observations: set[tuple[int, int]] = set()
    is_over = Event()

    def changes(number: int, kind: str) -> list[dict[str, Any]]:
        return [{"change": kind, "event_id": 10 * number + place, "n": number} for place in range(5)]

    def read_on() -> None:
        while not is_over.is_set():
            rows = read(table)
            if isinstance(rows, pa.Table):
                rows = rows.to_pylist()
            observations.add((len(rows), len({row["n"] for row in rows})))

    sink = make(table)
    sink.keyed_by([])
    sink.open("q")
    reading = Thread(target=read_on)
    for number in range(6):
        rows = changes(number, "insert") + (changes(number - 1, "retract") if number else [])
        sink.write(cast("Any", ArrowBatch(pa.Table.from_pylist(rows))), number)
        if number == 0:
            reading.start()
    is_over.set()
    reading.join()
    assert observations == {(5, 1)}


def write_numbers(sink: Any, numbers: Sequence[int], query: str = "q") -> None:
    """Write micro-batches of one row each, whose `n` is their number."""
    sink.open(query)
    for number in numbers:
        sink.write(ArrowBatch(pa.table({"n": [number]})), number)


def opened_again(sink: Any, query: str = "q") -> Any:
    sink.open(query)
    return sink


def numbers_in(folder: Path) -> list[int]:
    rows = DeltaTable(folder).to_pyarrow_table() if (folder / "_delta_log").exists() else read_iceberg(folder)
    return sorted(rows["n"].to_pylist())


@pytest.mark.nightly
@pytest.mark.parametrize("by_time", [False, True], ids=["version", "time"])
def test_a_delta_table_that_was_restored_has_the_micro_batches_of_that_version(tmp_path: Path, by_time: bool) -> None:
    write_numbers(DeltaLakeTable(tmp_path), range(2))
    time.sleep(0.01)
    moment = datetime.now(UTC)
    time.sleep(0.01)
    write_numbers(DeltaLakeTable(tmp_path), [2, 3])
    DeltaTable(tmp_path).restore(moment if by_time else 1)
    assert numbers_in(tmp_path) == [0, 1]
    for _ in range(2):
        assert opened_again(DeltaLakeTable(tmp_path)).last_written.number == 1
        write_numbers(DeltaLakeTable(tmp_path), range(101), query="other")  # its commits hide those of the query
    write_numbers(DeltaLakeTable(tmp_path), [2])
    assert opened_again(DeltaLakeTable(tmp_path)).last_written.number == 2
    DeltaTable(tmp_path).restore(0)
    DeltaTable(tmp_path).restore(DeltaTable(tmp_path).version() - 1)
    assert opened_again(DeltaLakeTable(tmp_path)).last_written.number == 2, "the restore was taken back"
    DeltaTable(tmp_path).restore(0)
    assert opened_again(DeltaLakeTable(tmp_path)).last_written.number == 0
    assert opened_again(DeltaLakeTable(tmp_path), "other").last_written.number == -1


def overwrite(folder: Path) -> None:
    write_deltalake(folder, pa.table({"n": [9]}), mode="overwrite")


@pytest.mark.parametrize(
    ("change", "operation"), [(overwrite, "WRITE"), (lambda folder: DeltaTable(folder).delete(), "DELETE")]
)
def test_a_delta_table_that_was_emptied_is_named(
    tmp_path: Path, change: Callable[[Path], object], operation: str
) -> None:
    write_numbers(DeltaLakeTable(tmp_path), range(3))
    change(tmp_path)
    message = (
        rf"version 3 of .*, by {operation}, took away what the query wrote up to micro-batch 2\n  what the checkpoint"
    )
    with pytest.raises(StateError, match=message):
        _ = opened_again(DeltaLakeTable(tmp_path)).last_written
    write_numbers(DeltaLakeTable(tmp_path), [0], query="one with a new checkpoint")


def test_a_delta_table_may_be_maintained_and_rows_be_deleted_on_purpose(tmp_path: Path) -> None:
    write_numbers(DeltaLakeTable(tmp_path), range(3))
    DeltaTable(tmp_path).delete("n = 0")
    DeltaTable(tmp_path).optimize.compact()
    DeltaTable(tmp_path).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    write_deltalake(tmp_path, pa.table({"n": [1]}), mode="overwrite", predicate="n = 1")
    assert opened_again(DeltaLakeTable(tmp_path)).last_written.number == 2
    write_numbers(DeltaLakeTable(tmp_path), [3])
    assert numbers_in(tmp_path) == [1, 2, 3]


@pytest.mark.parametrize("kind", LAKES)
def test_a_table_that_loses_rows_while_its_query_runs_is_noticed(tmp_path: Path, kind: str) -> None:
    make, _, take_away = LAKES[kind]
    sink: Any = make(tmp_path)
    write_numbers(sink, range(3))
    take_away(tmp_path)
    with pytest.raises(StateError, match=r"has lost what micro-batch 2 of this run wrote: it has 1\n  what the"):
        sink.write(ArrowBatch(pa.table({"n": [3]})), 3)


def test_an_iceberg_table_that_was_rolled_back_has_the_micro_batches_of_that_snapshot(tmp_path: Path) -> None:
    write_numbers(make_iceberg(tmp_path), range(4))
    first, second, *_ = [snapshot.snapshot_id for snapshot in iceberg_table(tmp_path).snapshots()]
    iceberg_table(tmp_path).manage_snapshots().rollback_to_snapshot(second).commit()
    assert numbers_in(tmp_path) == [0, 1]
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 1
    write_numbers(make_iceberg(tmp_path), range(3), query="other")
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 1
    write_numbers(make_iceberg(tmp_path), [2])
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 2
    iceberg_table(tmp_path).manage_snapshots().rollback_to_snapshot(first).commit()
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 0
    assert opened_again(make_iceberg(tmp_path), "other").last_written.number == -1


def test_an_iceberg_table_may_lose_snapshots_and_rows_but_not_all_of_them(tmp_path: Path) -> None:
    write_numbers(make_iceberg(tmp_path), range(3))
    table = iceberg_table(tmp_path)
    table.delete("n = 0")
    table.append(pa.table({"n": [7]}))
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 2
    for snapshot in table.snapshots()[:-1]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 2, "by the property of the table"
    iceberg_table(tmp_path).delete()
    message = (
        r"snapshot \d+ of .*, by delete, took away what the query wrote up to micro-batch 2\n  what the checkpoint"
    )
    with pytest.raises(StateError, match=message):
        _ = opened_again(make_iceberg(tmp_path)).last_written


def test_a_partitioned_iceberg_table_takes_a_micro_batch_whose_changes_cancel_out(tmp_path: Path) -> None:
    """Such a micro-batch deletes nothing and appends no rows, which are no stream of record batches either."""

    def write_changes(batch_id: int, *changes: tuple[str, int]) -> None:
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
    assert numbers_in(tmp_path) == [3]
    assert opened_again(make_iceberg(tmp_path)).last_written.number == 2
