"""Tables of Delta Lake and of Iceberg, without Spark."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from muntin.errors import QueryError
from muntin_engine import DatabaseTable, DeltaLakeTable, IcebergTable, Sink
from muntin_engine.testing import ArrowBatch, check_sink
from muntin_engine.writing import choose_sinks


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


LAKES = {"delta": (make_delta, read_delta), "iceberg": (make_iceberg, read_iceberg)}
TABLES = LAKES | {"sqlite": (make_sqlite, read_sqlite)}


@pytest.mark.parametrize(("make", "read"), LAKES.values(), ids=LAKES)
@pytest.mark.parametrize("changes", [False, True], ids=["appended", "merged"])
def test_tables_keep_the_laws(
    tmp_path: Path, make: Callable[[Path], Sink], read: Callable[[Path], Any], changes: bool
) -> None:
    every = 1 if "MUNTIN_KILLS" in os.environ else 9
    held = check_sink(
        lambda place: make(tmp_path / place), lambda place: read(tmp_path / place), changes=changes, every=every
    )
    assert set(held.values()) == {"holds"}


def test_addresses_name_catalogues_and_folders(tmp_path: Path) -> None:
    wanted = {"results": "iceberg:/data/lake/bikes.hours", "late_rows": "iceberg:bikes.late", "metrics": "delta:lake/m"}
    chosen = choose_sinks({"": wanted}, "checkpoint")[""]
    assert [str(sink) for sink in chosen.values()] == [
        "IcebergTable('bikes.hours', '/data/lake')",
        "IcebergTable('bikes.late', 'default')",
        "DeltaLakeTable('lake/m')",
    ]
    assert chosen["metrics"].place == f"delta:{Path('lake/m').absolute()}"
    secret = {"type": "sql", "uri": "postgresql://user:hidden@host/catalog"}
    assert "hidden" not in str(IcebergTable("a.b", secret)) + IcebergTable("a.b", secret).place
    for name in ("hours", ".hours", "bikes."):
        with pytest.raises(QueryError, match="is no table of Iceberg"):
            IcebergTable(name)


@pytest.mark.parametrize(("make", "read"), TABLES.values(), ids=TABLES)
def test_readers_see_a_merge_whole_while_it_is_written(
    tmp_path: Path, make: Callable[[Path], Sink], read: Callable[[Path], Any]
) -> None:
    """Each micro-batch of some rows replaces all of those before it, so that each reader finds one number alone."""
    place, seen, is_over = tmp_path / "table", set(), Event()

    def changes(number: int, kind: str) -> list[dict[str, Any]]:
        return [{"change": kind, "event_id": 10 * number + place, "n": number} for place in range(5)]

    def read_on() -> None:
        while not is_over.is_set():
            found = read(place)
            rows = found.to_pylist() if isinstance(found, pa.Table) else found
            seen.add((len(rows), len({row["n"] for row in rows})))

    sink = make(place)
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
    assert seen == {(5, 1)}
