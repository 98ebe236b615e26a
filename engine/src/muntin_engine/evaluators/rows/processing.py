"""A micro-batch of a bucket with row windows."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, cast

from muntin import EARLIEST, INFINITY, ClipPolicy, RowOperator, TimestampPolicy, tumbling
from muntin.rows import RowWindows
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.bucket import BatchRun
from muntin_engine.evaluators.general.closing import timer
from muntin_engine.evaluators.general.computation import WindowResults
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.rows.emission import RowsEmission
from muntin_engine.evaluators.rows.following import RowOperatorEmission
from muntin_engine.evaluators.rows.key_state import RowsKeyState
from muntin_engine.state.bucket_state import BucketMetadata, KeyTimer
from muntin_engine.state.codec import Codec


class RowsRun(BatchRun):
    """A micro-batch on its way through the keys: rows are admitted as elsewhere, and wait for the watermark."""

    state_class: ClassVar[type[KeyState]] = RowsKeyState

    def __init__(
        self, query: EvaluatorQuery, codec: Codec, metadata: BucketMetadata, now: Progress, signals: frozenset[str]
    ) -> None:
        """Begin."""
        # rows wait as members of a window of one tick would: until the watermark has passed them
        of_ticks = replace(query, window=tumbling(1))
        super().__init__(replace(of_ticks, clip=ClipPolicy.FULL), codec, metadata, now, signals)
        self._windows = cast(RowWindows, query.window)
        self._is_aligned = query.timestamps is not TimestampPolicy.POINT_AT_END
        results = WindowResults(of_ticks, in_order=True)
        if isinstance(query.bindings[0].module, RowOperator):
            self.emission = RowOperatorEmission(query, self._windows, results, self.now, self._serializer)
        else:
            self.emission = RowsEmission(query, self._windows, results, self.now)

    def output_watermark(self, earliest: int) -> int:
        """Return the least start of a window that a row may yet be in; of points, what time has come to."""
        watermark = self.now.watermark
        if watermark in (EARLIEST, INFINITY) or not self._is_aligned:
            return watermark
        unborn = self._windows.earliest_start(self._windows.create_state(), watermark)
        return min(watermark, unborn, earliest)

    def timer_of(self, state: KeyState, now: Progress) -> KeyTimer:
        """Return when the next row is released, or time does something."""
        assert isinstance(state, RowsKeyState)
        found = timer(self._query, state, now)
        bound = min(found.output_watermark, state.bound) if self._is_aligned else INFINITY
        return found._replace(closing=min(found.closing, state.due), output_watermark=bound)
