"""What a join of pairs keeps between micro-batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin import EARLIEST
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.lifting import Rows
from muntin_engine.evaluators.arrays.row_lifting import lift_each
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.pairing.pair_store import pair_query
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility


def blob(changes: Sequence[tuple[Key, Sequence[InputChange]]], side: int) -> bytes:
    """Return the rows of a side as the map side sends them."""
    rows = [(key[0], row) for key, some in changes for row in some if row.side == side]
    starts, ends = (np.array([getattr(row, name) for _, row in rows], np.int64) for name in ("start", "end"))
    keys = pa.array([key for key, _ in rows], pa.string())
    payload = pa.array([row.payload[0] for _, row in rows], pa.int64())
    lifted = Rows(1, starts, ends, [keys], [payload])
    (found,) = lift_each(1, lifted, packed=[bytes([side])])
    return found.blob


def test_a_batch_writes_its_own_rows_and_dead_entries_go() -> None:
    cells = MemoryCells()
    trackers = [ProgressTracker(), ProgressTracker()]
    bucket = ArrayBucket(pair_query(), trackers, cells, Codec(), Compatibility({"query": "a"}, []))
    sizes = []
    for at in range(200):
        change = InputChange(None, at, at + 10, (at,))
        both = [(("a",), [change, replace_side(change)])]
        watermark = InputReport(Progress(at - 5 if at else EARLIEST))
        result = bucket.process([blob(both, 0), blob(both, 1)], [watermark] * 2)
        sizes.append(result.held.bytes)
    assert result.held.events == 2 * 15  # those that end after the watermark, which is five ticks behind
    assert max(sizes[50:]) < 2 * max(sizes[20:50]) < 60_000


def replace_side(change: InputChange) -> InputChange:
    return change._replace(side=1)


def test_a_side_of_which_the_join_has_no_column_keeps_its_rows() -> None:
    cells, trackers = MemoryCells(), [ProgressTracker(), ProgressTracker()]
    starts, keys = np.array([0, 0, 10]), pa.array(["a", "a", "b"])
    lifted = Rows(1, starts, starts + 4, [keys], [])
    (bare,) = lift_each(1, lifted, packed=[bytes([1])])
    for at in (EARLIEST, 4):  # a new process reads what the one before wrote
        bucket = ArrayBucket(pair_query(), trackers, cells, Codec(), Compatibility({"query": "a"}, []))
        result = bucket.process([bare.blob] if at == EARLIEST else [], [InputReport(Progress(at))] * 2)
        assert result.held.events == (3 if at == EARLIEST else 1)
    met = bucket.process([blob([(("b",), [InputChange(None, 8, 20, (5,))])], 0)], [InputReport(Progress(4))] * 2)
    assert [(pairs.low.tolist(), pairs.high.tolist()) for _, pairs, *_ in met.outcome.output] == [([10], [14])]
