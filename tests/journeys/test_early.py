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
    "every second row": early(every_count(2), refinement="discard"),
    "when it ends": early(repeat(when("kind = 'end'")), refinement="retract"),
    "at dusk": early(repeat(on_signal("dusk"))),
}


def insert(key: str, at: int, x: int, kind: str | None = None) -> dict[str, Any]:
    """Return a row of an event."""
    return {"change": "insert", "key": key, "at": at, "x": x, "kind": kind}


def signal(name: str) -> dict[str, Any]:
    """Return a row that calls the triggers that wait for a signal."""
    return {"change": "signal", "name": name}


ROWS = [
    [insert("a", at=1, x=1), insert("a", at=4, x=2), insert("b", at=2, x=5, kind="tick")],
    [insert("a", at=5, x=3, kind="end"), signal("dusk"), signal("dawn")],
    [insert("b", at=12, x=1), {"change": "punctuate", "at": 10}, signal("dusk")],
    [{"change": "close"}],
]
"""The rows of each micro-batch: of the key "a" in the window from 0, and of "b" in those from 0 and from 10."""

BATCHES = [pa.Table.from_pylist(rows, schema=SCHEMA) for rows in ROWS]


def query(df: DataFrame, emit: EarlyEmission) -> Query:
    """Return the sum of `x` of each key and ten ticks."""
    stream = events(df, key="key", at="at", change="change", signal="name", buckets=2)
    return stream.window(tumbling(10), emit=emit).aggregate(total=module(Total, "x"))


def result_texts(rows: list[dict[str, Any]]) -> list[str]:
    """Return each result as timing, number of earlier results, key, window start and sum; a minus retracts it."""
    texts: list[str] = []
    for row in rows:
        sign = "-" if row.get("change") == "retract" else ""
        texts.append(f"{sign}{row['timing']} {row['firing']} {row['key']} {row['window']['start']} {row['total']:g}")
    return texts


EXPECTED_TEXTS = {
    # the final result of "a" is what came since the early one
    "every second row": ["early 0 a 0 3", "final 0 b 0 5", "final 0 b 10 1", "final 1 a 0 3"],
    "when it ends": ["-early 0 a 0 6", "early 0 a 0 6", "final 0 b 0 5", "final 0 b 10 1", "final 1 a 0 6"],
    # at the first dusk the windows from 0 are open, and at the second one that from 10 alone
    "at dusk": [
        "early 0 a 0 6",
        "early 0 b 0 5",
        "early 0 b 10 1",
        "final 1 a 0 6",
        "final 1 b 0 5",
        "final 1 b 10 1",
    ],
}
"""The results of the query with each emission, as `result_texts` spells them."""


def test_windows_have_early_results_when_their_trigger_fires_also_across_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    texts: dict[str, list[str]] = {name: [] for name in EMISSIONS}
    for batches in (BATCHES[:2], BATCHES):
        df = read_stream(spark, write_batches(tmp_path / "stream", batches))
        queries = {name: query(df, emit) for name, emit in EMISSIONS.items()}
        for name, rows in run_together(queries, tmp_path / "checkpoint").items():
            texts[name] += result_texts(rows)

    assert {name: sorted(of_query) for name, of_query in texts.items()} == EXPECTED_TEXTS


def test_a_trigger_without_a_condition_or_without_a_clock_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = read_stream(spark, write_batches(tmp_path / "stream", BATCHES))
    with pytest.raises(PolicyError, match=r"when\('x \+ 1'\) is of type bigint\n  expected: a condition"):
        query(df, early(when("x + 1")))
    without_clock = events(df, key="key", at="at", watermark=5).window(tumbling(10), emit=early(every(60)))
    with pytest.raises(PolicyError, match="waits for a clock, and this input has none"):
        without_clock.aggregate(total=module(Total, "x")).results()


# Results that start no earlier than what caused them: the module promises it, or the query asks for it.


class LargestSoFar(Operator[int, int]):
    """The largest payload so far: a result per rise, from the event that brought it to the next rise."""

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
    # at     1  3 | 6 | 30, which closes the window [0, 10)
    # x      5  4 | 9 | 1
    batches = [pa.table({"at": [1, 3], "x": [5, 4]}), pa.table({"at": [6], "x": [9]}), pa.table({"at": [30], "x": [1]})]
    stream = events(stream_of(spark, tmp_path / "stream", batches), at="at", watermark=3, buckets=1)
    windows = stream.window(tumbling(10), clip="full", timestamps="unchanged", emit="eager")
    results = windows.apply(module(LargestSoFar, "x")).results()
    assert results.columns == ["window", "lifetime", "change", "event_id", "new_end", "value"]

    outcome = run(results, tmp_path / "checkpoint")

    changes: list[tuple[Any, ...]] = []
    for number, batch in sorted(outcome.batches.items()):
        for row in plain(batch):
            start = row["lifetime"]["start"]
            end = row["lifetime"]["end"]
            changes.append((number, row["change"], row["value"], start, end, row["new_end"]))
    assert changes[:3] == [
        # micro-batch, change, value, start, end, new end
        (0, "insert", 5, 1, 10, None),
        (1, "revise", 5, 1, 10, 6),
        (1, "insert", 9, 6, 10, None),
    ]
