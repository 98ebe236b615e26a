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
# The results of both; the payload of each row is 7.
A_FROM_0 = {"key": "a", "window": {"start": 0, "end": 10}, "m": [7]}
A_FROM_10 = {"key": "a", "window": {"start": 10, "end": 20}, "m": [7]}
A_FROM_20 = {"key": "a", "window": {"start": 20, "end": 30}, "m": [7]}
B_FROM_0 = {"key": "b", "window": {"start": 0, "end": 10}, "m": [7, 7]}
WINDOWS = [A_FROM_0, A_FROM_10, A_FROM_20, B_FROM_0]


def process(query: LocalQuery, *map_tasks: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Process a micro-batch, whose rows come from map tasks, and return its results."""
    return results_in(BatchOutput.of_blobs(query.task, query.process(map_tasks)))


def results_in(output: BatchOutput) -> list[dict[str, Any]]:
    """Return the results in the order of key and window."""
    return sorted(rows_in(output, "results"), key=lambda row: (row["key"], row["window"]["start"]))


def rows_in(output: BatchOutput, name: str) -> list[dict[str, Any]]:
    """Return the rows of an output of a query, by its name."""
    rows: list[dict[str, Any]] = []
    for table in output.tables[name]:
        rows += table.to_pylist()
    return rows


def stream_task() -> TaskPayload:
    """Return the task of a stream whose watermark is two ticks behind its newest row."""
    return task_of(policy=bounded_delay(2))


@pytest.mark.parametrize("map_tasks", [[[FIRST, SECOND]], [[FIRST], [SECOND]], [[SECOND], [], [FIRST]]])
def test_a_static_input_is_closed_after_its_rows_however_tasks_read_it(map_tasks: list[list[pa.RecordBatch]]) -> None:
    assert process(LocalQuery(task_of(is_static=True)), *map_tasks) == WINDOWS


def test_a_stream_emits_windows_as_its_watermark_passes_and_the_others_when_it_is_closed() -> None:
    query = LocalQuery(stream_task())
    # The watermark passes 10, and then 23. The row of b at 3 is late.
    assert process(query, [FIRST]) == [A_FROM_0, {**B_FROM_0, "m": [7]}]
    assert process(query, [SECOND]) == [A_FROM_10]
    assert results_in(BatchOutput.of_blobs(query.task, query.close())) == [A_FROM_20]


def test_a_row_behind_the_watermark_is_an_output_of_its_own_and_is_counted() -> None:
    query = LocalQuery(stream_task())
    process(query, [FIRST])
    output = BatchOutput.of_blobs(query.task, query.process([[SECOND]]))
    (late,) = rows_in(output, "late_rows")
    assert late["reason"] == "late"
    assert output.metrics["late"] == 1


def test_a_query_goes_on_from_the_cells_of_another_and_after_a_restart() -> None:
    query = LocalQuery(stream_task())
    process(query, [FIRST])
    query.restart(stream_task())
    copied_cells = {bucket: dict(cells.cells) for bucket, cells in query.cells.items()}
    query_with_copied_cells = LocalQuery(stream_task(), copied_cells)

    assert process(query, [SECOND]) == [A_FROM_10]
    assert process(query_with_copied_cells, [SECOND]) == [A_FROM_10]


def test_rows_that_were_sent_before_are_evaluated_as_if_they_came_from_a_map_task() -> None:
    task = task_of(is_static=True)
    exchanged = list(distribute(task, [FIRST, SECOND]))
    output = BatchOutput.of_blobs(task, LocalQuery(task).process_exchanged([exchanged]))
    assert results_in(output) == WINDOWS
