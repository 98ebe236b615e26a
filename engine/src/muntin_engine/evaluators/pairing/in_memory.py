"""Run the evaluator of pairs without Spark, for restart tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress, canonical
from muntin_engine.evaluators.pairing.pair_bucket import PairBucket
from muntin_engine.evaluators.pairing.pair_store import Joined
from muntin_engine.evaluators.pairing.row_blobs import SideRows, to_blob
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec


class PairsInMemory:
    """Joins rows of two sides, whose keys and payloads are packed, as they may be of any type.

    Attributes:
        evicted: Nothing: joins have no second output.
    """

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        self.evicted: Sequence[tuple[Key, OutputChange]] = ()
        assert plan.join is not None, "the planner gives it joins alone"
        self._columns, self._codec = plan.join.columns, codec
        trackers, on = [ProgressTracker(), ProgressTracker()], plan.join.on
        condition = None if on is None else lambda *both: on(*(codec.unpack(packed) for (packed,) in both))
        self._bucket = PairBucket(trackers, cells, codec, plan_compatibility(plan), condition=condition)

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        blobs = [self._blob(key, row) for key, row in rows]
        result = self._bucket.process(blobs, [arrived] * 2, [(), ()])
        return [change for pairs in result.pairs for change in self._changes(pairs)]

    def _blob(self, key: Key, row: InputChange) -> bytes:
        pack, end = self._codec.pack, INFINITY if row.end is None else row.end
        payload = pa.table({"i0": [pack(list(row.payload))]})
        rows = SideRows(np.zeros(1, np.int64), np.array([row.start]), np.array([end]), payload)
        return to_blob([(row.side, pa.table({"k0": [pack(list(canonical(key)))]}), rows)])

    def _changes(self, pairs: Joined) -> list[tuple[Key, OutputChange]]:
        unpack, (keys, starts, ends, sides) = self._codec.unpack, pairs
        payloads = zip(*([unpack(packed) for packed in side.column(0).to_pylist()] for side in sides), strict=True)
        found: list[tuple[Key, OutputChange]] = []
        for key, start, end, both in zip(
            keys.column(0).to_pylist(), starts.tolist(), ends.tolist(), payloads, strict=True
        ):
            value = tuple(both[column.side][column.place] for column in self._columns)
            change = OutputChange(OutputKind.INSERT, 0, Window(start, end), start, end, value)
            found.append((tuple(unpack(key)), change))
        return found
