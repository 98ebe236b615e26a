"""The output of a join as typed tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from muntin_engine.core.changes import Key, OutputChange
from muntin_engine.evaluators.general.result_tables import MOST_ROWS, in_pieces, lead_columns
from muntin_engine.exchange.task_payload import TaskPayload


def joined_tables(task: TaskPayload, output: Sequence[tuple[Key, Sequence[OutputChange]]]) -> Iterator[pa.Table]:
    """Yield the results of a batch as tables of the query's result schema."""
    keyed = [(key, change) for key, changes in output for change in changes]
    count = len(task.outputs)
    names = task.results.names
    for start in range(0, len(keyed), MOST_ROWS):
        some = keyed[start : start + MOST_ROWS]
        columns = lead_columns(task, some, list(task.results)[: len(names) - count])
        values = zip(*(change.value for _, change in some), strict=True)
        for column, name in zip(values, names[len(names) - count :], strict=True):
            columns.append(pa.array(column, task.results.field(name).type))
        yield from in_pieces(pa.table(columns, schema=task.results))
