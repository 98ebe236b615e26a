"""Rows that nobody should send, through every evaluator."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from muntin import tumbling
from muntin_engine import Query, events, module
from tests.journeys.running import collect
from tests.torture.kind import Figures
from tests.torture.session import session

TIMES: Final = (None, -(2**63), -(2**62), 2**62, 2**62 + 1, 2**63 - 1, 0, -1, 7, 12, 10**15)
"""Ticks; the axis ends at 2**62, and numbers of 64 bits at 2**63."""

MOMENTS: Final = (
    None,
    -(2**63) + 1,
    2**63 - 1,
    -62135596800000000 - 1,  # before the year 1
    253402300800000000,  # after the year 9999
    0,
    -1,
    1_700_000_000_000_000,
)
"""Moments in microseconds."""

TEXTS: Final = (None, b"", b"a", b"b", b"\xff\xfe", b"\xed\xa0\x80", "é".encode(), b"x" * 10_000, b"\0")
NUMBERS: Final = (None, 0, 1, -1, 2**63 - 1, -(2**63))
FLOATS: Final = (None, 0.0, -0.0, 1.5, float("nan"), float("inf"), 5e-324)
EVALUATORS: Final = ("columnar", "sliced", "general")


def bad_rows(seed: int, folder: Path) -> Figures:
    """Count rows by key, and see which are rejected: the evaluators agree in both, and every row is in one of them."""
    random = Random(seed)
    spark = session()
    is_time = random.random() < 0.5
    key_kind = random.choice(("text", "number", "float", "date"))
    row_count = random.randint(5, 60)
    ticks = [random.choice(MOMENTS if is_time else TIMES) for _ in range(row_count)]
    times = pa.array(ticks, pa.int64())
    if is_time:
        times = times.cast(pa.timestamp("us", "UTC"))
    keys = _random_keys(key_kind, row_count, random)
    table = pa.table({"at": times, "key": keys, "n": pa.array(range(row_count), pa.int64())})
    pq.write_table(table, folder / "rows.parquet")
    rows = spark.read.parquet(str(folder / "rows.parquet"))
    if key_kind == "text":  # Spark does not check that bytes are text
        rows = rows.withColumn("key", F.col("key").cast("string"))

    outputs: dict[str, _Output] = {}
    for evaluator in EVALUATORS:
        stream = events(rows, key="key", at="at", buckets=random.choice((1, 3)))
        window = tumbling("1 hour") if is_time else tumbling(10)
        query = stream.window(window, evaluator=evaluator).aggregate(n=module("stats.count"))
        output = _output_of(query)
        accepted = output.accepted
        rejected = output.rejected.total()
        assert accepted + rejected == row_count, f"{evaluator}: {accepted} of {row_count} rows, {rejected} rejected"
        outputs[evaluator] = output
    first_evaluator = EVALUATORS[0]
    for evaluator in EVALUATORS[1:]:
        difference = f"{evaluator} and {first_evaluator} differ over {ticks} {keys.to_pylist()}\n{outputs}"
        assert outputs[evaluator] == outputs[first_evaluator], difference
    return {"tables": 1, "rows": row_count, "rejected": outputs["general"].rejected.total()}


def _random_keys(kind: str, count: int, random: Random) -> pa.Array:
    if kind == "text":
        return pa.array([random.choice(TEXTS) for _ in range(count)], pa.binary())
    if kind == "number":
        return pa.array([random.choice(NUMBERS) for _ in range(count)], pa.int64())
    if kind == "float":
        return pa.array([random.choice(FLOATS) for _ in range(count)], pa.float64())
    days = (None, datetime(1, 1, 1, tzinfo=UTC).date(), datetime(9999, 12, 31, tzinfo=UTC).date())
    return pa.array([random.choice(days) for _ in range(count)], pa.date32())


class _Output(NamedTuple):
    """The output of a query that counts rows.

    Attributes:
        results: Results, as text.
        accepted: The sum of the counts in the results.
        rejected: Rejected rows with their reasons, as text.
    """

    results: Counter[str]
    accepted: int
    rejected: Counter[str]


def _output_of(query: Query) -> _Output:
    results = Counter[str]()
    accepted = 0
    for row in collect(query.results().select("key", "window", "n")):
        results[f"{row['key']!r} {row['window']} {row['n']}"] += 1
        accepted += row["n"]
    rejected = Counter(f"{row['reason']} {row['row']}" for row in collect(query.rejected_rows()))
    return _Output(results, accepted, rejected)
