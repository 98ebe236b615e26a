"""Pairs as typed tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin_engine.evaluators.keyed.result_tables import in_pieces
from muntin_engine.evaluators.pairing.pair_store import Joined
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.times import extents


def pair_tables(task: TaskPayload, pairs: Sequence[Joined]) -> Iterator[pa.Table]:
    """Yield the results of a batch as tables of the query's result schema; the end of one that never ends is null."""
    join = task.plan.join
    assert join is not None, "the planner gives it joins alone"
    for keys, starts, ends, sides in pairs:
        columns = [keys.column(name) for name in task.key_names]
        columns.append(extents(task, starts, pa.array(ends, mask=np.equal(ends, INFINITY))))
        columns += [sides[column.side].column(column.place) for column in join.columns]
        yield from in_pieces(pa.table([*columns], schema=task.results))
