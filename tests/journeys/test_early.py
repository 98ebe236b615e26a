"""Early results through Spark, and eager ones that are shortened: triggers of all kinds, with a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import ClipPolicy, EarlyEmission, Event, Operator, OutputContract, Window, early, tumbling
from muntin.errors import PolicyError
from muntin.triggers import every, every_count, on_signal, repeat, when
from muntin_engine import Query, events, module
from tests.journeys.running import plain, read_stream, run, run_together, stream_of, write_batches
from tests.modules.members import Total

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
    texts: dict[str, list[str]] = {name: [] for name in EMISSIONS}
    for batches in (BATCHES[:2], BATCHES):
        df = read_stream(spark, write_batches(tmp_path / "stream", batches))
        run = run_together({name: query(df, emit) for name, emit in EMISSIONS.items()}, tmp_path / "checkpoint")
        for name, rows in run.items():
            texts[name] += spelled(rows)
    assert {name: sorted(rows) for name, rows in texts.items()} == {
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
    plain = events(df, key="key", at="at", watermark=5)
    with pytest.raises(PolicyError, match="waits for a clock, and this input has none"):
        plain.window(tumbling(10), emit=early(every(60))).aggregate(total=module(Total, "x")).results()


# Results that start no earlier than what caused them: the module promises it, or the query asks for it.


class Largest(Operator[int, int]):
    """The largest payload so far, from when it came on."""

    name, version = "show.largest_so_far", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.TIME_BOUND
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        ordered = sorted(events, key=lambda event: (event.start, -event.payload))
        rises: list[Event[int]] = []
        for event in ordered:
            if not rises or event.payload > rises[-1].payload:
                rises.append(event)
        ends = [rise.start for rise in rises[1:]] + [window.end]
        return [Event(rise.start, end, rise.payload) for rise, end in zip(rises, ends, strict=True)]


def test_an_eager_result_is_shortened_instead_of_retracted(spark: SparkSession, tmp_path: Path) -> None:
    batches = [pa.table({"at": [1, 3], "x": [5, 4]}), pa.table({"at": [6], "x": [9]}), pa.table({"at": [30], "x": [1]})]
    stream = events(stream_of(spark, tmp_path / "stream", batches), at="at", watermark=3, buckets=1)
    query = stream.window(tumbling(10), clip="full", timestamps="unchanged", emit="eager").apply(module(Largest, "x"))
    results = query.results()
    assert results.columns == ["window", "lifetime", "change", "event_id", "new_end", "value"]

    outcome = run(results, tmp_path / "checkpoint")
    shown: list[tuple[Any, ...]] = []
    for number, batch in sorted(outcome.batches.items()):
        for row in plain(batch):
            start = row["lifetime"]["start"]
            end = row["lifetime"]["end"]
            shown.append((number, row["change"], row["value"], start, end, row["new_end"]))
    assert shown[:3] == [(0, "insert", 5, 1, 10, None), (1, "revise", 5, 1, 10, 6), (1, "insert", 9, 6, 10, None)]
