"""Tables of Delta Lake and of Iceberg, without Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from muntin_engine import Sink
from muntin_engine.testing import check_sink
from muntin_engine.writing.delta_lake_table import DeltaLakeTable
from muntin_engine.writing.iceberg_table import IcebergTable


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


TABLES = pytest.mark.parametrize(
    ("make", "read"), [(make_delta, read_delta), (make_iceberg, read_iceberg)], ids=["delta", "iceberg"]
)


@TABLES
@pytest.mark.parametrize("changes", [False, True], ids=["appended", "merged"])
def test_tables_keep_the_laws(
    tmp_path: Path, make: Callable[[Path], Sink], read: Callable[[Path], Any], changes: bool
) -> None:
    every = 1 if "MUNTIN_KILLS" in os.environ else 9
    held = check_sink(
        lambda place: make(tmp_path / place), lambda place: read(tmp_path / place), changes=changes, every=every
    )
    assert set(held.values()) == {"holds"}
