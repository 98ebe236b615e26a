"""The rows of several inputs in one table, and apart again.

With one input nothing is added and nothing is taken apart. Otherwise a column says the side of a row, the place of its
input. Buckets, keys and times are of the same types in all inputs and share columns; ids and payloads are not, and have
columns of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from muntin_engine.exchange.input_task import InputTask
from muntin_engine.exchange.task_payload import TaskPayload

SIDE: Final = "side"
"""The column that says the place of a row's input, where there are several."""


def shared_name(side: int, name: str) -> str:
    """Return the name of a projected column where the rows of several inputs are in one table.

    Example:
        >>> shared_name(1, "start"), shared_name(1, "i0"), shared_name(1, "id")
        ('start', 's1_i0', 's1_id')
    """
    return f"s{side}_{name}" if name == "id" or name.startswith("i") else name


def by_side(task: TaskPayload, batch: pa.RecordBatch) -> Iterator[tuple[InputTask, pa.RecordBatch]]:
    """Yield the rows of each input that has any in a batch, under the names of their projection.

    Cost: nothing with one input; otherwise a copy of the rows.
    """
    if len(task.inputs) == 1:
        yield task.input, batch
        return
    sides = batch.column(SIDE).to_numpy()
    for given in task.inputs:
        is_of_it = sides == given.side
        if is_of_it.any():
            rows = batch.filter(pa.array(is_of_it))
            columns = [rows.column(shared_name(given.side, name)) for name in given.carried_names]
            yield given, pa.record_batch(columns, names=list(given.carried_names))
