"""What a task of the map side says of progress: of the whole input, of each source, and of keys."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY
from muntin.progress import bounded_disorder, ordered, punctuated
from muntin_engine.core.changes import Progress
from muntin_engine.exchange.bucket_task import run_bucket
from muntin_engine.exchange.distribute import read_rows
from muntin_engine.exchange.intake import take_in
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.plan import LATEST
from muntin_engine.progress import Observation
from muntin_engine.state.cells import MemoryCells
from tests.spark_units.tasks import IDS, arrived, reasons, rows, task_of

SOURCES = ("north", "south")


def sourced(policy: Any = None, **changed: Any) -> TaskPayload:
    return task_of(has_changes=True, policy=policy or ordered(), sources=SOURCES, **changed)


def batch(*given: tuple[str, int | None, str | None]) -> pa.RecordBatch:
    """Return rows that do something, at a time, and are of a source."""
    changes, starts, sources = zip(*given, strict=True)
    return rows(
        start=list(starts),
        end=[None] * len(given),
        change=list(changes),
        source=pa.array(sources, pa.string()),
    )


def test_a_mark_without_a_source_speaks_for_all() -> None:
    _, progress, observed, *_ = read_rows(sourced().input, batch(("punctuate", 7, None), ("close", None, "south")))
    assert sorted(observed, key=str) == [
        Observation("south", watermark=INFINITY),
        Observation(None, watermark=7),
    ]
    assert progress.watermark == 7


def test_a_row_of_an_undeclared_source_is_set_aside_and_says_nothing() -> None:
    given = batch(("insert", 5, "west"), ("insert", 6, None), ("punctuate", 9, "west"), ("insert", 3, "north"))
    assert read_rows(sourced().input, given)[2] == [Observation("north", 3, 1)]
    assert reasons(take_in(sourced(), arrived(sourced(), given).inputs[0].rows).rejected) == ["undeclared source"] * 3


def test_only_the_largest_starts_are_kept_however_many_rows_come() -> None:
    task = task_of(policy=bounded_disorder(2), buckets=1)
    batches = [rows(start=list(range(low, low + 50)), end=[None] * 50) for low in (100, 0, 40)]
    (observed,) = arrived(task, *batches).inputs[0].observed
    assert observed == Observation(None, 149, 150, (149, 148, 147))


def test_a_reading_of_a_clock_is_progress_and_no_row_of_any_source() -> None:
    table, progress, observed, *_ = read_rows(sourced().input, batch(("clock", 50, None), ("clock", 40, "anyone")))
    assert (table.num_rows, observed) == (0, [])
    assert progress == Progress(clock=50)


@pytest.mark.parametrize(("tick", "key_watermark"), [(7, 7), (LATEST, INFINITY)])
def test_punctuation_of_a_key_travels_with_its_key_and_is_no_event(tick: int, key_watermark: int) -> None:
    task = task_of(has_changes=True, policy=punctuated().with_key_punctuation())
    given = rows(start=[5, tick], end=[9, None], change=["insert", "punctuate_key"], k0=["a", "b"])
    came = arrived(task, given)
    assert came.inputs[0].progress == Progress(EARLIEST, 9, 5)
    intake = take_in(task, came.inputs[0].rows)
    assert (intake.key_watermarks, [key for key, _ in intake.changes]) == ([[(("b",), key_watermark)]], [("a",)])


def test_a_key_cannot_punctuate_itself_unless_the_policy_says_so() -> None:
    task = task_of(has_changes=True)
    came = arrived(task, rows(start=[70], end=[None], change=["punctuate_key"]))
    assert reasons(take_in(task, came.inputs[0].rows).rejected) == ["undeclared punctuation"]
    assert came.inputs[0].progress == Progress()


def test_sources_are_counted_once_and_late_rows_with_the_rows() -> None:
    task, cells = sourced(buckets=1), MemoryCells()
    first = batch(("insert", 5, "north"), ("insert", 25, "north"), ("insert", 30, "south"))
    second = batch(("insert", 3, "south"), ("insert", 33, "south"))
    own, other = IDS[:2]
    for bucket, given, expected in (
        (own, first, {"accepted": 3, "rows_north": 2, "rows_south": 1, "results": 2}),
        (own, second, {"accepted": 1, "late": 1, "rows_south": 2, "late_south": 1}),
        (other, second, {"accepted": 1, "late": 1, "late_south": 1}),
    ):
        state = cells if bucket == own else MemoryCells()
        if bucket == other:
            list(run_bucket(task, bucket, state, arrived(task, first)))
        counts = {blob.stream: blob.rows for blob in run_bucket(task, bucket, state, arrived(task, given))}
        assert {
            name: counts[name] for name in counts if re.match("accepted|results|late$|late_south|rows_", name)
        } == expected
