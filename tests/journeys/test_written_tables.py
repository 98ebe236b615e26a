"""Queries that write to tables of Delta Lake and Iceberg and to object stores, through Spark."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import ChangelogTable, DeltaLakeTable, Query, events, fold, module
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.errors import StateError
from muntin_engine.sinks import rows_on_driver
from muntin_engine.testing import check_sink
from tests.engine.backends.spark.foreach_batch.test_write import BATCHES, lose_commit, run, windows
from tests.journeys.running import stream_of
from tests.modules.members import Count


def rows_of(path: Path) -> list[dict[str, Any]]:
    return DeltaTable(path).to_pyarrow_table().to_pylist()  # type: ignore[no-any-return]


def test_outputs_go_to_tables_by_their_scheme_and_a_repeated_micro_batch_changes_nothing(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query = windows(stream_of(spark, tmp_path / "stream", BATCHES), n=module(Count, "x"))
    sinks = {name: f"delta:{tmp_path / name}" for name in ("results", "late_rows", "rejected_rows", "metrics")}
    with caplog.at_level(logging.INFO, logger="muntin.sinks"):
        run(query, tmp_path, **sinks)
    for name in sinks:
        assert f"{name}=DeltaLakeTable('{tmp_path / name}'): each row arrives exactly once" in caplog.text
    before = {name: rows_of(tmp_path / name) for name in sinks}
    assert {name: len(rows) for name, rows in before.items()} == {
        "results": 4, "late_rows": 1, "rejected_rows": 1, "metrics": 4
    }  # fmt: skip
    lose_commit(tmp_path / "checkpoint", 3)
    run(query, tmp_path, **sinks)
    assert {name: rows_of(tmp_path / name) for name in sinks} == before

    for batch_id in (2, 3):
        lose_commit(tmp_path / "checkpoint", batch_id)
        (tmp_path / "checkpoint" / "offsets" / "3").unlink(missing_ok=True)
    with pytest.raises(Exception, match="is ahead of the checkpoint: it has micro-batch 3") as caught:
        run(query, tmp_path, **sinks)
    assert StateError.__name__ in root_cause(caught.value) or isinstance(caught.value, StateError)
    assert {name: rows_of(tmp_path / name) for name in sinks} == before


@pytest.mark.nightly
@pytest.mark.parametrize("many", [0, 100_000])
def test_a_changelog_is_merged_into_what_it_folds_to(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(rows_on_driver, "MANY", many)
    keyed = events(stream_of(spark, tmp_path / "stream", BATCHES), key="key", at="at", change="change", buckets=2)
    query = keyed.window(tumbling(10), emit="eager").aggregate(n=module(Count, "x"))
    run(query, tmp_path / "1", results=f"delta:{tmp_path / 'table'}")
    run(query, tmp_path / "2", results=tmp_path / "changes")
    folded_rows = fold(spark.read.parquet(str(tmp_path / "changes"))).drop("batch").toArrow().to_pylist()
    merged_rows = rows_of(tmp_path / "table")
    for row in merged_rows:
        row.pop("event_id", None)
    assert folded_rows
    assert sorted(map(str, merged_rows)) == sorted(map(str, folded_rows))


def test_many_rows_come_a_partition_at_a_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.range(50).selectExpr("id", "named_struct('a', id % 3) AS w", "timestamp_micros(id) AS at")
    whole = rows_on_driver.record_batches(frame).read_all()
    monkeypatch.setattr(rows_on_driver, "MANY", 10)
    parts = rows_on_driver.record_batches(frame.repartition(4), 50)
    assert parts.schema == whole.schema
    assert parts.read_all().sort_by("id") == whole.sort_by("id")


@pytest.mark.nightly
def test_the_laws_hold_with_dataframes_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    def read(place: str) -> Any:
        return rows_of(tmp_path / place) if DeltaTable.is_deltatable(str(tmp_path / place)) else []

    check_sink(lambda place: DeltaLakeTable(tmp_path / place), read, changes=True, every=40, spark=spark)
    check_sink(
        lambda place: ChangelogTable(tmp_path / f"{place}.files"),
        lambda place: ChangelogTable(tmp_path / f"{place}.files").read(spark),
        changes=True,
        every=60,
        spark=spark,
    )


def remove_newest_folder(path: Path) -> None:
    shutil.rmtree(max(path.glob("batch=*")))


def remove_newest_file(path: Path) -> None:
    next(max(path.glob("batch=*")).glob("*.parquet")).unlink()


def restore_delta(path: Path) -> None:
    DeltaTable(path).restore(DeltaTable(path).version() - 1)


def delete_from_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM hours")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("address", "take_away", "message"),
    [
        ("{}", remove_newest_folder, r"batch=1, which micro-batch 1 wrote, is gone"),
        ("{}", remove_newest_file, r"batch=1, which micro-batch 1 wrote, has files of rows of 0 bytes, and had"),
        ("delta:{}", restore_delta, r"is behind the checkpoint: it has micro-batches up to 0"),
        ("sqlite:{}?table=hours", delete_from_sqlite, r"lacks the row that was written last, up to micro-batch 1"),
    ],
    ids=["folder", "file", "delta", "sqlite"],
)
def test_a_query_does_not_go_on_where_its_last_rows_were_taken_away(
    spark: SparkSession, tmp_path: Path, address: str, take_away: Callable[[Path], None], message: str
) -> None:
    """Windows of 10 ticks without delay: micro-batch 1 closes the first one, and micro-batch 2 the second."""

    def query(files: int) -> Query:
        batches = [pa.table({"at": [at], "x": [1]}) for at in (5, 15, 25)]
        stream = stream_of(spark, tmp_path / "stream", batches[:files])
        return events(stream, at="at", watermark=0).window(tumbling(10)).aggregate(n=module(Count, "x"))

    results = address.format(tmp_path / "out")
    run(query(2), tmp_path, results=results)
    take_away(tmp_path / "out")
    with pytest.raises((StateError, StreamingQueryException), match=message):
        run(query(3), tmp_path, results=results)
    assert not (tmp_path / "checkpoint/commits/2").exists()
