"""A program for test_java: start a session, run one small task in a Python worker, leave without stopping anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pyarrow as pa

from muntin_engine.backends.spark.session.local import local_session


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def main() -> None:
    spark = local_session(cores=1, log=sys.argv[1])
    rows = spark.range(3).mapInArrow(unchanged, "id long").collect()
    assert spark._jvm is not None
    java_home = spark._jvm.java.lang.System.getProperty("java.home")
    print(json.dumps({"ids": [row.id for row in rows], "java_home": java_home}))


if __name__ == "__main__":
    main()
