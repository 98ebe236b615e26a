"""A query in this process: the same rows and state however its input is cut into tasks and micro-batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from muntin.progress import bounded_delay
from muntin_engine.backends.local.runs.batch_output import BatchOutput
from muntin_engine.backends.local.runs.local_query import LocalQuery
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import rows, task_of

FIRST = rows(start=[1, 2, 12], end=[2, 3, 13], k0=["a", "b", "a"])
SECOND = rows(start=[3, 25], end=[4, 26], k0=["b", "a"])
WINDOWS = [
    {"key": "a", "window": {"start": 0, "end": 10}, "m": [7]},
    {"key": "a", "window": {"start": 10, "end": 20}, "m": [7]},
    {"key": "a", "window": {"start": 20, "end": 30}, "m": [7]},
    {"key": "b", "window": {"start": 0, "end": 10}, "m": [7, 7]},
]


def results(query: LocalQuery, *map_tasks: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    output = BatchOutput.of_blobs(query.task, query.process(map_tasks))
    return in_order(output)


def in_order(output: BatchOutput) -> list[dict[str, Any]]:
    """Return the results by key and window."""
    return sorted(rows_in(output, "results"), key=lambda row: (row["key"], row["window"]["start"]))


def rows_in(output: BatchOutput, name: str) -> list[dict[str, Any]]:
    """Return the rows of an output of a query, by its name."""
    rows: list[dict[str, Any]] = []
    for table in output.tables[name]:
        rows += table.to_pylist()
    return rows


def stream_task() -> TaskPayload:
    return task_of(policy=bounded_delay(2))


@pytest.mark.parametrize("map_tasks", [[[FIRST, SECOND]], [[FIRST], [SECOND]], [[SECOND], [], [FIRST]]])
def test_a_static_input_is_closed_after_its_rows_however_tasks_read_it(map_tasks: list[list[pa.RecordBatch]]) -> None:
    assert results(LocalQuery(task_of(is_static=True)), *map_tasks) == WINDOWS


def test_a_stream_emits_windows_as_its_watermark_passes_and_the_others_when_it_is_closed() -> None:
    query = LocalQuery(stream_task())
    assert results(query, [FIRST]) == [WINDOWS[0], {**WINDOWS[3], "m": [7]}]
    assert results(query, [SECOND]) == [WINDOWS[1]]
    assert in_order(BatchOutput.of_blobs(query.task, query.close())) == [WINDOWS[2]]


def test_a_row_behind_the_watermark_is_an_output_of_its_own_and_is_counted() -> None:
    query = LocalQuery(stream_task())
    results(query, [FIRST])
    output = BatchOutput.of_blobs(query.task, query.process([[SECOND]]))
    (late,) = rows_in(output, "late_rows")
    assert late["reason"] == "late"
    assert output.metrics["late"] == 1


def test_a_query_goes_on_from_the_cells_of_another_and_after_a_restart() -> None:
    first = LocalQuery(stream_task())
    results(first, [FIRST])
    first.restart(stream_task())
    copied = LocalQuery(stream_task(), {bucket: dict(cells.cells) for bucket, cells in first.cells.items()})
    expected = results(first, [SECOND])
    assert expected == [WINDOWS[1]]
    assert results(copied, [SECOND]) == expected


def test_rows_that_were_sent_before_are_evaluated_as_if_they_came_from_a_map_task() -> None:
    task = task_of(is_static=True)
    exchanged = list(distribute(task, [FIRST, SECOND]))
    output = BatchOutput.of_blobs(task, LocalQuery(task).process_exchanged([exchanged]))
    assert in_order(output) == WINDOWS
