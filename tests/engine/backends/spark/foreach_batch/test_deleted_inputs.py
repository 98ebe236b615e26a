"""What the page on restarts says of an input file that is deleted before its micro-batch is repeated."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin_stats as stats
from muntin import tumbling
from muntin_engine import events

pytestmark = pytest.mark.nightly


def test_a_file_that_is_gone_when_its_micro_batch_is_repeated_is_skipped(spark: SparkSession, tmp_path: Path) -> None:
    """If this fails, Spark tells of the lost file, and the page and its advice are to be changed.

    Rides start at 3, at 7 and at 25, one in each file; the third one closes the window [0, 10).
    """
    (tmp_path / "rides").mkdir()
    for number, at in ((1, 3), (2, 7), (3, 25)):
        file = tmp_path / "rides" / f"{number}.json"
        file.write_text(json.dumps({"at": at}))
        os.utime(file, (number, number))  # Spark reads files in the order of their times

    def counts_of_closed_windows() -> list[int]:
        """Run the query until its input is read, and return the count of each result so far."""
        reader = spark.readStream.schema("at long").option("maxFilesPerTrigger", 1)
        rides = events(reader.json(str(tmp_path / "rides")), at="at", watermark=5)
        query = rides.window(tumbling(10)).aggregate(n=stats.count())
        results = tmp_path / "results"
        query.write(checkpoint=tmp_path / "checkpoint", results=results, available_now=True).awaitTermination()
        return [row.n for row in spark.read.parquet(str(results)).collect()]

    (tmp_path / "rides" / "3.json").rename(tmp_path / "3.json")
    assert counts_of_closed_windows() == []
    for commit in ("1", ".1.crc"):  # as after a kill between the state and Spark's note that the batch is done
        (tmp_path / "checkpoint" / "commits" / commit).unlink(missing_ok=True)
    (tmp_path / "rides" / "2.json").unlink()
    (tmp_path / "3.json").rename(tmp_path / "rides" / "3.json")
    assert spark.conf.get("spark.sql.files.ignoreMissingFiles") == "false"
    assert counts_of_closed_windows() == [1], "the ride at 7 is in no result"
