"""Rows that nobody should send, through every evaluator."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from muntin import tumbling
from muntin_engine import Query, events, module
from tests.journeys.running import collect
from tests.torture.kind import Figures
from tests.torture.session import session

TIMES: Final = (None, -(2**63), -(2**62), 2**62, 2**62 + 1, 2**63 - 1, 0, -1, 7, 12, 10**15)
MOMENTS: Final = (
    None,
    -(2**63) + 1,
    2**63 - 1,
    -62135596800000000 - 1,
    253402300800000000,
    0,
    -1,
    1_700_000_000_000_000,
)
TEXTS: Final = (None, b"", b"a", b"b", b"\xff\xfe", b"\xed\xa0\x80", "é".encode(), b"x" * 10_000, b"\0")
NUMBERS: Final = (None, 0, 1, -1, 2**63 - 1, -(2**63))
FLOATS: Final = (None, 0.0, -0.0, 1.5, float("nan"), float("inf"), 5e-324)
EVALUATORS: Final = ("columnar", "sliced", "general")


def bad_rows(seed: int, folder: Path) -> Figures:
    """Count rows by key, and see which are rejected: the evaluators agree in both, and every row is in one of them."""
    random = Random(seed)
    spark = session()
    is_time = random.random() < 0.5
    kind = random.choice(("text", "number", "float", "date"))
    count = random.randint(5, 60)
    at = [random.choice(MOMENTS if is_time else TIMES) for _ in range(count)]
    key, key_type = _keys(kind, count, random)
    table = pa.table(
        {
            "at": pa.array(at, pa.int64()).cast(pa.timestamp("us", "UTC")) if is_time else pa.array(at, pa.int64()),
            "key": pa.array(key, key_type),
            "n": pa.array(range(count), pa.int64()),
        }
    )
    pq.write_table(table, folder / "rows.parquet")
    rows = spark.read.parquet(str(folder / "rows.parquet"))
    if kind == "text":
        rows = rows.withColumn("key", F.col("key").cast("string"))
    outputs: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for evaluator in EVALUATORS:
        stream = events(rows, key="key", at="at", buckets=random.choice((1, 3)))
        window = tumbling("1 hour") if is_time else tumbling(10)
        query = stream.window(window, evaluator=evaluator).aggregate(n=module("stats.count"))
        outputs[evaluator] = _results(query), _rejected(query)
        accepted = sum(int(row.rpartition("|")[2]) for row in outputs[evaluator][0].elements())
        refused = sum(outputs[evaluator][1].values())
        assert accepted + refused == count, f"{evaluator}: {accepted} of {count} rows counted, {refused} rejected"
    first = EVALUATORS[0]
    for evaluator in EVALUATORS[1:]:
        assert outputs[evaluator] == outputs[first], f"{evaluator} and {first} differ over {at} {key}\n{outputs}"
    return {"tables": 1, "rows": count, "rejected": sum(outputs["general"][1].values())}


def _keys(kind: str, count: int, random: Random) -> tuple[list[Any], pa.DataType]:
    if kind == "text":
        return [random.choice(TEXTS) for _ in range(count)], pa.binary()
    if kind == "number":
        return [random.choice(NUMBERS) for _ in range(count)], pa.int64()
    if kind == "float":
        return [random.choice(FLOATS) for _ in range(count)], pa.float64()
    days = (None, datetime(1, 1, 1, tzinfo=UTC).date(), datetime(9999, 12, 31, tzinfo=UTC).date())
    return [random.choice(days) for _ in range(count)], pa.date32()


def _results(query: Query) -> Counter[str]:
    results = query.results().select("key", "window", "n")
    return Counter(f"{row['key']!r} {row['window']}|{row['n']}" for row in collect(results))


def _rejected(query: Query) -> Counter[str]:
    return Counter(f"{row['reason']} {row['row']}" for row in collect(query.rejected_rows()))
