"""Early results through Spark: triggers of all kinds over one stream, with a restart in the middle of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import EarlyEmission, early, tumbling
from muntin.errors import PolicyError
from muntin.triggers import every, every_count, on_signal, repeat, when
from muntin_engine import Query, events, module
from tests.spark.modules import Total
from tests.spark.running import read_stream, run_together, write_batches

SCHEMA = pa.schema(
    [
        ("change", pa.string()),
        ("key", pa.string()),
        ("at", pa.int64()),
        ("x", pa.int64()),
        ("kind", pa.string()),
        ("name", pa.string()),
    ]
)

EMISSIONS = {
    "counted": early(every_count(2), refinement="discard"),
    "when it ends": early(repeat(when("kind = 'end'")), refinement="retract"),
    "at dusk": early(repeat(on_signal("dusk"))),
}


def insert(key: str, at: int, x: int, kind: str | None = None) -> dict[str, Any]:
    return {"change": "insert", "key": key, "at": at, "x": x, "kind": kind}


BATCHES = [
    pa.Table.from_pylist(rows, schema=SCHEMA)
    for rows in (
        [insert("a", 1, 1), insert("a", 4, 2), insert("b", 2, 5, "tick")],
        [insert("a", 5, 3, "end"), {"change": "signal", "name": "dusk"}, {"change": "signal", "name": "dawn"}],
        [insert("b", 12, 1), {"change": "punctuate", "at": 10}, {"change": "signal", "name": "dusk"}],
        [{"change": "close"}],
    )
]


def query(df: DataFrame, emit: EarlyEmission) -> Query:
    stream = events(df, key="key", at="at", change="change", signal="name", buckets=2)
    return stream.window(tumbling(10), emit=emit).aggregate(total=module(Total, "x"))


def spelled(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"{'-' if row.get('change') == 'retract' else ''}{row['timing']} {row['firing']} "
        f"{row['key']} {row['window']['start']} {row['total']:g}"
        for row in rows
    ]


def test_windows_are_put_out_early_when_their_trigger_fires_also_across_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    found: dict[str, list[str]] = {name: [] for name in EMISSIONS}
    for batches in (BATCHES[:2], BATCHES):
        df = read_stream(spark, write_batches(tmp_path / "stream", batches))
        run = run_together({name: query(df, emit) for name, emit in EMISSIONS.items()}, tmp_path / "checkpoint")
        for name, rows in run.items():
            found[name] += spelled(rows)
    assert {name: sorted(rows) for name, rows in found.items()} == {
        "counted": ["early 0 a 0 3", "final 0 b 0 5", "final 0 b 10 1", "final 1 a 0 3"],
        "when it ends": ["-early 0 a 0 6", "early 0 a 0 6", "final 0 b 0 5", "final 0 b 10 1", "final 1 a 0 6"],
        "at dusk": [
            "early 0 a 0 6",
            "early 0 b 0 5",
            "early 0 b 10 1",
            "final 1 a 0 6",
            "final 1 b 0 5",
            "final 1 b 10 1",
        ],
    }


def test_what_a_trigger_cannot_be_told_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = read_stream(spark, write_batches(tmp_path / "stream", BATCHES))
    with pytest.raises(PolicyError, match=r"when\('x \+ 1'\) is of type bigint\n  expected: a condition"):
        query(df, early(when("x + 1")))
    plain = events(df, key="key", at="at", delay=5)
    with pytest.raises(PolicyError, match="waits for a clock, and this input has none"):
        plain.window(tumbling(10), emit=early(every(60))).aggregate(total=module(Total, "x")).results()
