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
    """Return the rows of a table of Delta Lake, read without Spark."""
    return DeltaTable(path).to_pyarrow_table().to_pylist()  # type: ignore[no-any-return]


OUTPUTS = ("results", "late_rows", "rejected_rows", "metrics")


def test_outputs_go_to_tables_by_their_scheme_and_a_repeated_micro_batch_changes_nothing(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query = windows(stream_of(spark, tmp_path / "stream", BATCHES), n=module(Count, "x"))
    sinks = {name: f"delta:{tmp_path / name}" for name in OUTPUTS}

    with caplog.at_level(logging.INFO, logger="muntin.sinks"):
        run(query, tmp_path, **sinks)

    for name in OUTPUTS:
        assert f"{name}=DeltaLakeTable('{tmp_path / name}'): each row arrives exactly once" in caplog.text
    rows = {name: rows_of(tmp_path / name) for name in OUTPUTS}
    assert {name: len(rows_of_output) for name, rows_of_output in rows.items()} == {
        "results": 4, "late_rows": 1, "rejected_rows": 1, "metrics": 4
    }  # fmt: skip

    last_batch = len(BATCHES) - 1
    lose_commit(tmp_path / "checkpoint", last_batch)
    run(query, tmp_path, **sinks)
    assert {name: rows_of(tmp_path / name) for name in OUTPUTS} == rows


def test_a_query_does_not_write_to_tables_that_are_ahead_of_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    query = windows(stream_of(spark, tmp_path / "stream", BATCHES), n=module(Count, "x"))
    sinks = {name: f"delta:{tmp_path / name}" for name in OUTPUTS}
    run(query, tmp_path, **sinks)
    rows = {name: rows_of(tmp_path / name) for name in OUTPUTS}

    # as if the checkpoint were a backup from before micro-batches 2 and 3
    checkpoint = tmp_path / "checkpoint"
    lose_commit(checkpoint, 2)
    lose_commit(checkpoint, 3)
    (checkpoint / "offsets" / "3").unlink()
    with pytest.raises(Exception, match="is ahead of the checkpoint: it has micro-batch 3") as failure:
        run(query, tmp_path, **sinks)

    assert StateError.__name__ in root_cause(failure.value) or isinstance(failure.value, StateError)
    assert {name: rows_of(tmp_path / name) for name in OUTPUTS} == rows


@pytest.mark.nightly
@pytest.mark.parametrize("driver_rows", [0, 100_000], ids=["added up by Spark", "added up on the driver"])
def test_a_changelog_is_merged_into_what_it_folds_to(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_rows: int
) -> None:
    monkeypatch.setattr(rows_on_driver, "MANY", driver_rows)
    keyed = events(stream_of(spark, tmp_path / "stream", BATCHES), key="key", at="at", change="change", buckets=2)
    query = keyed.window(tumbling(10), emit="eager").aggregate(n=module(Count, "x"))

    run(query, tmp_path / "merged", results=f"delta:{tmp_path / 'table'}")
    run(query, tmp_path / "appended", results=tmp_path / "changes")

    changes = spark.read.parquet(str(tmp_path / "changes"))
    folded_rows = fold(changes).drop("batch").toArrow().to_pylist()
    merged_rows = rows_of(tmp_path / "table")
    for row in merged_rows:
        row.pop("event_id", None)
    assert folded_rows
    assert sorted(map(str, merged_rows)) == sorted(map(str, folded_rows))


def test_many_rows_come_a_partition_at_a_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    row_count = 50
    frame = spark.range(row_count).selectExpr("id", "named_struct('a', id % 3) AS w", "timestamp_micros(id) AS at")
    all_at_once = rows_on_driver.record_batches(frame).read_all()

    monkeypatch.setattr(rows_on_driver, "MANY", row_count - 1)
    by_partition = rows_on_driver.record_batches(frame.repartition(4), row_count)

    assert by_partition.schema == all_at_once.schema
    assert by_partition.read_all().sort_by("id") == all_at_once.sort_by("id")


@pytest.mark.nightly
def test_sinks_that_are_given_dataframes_of_spark_keep_the_laws_of_sinks(spark: SparkSession, tmp_path: Path) -> None:
    def read_delta(place: str) -> Any:
        if not DeltaTable.is_deltatable(str(tmp_path / place)):
            return []  # nothing was written yet
        return rows_of(tmp_path / place)

    def changelog(place: str) -> ChangelogTable:
        return ChangelogTable(tmp_path / f"{place}.files")

    # with Spark each crash takes long, so there is one at every 40th and 60th line of a sink's code
    check_sink(lambda place: DeltaLakeTable(tmp_path / place), read_delta, changes=True, every=40, spark=spark)
    check_sink(changelog, lambda place: changelog(place).read(spark), changes=True, every=60, spark=spark)


# What may happen to the rows of the last micro-batch, in a folder, in Delta Lake, in a database.


def remove_newest_folder(folder: Path) -> None:
    """Remove the folder of the last micro-batch."""
    shutil.rmtree(max(folder.glob("batch=*")))


def remove_newest_file(folder: Path) -> None:
    """Remove a file of the last micro-batch, and leave its folder."""
    newest_folder = max(folder.glob("batch=*"))
    file = next(newest_folder.glob("*.parquet"))
    file.unlink()


def restore_delta(folder: Path) -> None:
    """Go back to the version of a table before the last one."""
    table = DeltaTable(folder)
    table.restore(table.version() - 1)


def delete_from_sqlite(file: Path) -> None:
    """Delete all rows of the table "hours"."""
    with closing(sqlite3.connect(file)) as connection, connection:
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
    def query(file_count: int) -> Query:
        # Windows of 10 ticks without delay: micro-batch 1 closes the first window, and micro-batch 2 the second.
        batches = [pa.table({"at": [at], "x": [1]}) for at in (5, 15, 25)]
        stream = stream_of(spark, tmp_path / "stream", batches[:file_count])
        return events(stream, at="at", watermark=0).window(tumbling(10)).aggregate(n=module(Count, "x"))

    output = tmp_path / "out"
    run(query(2), tmp_path, results=address.format(output))
    take_away(output)

    with pytest.raises((StateError, StreamingQueryException), match=message):
        run(query(3), tmp_path, results=address.format(output))
    assert not (tmp_path / "checkpoint/commits/2").exists()
