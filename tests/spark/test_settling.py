"""What PySpark does around every task of a worker does not grow with what the worker has imported."""

from __future__ import annotations

import gc
import importlib
import zipimport
from collections.abc import Iterable, Iterator
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql import SparkSession


def look_around(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do before and after a task what PySpark does, and tell what it went through."""
    read: list[str] = []
    really: Any = zipimport._read_directory  # type: ignore[attr-defined]

    def reading(archive: str) -> Any:
        read.append(archive)
        return really(archive)

    with patch.object(zipimport, "_read_directory", reading):
        importlib.invalidate_caches()
    walked = sum(map(len, (gc.get_objects(generation) for generation in range(3))))
    assert sum(map(len, batches)) == 1
    names = [name for name in read if "pyspark.zip" in name or "py4j" in name or "spark-core" in name]
    yield pa.RecordBatch.from_pydict({"walked": [walked], "read": [len(names)]})


def test_neither_imports_nor_objects_of_before_are_gone_through_again(spark: SparkSession) -> None:
    rows = spark.range(0, 1, 1, 1).mapInArrow(look_around, "walked long, read long").collect()

    assert len(rows) == 1
    for row in rows:
        assert row["read"] <= 4  # packages that only the worker imports; 18 before
        assert row["walked"] < 50_000  # 114,000 before
