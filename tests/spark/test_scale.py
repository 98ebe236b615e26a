"""Many keys on a stream, at a size that finishes in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import events, module
from tests.spark.modules import Count, Total
from tests.spark.running import run, stream_of

KEYS = 5_000


def test_five_thousand_keys_in_two_batches_are_all_counted(spark: SparkSession, tmp_path: Path) -> None:
    keys = np.arange(KEYS)
    batches = [pa.table({"key": keys, "at": np.full(KEYS, at), "x": keys % 100}) for at in (1, 5)]
    batches.append(pa.table({"key": [0], "at": [10], "x": [0]}))
    stream = events(stream_of(spark, tmp_path / "stream", batches), key="key", at="at", delay=0, buckets=4)
    query = stream.window(tumbling(10)).aggregate(n=module(Count), total=module(Total, "x"))
    outcome = run(query.results(), tmp_path / "checkpoint")

    assert outcome.total("accepted") == 2 * KEYS + 1
    assert outcome.table.num_rows == KEYS
    assert pc.unique(outcome.table.column("n")).to_pylist() == [2]
    assert pc.sum(outcome.table.column("total")).as_py() == 2 * (keys % 100).sum()
