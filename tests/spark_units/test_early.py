"""Early results in a bucket: signals reach it, and rows say when they were put out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin import early
from muntin.triggers import every_count, on_signal, repeat, when
from muntin_engine.exchange.task_payload import InputColumns, TaskPayload
from muntin_engine.state.cells import MemoryCells
from tests.spark_units.tasks import IDS, TICKS, rows, sent, task_of
from tests.spark_units.test_bucket_task import run

RESULTS = pa.schema(
    [
        ("key", pa.string()),
        ("window", TICKS),
        ("timing", pa.string()),
        ("firing", pa.int64()),
        ("m", pa.list_(pa.int64())),
    ]
)


def early_task(trigger: Any, **plan: Any) -> TaskPayload:
    return task_of(has_changes=True, results=RESULTS, plan={"emit": early(trigger), **plan})


def results(task: TaskPayload, cells: MemoryCells, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    found = run(task, cells, batch).get("results", [])
    return [(row["window"]["start"], row["timing"], row["firing"], row["m"]) for row in found]


def test_every_bucket_hears_of_the_signals_of_all_rows() -> None:
    batches = [
        rows(start=[1, None], end=[2, None], change=["insert", "signal"], signal=[None, "dusk"]),
        rows(start=[None] * 3, end=[None] * 3, change=["signal"] * 3, signal=["dawn", "dusk", None]),
    ]
    told = [row for row in sent(early_task(on_signal("dusk")), *batches) if row["rows"] is None]
    assert [(row["bucket"], row["signals"]) for row in told] == [(bucket, ["dawn", "dusk"]) for bucket in IDS]


def test_rows_say_whether_their_window_was_open_and_how_often_it_was_put_out() -> None:
    task, cells = early_task(every_count(2)), MemoryCells()
    assert results(task, cells, rows(start=[1, 2], end=[2, 3], change=["insert"] * 2, i0=[5, 6])) == [
        (0, "early", 0, [5, 6])
    ]
    assert results(task, cells, rows(start=[3, None], end=[4, None], change=["insert", "close"], i0=[7, None])) == [
        (0, "final", 1, [5, 6, 7])
    ]


def test_a_signal_puts_out_windows_without_rows() -> None:
    task, cells = early_task(repeat(on_signal("dusk"))), MemoryCells()
    results(task, cells, rows(start=[1, 12], end=[2, 13], change=["insert"] * 2, i0=[5, 6]))
    dusk = rows(start=[None], end=[None], change=["signal"], signal=["dusk"])
    assert results(task, cells, dusk) == [(0, "early", 0, [5]), (10, "early", 0, [6])]
    assert results(task, cells, dusk) == []


def test_a_condition_is_a_value_of_each_row() -> None:
    asked = early_task(when("i0 > 5"), expressions={"i0 > 5": 1})
    task, cells = replace(asked, columns=(InputColumns((pa.int64(), pa.bool_()), has_changes=True),)), MemoryCells()
    few, many = ({"change": ["insert"], "i0": [i0], "i1": pa.array([i0 > 5])} for i0 in (5, 6))
    assert results(task, cells, rows(start=[1], end=[2], **few)) == []
    assert results(task, cells, rows(start=[2], end=[3], **many)) == [(0, "early", 0, [5, 6])]
