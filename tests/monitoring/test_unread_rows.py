"""Warnings of late and rejected rows that no sink takes."""

from __future__ import annotations

from typing import Any

from muntin_engine.monitoring.unread_rows import UnreadRows
from tests.monitoring.queries import progress

UNREAD = {"unread_late": 1, "unread_rejected": 1}


def batch(number: int, second: float, run: str = "r", **metrics: Any) -> dict[str, Any]:
    spark = {"id": "d7dbda75-9e29-4ba9", "runId": run, "name": None}
    return {**progress(number, second - number, muntin={**UNREAD, **metrics}), **spark}


def test_the_first_late_rows_are_told_at_once_and_the_others_once_a_minute() -> None:
    # second   1        20       59.9    61          100
    # late     3        5        1       0           0       then the end
    #          told                      6 told              nothing left
    rows, told = UnreadRows(), []
    for number, (second, late) in enumerate([(1, 3), (20, 5), (50, 1), (59.9, 0), (30, 0)]):
        told.append([some.message.splitlines()[0] for some in rows.take(batch(number, second, accepted=7, late=late))])
    assert told[0] == [
        "muntin (Spark query d7dbda75): 3 of 10 rows were late, up to micro-batch 0, and no sink takes them"
    ]
    assert told[1:] == [[], [], [], []]
    (rest,) = rows.end("r")
    assert rest.message.startswith("muntin (Spark query d7dbda75): 6 of 34 rows were late, up to micro-batch 4")
    assert list(rows.end("r")) == []


def test_a_minute_after_the_last_warning_the_next_one_comes() -> None:
    rows = UnreadRows()
    assert len(list(rows.take(batch(0, 0, late=1)))) == 1
    later = {**batch(1, 1, accepted=4, late=2, late_by=90_000_000), "timestamp": "2024-05-01T08:01:00.000Z"}
    (warning,) = rows.take(later)
    assert warning.kind == "late"
    assert "2 of 6 rows were late, by up to 1 min 30 s," in warning.message
    assert "write(..., late='late')" in warning.message


def test_rows_that_a_sink_takes_or_nobody_wants_are_not_told() -> None:
    rows = UnreadRows()
    assert list(rows.take(batch(0, 0, unread_late=0, late=5))) == []
    (warning,) = rows.take(batch(1, 0, unread_late=0, late=5, rejected=2))
    assert warning.kind == "rejected"
    assert "2 of 12 rows were rejected, up to" in warning.message
    assert list(rows.take(batch(0, 0, run="other"))) == []


def test_queries_and_runs_count_apart_and_a_micro_batch_counts_once() -> None:
    rows = UnreadRows()
    both = {**batch(0, 0), **progress(0, 0, left={**UNREAD, "late": 1}, right={**UNREAD, "late": 2, "rejected": 4})}
    assert sorted((some.kind, some.message.partition(":")[0]) for some in rows.take(both)) == [
        ("late", "left (Spark query d7dbda75)"),
        ("late", "right (Spark query d7dbda75)"),
        ("rejected", "right (Spark query d7dbda75)"),
    ]
    assert list(rows.take(both)) == []
    assert len(list(rows.take({**both, "runId": "again"}))) == 3
