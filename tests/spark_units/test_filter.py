"""A filter where the rows are, and in the bucket: what it leaves out is no row, and still says how far the input is."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from muntin_engine.core.changes import Progress
from muntin_engine.exchange.bucket_task import OutputBlob, run_bucket
from muntin_engine.exchange.distribute import read_rows
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import MemoryCells
from tests.spark_units.tasks import arrived, rows, task_of

PLAIN = task_of(is_filtered=True)
REVISED = task_of(
    has_ids=True,
    is_filtered=True,
    has_changes=True,
    buckets=1,
)


def batch(*given: tuple[Any, ...]) -> pa.RecordBatch:
    names = ("change", "id", "start", "end", "new_end", "i0", "kept")
    columns = {name: list(column) for name, column in zip(names, zip(*given, strict=True), strict=True)}
    return rows(**(columns | {"kept": pa.array(columns["kept"], pa.bool_())}))


def run(task: TaskPayload, cells: MemoryCells, *given: tuple[Any, ...]) -> dict[str, OutputBlob]:
    found = list(run_bucket(task, 0, cells, arrived(task, batch(*given))))
    return {blob.stream: blob for blob in found}


def test_without_ids_an_insertion_that_is_left_out_is_no_row_and_moves_the_input_on() -> None:
    given = {"start": [1, 2, 9], "end": [4, 5, 20], "i0": [None, 5, None]}
    read = read_rows(PLAIN.input, rows(**given, kept=pa.array([False, True, None])))
    assert read.rows.column("start").to_pylist() == [2]
    assert read.progress == Progress(horizon=20, newest=9)
    assert (read.filtered, read.skipped) == (2, [0])


def test_an_insertion_that_is_left_out_is_not_judged() -> None:
    given = {"start": [None, 3, 9], "end": [4, 3, 20]}
    read = read_rows(PLAIN.input, rows(**given, kept=pa.array([False, False, True])))
    assert read.rows.column("start").to_pylist() == [9]
    assert read.progress == Progress(horizon=20, newest=9)


def test_rows_that_are_no_insertion_pass() -> None:
    rows_of_control = [("punctuate", None, 5, None, None, None, None), ("close", None, None, None, None, None, False)]
    read = read_rows(REVISED.input, batch(*rows_of_control, ("revise", 1, 2, None, 8, None, None)))
    assert read.rows.column("change").to_pylist() == ["revise"]
    assert read.progress.watermark == 2**63 - 1
    assert read.filtered == 0


def test_what_is_said_later_of_an_event_that_was_left_out_goes_with_it() -> None:
    cells = MemoryCells()
    kept, left_out = ("insert", 1, 2, 30, None, 5, True), ("insert", 2, 3, 40, None, 6, None)
    first = run(REVISED, cells, kept, left_out)
    assert (first["accepted"].rows, first["filtered"].rows, first["events_held"].rows) == (1, 1, 2)

    gone = [("revise", 2, 3, 40, 50, None, None), ("retract", 2, 3, None, None, None, None)]
    later = run(REVISED, cells, *gone, ("punctuate", None, 4, None, None, None, None))
    assert "rejected" not in later
    again = run(REVISED, cells, ("revise", 2, 3, None, 60, None, None))
    assert again["rejected"].rows == 1, "it is gone, as any other event would be"
    run(REVISED, cells, ("insert", 3, 8, 40, None, 7, False))
    repeated = run(
        REVISED, cells, ("retract", 3, 8, None, None, 7, False), ("punctuate", None, 8, None, None, None, None)
    )
    assert "rejected" not in repeated
    assert repeated["events_held"].rows == 1, "a retraction that repeats the payload finds what was left out"
    closed = run(REVISED, cells, ("close", None, None, None, None, None, None))
    assert closed["results"].rows == 3, "the windows that the kept event overlaps"
    assert list(cells.cells) == ["metadata"]
